"""For scripts without asyncio: `with trellis.sync.Node(...) as node`, `with trellis.sync.connect(...) as client`.

Promises: what `Bus` promises, by calls that block; with `timeout` (seconds) they raise `TimeoutError` when it takes
          longer. A timeout or Ctrl-C while reading loses nothing: the next read goes on where that one was. Ctrl-C
          ends the call that waits; leaving the block then leaves the cluster cleanly.
Assumes:  one thread reads a subscription at a time. Other calls may come from any thread.

The loop runs in a thread of its own, one for each node or client.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from trellis.errors import LocalProtocolError
from trellis.live import api, client, subscription
from trellis.live.bus import ORDER, Topics, chosen
from trellis.live.links import LINKS
from trellis.live.subscription import Batch, Event, Gap, rest
from trellis.protocols import MESH
from trellis.words import NodeId, Topic

T = TypeVar("T")


class Doing(Generic[T]):
    """Something under way in the loop. Whoever waits for it holds no lock: an interrupt that came just when one was
    taken would leave it taken, and the loop would wait for it for ever. So no `concurrent.futures.Future`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, what: Coroutine[Any, Any, T]) -> None:
        self.loop = loop
        self.over: SimpleQueue[asyncio.Task[T]] = SimpleQueue()
        self.task: asyncio.Task[T] | None = None
        self.unwanted = False
        loop.call_soon_threadsafe(self.start, what)

    def start(self, what: Coroutine[Any, Any, T]) -> None:
        self.task = self.loop.create_task(what)
        self.task.add_done_callback(self.end)
        if self.unwanted:
            self.task.cancel()

    def end(self, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # it may be that nobody asks any more
        self.over.put(task)

    def result(self, timeout: float | None = None) -> T:
        try:
            task = self.over.get(timeout=timeout)
        except Empty:
            raise TimeoutError from None
        self.over.put(task)  # for whoever asks again
        if task.cancelled():
            raise CancelledError
        return task.result()

    def cancel(self) -> None:
        self.loop.call_soon_threadsafe(self.stop)

    def stop(self) -> None:
        self.unwanted = True
        if self.task is not None:
            self.task.cancel()


class Background:
    """An event loop in a thread, which ends with the program at the latest."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="trellis", daemon=True)
        self.thread.start()

    def begin(self, what: Coroutine[Any, Any, T]) -> Doing[T]:
        return Doing(self.loop, what)

    def call(self, what: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Do it there, and wait for it here. Whoever stops waiting stops it."""
        doing = self.begin(what)
        try:
            return doing.result(timeout)
        except BaseException:
            doing.cancel()
            raise

    def end(self) -> None:
        self.call(end_others())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


async def end_others() -> None:
    """Let every other task of this loop come to its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Subscription:
    """Events of its topics, one by one: `for event in subscription`. Gaps come in their places."""

    def __init__(self, background: Background, inner: subscription.Subscription) -> None:
        self.background = background
        self.inner = inner
        self.order = inner.order
        self.items: list[Batch | Gap] = []  # fetched, the next one last
        self.events: list[Event] = []  # of the batch that is being read, the next one last
        self.fetching: Doing[list[Batch | Gap]] | None = None  # under way, perhaps since an earlier call

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Of which more may come."""
        return self.inner.topics

    def next(self, timeout: float | None = None) -> Event | Gap:
        """The next event or gap. StopIteration when the subscription has ended."""
        if not self.events:
            item = self.next_batch(timeout)
            if isinstance(item, Gap):
                return item
            self.events = item.events()[::-1]
        return self.events.pop()

    def next_batch(self, timeout: float | None = None) -> Batch | Gap:
        """The next batch or gap. StopIteration when the subscription has ended."""
        if self.events:
            return rest(self.events)
        if not self.items:
            self.fetching = self.fetching or self.background.begin(fetch(self.inner))
            found = self.fetching.result(timeout)  # if this is given up, the next call waits for the same
            self.fetching = None
            if not found:
                raise StopIteration
            self.items = found[::-1]
        return self.items.pop()

    def batches(self) -> Iterator[Batch | Gap]:
        """Batches and gaps, as they come: many messages at the price of one."""
        try:
            while True:
                yield self.next_batch()
        except StopIteration:
            return

    def __iter__(self) -> Iterator[Event | Gap]:
        return self

    def __next__(self) -> Event | Gap:
        return self.next()

    def unsubscribe(self, *topics: Topic, timeout: float | None = None) -> None:
        """End it, or only some of its topics. What has come can still be read."""
        self.background.call(self.inner.unsubscribe(*topics), timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unsubscribe()


async def fetch(inner: subscription.Subscription) -> list[Batch | Gap]:
    """All that waits, once something does; nothing at the end."""
    try:
        found = [await inner.next()]
    except StopAsyncIteration:
        return []
    while inner.waiting:
        found.append(await inner.next())
    return found


class Bus:
    """Topics to publish on and to subscribe to, from a script. Runs from `with` to the end of the block."""

    inner: api.Node | client.Client
    background: Background | None = None

    def __enter__(self) -> Self:
        self.background = Background()
        try:
            self.background.call(self.inner.start())
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.running().call(self.inner.stop())
        finally:
            self.end()

    def end(self) -> None:
        if self.background is not None:
            background, self.background = self.background, None
            background.end()

    def running(self) -> Background:
        if self.background is None:
            raise LocalProtocolError("this is not running; use it within `with`")
        return self.background

    def subscribe(self, topics: Topics, order: str = ORDER, timeout: float | None = None) -> Subscription:
        background = self.running()
        wanted = chosen(topics, order, self.inner.overlay)  # here: whatever makes them may block
        return Subscription(background, background.call(self.inner.subscribe(wanted, order), timeout))

    def unsubscribe(self, topic: Topic, timeout: float | None = None) -> None:
        self.running().call(self.inner.unsubscribe(topic), timeout)

    def publish(
        self,
        topic: Topic,
        payload: bytes,
        confirm: bool = False,
        order: str | None = None,
        timeout: float | None = None,
    ) -> None:
        self.running().call(self.inner.publish(topic, payload, confirm, order), timeout)

    def publish_many(
        self,
        topic: Topic,
        payloads: Iterable[bytes],
        confirm: bool = False,
        order: str | None = None,
        timeout: float | None = None,
    ) -> None:
        given = list(payloads)  # here: whatever makes them may block
        self.running().call(self.inner.publish_many(topic, given, confirm, order), timeout)

    def status(self) -> dict[str, Any]:
        """What the node says of itself: members, topics, windows, queues."""
        return self.running().call(status(self.inner))

    @property
    def address(self) -> str:
        """host:port of the node."""
        return self.inner.address

    @property
    def place(self) -> NodeId:
        """Of the node: the source of what is published here."""
        return self.inner.place


async def status(inner: api.Node | client.Client) -> dict[str, Any]:
    return inner.status() if isinstance(inner, api.Node) else await inner.status()


class Node(Bus):
    """A member of a cluster in this process. What is given means what it means for `trellis.Node`."""

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        join: str | None = None,
        data: Path | str | None = None,
        keys: Path | str | None = None,
        name: str | None = None,
        plaintext: bool = False,
        trace: Path | str | None = None,
        advertise: str | None = None,
        hasty_buffer: int = 0,
        hasty_ttl_ms: int = 0,
        overlay: str = MESH,
        links: int = LINKS,
    ) -> None:
        hasty = (hasty_buffer, hasty_ttl_ms)
        self.inner = api.Node(listen, join, data, keys, name, plaintext, trace, advertise, *hasty, overlay, links)


class Client(Bus):
    """A program at a node of another process. Use `trellis.sync.connect`."""

    def __init__(self, inner: client.Client) -> None:
        self.inner = inner


def connect(address: str, keys: Path | str | None = None, name: str | None = None, plaintext: bool = False) -> Client:
    """A client of the node at trellis://host:port, to be used with `with`."""
    return Client(client.connect(address, keys, name, plaintext))
