"""FIFO: messages of one source on one topic are delivered in the order in which they were published.

A gap excuses no inversion: it says that numbers are left out, and the ones around them still go up. A life of a node is
judged alone: the next one may begin again further down. What is tagged as out of order has no place among the others.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis.audit.lives import Life, lived
from trellis.audit.witness import Witness, id_of, in_order
from trellis.trace.rows import Row
from trellis.words import MessageId, Origin, Topic


def fifo(rows: Iterable[Row]) -> list[Witness]:
    """A message delivered after a later one of the same origin and topic."""
    latest: dict[tuple[Life, Origin, Topic], MessageId] = {}
    found = []
    for life, row in lived(rows):
        if row.kind != "deliver":
            continue
        id = id_of(row)
        key = (life, id.origin, id.topic)
        before = latest.get(key)
        if before is not None and id.seq < before.seq:
            says = f"node {row.node} delivered {id} after {before}, which was published later"
            found.append(Witness("fifo", row.at, row.node, id, before, says))
        else:
            latest[key] = id
    return in_order(found)
