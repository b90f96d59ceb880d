"""A verdict: a run, what it had promised, and every witness against that."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from trellis.audit import AUDITS, PROMISES, judge, pairs_checked
from trellis.audit.witness import Witness
from trellis.errors import TraceError
from trellis.trace import store


class Verdict(NamedTuple):
    """The judgement of one run on disk."""

    directory: Path
    about: dict[str, Any]
    asked: tuple[str, ...]
    deliveries: int
    pairs_checked: int
    violations: dict[str, int]
    witnesses: dict[str, list[Witness]]  # all, or only the first of each kind where the asker wanted no more

    @property
    def not_judged(self) -> list[str]:
        return [name for name in self.asked if name not in self.violations]

    @property
    def broken(self) -> dict[str, list[Witness]]:
        return {name: self.witnesses[name] for name, count in self.violations.items() if count}

    def as_dict(self) -> dict[str, Any]:
        return {
            "directory": str(self.directory),
            "digest": self.about["digest"],
            "ordering": self.about["ordering"],
            "deliveries": self.deliveries,
            "violations": self.violations,
            "not_judged": self.not_judged,
            "pairs_checked": self.pairs_checked,
            "witnesses": [w.as_dict() for witnesses in self.broken.values() for w in witnesses],
        }


def verdict_on(directory: Path, every: bool) -> Verdict:
    """Read a run and judge it, in memory."""
    trace, about = store.read(directory)
    asked = asked_of(directory, about, every)
    found = judge(trace, asked, quiet=about["quiet"])
    pairs = pairs_checked(trace, quiet=about["quiet"])
    counts = {name: len(witnesses) for name, witnesses in found.items()}
    return Verdict(directory, about, asked, len(trace.of_kind("deliver")), pairs, counts, found)


def asked_of(directory: Path, about: dict[str, Any], every: bool) -> tuple[str, ...]:
    """The audits that a run must stand: what its ordering promised, or every one."""
    ordering = about["ordering"]
    if ordering not in PROMISES:
        raise TraceError(f"{directory}: run.json says ordering {ordering!r}; there are {', '.join(PROMISES)}")
    match about.get("scenario"):
        case {"stack": {"ordering": asked}} if asked != ordering:
            raise TraceError(f"{directory}: run.json says ordering {ordering!r}, but its scenario {asked!r}; run again")
    return tuple(AUDITS) if every else PROMISES[ordering]
