"""What an application publishes on one topic, on its way into the machine and until it is settled.

Promises: payloads go in the order in which they were given. What has been accepted and not settled is bounded by
          messages and bytes: past that, publishers wait for room.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trellis.errors import LocalProtocolError
from trellis.live.frames import BUNDLE_MAX
from trellis.words import Topic

MESSAGES_MAX = 65_536  # accepted and not settled
BYTES_MAX = 16 << 20
PORTION_MESSAGES = 1024  # payloads that travel as one message
PORTION_BYTES = 1 << 17
OVERHEAD = 16  # bytes that a payload may need beside its own, on the wire
PAYLOAD_MAX = BUNDLE_MAX - OVERHEAD  # bytes


class Under(NamedTuple):
    """A portion on its way."""

    first: int  # which of all accepted payloads its first one is
    payloads: int
    bytes: int


class Outgoing:
    """Of one topic."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.waiting: list[bytes] = []  # accepted in this turn of the loop
        self.awaited = False  # somebody waits until some of these are settled
        self.messages = 0  # accepted and not settled
        self.bytes = 0
        self.accepted = 0  # payloads, ever
        self.given = 0  # of these, those that have a number
        self.under_way: dict[int, Under] = {}  # by the first number, in the order in which they were given
        self.portion_bytes: deque[int] = deque()  # of portions that have no number yet
        self.confirmations: deque[tuple[int, asyncio.Future[None]]] = deque()  # each with what was accepted before it
        self.settled_bell: asyncio.Future[None] | None = None

    @property
    def full(self) -> bool:
        return self.messages >= MESSAGES_MAX or self.bytes >= BYTES_MAX

    async def room(self) -> None:
        """Until something is settled."""
        if self.settled_bell is None or self.settled_bell.done():
            self.settled_bell = asyncio.get_running_loop().create_future()
        await asyncio.shield(self.settled_bell)

    def add(self, payloads: Iterable[bytes], awaited: bool = False) -> bool:
        """Accept them. True when a flush must be asked for."""
        items, size = weighed(payloads)
        first = not self.waiting
        self.waiting += items
        self.awaited |= awaited
        self.accepted += len(items)
        self.messages += len(items)
        self.bytes += size
        return first and bool(items)

    def portions(self) -> list[list[bytes]]:
        """What waits, cut into what may travel as one message. Each must be given its numbers in this order."""
        waiting, self.waiting = self.waiting, []
        portions = cut(waiting)
        self.portion_bytes.extend(sum(map(len, items)) for items in portions)
        return portions

    def confirmation(self) -> asyncio.Future[None]:
        """Done when everything accepted so far is settled."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.messages:
            self.confirmations.append((self.accepted, future))
        else:
            future.set_result(None)
        return future

    def numbered(self, seq: int, count: int) -> None:
        """A portion has its numbers now."""
        self.under_way[seq] = Under(self.given + 1, count, self.portion_bytes.popleft())
        self.given += count

    def settled(self, seq: int, count: int) -> None:
        """Every confirmed subscriber has these numbers."""
        after = seq + count
        while seq < after:
            known = self.under_way.pop(seq, None)
            if known is None:
                break
            self.messages -= known.payloads
            self.bytes -= known.bytes
            seq += known.payloads
        self.confirm()
        if self.settled_bell is not None and not self.settled_bell.done() and not self.full:
            self.settled_bell.set_result(None)

    def confirm(self) -> None:
        """Tell those before whose call nothing is left."""
        first = next(iter(self.under_way.values()), None)
        left = first.first if first is not None else self.given + 1
        while self.confirmations and self.confirmations[0][0] < left:
            future = self.confirmations.popleft()[1]
            if not future.done():
                future.set_result(None)

    def fail(self, why: Exception) -> None:
        """Nothing more of this will be settled."""
        bell = [self.settled_bell] if self.settled_bell is not None else []
        for future in (*bell, *(future for _, future in self.confirmations)):
            if not future.done():
                future.set_exception(why)
        self.confirmations.clear()
        self.waiting = []


def weighed(payloads: Iterable[bytes]) -> tuple[Sequence[bytes], int]:
    """Payloads that can be published, and their bytes."""
    items = payloads if isinstance(payloads, list | tuple) else list(payloads)
    if wrong := set(map(type, items)) - {bytes}:
        raise LocalProtocolError(
            f"a payload of type {wrong.pop().__name__}: it must be bytes; encode text first, with .encode()"
        )
    size = sum(map(len, items))
    if size > PORTION_BYTES and max(map(len, items)) > PAYLOAD_MAX:
        raise LocalProtocolError(
            f"a payload of {max(map(len, items))} bytes: the limit is {PAYLOAD_MAX}; cut it into parts"
        )
    return items, size


def cut(payloads: list[bytes]) -> list[list[bytes]]:
    """Into what may travel as one message."""
    portions: list[list[bytes]] = []
    start = 0
    while start < len(payloads):
        items = payloads[start : start + PORTION_MESSAGES]
        while len(items) > 1 and sum(map(len, items)) > PORTION_BYTES:
            items = items[: len(items) // 2]
        start += len(items)
        portions.append(items)
    return portions
