"""The cycle-driven host: rounds instead of times.

Promises: what is sent in round r arrives in round r + 1, unless it is lost (`network.loss`) or its receiver is dead
          (`faults.stillborn`: from the beginning; whoever publishes is not). In a round the nodes take their turns in
          the order of their ids: first the packets of each, then one `Cycle(r)` for a machine that asks for it. The
          rest is the event-driven host. With `network.upkeep = false` packets that serve no message leave no rows.

          Who comes and goes (`faults.events`) does so at the end of a round: first some die, then others come up. There
          are no links that break, so nobody is told: machines must notice by themselves who has fallen silent. Whoever
          comes up hears of CONTACTS others that are there (`Restore`), as from a bootstrap server. Whoever dies in
          round 0 was never there: nobody is told that it has subscribed.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis import draw
from trellis.effects import Effect, Send
from trellis.errors import ScenarioError
from trellis.events import Cycle, Publish, Restore
from trellis.scenario.model import Crash, Cycles, Faults
from trellis.sim.calendar import CYCLE, FAULT, Entry
from trellis.sim.host import Host, Standings
from trellis.sim.mortal import Breaks, MortalHost, Starts
from trellis.trace.table import Recorder, TerseRecorder
from trellis.words import NodeId, Time

CONTACTS = 8  # of whom a node hears when it comes up


class CycleHost(Host):
    """Wakes those machines that ask for it (`wants_cycles`) once per round, until the scenario's end."""

    def new_recorder(self) -> Recorder:
        network = self.scenario.network
        return TerseRecorder() if isinstance(network, Cycles) and network.upkeep is False else Recorder()

    def begin(self) -> None:
        network, faults = self.scenario.network, self.scenario.faults
        self.loss = network.loss or 0.0 if isinstance(network, Cycles) else 0.0
        share = faults.stillborn or 0.0 if isinstance(faults, Faults) else 0.0
        self.lifeless = self.stillborn(share) if share else frozenset()
        if self.lifeless:
            actions = [action for action in self.plan.actions if action.node not in self.lifeless]
            self.plan = self.plan._replace(actions=actions)
        super().begin()
        for node in sorted(self.lifeless):
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
        if not (self.loss or self.lifeless):
            super().carry_out(node, effects)
        elif node not in self.lifeless:
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
        return to in self.lifeless or draw.unit(draw.draw(self.scenario.seed, draw.CHANNEL, node, number)) < self.loss

    def wake(self, number: Time) -> None:
        if self.scenario.end is None or number <= self.scenario.end:
            for node in self.awake():
                self.calendar.push(number, (node, CYCLE, 0, number, Cycle(number), b""))

    def awake(self) -> list[NodeId]:
        return self.sleepless

    def step(self) -> None:
        before = self.now
        super().step()
        if self.now > before:
            self.wake(self.now + 1)


class ChurningHost(MortalHost, CycleHost):
    """Rounds in which nodes come and go."""

    def begin(self) -> None:
        faults = self.scenario.faults
        assert isinstance(faults, Faults)
        crashes = [fault for fault in faults.events if isinstance(fault, Crash)]
        self.dead = {crash.node for crash in crashes if crash.at == 0}
        for node in sorted(self.dead):
            self.record_life("crash", node)
        super().begin()
        for crash in crashes:
            self.foresee(crash)

    def tell_who_stands(self, standing: Standings) -> None:
        """Of those who are there."""
        there = {topic: tuple(node for node in members if node not in self.dead) for topic, members in standing.items()}
        super().tell_who_stands({topic: members for topic, members in there.items() if members})

    def awake(self) -> list[NodeId]:
        return [node for node in self.sleepless if node not in self.dead]

    def carry_out(self, node: NodeId, effects: Iterable[Effect]) -> None:
        if node not in self.dead:
            super().carry_out(node, effects)

    def work_off(self, entries: list[Entry]) -> None:
        super().work_off([entry for entry in entries if entry[1] != FAULT and entry[0] not in self.dead])
        fates = [entry for entry in entries if entry[1] == FAULT]
        for node, *_, fate, _ in fates:
            if isinstance(fate, Breaks) and node not in self.dead:
                self.end_life(node)
        starting = [node for node, *_, fate, _ in fates if isinstance(fate, Starts) and node in self.dead]
        if starting:
            self.come_up(starting)

    def come_up(self, starting: list[NodeId]) -> None:
        there = [node for node in range(self.scenario.nodes.count) if node not in self.dead] or starting
        for node in starting:
            self.begin_life(node)
        for node in starting:
            life = self.incarnations[node]
            for other in draw.few(self.scenario.seed, draw.CONTACT, there, CONTACTS, node, node, life):
                self.carry_out(node, self.machines[node].step(self.now, Restore(other, self.incarnations[other])))
            self.subscribe_again(node)
