"""The judges: plain Python over the rows of a trace. Each returns witnesses, not a yes or no."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trellis.audit.causal import causal
from trellis.audit.delivery import lost, stuck
from trellis.audit.fifo import fifo
from trellis.audit.integrity import creation, duplicate
from trellis.audit.witness import Witness
from trellis.trace.rows import Row
from trellis.trace.table import Trace

AUDITS: dict[str, Callable[..., list[Witness]]] = {
    "creation": creation,
    "duplicate": duplicate,
    "fifo": fifo,
    "causal": causal,
    "lost": lost,
    "stuck": stuck,
}

# What each of them checks, in the words of a report.
SAYS = {
    "creation": "nothing is delivered that nobody published",
    "duplicate": "nothing is delivered twice",
    "fifo": "messages of one source are delivered in the order published",
    "causal": "nothing is delivered before what happened before it",
    "lost": "everything reaches every steady subscriber",
    "stuck": "nothing is held back for ever",
}

# What each ordering promises; a run is judged by what it promised.
PROMISES = {
    "unordered": ("creation", "duplicate", "lost", "stuck"),
    "fifo": ("creation", "duplicate", "fifo", "lost", "stuck"),
    "causal": ("creation", "duplicate", "fifo", "causal", "lost", "stuck"),
}

NEEDED_KINDS = ("publish", "deliver", "receive", "skip", "settle", "subscribe", "confirm", "unsubscribe")


def judge(trace: Trace, promises: Iterable[str], quiet: bool = True) -> dict[str, list[Witness]]:
    """Every witness against every promise. `quiet`: the run went on until nothing was left to happen."""
    rows = list(packets_with_messages(trace.of_kind(*NEEDED_KINDS)))
    patient = {"lost", "stuck"}
    return {name: AUDITS[name](rows, quiet) if name in patient else AUDITS[name](rows) for name in promises}


def packets_with_messages(trace: Trace) -> Iterable[Row]:
    """Acknowledgements and membership packets tell the audits nothing."""
    return (row for row in trace.rows() if row.kind != "receive" or row.batch > 0)


__all__ = ["AUDITS", "PROMISES", "SAYS", "Witness", "judge"]
