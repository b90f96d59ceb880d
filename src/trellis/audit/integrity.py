"""No creation, no duplicate, nothing uninvited: what is delivered was published, once, and is wanted.

A message of a source that crashed is no creation: it was published, though nobody was owed it. What comes after the
application was told of a gap in its place is uninvited: nobody waits for it any more, and somebody may have acted on
that. It is no duplicate, for it comes only once.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis.audit.lives import Gaps, Life, lived
from trellis.audit.witness import Witness, id_of, in_order
from trellis.protocols.parts.hierarchy import supers
from trellis.trace.rows import DELIVERIES, OF_NODE, Row
from trellis.words import MessageId, NodeId, Time, Topic


def creation(rows: Iterable[Row]) -> list[Witness]:
    """A delivered message that nobody published. Logs of several nodes may come in any order."""
    published: set[MessageId] = set()
    delivered: list[tuple[Time, NodeId, MessageId]] = []
    for row in rows:
        if row.kind == "publish":
            published.add(id_of(row))
        elif row.kind in DELIVERIES:
            delivered.append((row.at, row.node, id_of(row)))
    return in_order(
        Witness("creation", at, node, id, None, f"node {node} delivered {id}, which nobody published")
        for at, node, id in delivered
        if id not in published
    )


def duplicate(rows: Iterable[Row]) -> list[Witness]:
    """A message delivered twice in one life of a node: a new life may be handed again what the former one got."""
    first: dict[tuple[Life, MessageId], int] = {}
    found = []
    for life, row in lived(rows):
        if row.kind not in DELIVERIES:
            continue
        id = id_of(row)
        before = first.setdefault((life, id), row.position)
        if before != row.position:
            says = f"node {row.node} delivered {id} again (rows {before} and {row.position})"
            found.append(Witness("duplicate", row.at, row.node, id, None, says))
    return in_order(found)


def uninvited(rows: Iterable[Row]) -> list[Witness]:
    """A delivery at a node whose application is not subscribed to the topic or to one that includes it, by its last
    word, or was told of a gap.
    """
    inside: dict[NodeId, set[Topic]] = {}
    gaps = Gaps()
    found = []
    for life, row in lived(rows):
        topics = inside.setdefault(row.node, set())
        if row.kind in ("subscribe", "confirm"):
            topics.add(row.topic)
        elif row.kind == "unsubscribe":
            topics.discard(row.topic)
        elif row.kind in OF_NODE:
            topics.clear()
        elif row.kind == "gap":
            gaps.tell(life, row)
        elif row.kind in DELIVERIES:
            id = id_of(row)
            if row.topic not in topics and topics.isdisjoint(supers(row.topic)):
                says = f"node {row.node} delivered {id} though it is not subscribed to {row.topic}"
            elif gaps.told(life, id):
                says = f"node {row.node} delivered {id} after it had told of a gap in its place"
            else:
                continue
            found.append(Witness("uninvited", row.at, row.node, id, None, says))
    return in_order(found)
