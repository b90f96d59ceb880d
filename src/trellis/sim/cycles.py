"""The cycle-driven host: rounds instead of times.

Promises: what is sent in round r arrives in round r + 1, unless it is lost (`network.loss`) or its receiver is dead
          from the beginning (`faults.stillborn`; whoever publishes is not). In a round the nodes take their turns in
          the order of their ids: first the packets of each, then one `Cycle(r)` for a machine that asks for it. The
          rest is the event-driven host.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis import draw
from trellis.effects import Effect, Send
from trellis.errors import ScenarioError
from trellis.events import Cycle, Publish
from trellis.scenario.model import Cycles, Faults
from trellis.sim.calendar import CYCLE
from trellis.sim.host import Host
from trellis.words import NodeId, Time


class CycleHost(Host):
    """Wakes those machines that ask for it (`wants_cycles`) once per round, until the scenario's end."""

    def begin(self) -> None:
        network, faults = self.scenario.network, self.scenario.faults
        self.loss = network.loss or 0.0 if isinstance(network, Cycles) else 0.0
        self.dead = self.stillborn(faults.stillborn or 0.0) if isinstance(faults, Faults) else frozenset()
        self.plan = self.plan._replace(actions=[action for action in self.plan.actions if action.node not in self.dead])
        super().begin()
        for node in sorted(self.dead):
            self.record("crash", node, self.application_id(node, ""))
        self.sleepless = [node for node, machine in enumerate(self.machines) if machine.wants_cycles]
        if self.sleepless and self.scenario.end is None:
            raise ScenarioError("end is missing: this overlay acts in every round for ever; add `end`, a round number")
        self.wake(1)

    def stillborn(self, share: float) -> frozenset[NodeId]:
        """Of the nodes that say nothing themselves, as many as are this share of all."""
        speak = {action.node for action in self.plan.actions if isinstance(action.event, Publish)}
        count = round(share * self.scenario.nodes.count)
        silent = [node for node in range(self.scenario.nodes.count) if node not in speak]
        return frozenset(draw.sample(self.scenario.seed, draw.STILLBORN, silent, count))

    def carry_out(self, node: NodeId, effects: Iterable[Effect]) -> None:
        if not (self.loss or self.dead):
            super().carry_out(node, effects)
        elif node not in self.dead:
            for effect in effects:
                if not isinstance(effect, Send):
                    super().carry_out(node, [effect])
                elif self.is_lost(node, effect.to):
                    self.recorder.sent(self.now, node, effect.packet, effect.to, self.now, self.now + 1)
                else:
                    super().carry_out(node, [effect])

    def is_lost(self, node: NodeId, to: NodeId) -> bool:
        """A packet's luck goes by its number at its sender."""
        number = self.network.sent[node] = self.network.sent[node] + 1
        return to in self.dead or draw.unit(draw.draw(self.scenario.seed, draw.CHANNEL, node, number)) < self.loss

    def wake(self, number: Time) -> None:
        if self.scenario.end is None or number <= self.scenario.end:
            for node in self.sleepless:
                self.calendar.push(number, (node, CYCLE, 0, number, Cycle(number), b""))

    def step(self) -> None:
        before = self.now
        super().step()
        if self.now > before:
            self.wake(self.now + 1)
