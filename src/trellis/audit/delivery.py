"""Delivery: what is published reaches every steady subscriber, and what arrived is not held back for ever.

Promises: *lost* - a subscriber whose subscription was confirmed before the publication, and which stayed to the end,
          never got the message. *stuck* - a node that is subscribed at the end got the message and neither delivered
          nor skipped it; or a subscription that was never confirmed.
Assumes:  the run went on until nothing was left to happen. A run that was cut short owes only what it had settled.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis.audit.witness import Witness, id_of, ids_of
from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId, Time, Topic

Place = tuple[NodeId, Topic]


class Logbook:
    """What the delivery audit needs of a run, gathered in one pass."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.published: dict[MessageId, Row] = {}
        self.settled: set[MessageId] = set()
        self.delivered: dict[tuple[NodeId, MessageId], Row] = {}
        self.skipped: set[tuple[NodeId, MessageId]] = set()
        self.received: dict[Place, dict[MessageId, Row]] = {}  # the first time, in the last subscription
        self.subscribed: dict[Place, Row] = {}  # places that are subscribed, since when
        self.confirmed: dict[Place, Row] = {}
        self.end: Time = 0
        for row in rows:
            self.note(row)

    def note(self, row: Row) -> None:
        place = (row.node, row.topic)
        self.end = row.at
        match row.kind:
            case "deliver":
                self.delivered[row.node, id_of(row)] = row
            case "receive":
                if place in self.subscribed:
                    for id in ids_of(row):
                        self.received[place].setdefault(id, row)
            case "publish":
                self.published[id_of(row)] = row
            case "skip":
                self.skipped.add((row.node, id_of(row)))
            case "settle":
                self.settled.update(ids_of(row))
            case "subscribe":
                self.subscribed[place] = row
                self.received[place] = {}
            case "confirm":
                self.confirmed[place] = row
                if self.subscribed.setdefault(place, row) is row:
                    self.received[place] = {}
            case "unsubscribe":
                self.subscribed.pop(place, None)
                self.confirmed.pop(place, None)
                self.received.pop(place, None)

    def owed(self, quiet: bool) -> Iterable[tuple[NodeId, MessageId, Row]]:
        """Every message with every steady subscriber that it must reach."""
        by_topic: dict[Topic, list[tuple[NodeId, int]]] = {}
        for (node, topic), confirmed in sorted(self.confirmed.items()):
            by_topic.setdefault(topic, []).append((node, confirmed.position))
        for id, published in self.published.items():
            if quiet or id in self.settled:
                for node, since in by_topic.get(id.topic, []):
                    if since < published.position:
                        yield node, id, published


def lost(rows: Iterable[Row], quiet: bool = True) -> list[Witness]:
    """A message that never came to a steady subscriber."""
    book = Logbook(rows)
    found = []
    for node, id, published in book.owed(quiet):
        key = (node, id)
        if key not in book.delivered and id not in book.received[node, id.topic]:
            skipped = " (it came, and was taken for an old one)" if key in book.skipped else ""
            says = f"node {node} was subscribed all the time and never got {id}, published at {published.at}{skipped}"
            found.append(Witness("lost", published.at, node, id, None, says))
    return found


def stuck(rows: Iterable[Row], quiet: bool = True) -> list[Witness]:
    """A message that came and is still held back when nothing is left to happen."""
    if not quiet:
        return []  # it may still have been about to be delivered
    book = Logbook(rows)
    found = []
    for (node, _), received in book.received.items():
        for id, row in received.items():
            if (node, id) not in book.delivered and (node, id) not in book.skipped:
                says = f"node {node} received {id} at {row.at} and still holds it back at the end, {book.end}"
                found.append(Witness("stuck", row.at, node, id, None, says))
    for (node, topic), subscribed in book.subscribed.items():
        if (node, topic) not in book.confirmed:
            id = id_of(subscribed)
            says = f"node {node} subscribed to {topic!r} at {subscribed.at} and was never confirmed"
            found.append(Witness("stuck", subscribed.at, node, id, None, says))
    return found
