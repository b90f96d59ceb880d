"""No creation, no duplicate, nothing uninvited: what is delivered was published, once, and is wanted."""

from __future__ import annotations

from collections.abc import Iterable

from trellis.audit.witness import Witness, id_of, in_order
from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId, Time


def creation(rows: Iterable[Row]) -> list[Witness]:
    """A delivered message that nobody published. Logs of several nodes may come in any order."""
    published: set[MessageId] = set()
    delivered: list[tuple[Time, NodeId, MessageId]] = []
    for row in rows:
        if row.kind == "publish":
            published.add(id_of(row))
        elif row.kind == "deliver":
            delivered.append((row.at, row.node, id_of(row)))
    return in_order(
        Witness("creation", at, node, id, None, f"node {node} delivered {id}, which nobody published")
        for at, node, id in delivered
        if id not in published
    )


def duplicate(rows: Iterable[Row]) -> list[Witness]:
    """A message delivered twice at one node."""
    first: dict[tuple[NodeId, MessageId], Time] = {}
    found = []
    for row in rows:
        if row.kind != "deliver":
            continue
        id = id_of(row)
        before = first.setdefault((row.node, id), row.position)
        if before != row.position:
            says = f"node {row.node} delivered {id} again (rows {before} and {row.position})"
            found.append(Witness("duplicate", row.at, row.node, id, None, says))
    return in_order(found)


def uninvited(rows: Iterable[Row]) -> list[Witness]:
    """A delivery at a node whose application is not subscribed to the topic, by its last word."""
    inside: set[tuple[NodeId, str]] = set()
    found = []
    for row in rows:
        place = (row.node, row.topic)
        match row.kind:
            case "subscribe" | "confirm":
                inside.add(place)
            case "unsubscribe":
                inside.discard(place)
            case "deliver" if place not in inside:
                id = id_of(row)
                says = f"node {row.node} delivered {id} though it is not subscribed to {row.topic}"
                found.append(Witness("uninvited", row.at, row.node, id, None, says))
    return in_order(found)
