"""What an application reads: events of one topic or of several, one by one or in batches, and gaps in their places.

Source:   the bound that readers share is that of queues in a switch: dynamic thresholds (Choudhury and Hahne 1998).
Promises: events of all topics of a subscription come in the order in which the node's machine delivered them; what it
          delivered out of order says so.
          Nothing is left out without a `Gap` in its place. What waits for a slow reader is bounded, and so is what
          waits for all readers of one program together; past a bound the newest are left out, and the reader is told
          which when it comes to that point. However many readers sleep, something is left for those that are awake.
"""

from __future__ import annotations

import asyncio
from bisect import bisect
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType

import msgspec

from trellis.errors import NotSubscribed
from trellis.live.tally import Tally
from trellis.words import OUT_OF_ORDER, NodeId, Topic

MESSAGES_MAX = 65_536  # that wait for a reader
BYTES_MAX = 64 << 20  # that wait for all readers of one program
OVERHEAD = 64  # bytes of memory that a message takes besides its payload
TOO_SLOW = "the reader was too slow"


class Event(msgspec.Struct, frozen=True, gc=False):
    """One message, as it was published."""

    payload: bytes
    topic: Topic
    source: NodeId
    incarnation: int  # which life of the source
    seq: int  # counts per source and topic, from 1
    tags: tuple[str, ...] = ()

    @property
    def out_of_order(self) -> bool:
        """Whether it came too late for a place among the others: something that comes after it was read before."""
        return OUT_OF_ORDER in self.tags


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Messages of one source, numbered one after the other from `seq` on."""

    payloads: list[bytes]
    topic: Topic
    source: NodeId
    incarnation: int
    seq: int
    tags: tuple[str, ...] = ()

    @property
    def out_of_order(self) -> bool:
        """Whether they came too late for a place among the others: something that comes after them was read before."""
        return OUT_OF_ORDER in self.tags

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


def rest(events: list[Event]) -> Batch:
    """What is left of a batch that was read one by one, the next one last. It is taken away from there."""
    first = events[-1]
    payloads = [event.payload for event in reversed(events)]
    events.clear()
    return Batch(payloads, first.topic, first.source, first.incarnation, first.seq, first.tags)


class Budget:
    """Bytes that wait for all readers of one program: of this process, or of a client."""

    def __init__(self) -> None:
        self.used = 0

    def grant(self, held: int, wanted: int) -> bool:
        """Whether a reader that holds so much gets more: it may hold as much as is free. Then it is taken."""
        if held + wanted > BYTES_MAX - self.used:
            return False
        self.used += wanted
        return True


class Subscription:
    """An async iterator over the events of its topics. `async with` ends the subscription at the end of the block."""

    def __init__(
        self,
        topics: Iterable[Topic],
        order: str,
        end: Callable[[Subscription, tuple[Topic, ...]], Awaitable[None]],
        messages_max: int = MESSAGES_MAX,
        tally: Tally | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.topics = tuple(topics)  # of which more may come
        self.order = order
        self.messages_max = messages_max
        self.tally = tally or Tally()
        self.budget = budget or Budget()
        self.end = end
        self.waiting: deque[tuple[Batch | Gap, int]] = deque()  # each with its bytes
        self.taken = 0  # items that do not wait any more
        self.messages = 0  # that wait; a gap counts as one
        self.messages_of: dict[Topic, int] = {}  # the same by topic, where there are any
        self.bytes = 0  # in memory
        # Since the last batch; by topic, life and reason; ascending.
        self.gaps: dict[tuple[Topic, NodeId, int, str], list[Gap]] = {}
        self.events: list[Event] = []  # of the batch that is read one by one, the next one last
        self.over: BaseException | None = None  # why nothing more comes
        self.bell = asyncio.Event()  # something waits, or nothing more comes

    # From the node

    def put(self, batch: Batch, size: int) -> None:
        """`size`: bytes of its payloads."""
        count = len(batch.payloads)
        size += OVERHEAD * count
        many = (self.waiting or self.gaps) and self.messages + count > self.messages_max
        if many or not self.budget.grant(self.bytes, size):
            self.tally.left_out += count
            self.leave_out(Gap(batch.topic, batch.source, batch.incarnation, batch.seq, count, TOO_SLOW))
            return
        if self.gaps:
            self.place_gaps()
        self.count(batch.topic, count)
        self.bytes += size
        self.waiting.append((batch, size))
        self.bell.set()

    def count(self, topic: Topic, more: int) -> None:
        self.messages += more
        left = self.messages_of.get(topic, 0) + more
        if left:
            self.messages_of[topic] = left
        else:
            del self.messages_of[topic]

    def leave_out(self, gap: Gap) -> None:
        """Gaps that touch become one, so that they stay few however long a reader sleeps."""
        listed = self.gaps.setdefault((gap.topic, gap.source, gap.incarnation, gap.why), [])
        n = bisect(listed, gap.seq, key=lambda other: other.seq)
        if n and listed[n - 1].seq + listed[n - 1].count == gap.seq:
            n -= 1
            before = listed.pop(n)
            gap = msgspec.structs.replace(before, count=before.count + gap.count)
        if n < len(listed) and gap.seq + gap.count == listed[n].seq:
            gap = msgspec.structs.replace(gap, count=gap.count + listed.pop(n).count)
        listed.insert(n, gap)
        self.bell.set()

    def place_gaps(self) -> None:
        """They are complete: what comes now comes after them."""
        for (topic, *_), listed in self.gaps.items():
            self.count(topic, len(listed))
            self.waiting.extend((gap, 0) for gap in listed)
        self.gaps.clear()

    def drop(self, topic: Topic) -> None:
        """Nothing more comes of a topic; after the last one, nothing more at all."""
        if topic in self.topics:
            self.topics = tuple(other for other in self.topics if other != topic)
            if not self.topics:
                self.close()

    def close(self, why: BaseException | None = None) -> None:
        """Nothing more comes; what waits can still be read, and is on the account of whoever keeps it for that."""
        if self.over is None:
            self.budget.used -= self.bytes
            self.budget = Budget()
            self.budget.used = self.bytes
        self.over = self.over or why or StopAsyncIteration()
        self.bell.set()

    # For the application

    async def next(self) -> Batch | Gap:
        """The next batch or gap; StopAsyncIteration when the subscription has ended."""
        if self.events:
            return rest(self.events)
        while not self.waiting:
            if self.gaps:
                self.place_gaps()
            elif self.over is not None:
                raise self.over
            else:
                await self.arrival()
        item, size = self.waiting.popleft()
        self.taken += 1
        self.count(item.topic, -len(item.payloads) if isinstance(item, Batch) else -1)
        self.bytes -= size
        self.budget.used -= size
        return item

    async def arrival(self) -> None:
        """Until there is something to read, or nothing more comes. It stays where it is, and counts as waiting."""
        while not (self.events or self.waiting or self.gaps or self.over):
            self.bell.clear()
            await self.bell.wait()

    async def batches(self) -> AsyncIterator[Batch | Gap]:
        """Batches and gaps, as they come: many messages at the price of one."""
        while True:
            try:
                item = await self.next()
            except StopAsyncIteration:
                return
            yield item

    async def __aiter__(self) -> AsyncIterator[Event | Gap]:
        events = self.events  # kept here, so that whoever stops in the middle of a batch can go on later
        while True:
            while events:
                yield events.pop()
            try:
                item = await self.next()
            except StopAsyncIteration:
                return
            if isinstance(item, Gap):
                yield item
            else:
                events += reversed(item.events())

    async def unsubscribe(self, *topics: Topic) -> None:
        """End it, or only some of its topics. What has come can still be read."""
        for topic in topics:
            if topic not in self.topics:
                raise NotSubscribed(f"topic {topic!r}: this subscription has {self.topics}; there is nothing to end")
        await self.end(self, topics or self.topics)

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.unsubscribe()
