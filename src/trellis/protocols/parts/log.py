"""What a node has of its topics lately, so that others can get from it what they missed.

Promises: bounded by messages and by bytes over all topics, the oldest go first; what went is known by its number, so
          that whoever asks is told of it and does not wait in vain. A question costs what its answer is long. What
          came since the last `age` is not told yet: it is probably on its way to whoever asks.
"""

from __future__ import annotations

from collections import deque

from trellis.words import ENTRY_BYTES, Message, Origin, Topic, Vector

BYTES_MAX = 64 << 20


class Log:
    """Messages by topic and origin."""

    def __init__(self, messages_max: int, bytes_max: int = BYTES_MAX) -> None:
        self.messages_max = messages_max
        self.bytes_max = bytes_max
        self.messages = 0
        self.bytes = 0
        self.held: dict[Topic, dict[Origin, deque[tuple[int, Message]]]] = {}  # with its age; of an origin ascending
        self.floor: dict[Topic, Vector] = {}  # numbers up to these are not here: they went, or were below my cut
        self.order: deque[Message] = deque()  # in which they came; may hold some of a topic that was forgotten
        self.ages = 0

    def age(self) -> None:
        """What has come so far may be told from now on."""
        self.ages += 1

    def begin(self, topic: Topic, cut: Vector) -> None:
        """A subscription begins: what is below its cut never comes here."""
        self.forget(topic)
        self.held[topic] = {}
        self.floor[topic] = dict(cut)

    def forget(self, topic: Topic) -> None:
        for row in self.held.pop(topic, {}).values():
            for _, message in row:
                self.count(message, -1)
        self.floor.pop(topic, None)

    def add(self, message: Message) -> None:
        """A message that is not here yet."""
        id = message.id
        row = self.held[id.topic].setdefault(id.origin, deque())
        behind = len(row)
        while behind and row[behind - 1][1].id.seq > id.seq:  # mostly it is the latest
            behind -= 1
        row.insert(behind, (self.ages, message))
        self.order.append(message)
        self.count(message, 1)
        while self.messages > self.messages_max or self.bytes > self.bytes_max:
            self.drop(self.order.popleft())

    def drop(self, message: Message) -> None:
        id = message.id
        row = self.held.get(id.topic, {}).get(id.origin, ())
        for n, (_, kept) in enumerate(row):  # mostly it is the first
            if kept is message:
                del row[n]  # type: ignore[union-attr]
                break
        else:  # of an earlier subscription, and gone with it
            return
        self.count(message, -1)
        floor = self.floor[id.topic]
        floor[id.origin] = max(message.last, floor.get(id.origin, 0))

    def count(self, message: Message, sign: int) -> None:
        self.messages += sign * message.count
        self.bytes += sign * (len(message.payload) + ENTRY_BYTES * len(message.stamp))

    def beyond(self, topic: Topic, vector: Vector) -> list[Message]:
        """What I have that somebody with this vector lacks; of each origin in ascending order."""
        found: list[Message] = []
        for origin, row in sorted(self.held[topic].items(), key=lambda item: item[0]):
            upto, start = vector.get(origin, 0), len(row)
            while start and row[start - 1][1].id.seq > upto:
                start -= 1
            found += [row[n][1] for n in range(start, len(row)) if row[n][0] < self.ages]
        return found

    def gone(self, topic: Topic, vector: Vector) -> Vector:
        """Up to which numbers I cannot help somebody with this vector."""
        return {origin: seq for origin, seq in sorted(self.floor[topic].items()) if seq > vector.get(origin, 0)}
