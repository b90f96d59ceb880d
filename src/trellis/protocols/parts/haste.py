"""What a subscriber keeps in mind that would rather go on than wait: what it holds back, and what it passed over.

Source:   TNO section 4, "Working with unreliable ENSs": a buffer of b events, and a timer for each of them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from trellis.words import Message, MessageId, Time, Topic

PASSED_MAX = 10_000  # rows of numbers that were passed over and may still come; then there is no more haste


class Held(NamedTuple):
    """A message that something smaller may precede."""

    message: Message
    since: Time


class Buffer:
    """The messages that are held back, in the order in which they came."""

    def __init__(self, room: int, ttl: int) -> None:
        self.room = room  # b: messages; 0: any number
        self.ttl = ttl  # TTL_e, the same for all; 0: for as long as it takes
        self.held: dict[MessageId, Held] = {}

    @property
    def head(self) -> Held | None:
        return next(iter(self.held.values()), None)

    @property
    def overflows(self) -> bool:
        return 0 < self.room < len(self.held)

    @property
    def half_full(self) -> bool:
        return 0 < self.room <= 2 * len(self.held)

    def expired(self, now: Time) -> Message | None:
        """The head, if it was held for long enough."""
        head = self.head
        return head.message if head is not None and self.ttl and now - head.since >= self.ttl else None

    def half_over(self, now: Time) -> bool:
        return self.ttl > 0 and self.head is not None and 2 * (now - self.head.since) >= self.ttl

    def next_time(self, now: Time) -> Time | None:
        """When half of the head's time is over, or all of it."""
        head = self.head
        if head is None or not self.ttl:
            return None
        half = head.since + (self.ttl + 1) // 2
        return half if half > now else max(now + 1, head.since + self.ttl)


class Passed:
    """Numbers of each topic that were passed over and may still come."""

    def __init__(self) -> None:
        self.rows: dict[Topic, list[tuple[int, int]]] = {}  # from the first to the last, ascending
        self.count = 0

    @property
    def full(self) -> bool:
        return self.count >= PASSED_MAX

    def add(self, topic: Topic, first: int, last: int) -> None:
        """They are above all that were added before."""
        self.rows.setdefault(topic, []).append((first, last))
        self.count += 1

    def __contains__(self, place: tuple[Topic, int]) -> bool:
        return self.row_of(*place) is not None

    def row_of(self, topic: Topic, number: int) -> int | None:
        rows = self.rows.get(topic, ())
        n = bisect_right(rows, number, key=lambda row: row[0]) - 1
        return n if n >= 0 and number <= rows[n][1] else None

    def take(self, topic: Topic, first: int, last: int) -> list[tuple[int, int]]:
        """Those between these came, or never will: which of them were here."""
        before = self.rows.get(topic, [])
        kept: list[tuple[int, int]] = []
        found: list[tuple[int, int]] = []
        for low, high in before:
            if high < first or last < low:
                kept.append((low, high))
                continue
            found.append((max(low, first), min(high, last)))
            kept += [row for row in ((low, first - 1), (last + 1, high)) if row[0] <= row[1]]
        self.count += len(kept) - len(before)
        self.rows[topic] = kept
        if not kept:
            del self.rows[topic]
        return found

    def forget(self, topic: Topic) -> None:
        self.count -= len(self.rows.pop(topic, ()))
