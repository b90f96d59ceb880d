"""What an application reads: events in order, one by one or in batches, and gaps where it was too slow.

Promises: nothing is left out without a `Gap` in its place. What waits for a slow reader is bounded; past the bound the
          newest are left out, and the reader is told which when it comes to that point.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType

import msgspec

from trellis.live.tally import Tally
from trellis.words import NodeId, Topic

MESSAGES_MAX = 65_536  # that wait for a reader
BYTES_MAX = 64 << 20
TOO_SLOW = "the reader was too slow"


class Event(msgspec.Struct, frozen=True, gc=False):
    """One message, as it was published."""

    payload: bytes
    topic: Topic
    source: NodeId
    incarnation: int  # which life of the source
    seq: int  # counts per source and topic, from 1
    tags: tuple[str, ...] = ()


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Messages of one source, numbered one after the other from `seq` on."""

    payloads: list[bytes]
    topic: Topic
    source: NodeId
    incarnation: int
    seq: int
    tags: tuple[str, ...] = ()

    def events(self) -> list[Event]:
        topic, source, incarnation, tags = self.topic, self.source, self.incarnation, self.tags
        return [Event(p, topic, source, incarnation, seq, tags) for seq, p in enumerate(self.payloads, self.seq)]


class Gap(msgspec.Struct, frozen=True, gc=False):
    """`count` messages of a source, from `seq` on, do not come: nobody has them, or the reader was too slow."""

    topic: Topic
    source: NodeId
    incarnation: int
    seq: int
    count: int
    why: str


class Subscription:
    """An async iterator over the events of a topic. `async with` ends the subscription at the end of the block."""

    def __init__(
        self,
        topic: Topic,
        order: str,
        end: Callable[[Subscription], object],
        messages_max: int = MESSAGES_MAX,
        tally: Tally | None = None,
    ) -> None:
        self.topic = topic
        self.order = order
        self.messages_max = messages_max
        self.tally = tally or Tally()
        self.end = end  # starts the end of the subscription, and may be awaited
        self.waiting: deque[Batch | Gap] = deque()
        self.messages = 0
        self.bytes = 0
        self.over: BaseException | None = None  # why nothing more comes
        self.bell: asyncio.Future[None] | None = None  # a reader waits

    # From the node

    def put(self, batch: Batch, size: int) -> None:
        count = len(batch.payloads)
        if self.waiting and (self.messages + count > self.messages_max or self.bytes + size > BYTES_MAX):
            self.tally.left_out += count
            self.leave_out(Gap(batch.topic, batch.source, batch.incarnation, batch.seq, count, TOO_SLOW))
            return
        self.messages += count
        self.bytes += size
        self.waiting.append(batch)
        self.ring()

    def leave_out(self, gap: Gap) -> None:
        """Gaps that follow each other become one, so that they need no bound of their own."""
        last = self.waiting[-1] if self.waiting else None
        if isinstance(last, Gap) and msgspec.structs.replace(last, seq=last.seq + last.count, count=gap.count) == gap:
            self.waiting[-1] = msgspec.structs.replace(last, count=last.count + gap.count)
        else:
            self.waiting.append(gap)
            self.ring()

    def close(self, why: BaseException | None = None) -> None:
        """Nothing more comes; what waits can still be read."""
        self.over = why or StopAsyncIteration()
        self.ring()

    def ring(self) -> None:
        if self.bell is not None and not self.bell.done():
            self.bell.set_result(None)

    # For the application

    async def next(self) -> Batch | Gap:
        """The next batch or gap; StopAsyncIteration when the subscription has ended."""
        while not self.waiting:
            if self.over is not None:
                raise self.over
            self.bell = asyncio.get_running_loop().create_future()
            try:
                await self.bell
            finally:
                self.bell = None
        item = self.waiting.popleft()
        if isinstance(item, Batch):
            self.messages -= len(item.payloads)
            self.bytes -= sum(map(len, item.payloads))
        return item

    async def batches(self) -> AsyncIterator[Batch | Gap]:
        """Batches and gaps, as they come: many messages at the price of one."""
        while True:
            try:
                item = await self.next()
            except StopAsyncIteration:
                return
            yield item

    async def __aiter__(self) -> AsyncIterator[Event | Gap]:
        async for item in self.batches():
            if isinstance(item, Gap):
                yield item
                continue
            for event in item.events():
                yield event

    async def unsubscribe(self) -> None:
        ending = self.end(self)
        if asyncio.isfuture(ending) or asyncio.iscoroutine(ending):
            await ending

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.unsubscribe()
