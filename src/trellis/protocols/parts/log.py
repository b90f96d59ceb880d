"""What a node has of its topics lately, so that others can get from it what they missed.

Promises: bounded by messages and by bytes over all topics, the oldest go first; what went is known by its number, so
          that whoever asks is told of it and does not wait in vain.
"""

from __future__ import annotations

from collections import deque

from trellis.words import Message, Origin, Topic, Vector

BYTES_MAX = 64 << 20


class Log:
    """Messages by topic and origin."""

    def __init__(self, messages_max: int, bytes_max: int = BYTES_MAX) -> None:
        self.messages_max = messages_max
        self.bytes_max = bytes_max
        self.messages = 0
        self.bytes = 0
        self.held: dict[Topic, dict[Origin, dict[int, Message]]] = {}  # by first number
        self.floor: dict[Topic, Vector] = {}  # numbers up to these are not here: they went, or were below my cut
        self.order: deque[Message] = deque()  # in which they came; may hold some of a topic that was forgotten

    def begin(self, topic: Topic, cut: Vector) -> None:
        """A subscription begins: what is below its cut never comes here."""
        self.forget(topic)
        self.held[topic] = {}
        self.floor[topic] = dict(cut)

    def forget(self, topic: Topic) -> None:
        for by_number in self.held.pop(topic, {}).values():
            for message in by_number.values():
                self.count(message, -1)
        self.floor.pop(topic, None)

    def add(self, message: Message) -> None:
        id = message.id
        self.held[id.topic].setdefault(id.origin, {})[id.seq] = message
        self.order.append(message)
        self.count(message, 1)
        while self.messages > self.messages_max or self.bytes > self.bytes_max:
            self.drop(self.order.popleft())

    def drop(self, message: Message) -> None:
        id = message.id
        by_number = self.held.get(id.topic, {}).get(id.origin, {})
        if by_number.get(id.seq) is not message:  # of an earlier subscription, and gone with it
            return
        del by_number[id.seq]
        self.count(message, -1)
        floor = self.floor[id.topic]
        floor[id.origin] = max(message.last, floor.get(id.origin, 0))

    def count(self, message: Message, sign: int) -> None:
        self.messages += sign * message.count
        self.bytes += sign * len(message.payload)

    def beyond(self, topic: Topic, vector: Vector) -> list[Message]:
        """What I have that somebody with this vector lacks; of each origin in ascending order."""
        found = []
        for origin, by_number in sorted(self.held[topic].items()):
            upto = vector.get(origin, 0)
            found += [by_number[seq] for seq in sorted(by_number) if seq > upto]
        return found

    def gone(self, topic: Topic, vector: Vector) -> Vector:
        """Up to which numbers I cannot help somebody with this vector."""
        return {origin: seq for origin, seq in sorted(self.floor[topic].items()) if seq > vector.get(origin, 0)}
