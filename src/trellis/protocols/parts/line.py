"""What a publisher has on one topic between the application's call and the overlay: payloads that wait for numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from trellis.events import Publish
from trellis.protocols.parts.desk_packets import Stamped
from trellis.words import Message, MessageId

ASKS_MAX = 4


class Line:
    """Messages of one node on one topic. All counts are of payloads, as in a message's id."""

    __slots__ = ("asked", "asks", "first", "stamps", "waiting")

    def __init__(self) -> None:
        self.first = 1  # the oldest that was not handed down yet
        self.asked = 0  # up to which one I asked
        self.asks: deque[int] = deque()  # the same, of each question that is not answered
        self.waiting: deque[tuple[MessageId, Publish]] = deque()
        self.stamps: dict[int, Stamped] = {}  # by the first of them

    @property
    def last(self) -> int:
        """The newest that is here, or was."""
        return self.waiting[-1][0].seq + self.waiting[-1][1].count - 1 if self.waiting else self.first - 1

    @property
    def open(self) -> bool:
        """Whether an answer is due."""
        return self.asked >= self.first

    @property
    def busy(self) -> bool:
        """Whether enough questions are on their way: what comes meanwhile is asked for together."""
        return len(self.asks) >= ASKS_MAX

    def ask(self, upto: int) -> None:
        self.asked = upto
        self.asks.append(upto)

    def stamp(self, stamped: Stamped) -> Iterator[Message]:
        """Messages that can be handed down now, in the order in which they were published."""
        if stamped.last >= self.first:
            self.stamps[stamped.first] = stamped
        while self.waiting and (run := self.run()) is not None:
            id, said = self.waiting.popleft()
            own = (id.topic, run.number + id.seq - run.first)
            self.first = id.seq + said.count
            while self.asks and self.asks[0] < self.first:
                self.asks.popleft()
            yield Message(id, said.payload, (), said.count, said.awaited, tuple(sorted((own, *run.entries))))

    def run(self) -> Stamped | None:
        """Where the oldest has its number from; what lies before it is over."""
        for first in [first for first, run in self.stamps.items() if run.last < self.first]:
            del self.stamps[first]
        return next((run for run in self.stamps.values() if run.first <= self.first), None)
