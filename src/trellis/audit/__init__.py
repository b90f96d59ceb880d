"""The judges: plain Python over the rows of a trace. Each returns witnesses, not a yes or no."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trellis.audit.causal import causal
from trellis.audit.delivery import checked, lost, stuck
from trellis.audit.fifo import fifo
from trellis.audit.integrity import creation, duplicate, uninvited
from trellis.audit.total import total
from trellis.audit.witness import Witness
from trellis.protocols import ORDERINGS
from trellis.trace.rows import Row
from trellis.trace.table import Trace

AUDITS: dict[str, Callable[..., list[Witness]]] = {
    "creation": creation,
    "duplicate": duplicate,
    "uninvited": uninvited,
    "fifo": fifo,
    "causal": causal,
    "lost": lost,
    "stuck": stuck,
    "total": total,
}

# What each of them checks, in the words of a report.
SAYS = {
    "creation": "nothing is delivered that nobody published",
    "duplicate": "nothing is delivered twice",
    "uninvited": "nothing is delivered to a node that is not subscribed",
    "fifo": "messages of one source are delivered in the order published",
    "causal": "nothing is delivered before what happened before it",
    "lost": "everything reaches every steady subscriber",
    "stuck": "nothing is held back for ever",
    "total": "two subscribers deliver what both deliver in the same order",
}

# What each ordering promises; a run is judged by what it promised.
PROMISES = {name: ordering.audits for name, ordering in ORDERINGS.items()}

NEEDED_KINDS = ("publish", "deliver", "receive", "skip", "settle", "subscribe", "confirm", "unsubscribe")


def judge(trace: Trace, promises: Iterable[str], quiet: bool = True) -> dict[str, list[Witness]]:
    """Every witness against every promise, by name.

    `quiet`: the run went on until nothing was left to happen. If it was cut short, what is stuck cannot be judged, and
    that name is missing from the answer.
    """
    rows = needed_rows(trace)
    found = {}
    for name in promises:
        if name == "lost":
            found[name] = lost(rows, quiet)
        elif name != "stuck" or quiet:
            found[name] = AUDITS[name](rows)
    return found


def pairs_checked(trace: Trace, quiet: bool = True) -> int:
    """How many (message, steady subscriber) pairs stand behind a verdict on `lost`."""
    return checked(needed_rows(trace), quiet)


def needed_rows(trace: Trace) -> list[Row]:
    """Acknowledgements and membership packets tell the audits nothing."""
    return [row for row in trace.of_kind(*NEEDED_KINDS).rows() if row.kind != "receive" or row.batch > 0]


__all__ = ["AUDITS", "PROMISES", "SAYS", "Witness", "judge", "pairs_checked"]
