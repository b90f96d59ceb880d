"""The cycle-driven host: rounds instead of times.

Promises: what is sent in round r arrives in round r + 1. In a round the nodes take their turns in the order of their
          ids: first the packets of each, then one `Cycle(r)` for a machine that asks for it. The rest is the
          event-driven host.
"""

from __future__ import annotations

from trellis.errors import ScenarioError
from trellis.events import Cycle
from trellis.sim.calendar import CYCLE
from trellis.sim.host import Host
from trellis.words import Time


class CycleHost(Host):
    """Wakes those machines that ask for it (`wants_cycles`) once per round, until the scenario's end."""

    def begin(self) -> None:
        super().begin()
        self.sleepless = [node for node, machine in enumerate(self.machines) if machine.wants_cycles]
        if self.sleepless and self.scenario.end is None:
            raise ScenarioError("end is missing: this overlay acts in every round for ever; add `end`, a round number")
        self.wake(1)

    def wake(self, number: Time) -> None:
        if self.scenario.end is None or number <= self.scenario.end:
            for node in self.sleepless:
                self.calendar.push(number, (node, CYCLE, 0, number, Cycle(number), b""))

    def step(self) -> None:
        before = self.now
        super().step()
        if self.now > before:
            self.wake(self.now + 1)
