"""A verdict: a run, what it had promised, and every witness against that."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from trellis.audit import AUDITS, PROMISES, Excused, gaps_told, judge, late_told, pairs_checked, promises_of
from trellis.audit.witness import Witness
from trellis.errors import TraceError
from trellis.trace import store
from trellis.trace.rows import DELIVERIES


class Verdict(NamedTuple):
    """The judgement of one run on disk."""

    directory: Path
    about: dict[str, Any]
    asked: tuple[str, ...]
    deliveries: int
    pairs_checked: int
    violations: dict[str, int]
    gaps: int  # messages of which applications were told that they will not come
    late: int  # deliveries that were tagged as out of order
    witnesses: dict[str, list[Witness]]  # all, or only the first of each kind where the asker wanted no more

    @property
    def not_judged(self) -> list[str]:
        return [name for name in self.asked if name not in self.violations]

    @property
    def broken(self) -> dict[str, list[Witness]]:
        return {name: self.witnesses[name] for name, count in self.violations.items() if count}

    @property
    def empty(self) -> bool:
        """Nothing was delivered, and nothing was owed: no promise was put to the test."""
        return not self.deliveries and not self.broken

    def as_dict(self) -> dict[str, Any]:
        return {
            "directory": str(self.directory),
            "digest": self.about["digest"],
            "ordering": self.about["ordering"],
            "deliveries": self.deliveries,
            "nothing_to_judge": self.empty,
            "violations": self.violations,
            "not_judged": self.not_judged,
            "pairs_checked": self.pairs_checked,
            "gaps": self.gaps,
            "late": self.late,
            "witnesses": [w.as_dict() for witnesses in self.broken.values() for w in witnesses],
        }


def verdict_on(directory: Path, every: bool) -> Verdict:
    """Read a run and judge it, in memory."""
    trace, about = store.read(directory)
    asked = asked_of(directory, about, every)
    found = judge(trace, asked, about["quiet"], excused_of(about, every))
    pairs = pairs_checked(trace, quiet=about["quiet"])
    counts = {name: len(witnesses) for name, witnesses in found.items()}
    deliveries = len(trace.of_kind(*DELIVERIES))
    return Verdict(directory, about, asked, deliveries, pairs, counts, gaps_told(trace), late_told(trace), found)


def asked_of(directory: Path, about: dict[str, Any], every: bool) -> tuple[str, ...]:
    """The audits that a run must stand: what its ordering promised, or those of its topics; or every one."""
    orderings = sorted(set(about.get("orders", {}).values())) or [about["ordering"]]
    for ordering in orderings:
        if ordering not in PROMISES:
            raise TraceError(f"{directory}: run.json says ordering {ordering!r}; there are {', '.join(PROMISES)}")
    match about.get("scenario"):
        case {"stack": {"ordering": asked}} if asked != about["ordering"]:
            raise TraceError(
                f"{directory}: run.json says ordering {about['ordering']!r}, but its scenario {asked!r}; run again"
            )
    promised = {audit for ordering in orderings for audit in promises_of(ordering, options_of(about))}
    return tuple(audit for audit in AUDITS if every or audit in promised)


def options_of(about: dict[str, Any]) -> dict[str, int]:
    """The options of the stack, where the run tells of them."""
    match about.get("scenario"):
        case {"stack": dict(stack)}:
            return {name: value for name, value in stack.items() if isinstance(value, int)}
    return {}


def excused_of(about: dict[str, Any], every: bool) -> Excused:
    """Topics whose own ordering does not promise what another topic's does. One that is not named is not excused."""
    orders = {} if every else about.get("orders", {})
    promised = {topic: promises_of(ordering, options_of(about)) for topic, ordering in orders.items()}
    found = {audit: frozenset(topic for topic in promised if audit not in promised[topic]) for audit in AUDITS}
    return {audit: topics for audit, topics in found.items() if topics}
