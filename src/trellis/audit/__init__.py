"""The judges: plain Python over the rows of a trace. Each returns witnesses, not a yes or no."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from trellis.audit.across import across
from trellis.audit.causal import causal
from trellis.audit.delivery import checked, lost, stuck
from trellis.audit.fifo import fifo
from trellis.audit.integrity import creation, duplicate, uninvited
from trellis.audit.total import total
from trellis.audit.witness import Witness
from trellis.protocols import ORDERINGS
from trellis.trace.rows import DELIVERIES, OF_NODE, Row
from trellis.trace.table import Trace
from trellis.words import Topic

AUDITS: dict[str, Callable[..., list[Witness]]] = {
    "creation": creation,
    "duplicate": duplicate,
    "uninvited": uninvited,
    "fifo": fifo,
    "causal": causal,
    "lost": lost,
    "stuck": stuck,
    "total": total,
    "across": across,
}

# What each of them checks, in the words of a report.
SAYS = {
    "creation": "nothing is delivered that nobody published",
    "duplicate": "nothing is delivered twice",
    "uninvited": "nothing is delivered to a node that is not subscribed, or was told of a gap",
    "fifo": "messages of one source are delivered in the order published",
    "causal": "nothing is delivered before what happened before it",
    "lost": "everything reaches every steady subscriber",
    "stuck": "nothing is held back for ever",
    "total": "two subscribers deliver what both deliver in the same order",
    "across": "nothing is delivered before what happened before it, on whatever topics",
}

# What each ordering promises with its default options.
PROMISES = {name: ordering.audits for name, ordering in ORDERINGS.items()}

NEEDED_KINDS = (
    *("publish", *DELIVERIES, "receive", "skip", "fill", "settle", "gap"),
    *("subscribe", "confirm", "unsubscribe", "suspect", "restore", *OF_NODE),
)

NO_OPTIONS: Mapping[str, int] = {}
Excused = Mapping[str, Collection[Topic]]  # per audit, the topics whose ordering does not promise it
NOBODY: Excused = {}


def promises_of(ordering: str, options: Mapping[str, int] = NO_OPTIONS) -> tuple[str, ...]:
    """What an ordering promises with these options of its stack. A run is judged by what it promised."""
    more = ORDERINGS[ordering].audits_more.items()
    return (*PROMISES[ordering], *(audit for option, audits in more if options.get(option) for audit in audits))


def judge(
    trace: Trace, promises: Iterable[str], quiet: bool = True, excused: Excused = NOBODY
) -> dict[str, list[Witness]]:
    """Every witness against every promise, by name.

    `quiet`: the run went on until nothing was left to happen. If it was cut short, what is stuck cannot be judged, and
    that name is missing from the answer.
    """
    rows = needed_rows(trace)
    found = {}
    for name in promises:
        judged = [row for row in rows if row.topic not in excused[name]] if excused.get(name) else rows
        if name == "lost":
            found[name] = lost(judged, quiet)
        elif name != "stuck" or quiet:
            found[name] = AUDITS[name](judged)
    return found


def pairs_checked(trace: Trace, quiet: bool = True) -> int:
    """How many (message, steady subscriber) pairs stand behind a verdict on `lost`."""
    return checked(needed_rows(trace), quiet)


def gaps_told(trace: Trace) -> int:
    """How many messages applications were told not to wait for. No promise is broken by them, but they are counted."""
    return int(trace.of_kind("gap").numbers("batch").sum())


def late_told(trace: Trace) -> int:
    """How many deliveries were tagged as out of order. An order says nothing of them, but they are counted."""
    return len(trace.of_kind("late"))


def needed_rows(trace: Trace) -> list[Row]:
    """Acknowledgements and membership packets tell the audits nothing."""
    return [row for row in trace.of_kind(*NEEDED_KINDS).rows() if row.kind != "receive" or row.batch > 0]


__all__ = [
    "AUDITS",
    "NOBODY",
    "PROMISES",
    "SAYS",
    "Excused",
    "Witness",
    "gaps_told",
    "judge",
    "late_told",
    "pairs_checked",
    "promises_of",
]
