"""What a subscriber holds back that would rather go on than wait.

Source:   TNO section 4, "Working with unreliable ENSs": a buffer of b events, and a timer for each of them.
"""

from __future__ import annotations

from typing import NamedTuple

from trellis.words import Message, MessageId, Time


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
