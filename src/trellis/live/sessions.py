"""A node's clients: programs in other processes that publish and subscribe over a link.

Promises: a client's publishes on a topic are accepted in the order in which they came, and answered when they are;
          what goes wrong is answered (`Failed`), never a closed link. Events of all topics of a client travel in the
          order in which the machines of the node delivered them: they wait in one queue. A client that reads slowly
          gets gaps: past `QUEUED_MAX` bytes on its link that queue is not emptied, and it has a bound. When its link
          ends, its subscriptions end, and the node leaves the topics that nobody else here reads or publishes on.
Assumes:  a client keeps to `ASKED_MAX` requests and `ASKED_BYTES_MAX` bytes that were not answered. One that goes
          beyond twice that, or says what clients do not say, is left.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from trellis.errors import AlreadySubscribed, LocalProtocolError, NotSubscribed, TrellisError
from trellis.live.codec import Bundle, OutOfPlace
from trellis.live.frames import (
    ASKED_BYTES_MAX,
    ASKED_MAX,
    FRAME_MAX,
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
    Publish,
    Refused,
    Settled,
    Status,
    Subscribe,
    Unsubscribe,
    said,
)
from trellis.live.outgoing import Outgoing
from trellis.live.subscription import MESSAGES_MAX, Batch, Budget, Subscription
from trellis.live.transport import Link
from trellis.protocols.parts.hierarchy import supers
from trellis.words import Topic

if TYPE_CHECKING:
    from trellis.live.api import Node

log = logging.getLogger("trellis.live")

CLIENTS_MAX = 1024  # of one node
TOPICS_MAX = 4096  # that one client reads or publishes on
QUEUED_MAX = 4 << 20  # bytes on their way to a client, before its subscriptions wait
SILENCE = (5, 2, 5)  # seconds before the system asks whether the other end is there, between two asks, and how often


Request = Publish | Subscribe | Unsubscribe | Forget


class Sessions:
    """All clients of one node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.open: dict[Link, Session] = {}

    def attach(self, link: Link) -> Session:
        return Session(self, link)

    def close(self, reason: str) -> None:
        for session in list(self.open.values()):
            session.leave(reason)


class Reading:
    """One topic that a client reads, from when it asks for it."""

    def __init__(self, asked: Subscribe) -> None:
        self.asked = asked
        self.stands = False  # and the client was told so: what comes is for it
        self.over = False


class Session:
    """One client: the owner of its link."""

    def __init__(self, sessions: Sessions, link: Link) -> None:
        self.sessions = sessions
        self.node = sessions.node
        self.link = link
        self.budget = Budget()
        self.reader = Subscription((), "", self.node.courses.end_reader, budget=self.budget)  # of all its topics
        self.readings: dict[Topic, Reading] = {}
        self.standing: deque[tuple[int, Reading]] = deque()  # not told yet, each with how much must be taken before
        self.topics: dict[Topic, deque[Publish]] = {}  # that it has to do with, and what waits to be accepted there
        self.asked = 0  # requests without an answer
        self.asked_bytes = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.room = asyncio.Event()  # on the link

    # From the link

    def opened(self, link: Link) -> None:
        """It was a stranger's then."""

    def received(self, link: Link, frames: list[Frame]) -> None:
        for frame in frames:
            if link.reason is not None:
                return
            if link in self.sessions.open:
                self.upon(frame)
            elif isinstance(frame, Attach):
                self.upon_attach(frame)
            else:
                raise OutOfPlace(f"{type(frame).__name__} from a stranger: say who you are first")

    def closed(self, link: Link, reason: str) -> None:
        """It reads and publishes no more. What waits to be accepted was never answered, and is forgotten."""
        if self.sessions.open.pop(link, None) is None:
            return
        for task in self.tasks:
            task.cancel()
        self.reader.close()
        for topic in self.topics:
            with suppress(NotSubscribed):  # it had not got that far, or the node has left
                self.node.courses.release(self, topic)

    def leave(self, reason: str) -> None:
        self.link.send(Bye(said(reason)))
        self.link.close(reason)

    # What a client says

    def upon_attach(self, attach: Attach) -> None:
        reason = ""
        if attach.version != VERSION:
            reason = f"version {attach.version}: this node speaks {VERSION}; run the same release"
        elif len(self.sessions.open) >= CLIENTS_MAX:
            reason = f"{CLIENTS_MAX} clients are attached here; try another node"
        if reason:
            self.link.send(Refused(reason))
            self.link.close(reason)
            return
        self.link.accept()
        self.link.before_write = self.node.host.secure
        self.link.has_room = self.room.set
        notice_silence(self.link)
        self.sessions.open[self.link] = self
        self.reader.tally = self.node.host.tally
        self.start(self.bring())
        me = self.node.members.roster
        self.link.send(Attached(me.me, me.said.incarnation, me.cluster))

    def upon(self, frame: Frame) -> None:
        match frame:
            case Publish():
                self.take(frame)
                self.upon_publish(frame)
            case Subscribe():
                self.take(frame)
                self.upon_subscribe(frame)
            case Unsubscribe():
                self.take(frame)
                self.upon_unsubscribe(frame)
            case Forget():
                self.take(frame)
                self.start(self.forget(frame))
            case AskStatus():
                self.upon_ask(frame)
            case Bye():
                self.link.close(f"the client says: {frame.reason}")
            case _:
                raise OutOfPlace(f"{type(frame).__name__} from a client: clients do not say that")

    def take(self, frame: Request) -> None:
        """Count a request that will be answered later."""
        self.asked += 1
        self.asked_bytes += len(frame.payload) if isinstance(frame, Publish) else 0
        if self.asked > 2 * ASKED_MAX or self.asked_bytes > 2 * ASKED_BYTES_MAX:
            raise OutOfPlace(
                f"{self.asked} requests of {self.asked_bytes} bytes without an answer: the limits are {ASKED_MAX} and "
                f"{ASKED_BYTES_MAX}; wait for answers"
            )

    def answer(self, frame: Request, error: TrellisError | None = None) -> None:
        self.asked -= 1
        self.asked_bytes -= len(frame.payload) if isinstance(frame, Publish) else 0
        self.link.send(Done(frame.ref) if error is None else Failed(frame.ref, said(str(error))))

    def start(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(doing)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def enter(self, topic: Topic) -> deque[Publish]:
        """The client has to do with a topic from now on."""
        waiting = self.topics.get(topic)
        if waiting is None:
            if len(self.topics) >= TOPICS_MAX:
                raise LocalProtocolError(f"topic {topic!r}: a client has at most {TOPICS_MAX}; unsubscribe from some")
            waiting = self.topics[topic] = deque()
        return waiting

    def leave_out(self, topic: Topic) -> None:
        """A request is answered: the topic does not count any more if there is nothing else between it and the client.

        Not before: when the link ends, all topics that count are let go of.
        """
        if topic not in self.readings and not self.topics.get(topic) and not self.node.courses.takes_part(self, topic):
            self.topics.pop(topic, None)

    # Publishing

    def upon_publish(self, frame: Publish) -> None:
        try:
            waiting = self.enter(frame.topic)
        except TrellisError as error:
            self.answer(frame, error)
            return
        waiting.append(frame)
        if len(waiting) == 1:
            self.start(self.publish_waiting(waiting))

    async def publish_waiting(self, waiting: deque[Publish]) -> None:
        """One after the other. The first stays in the queue while it waits for room: what follows must not overtake."""
        while waiting:
            frame = waiting[0]
            try:
                outgoing = await self.node.courses.accept(
                    self, frame.topic, frame.payload.items, frame.order or None, frame.confirm
                )
            except TrellisError as error:
                self.answer(frame, error)
            else:
                self.answer(frame)
                if frame.confirm:
                    self.start(self.confirm(outgoing, frame.ref))
            waiting.popleft()
            self.leave_out(frame.topic)

    async def confirm(self, outgoing: Outgoing, ref: int) -> None:
        try:
            await outgoing.confirmation()
        except TrellisError as error:
            self.link.send(Failed(ref, said(str(error))))
        else:
            self.link.send(Settled(ref))

    # Subscribing

    def upon_subscribe(self, frame: Subscribe) -> None:
        if frame.topic in self.readings:
            self.answer(frame, AlreadySubscribed(f"topic {frame.topic!r}: this client has subscribed already"))
            return
        reading = self.readings[frame.topic] = Reading(frame)
        self.resize()
        self.start(self.subscribe(reading))

    def resize(self) -> None:
        """As many messages may wait as for a reader of each topic."""
        self.reader.messages_max = MESSAGES_MAX * max(1, len(self.readings))

    async def subscribe(self, reading: Reading) -> None:
        topic = reading.asked.topic
        try:
            self.enter(topic)
            await self.node.courses.give(self, self.reader, (topic,), reading.asked.order)
        except TrellisError as error:
            self.refuse(reading, error)
            return
        self.reader.place_gaps()
        self.standing.append((self.reader.taken + len(self.reader.waiting), reading))
        self.tell_standing()

    def tell_standing(self) -> None:
        """To the client, in the right place: what it gets before that is of an earlier subscription."""
        while self.standing and self.standing[0][0] <= self.reader.taken:
            _, reading = self.standing.popleft()
            if reading.over:
                topic = reading.asked.topic
                self.refuse(reading, NotSubscribed(f"topic {topic!r}: unsubscribed before this was done"))
            else:
                reading.stands = True
                self.answer(reading.asked)

    def refuse(self, reading: Reading, why: TrellisError) -> None:
        topic = reading.asked.topic
        if self.readings.get(topic) is reading:
            del self.readings[topic]
            self.resize()
        self.answer(reading.asked, why)
        self.leave_out(topic)

    async def bring(self) -> None:
        """Carry what comes to the client, as fast as it takes it."""
        link, reader = self.link, self.reader
        try:
            while True:
                self.tell_standing()
                await reader.arrival()
                while link.queued > QUEUED_MAX:
                    self.room.clear()
                    await self.room.wait()
                item = await reader.next()
                if not self.is_read(item.topic):
                    continue
                origin = (item.topic, item.source, item.incarnation, item.seq)
                if isinstance(item, Batch):
                    link.send(Event(*origin, len(item.payloads), Bundle.of(item.payloads), item.tags))
                else:
                    link.send(Gap(*origin, item.count, item.why))
        except StopAsyncIteration:
            return
        except TrellisError as error:
            self.leave(str(error))  # the node has to stop

    def is_read(self, topic: Topic) -> bool:
        """Whether a subscription stands, as the client has heard, to it or to a topic that includes it."""
        found = (self.readings.get(name) for name in (topic, *supers(topic)))
        return any(reading is not None and reading.stands for reading in found)

    def upon_unsubscribe(self, frame: Unsubscribe) -> None:
        """Nothing more is brought from this moment on: what follows may be a new subscription."""
        reading = self.readings.pop(frame.topic, None)
        if reading is not None:
            reading.over = True
            self.resize()
        self.start(self.unsubscribe(frame))

    async def unsubscribe(self, frame: Unsubscribe) -> None:
        try:
            await self.node.courses.let_go(self, frame.topic, frame.writes)
        except TrellisError as error:
            self.answer(frame, error)
        else:
            self.answer(frame)
        self.leave_out(frame.topic)

    # The cluster

    async def forget(self, frame: Forget) -> None:
        try:
            await self.node.forget(frame.place)
        except TrellisError as error:
            self.answer(frame, error)
        else:
            self.answer(frame)

    def upon_ask(self, frame: AskStatus) -> None:
        report = msgspec.json.encode(self.node.status())
        if len(report) > FRAME_MAX // 2:
            self.link.send(Failed(frame.ref, f"a report of {len(report)} bytes: it is too long for a link"))
        else:
            self.link.send(Status(frame.ref, report))


def notice_silence(link: Link) -> None:
    """Let the system find out when the other end has gone without a word."""
    found: socket.socket | None = link.transport.get_extra_info("socket")
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in zip(("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"), SILENCE, strict=True):
            if hasattr(socket, option):  # not everywhere
                found.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
