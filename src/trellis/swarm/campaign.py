"""Many random schedules under audit, and what was found.

Promises: each schedule stands for itself: its seed replays it alone. A failure is counted under the hole or the promise
          that it breaks, and the first of each kind is kept with the command that replays it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trellis.audit import PROMISES, Witness, judge, promises_of
from trellis.audit.diagnosis import HOLES, Diagnosis
from trellis.protocols import WHOLE, never_rests
from trellis.scenario.model import Scenario
from trellis.sim import Run, run
from trellis.swarm.schedule import beat, break_things, lose_replies, make_hasty, schedule
from trellis.swarm.trees import trees
from trellis.trace.rows import DELIVERIES


class Failure(NamedTuple):
    """One kind of failure, with its first witness."""

    kind: str
    about: str
    schedules: int  # in how many it was seen
    seed: int
    replay: str
    witness: Witness


class Tried(NamedTuple):
    """One schedule."""

    scenario: Scenario
    run: Run
    witnesses: dict[str, list[Witness]]
    kinds: dict[str, Witness]  # kind of failure -> its first witness


class Campaign:
    """The tally of many schedules on one stack."""

    def __init__(
        self,
        overlay: str,
        ordering: str,
        faults: bool = False,
        lose: float = 0.0,
        hasty: bool = False,
        hierarchy: bool = False,
    ) -> None:
        self.overlay = overlay
        self.ordering = ordering
        self.faults = faults
        self.lose = lose
        self.hasty = hasty
        self.hierarchy = hierarchy
        self.schedules = 0
        self.failed = 0
        self.deliveries = 0
        self.late = 0  # of those, tagged as out of order
        self.gaps = 0  # messages that an application was told it would not get
        self.violations = dict.fromkeys(PROMISES[ordering], 0)
        self.failures: dict[str, Failure] = {}

    def go(self, seed: int, schedules: int, progress: Callable[[int], None] | None = None) -> None:
        for number in range(schedules):
            self.add(self.try_one(seed + number))
            if progress is not None:
                progress(number + 1)

    def try_one(self, seed: int) -> Tried:
        return try_one(seed, self.overlay, self.ordering, self.faults, self.lose, self.hasty, self.hierarchy)

    def add(self, tried: Tried) -> None:
        self.schedules += 1
        self.failed += bool(tried.kinds)
        self.deliveries += len(tried.run.trace.of_kind(*DELIVERIES))
        self.late += len(tried.run.trace.of_kind("late"))
        self.gaps += int(tried.run.trace.of_kind("gap").numbers("batch").sum())
        for audit, witnesses in tried.witnesses.items():
            self.violations[audit] = self.violations.get(audit, 0) + len(witnesses)
        for kind, witness in tried.kinds.items():
            seed = tried.scenario.seed
            seen = self.failures.get(kind)
            if seen is None:
                about = HOLES.get(kind, f"the promise {kind!r} is broken")
                self.failures[kind] = Failure(kind, about, 1, seed, self.replay(seed), witness)
            else:
                self.failures[kind] = seen._replace(schedules=seen.schedules + 1)

    def replay(self, seed: int) -> str:
        broken = (" --faults" if self.faults else "") + (f" --lose {self.lose}" if self.lose else "")
        broken += (" --hasty" if self.hasty else "") + (" --hierarchy" if self.hierarchy else "")
        return f"trellis swarm --overlay {self.overlay} --ordering {self.ordering}{broken} --schedules 1 --seed {seed}"

    def by_kind(self) -> list[Failure]:
        """V2 before V10."""
        return sorted(self.failures.values(), key=lambda failure: (len(failure.kind), failure.kind))

    def as_dict(self) -> dict[str, object]:
        return {
            "overlay": self.overlay,
            "ordering": self.ordering,
            "faults": self.faults,
            "lose": self.lose,
            "hasty": self.hasty,
            "hierarchy": self.hierarchy,
            "gaps": self.gaps,
            "schedules": self.schedules,
            "schedules_failed": self.failed,
            "deliveries": self.deliveries,
            "late": self.late,
            "lost": self.violations["lost"],
            "stuck": self.violations["stuck"],
            "violations": self.violations,
            "failures": [{**failure._asdict(), "witness": failure.witness.as_dict()} for failure in self.by_kind()],
        }


def try_one(
    seed: int,
    overlay: str,
    ordering: str,
    faults: bool = False,
    lose: float = 0.0,
    hasty: bool = False,
    hierarchy: bool = False,
) -> Tried:
    """Run one schedule and judge it. Names of holes are those of the printed VCube-PS."""
    scenario = (trees if hierarchy else schedule)(seed, overlay, ordering)
    if faults:
        scenario = break_things(scenario)
    if never_rests(overlay):
        scenario = beat(scenario)
    if lose:
        scenario = lose_replies(scenario, lose)
    if hasty:
        scenario = make_hasty(scenario)
    result = run(scenario)
    witnesses = judge(result.trace, promises_of(ordering, scenario.stack.options()), result.quiet)
    found = [witness for listed in witnesses.values() for witness in listed]
    kinds: dict[str, Witness] = {}
    if found and overlay in WHOLE:
        diagnosis = Diagnosis(result.trace.rows(), witnesses)
        for witness in found:
            kinds.setdefault(diagnosis.name(witness), witness)
    else:
        for witness in found:
            kinds.setdefault(witness.audit, witness)
    return Tried(scenario, result, witnesses, kinds)
