"""What an application publishes on one topic, on its way into the machine and until it is settled.

Promises: payloads go in the order in which they were given. What has been accepted and not settled is bounded by
          messages and bytes: past that, publishers wait for room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from trellis.errors import LocalProtocolError
from trellis.live.frames import BUNDLE_MAX
from trellis.words import Topic

MESSAGES_MAX = 65_536  # accepted and not settled
BYTES_MAX = 16 << 20
PORTION_MESSAGES = 1024  # payloads that travel as one message
PORTION_BYTES = 1 << 17
OVERHEAD = 16  # bytes that a payload may need beside its own, on the wire


class Outgoing:
    """Of one topic."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.waiting: list[bytes] = []  # accepted in this turn of the loop
        self.messages = 0  # accepted and not settled
        self.bytes = 0
        self.sizes: dict[int, tuple[int, int]] = {}  # first number -> payloads and bytes, of what is on its way
        self.portion_bytes: list[int] = []  # of portions that have no number yet
        self.confirmations: dict[int, list[asyncio.Future[None]]] = {}  # by the first number that they wait for
        self.unnumbered: list[asyncio.Future[None]] = []  # confirmations for what waits
        self.settled_bell: asyncio.Future[None] | None = None

    @property
    def full(self) -> bool:
        return self.messages >= MESSAGES_MAX or self.bytes >= BYTES_MAX

    async def room(self) -> None:
        """Until something is settled."""
        if self.settled_bell is None or self.settled_bell.done():
            self.settled_bell = asyncio.get_running_loop().create_future()
        await asyncio.shield(self.settled_bell)

    def add(self, payloads: Iterable[bytes]) -> bool:
        """Accept them. True when a flush must be asked for."""
        items, size = weighed(payloads)
        first = not self.waiting
        self.waiting += items
        self.messages += len(items)
        self.bytes += size
        return first and bool(items)

    def portions(self) -> list[list[bytes]]:
        """What waits, cut into what may travel as one message. Each must be given its numbers in this order."""
        waiting, self.waiting = self.waiting, []
        portions = cut(waiting)
        self.portion_bytes += [sum(map(len, items)) for items in portions]
        return portions

    def confirmation(self) -> asyncio.Future[None]:
        """Done when everything accepted so far is settled."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not self.messages:
            future.set_result(None)
        else:
            self.unnumbered.append(future)
            if not self.waiting:
                self.attach()
        return future

    def numbered(self, seq: int, count: int) -> None:
        """A portion has its numbers now."""
        self.sizes[seq] = (count, self.portion_bytes.pop(0) if self.portion_bytes else 0)
        if not self.waiting and not self.portion_bytes:
            self.attach()

    def attach(self) -> None:
        """Those who want a confirmation wait for the last number so far, and with it for all before."""
        if self.unnumbered:
            last = max(self.sizes)
            self.confirmations.setdefault(last, []).extend(self.unnumbered)
            self.unnumbered = []

    def settled(self, seq: int, count: int) -> None:
        """Every confirmed subscriber has these numbers."""
        after = seq + count
        while seq < after:
            known = self.sizes.pop(seq, None)
            if known is None:
                break
            self.messages -= known[0]
            self.bytes -= known[1]
            seq += known[0]
        if self.confirmations:
            self.confirm()
        if self.settled_bell is not None and not self.settled_bell.done() and not self.full:
            self.settled_bell.set_result(None)

    def confirm(self) -> None:
        least = min(self.sizes, default=1 << 62)
        for number in [number for number in self.confirmations if number < least]:
            for future in self.confirmations.pop(number):
                if not future.done():
                    future.set_result(None)

    def fail(self, why: Exception) -> None:
        """Nothing more of this will be settled."""
        futures = [*self.unnumbered, *(f for listed in self.confirmations.values() for f in listed)]
        for future in (*futures, *([self.settled_bell] if self.settled_bell is not None else [])):
            if not future.done():
                future.set_exception(why)
        self.unnumbered, self.confirmations, self.waiting = [], {}, []


def weighed(payloads: Iterable[bytes]) -> tuple[Sequence[bytes], int]:
    """Payloads that can be published, and their bytes."""
    items = payloads if isinstance(payloads, list | tuple) else list(payloads)
    if wrong := set(map(type, items)) - {bytes}:
        raise LocalProtocolError(
            f"a payload of type {wrong.pop().__name__}: it must be bytes; encode text first, with .encode()"
        )
    size = sum(map(len, items))
    if size > PORTION_BYTES and max(map(len, items)) > BUNDLE_MAX - OVERHEAD:
        raise LocalProtocolError(
            f"a payload of {max(map(len, items))} bytes: the limit is {BUNDLE_MAX - OVERHEAD}; cut it into parts"
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
