"""What a node has of its topics, in a form that two nodes can compare with one number.

Source:   anti-entropy (Demers et al. 1987); the checksum is an exclusive or over all entries, so that it changes with
          each of them and not with their order.
Promises: two nodes with the same numbers of the same topics have the same sum; two with the same sum have, but for one
          case in 2**64, the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from trellis import draw
from trellis.protocols.parts.seen import Seen
from trellis.words import Message, Origin, Topic, Vector

Select = Callable[[Topic], bool]


class Account:
    """Per topic, which numbers have come."""

    def __init__(self) -> None:
        self.topics: dict[Topic, Seen] = {}
        self.sums: dict[Topic, int] = {}
        self.changes = 0

    def begin(self, topic: Topic, cut: Vector) -> None:
        """From now on I have this topic, from a cut on."""
        self.topics[topic] = Seen(cut)
        self.sums[topic] = sum_of(topic, cut)
        self.changes += 1

    def end(self, topic: Topic) -> None:
        del self.topics[topic], self.sums[topic]
        self.changes += 1

    def add(self, message: Message) -> bool:
        """Note a message; False when it came before."""
        id = message.id
        seen = self.topics[id.topic]
        before = seen.upto.get(id.origin, 0)
        if not seen.add(id.origin, id.seq, message.last):
            return False
        self.moved(id.topic, id.origin, before)
        return True

    def give_up(self, topic: Topic, origin: Origin, upto: int) -> list[tuple[int, int]]:
        """What is missing up to this number will not come."""
        seen = self.topics[topic]
        before = seen.upto.get(origin, 0)
        missing = seen.give_up(origin, upto)
        self.moved(topic, origin, before)
        return missing

    def moved(self, topic: Topic, origin: Origin, before: int) -> None:
        after = self.topics[topic].upto.get(origin, 0)
        if after != before:
            self.sums[topic] ^= mark(topic, origin, before) ^ mark(topic, origin, after)
            self.changes += 1

    def sum(self, chosen: Select) -> int:
        """Of some of the topics."""
        total = 0
        for topic, part in self.sums.items():
            if chosen(topic):
                total ^= part
        return total

    def vectors(self, chosen: Select) -> dict[Topic, Vector]:
        return {topic: dict(seen.upto) for topic, seen in sorted(self.topics.items()) if chosen(topic)}


def sum_of(topic: Topic, vector: Vector) -> int:
    total = 0
    for origin, upto in vector.items():
        total ^= mark(topic, origin, upto)
    return total


def mark(topic: Topic, origin: Origin, upto: int) -> int:
    """A word that stands for one entry; nothing stands for none."""
    return draw.draw(0, draw.MARK, draw.key_of(topic), *origin, upto) if upto else 0
