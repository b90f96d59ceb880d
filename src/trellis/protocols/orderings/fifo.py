"""FIFO: the messages of one source on one topic are delivered in the order in which they were published.

Promises: number n of an origin is delivered after number n - 1, or after the start of the session if n - 1 is older.
Assumes:  numbers without gaps per origin and topic, and a start cut for a joiner.
"""

from __future__ import annotations

from trellis.machine import Place
from trellis.protocols.interest import Session
from trellis.protocols.layers import GAPLESS, START_CUT, Ordering
from trellis.protocols.seam import Missing
from trellis.words import Message, Origin, Topic, Vector


class Fifo(Ordering):
    """Per origin, one number after the other."""

    promise = "messages of one source on one topic are delivered in the order published"
    source = "Hadzilacos, Toueg 1994"
    audits = ("creation", "duplicate", "uninvited", "fifo", "lost", "stuck")
    needs = frozenset({START_CUT, GAPLESS})

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.ahead: dict[Topic, dict[tuple[Origin, int], Message]] = {}  # held back

    def begin(self, topic: Topic, cut: Vector) -> None:
        for message in self.ahead.get(topic, {}).values():
            self.hold(message, -1)
        self.ahead[topic] = {}

    def deliverable(self, session: Session, message: Message) -> bool:
        return message.id.seq == session.delivered.get(message.id.origin, 0) + 1

    def upon_arrive(self, session: Session, message: Message) -> None:
        id = message.id
        self.ahead[id.topic][id.origin, id.seq] = message
        self.hold(message)
        self.go_on(session, id.topic, id.origin)

    def go_on(self, session: Session, topic: Topic, origin: Origin) -> None:
        ahead = self.ahead[topic]
        following = session.delivered.get(origin, 0) + 1
        while (next_one := ahead.pop((origin, following), None)) is not None:
            self.hold(next_one, -1)
            self.deliver_and_remember(session, next_one)
            following = next_one.last + 1

    def clear_below(self, session: Session, topic: Topic, cut: Vector) -> list[Missing]:
        """What came after a hole may be delivered now that the hole is told."""
        ahead = self.ahead[topic]
        for origin, seq in sorted(key for key in ahead if key[1] <= cut.get(key[0], 0)):
            message = ahead.pop((origin, seq))
            self.hold(message, -1)
            self.deliver_and_remember(session, message)
        return []
