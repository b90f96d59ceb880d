"""FIFO: messages of one source on one topic are delivered in the order in which they were published."""

from __future__ import annotations

from collections.abc import Iterable

from trellis.audit.witness import Witness, id_of, in_order
from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId, Origin, Topic


def fifo(rows: Iterable[Row]) -> list[Witness]:
    """A message delivered after a later one of the same origin and topic."""
    latest: dict[tuple[NodeId, Origin, Topic], MessageId] = {}
    found = []
    for row in rows:
        if row.kind != "deliver":
            continue
        id = id_of(row)
        key = (row.node, id.origin, id.topic)
        before = latest.get(key)
        if before is not None and id.seq < before.seq:
            says = f"node {row.node} delivered {id} after {before}, which was published later"
            found.append(Witness("fifo", row.at, row.node, id, before, says))
        else:
            latest[key] = id
    return in_order(found)
