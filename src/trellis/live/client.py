"""A program without a node of its own: `async with trellis.connect("trellis://host:port", ...) as client`.

Promises: what `Bus` promises, through a node of another process. A reader that is too slow is told of gaps, whether it
          fell behind here or on the way. When the connection is lost, whoever reads (after what has come) or waits for
          an answer gets a `NetworkError`.
Assumes:  one event loop, as a node does.
Departs:  there is no silent reconnection: what was published meanwhile could not be told as gaps. Connect again, and
          subscribe from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from trellis.errors import LocalProtocolError, NetworkError, RemoteProtocolError, TrellisError
from trellis.live import transport
from trellis.live.bus import ORDER, Bus, Topics, check, check_orders, chosen
from trellis.live.calls import Call, Calls
from trellis.live.codec import OutOfPlace
from trellis.live.frames import (
    ASKED_MAX,
    VERSION,
    AskStatus,
    Attach,
    Attached,
    Bye,
    Done,
    Event,
    Failed,
    Forget,
    Frame,
    Gap,
    Refused,
    Settled,
    Status,
    Subscribe,
    Unsubscribe,
)
from trellis.live.naming import overlay_of
from trellis.live.net import Net
from trellis.live.outgoing import weighed
from trellis.live.sessions import notice_silence
from trellis.live.subscription import Batch, Budget, Subscription
from trellis.live.subscription import Gap as Lack
from trellis.live.tls import Identity, identity
from trellis.live.transport import Link
from trellis.protocols import live_order
from trellis.protocols.parts.hierarchy import supers
from trellis.words import Topic

SCHEME = "trellis://"
CONNECT_MAX = 5.0  # seconds to be attached
REQUESTS_MAX = ASKED_MAX // 2  # besides publishing


def connect(
    address: str,
    keys: Path | str | None = None,
    name: str | None = None,
    plaintext: bool = False,
    net: Net = transport,
) -> Client:
    """A client of the node at trellis://host:port, to be used with `async with`.

    keys, name directory of certificates, and whose (`trellis keys`); plaintext=True instead, on loopback only
    """
    return Client(address, identity(keys, name, plaintext), net)


class Course:
    """A topic that this client reads."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.standing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.standing.add_done_callback(lambda f: f.cancelled() or f.exception())  # perhaps nobody waits any more
        self.readers: dict[Subscription, None] = {}


class Client(Bus):
    """A program at a node of another process. Use `trellis.connect`."""

    def __init__(self, address: str, tls: Identity | None, net: Net = transport) -> None:
        self.address = address.removeprefix(SCHEME)
        self.tls = tls
        self.net = net
        self.link: Link | None = None
        self.place = self.incarnation = -1  # of the node, and so of what this client publishes
        self.cluster = ""
        self.refs = count(1)
        self.budget = Budget()
        self.courses: dict[Topic, Course] = {}
        self.opening: dict[int, Course] = {}  # by the question that asks for it
        self.wrote: set[Topic] = set()  # topics that it has published on
        self.questions: dict[int, asyncio.Future[Frame]] = {}
        self.asking = asyncio.Semaphore(REQUESTS_MAX)
        self.tasks: set[asyncio.Task[Any]] = set()
        self.calls = Calls(self.refs, self.send)
        self.trouble: TrellisError | None = LocalProtocolError(
            "this client is not connected; use it within `async with`"
        )

    # Life

    async def start(self) -> None:
        """Connect. Returns when the node has attached this client."""
        self.attached: asyncio.Future[Attached] = asyncio.get_running_loop().create_future()
        link = await self.net.dial(self.address, self, self.tls, CONNECT_MAX)
        link.accept()
        notice_silence(link)
        self.link = link
        link.send(Attach(VERSION))
        try:
            answer = await asyncio.wait_for(self.attached, CONNECT_MAX)
        except BaseException as error:
            link.close("not attached")
            if isinstance(error, TimeoutError):
                raise NetworkError(f"{self.address}: no answer within {CONNECT_MAX:g} s; is it a node?") from None
            raise
        self.place, self.incarnation, self.cluster = answer.place, answer.incarnation, answer.cluster
        self.overlay = overlay_of(answer.cluster)

    async def stop(self) -> None:
        """Go. Subscriptions end; what was accepted goes out."""
        if self.link is not None and self.trouble is None:
            self.be_over(LocalProtocolError("this client was closed; connect again"), None)
            self.link.send(Bye("it leaves"))
            self.link.close("it leaves")
            await asyncio.sleep(0)  # whoever waited hears of it

    def be_over(self, trouble: TrellisError, told_readers: TrellisError | None) -> None:
        """Nothing more comes of anything."""
        self.trouble = trouble
        for course in self.courses.values():
            for reader in course.readers:
                reader.close(told_readers)
        self.courses.clear()
        self.calls.fail(trouble)
        for future in self.questions.values():
            if not future.done():
                future.set_exception(trouble)
        self.questions.clear()

    def send(self, frame: Frame) -> None:
        if self.link is not None:
            self.link.send(frame)

    def check_running(self) -> Link:
        if self.trouble is not None or self.link is None:
            raise self.trouble or LocalProtocolError("this client is not connected")
        return self.link

    # From the link

    def opened(self, link: Link) -> None:
        """The client speaks first."""

    def closed(self, link: Link, reason: str) -> None:
        lost = NetworkError(f"{self.address}: the connection was lost ({reason}); connect again")
        if not self.attached.done():
            self.attached.set_exception(NetworkError(f"{self.address}: not attached: {reason}"))
        elif self.trouble is None:
            self.be_over(lost, lost)

    def received(self, link: Link, frames: list[Frame]) -> None:
        for frame in frames:
            match frame:
                case Event():
                    self.upon_event(frame)
                case Done():
                    self.upon_done(frame)
                case Settled():
                    self.calls.settled(frame.ref)
                case Gap():
                    self.upon_gap(frame)
                case Failed():
                    self.upon_failed(frame)
                case Status():
                    self.upon_answer(frame.ref, frame)
                case Attached() if not self.attached.done():
                    self.trouble = None
                    self.attached.set_result(frame)
                case Refused() if not self.attached.done():
                    self.attached.set_exception(NetworkError(f"{self.address}: not attached: {frame.reason}"))
                case Bye():
                    link.close(f"the node says: {frame.reason}")
                    return
                case _:
                    raise OutOfPlace(f"{type(frame).__name__} from a node: it does not say that to a client")

    def upon_event(self, event: Event) -> None:
        readers = self.readers_of(event.topic)
        if readers:
            batch = Batch(event.payload.items, event.topic, event.source, event.incarnation, event.seq, event.tags)
            for reader in readers:
                reader.put(batch, len(event.payload))

    def readers_of(self, topic: Topic) -> dict[Subscription, None]:
        """Of it and of what includes it, each once. Before a topic stands, what comes is of an earlier subscription."""
        courses = [self.courses.get(name) for name in (topic, *supers(topic))]
        return {r: None for course in courses if course is not None and course.standing.done() for r in course.readers}

    def upon_gap(self, gap: Gap) -> None:
        for reader in self.readers_of(gap.topic):
            reader.leave_out(Lack(gap.topic, gap.source, gap.incarnation, gap.seq, gap.count, gap.why))

    def upon_done(self, done: Done) -> None:
        if self.calls.accepted(done.ref):
            return
        course = self.opening.pop(done.ref, None)
        if course is not None:  # at once: an event may be next
            course.standing.set_result(None)
        self.upon_answer(done.ref, done)

    def upon_failed(self, failed: Failed) -> None:
        error = LocalProtocolError(failed.error)
        if not self.calls.failed(failed.ref, error):
            self.upon_answer(failed.ref, error)

    def upon_answer(self, ref: int, answer: Frame | TrellisError) -> None:
        question = self.questions.pop(ref, None)
        if question is None:
            raise OutOfPlace(f"an answer to {ref}: nothing was asked")
        if question.done():
            return
        if isinstance(answer, TrellisError):
            question.set_exception(answer)
        else:
            question.set_result(answer)

    # Subscribing

    async def subscribe(self, topics: Topics, order: str = ORDER) -> Subscription:
        wanted = chosen(topics, order, self.overlay)
        order = live_order(order, self.overlay)
        self.check_running()
        orders = {topic: course.order for topic, course in self.courses.items()}
        for topic in wanted:
            check_orders(topic, order, orders)
        reader = Subscription(wanted, order, self.end_reader, budget=self.budget)
        courses = [self.course(topic, order) for topic in wanted]
        for course in courses:
            course.readers[reader] = None  # events may come in the same turn of the loop as the answer
        try:
            await asyncio.gather(*(asyncio.shield(course.standing) for course in courses))
        except TrellisError:  # whoever hears of it may ask for the others anew, in another order perhaps
            with suppress(TrellisError):
                await self.end_reader(reader, wanted)
            raise
        except BaseException:
            self.take_away(reader, wanted)
            raise
        return reader

    def course(self, topic: Topic, order: str) -> Course:
        """A topic that this client reads, from now on if it did not before."""
        course = self.courses.get(topic)
        if course is None:
            course = self.courses[topic] = Course(order)
            self.start_task(self.stand(topic, course))
        return course

    async def stand(self, topic: Topic, course: Course) -> None:
        ref = next(self.refs)
        self.opening[ref] = course
        try:
            await self.ask(Subscribe(ref, topic, course.order))
        except TrellisError as error:
            if self.courses.get(topic) is course:
                del self.courses[topic]
            course.standing.set_exception(error)
        finally:
            self.opening.pop(ref, None)

    async def unsubscribe(self, topic: Topic) -> None:
        self.check_running()
        self.wrote.discard(topic)
        course = self.courses.pop(topic, None)
        for reader in course.readers if course is not None else ():
            reader.drop(topic)
        await asyncio.shield(self.say_unsubscribed(topic, writes=False))

    async def end_reader(self, reader: Subscription, topics: tuple[Topic, ...]) -> None:
        await asyncio.shield(asyncio.gather(*self.take_away(reader, topics)))

    def take_away(self, reader: Subscription, topics: tuple[Topic, ...]) -> list[asyncio.Task[Any]]:
        """Topics from a reader, at once; what comes back is done when the node has left those that nobody reads."""
        leaving = []
        for topic in topics:
            reader.drop(topic)
            course = self.courses.get(topic)
            if course is not None and course.readers.pop(reader, self) is None and not course.readers:
                del self.courses[topic]
                leaving.append(self.say_unsubscribed(topic, topic in self.wrote))
        return leaving

    def say_unsubscribed(self, topic: Topic, writes: bool) -> asyncio.Task[Any]:
        """It is said though whoever unsubscribes waits no more: the node must not go on bringing what nobody reads."""
        return self.start_task(self.ask(Unsubscribe(next(self.refs), topic, writes)))

    async def ask(self, question: Subscribe | Unsubscribe | AskStatus | Forget) -> Frame:
        async with self.asking:
            link = self.check_running()
            answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
            self.questions[question.ref] = answer
            link.send(question)
            return await answer

    def start_task(self, doing: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(doing)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    # Publishing

    async def publish_many(
        self, topic: Topic, payloads: Iterable[bytes], confirm: bool = False, order: str | None = None
    ) -> None:
        check(topic, order or ORDER, self.overlay)
        self.check_running()
        items, _ = weighed(payloads)
        if not items:
            return
        self.wrote.add(topic)
        await self.calls.add(topic, live_order(order or "", self.overlay), Call(items, confirm))

    async def forget(self, place: int) -> None:
        """Tell the node that a member is gone for good. Refused while somebody reaches it."""
        await self.ask(Forget(next(self.refs), place))

    async def status(self) -> dict[str, Any]:
        """What the node says of itself: members, topics, windows, queues."""
        answer = await self.ask(AskStatus(next(self.refs)))
        assert isinstance(answer, Status)
        try:
            return msgspec.json.decode(answer.report, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise RemoteProtocolError(f"{self.address}: a report that cannot be read ({error})") from None
