"""The trace of a cluster: what its nodes wrote, life by life, as one run that audits can read.

Promises: rows are in the order of (time, node, writing), which respects causality, because their times come from a
          hybrid logical clock. A life without a `stop` gets a `crash` as its last row, unless it goes on. A piece that
          is missing or damaged, and a life that was written twice, are one clear TraceError: no verdict on half a
          trace.
Assumes:  a node's clock does not fall back behind its former life (`record.last_time`). Where it did all the same, the
          later rows of that node are moved up to the time that it had reached.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from trellis.errors import TraceError
from trellis.live.cluster import FILE, Cluster
from trellis.live.record import LOCK
from trellis.live.segments import Piece, pieces_in, read
from trellis.trace import store
from trellis.trace.rows import DELIVERIES, Row, arrow_schema
from trellis.trace.table import Numbers, Trace, one_by_one, trace_of
from trellis.words import Topic

NODES, TRACE, RUN = "node-*", "trace", "run"  # a cluster's directory: node-*/trace/, and run/ when it was collected


class Life(NamedTuple):
    """All that one life of one node wrote."""

    node: int
    incarnation: int
    directory: Path
    alive: bool  # it goes on
    pieces: list[Piece]

    @property
    def who(self) -> dict[str, Any]:
        return {"name": self.directory.parent.name, "node": self.node, "incarnation": self.incarnation}

    def rows(self) -> pa.Table:
        found = pa.concat_tables(piece.table for piece in self.pieces)
        if self.alive or self.stopped:
            return found
        last = int(found.column("at")[-1].as_py()) if len(found) else 0
        crash = Row(0, last, self.node, "crash", "", self.node, self.incarnation, 0, "", -1, 0, 0, 0)
        return pa.concat_tables([found, trace_of([crash]).table])

    @property
    def stopped(self) -> bool:
        """Its last row says so; a segment that was begun after it may be empty."""
        last = next((piece.table for piece in reversed(self.pieces) if len(piece.table)), None)
        return last is not None and last.column("kind")[-1].as_py() == "stop"


def is_cluster(directory: Path) -> bool:
    """Whether nodes have left their traces there."""
    return not (directory / store.ABOUT).exists() and any(directory.glob(f"{NODES}/{TRACE}"))


def collect_cluster(directory: Path, at_rest: bool = False) -> Path:
    """Collect the traces of a cluster's nodes into a run beside them; where that is comes back.

    It is also at rest where the cluster's directory remembers that.
    """
    store.check(directory / RUN)
    rested = (directory / FILE).exists() and Cluster.open(directory).known.at_rest
    trace, about = collect(sorted(directory.glob(f"{NODES}/{TRACE}")), at_rest or rested)
    store.write(directory / RUN, trace, about)
    return directory / RUN


def collect(directories: Iterable[Path], at_rest: bool = False) -> tuple[Trace, dict[str, Any]]:
    """The traces of all nodes as one, and what is to be said of it.

    `at_rest`: the caller knows that nothing was left to happen; only then may nodes still be running.
    """
    found = [life for directory in directories for life in lives_in(directory, at_rest)]
    lives = sorted(found, key=lambda life: (life.node, life.incarnation))
    if not lives:
        raise TraceError("no trace of any node was found; give the directory of a cluster that was started with traces")
    for one, two in pairwise(lives):
        if one[:2] == two[:2]:
            raise TraceError(
                f"{two.directory}: life {two.incarnation} of node {two.node} is also in {one.directory}; leave one out"
            )
    trace = merged(lives)
    orders = orders_of(lives)
    hold_judged(trace, orders)
    last = {life.node: life for life in lives}
    kinds = set(orders.values()) or {"unordered"}
    about = {
        "digest": trace.digest(),
        "engine": "live",
        "lives": len(lives),
        "nodes": len(last),
        "ordering": kinds.pop() if len(kinds) == 1 else "several",
        "orders": orders,
        "killed": [life.who for life in lives if not (life.alive or life.stopped)],
        "quiet": at_rest or all(life.stopped for life in last.values()),
    }
    return trace, about


def lives_in(directory: Path, at_rest: bool) -> list[Life]:
    """The lives that were written in one directory, in order."""
    try:
        alive = is_held(directory / LOCK)
        stems = pieces_in(directory)
        pieces = [(place, piece) for place in stems if (piece := read(place)) is not None]
    except OSError as error:
        raise TraceError(f"{directory}: cannot be read ({error.strerror}); give a directory of traces") from None
    if alive and not at_rest:
        raise TraceError(f"{directory}: its node is still running; stop it first")
    found: dict[tuple[int, int], list[Piece]] = {}
    for place, piece in pieces:
        title, listed = piece.title, found.setdefault(key(piece), [])
        if title.number != len(listed):
            raise TraceError(
                f"{place}: piece {len(listed)} of life {title.incarnation} is missing before it; bring it back"
            )
        listed.append(piece)
    newest = max(found, key=lambda who: latest(found[who]), default=None)
    return [Life(*who, directory, alive and who == newest, listed) for who, listed in found.items()]


def latest(pieces: list[Piece]) -> int:
    """When a life wrote its last row."""
    return max((int(piece.table.column("at")[-1].as_py()) for piece in pieces if len(piece.table)), default=0)


def key(piece: Piece) -> tuple[int, int]:
    return piece.title.node, piece.title.incarnation


def is_held(lock: Path) -> bool:
    """Whether a process is writing there: the system lets go of the lock when it dies."""
    if not lock.exists():
        return False
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def merged(lives: list[Life]) -> Trace:
    """Rows of all lives in one order; a line about many messages becomes a row for each of them where it must."""
    tables = [life.rows() for life in lives]
    rows = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    at = rows.column("at").to_numpy().copy()
    node = rows.column("node").to_numpy()
    for lived in np.split(at, np.flatnonzero(np.diff(node)) + 1):  # lives are sorted by node
        np.maximum.accumulate(lived, out=lived)
    rows = one_by_one(replaced(rows, "at", at).take(pa.array(np.lexsort((node, at)))))
    return Trace(replaced(rows, "position", np.arange(len(rows))))


def replaced(table: pa.Table, name: str, cells: Numbers) -> pa.Table:
    column = arrow_schema().get_field_index(name)
    return table.set_column(column, arrow_schema().field(column), pa.array(cells))


def orders_of(lives: list[Life]) -> dict[Topic, str]:
    """By which order each topic was kept. All nodes must agree."""
    found: dict[Topic, tuple[str, Life]] = {}
    for life in lives:
        for piece in life.pieces:
            for topic, ordering in piece.orders.items():
                before, other = found.setdefault(topic, (ordering, life))
                if before != ordering:
                    raise TraceError(
                        f"topic {topic!r}: {before} at node {other.node}, but {ordering} at node {life.node}; "
                        f"a topic has one order, so give it another name there"
                    )
    return {topic: ordering for topic, (ordering, _) in sorted(found.items())}


def hold_judged(trace: Trace, orders: dict[Topic, str]) -> None:
    """No topic goes unjudged because nobody said what it was promised."""
    unknown = sorted(trace.of_kind("publish", *DELIVERIES).used("topic") - set(orders))
    if unknown:
        raise TraceError(f"topic {unknown[0]!r}: no node has told its order; it cannot be judged")
