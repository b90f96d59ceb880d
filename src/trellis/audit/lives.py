"""Lives: what a node remembers, and what its application was told, ends when the node does.

Promises: every row with the life of the node where it happened. A row names the life of the message's *source*; that of
          the node itself follows from its `start` rows: each of them begins the next one.
Assumes:  rows of one node are in the order in which it lived through them.

A new life has forgotten what the former one delivered: the application was started anew with it. So it may be handed
the same message again, in whatever place among the others its new subscription has for it, and what it publishes does
not follow what the former life had read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from trellis.audit.witness import id_of
from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId, Origin, Topic

Life = tuple[NodeId, int]


def lived(rows: Iterable[Row]) -> Iterator[tuple[Life, Row]]:
    """Each row with the life in which its node is."""
    starts: Counter[NodeId] = Counter()
    for row in rows:
        if row.kind == "start":
            starts[row.node] += 1
        yield (row.node, starts[row.node]), row


class Gaps:
    """What applications were told not to wait for any more. Ranges: a gap may be long."""

    def __init__(self) -> None:
        self.ranges: dict[tuple[Life, Origin, Topic], list[range]] = {}

    def tell(self, life: Life, row: Row) -> None:
        id = id_of(row)
        self.ranges.setdefault((life, id.origin, id.topic), []).append(range(id.seq, id.seq + row.batch))

    def told(self, life: Life, id: MessageId) -> bool:
        return any(id.seq in numbers for numbers in self.ranges.get((life, id.origin, id.topic), ()))
