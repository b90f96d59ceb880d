"""A node inside a program: `async with trellis.Node(...) as node`.

Promises: what `Bus` promises. A publisher that is faster than its subscribers waits; a reader that is slower is told
          of gaps.
Assumes:  one event loop: a node is not to be called from other threads (see sync.py for scripts).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from trellis import events
from trellis.errors import LocalProtocolError, NetworkError, NotSubscribed, TrellisError
from trellis.live import transport
from trellis.live.bus import ORDER, Bus, check, other_order
from trellis.live.clock import Clock
from trellis.live.codec import Bundle
from trellis.live.course import Course
from trellis.live.frames import Order
from trellis.live.members import Members, Net
from trellis.live.node import Host
from trellis.live.outgoing import Outgoing
from trellis.live.sessions import Sessions
from trellis.live.state import State
from trellis.live.subscription import Batch, Gap, Subscription
from trellis.live.tls import identity
from trellis.words import Message, MessageId, NodeId, Topic

log = logging.getLogger("trellis.live")

SETTLE_MAX = 5.0  # seconds in which a node that stops sees its messages settled


class Node(Bus):
    """A member of a cluster: publishes, subscribes, and forwards for others.

    listen     host:port to take links at; port 0 is any free one (`address` says which)
    join       host:port of any member; None: come back to the cluster in `data`, or begin a new one
    data       directory for place and incarnation; None: nothing is kept
    keys, name directory of certificates, and whose (`trellis keys`); plaintext=True instead, on loopback only
    trace      directory for the trace of what happens here, for `trellis audit`
    """

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
        net: Net = transport,
    ) -> None:
        self.listen, self.join, self.advertise, self.net = listen, join, advertise, net
        self.data = Path(data) if data is not None else None
        self.trace = Path(trace) if trace is not None else None
        self.tls = identity(keys, name, plaintext, node=True)
        self.name = self.tls.name if self.tls is not None else ""
        self.courses: dict[Topic, Course] = {}
        self.sessions = Sessions(self)
        self.members: Members
        self.host: Host
        self.running = False
        self.stopped: asyncio.Event = asyncio.Event()
        self.trouble: TrellisError | None = None  # why it had to stop

    # Life

    async def __aenter__(self) -> Node:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Become a member. Returns when the links to all members that are there stand."""
        self.state = State(self.data, self.name)
        clock, journal = Clock(), None
        try:
            self.members = members = Members(self.net, self.tls, self.state)
            await members.begin(self.listen, self.join, self.advertise)
            me = members.roster.said
            if self.trace is not None:
                from trellis.live.record import Journal, last_time  # Arrow and NumPy, which others need not load

                clock.hear(last_time(self.trace))
                journal = Journal(self.trace, me.place, me.incarnation, clock.read())
            self.host = Host(me.place, me.incarnation, clock, journal, self)
            members.ousted, members.ordered = self.be_ousted, self.be_told_order
            members.clients = self.sessions.attach
            await members.link_up(self.host)
        except BaseException:
            if hasattr(members, "server"):
                members.close("it does not start")  # links may stand, and would bring news to a state that is closed
            if hasattr(self, "host"):
                self.host.close()
            if journal is not None:
                journal.close(clock.read())
            self.state.close()
            raise
        self.running = True
        log.info("place %d, incarnation %d, at %s", me.place, me.incarnation, self.address)

    async def stop(self, leave: bool | None = None) -> None:
        """Unsubscribe from everything and go. Without a data directory, or with leave=True, the place is given back."""
        if not self.running:
            return
        self.running = False
        self.sessions.close("this node stops")
        for course in list(self.courses.values()):
            for reader in course.readers:
                reader.close()
            course.readers.clear()
            course.writers.clear()
        await self.unsubscribe_all()
        for course in self.courses.values():
            course.fail(NetworkError(f"topic {course.topic!r}: this node stopped before all was settled"))
        if leave if leave is not None else self.data is None:
            await self.members.leave()
        self.end("it stops")
        await self.members.gone()

    async def unsubscribe_all(self) -> None:
        """In good order: what was published is settled before we go, if the others still answer."""
        limit = asyncio.get_running_loop().time() + SETTLE_MAX
        leaving = [asyncio.create_task(self.leave_unless_used(course)) for course in self.courses.values()]
        if leaving:
            await asyncio.wait(leaving, timeout=SETTLE_MAX)
        while self.busy() and asyncio.get_running_loop().time() < limit:
            await asyncio.sleep(0.01)
        for task in leaving:
            task.cancel()

    def busy(self) -> bool:
        """Whether a stack still takes part in a topic."""
        overlays = [getattr(machine, "overlay", None) for machine in self.host.machines.values()]
        return any(overlay.topics for overlay in overlays if overlay is not None)

    def end(self, reason: str) -> None:
        self.running = False
        self.members.close(reason)
        self.host.close()
        try:
            if self.host.journal is not None:
                self.host.journal.close(self.host.clock.read())
        finally:
            self.state.close()
            self.stopped.set()

    def be_ousted(self, reason: str) -> None:
        log.error("%s", reason)
        self.trouble = NetworkError(reason)
        self.give_up(self.trouble)

    def give_up(self, why: TrellisError) -> None:
        for course in self.courses.values():
            course.fail(why)
        self.sessions.close(str(why))
        self.end(str(why))

    # Who and where

    @property
    def address(self) -> str:
        return self.members.address

    @property
    def place(self) -> NodeId:
        return self.members.roster.me

    @property
    def incarnation(self) -> int:
        return self.members.roster.said.incarnation

    # Subscribing

    async def subscribe(self, topic: Topic, order: str = ORDER) -> Subscription:
        return await self.read(self, topic, order)

    async def read(self, who: object, topic: Topic, order: str) -> Subscription:
        """A subscription of this program, or of a client."""
        course = self.course(topic, order)
        reader = Subscription(topic, order, self.end_reader, tally=self.host.tally)
        course.readers[reader] = who  # before it stands: what comes right after must not be missed
        try:
            await asyncio.shield(course.standing)
        except BaseException:
            course.readers.pop(reader, None)
            if not course.used:
                self.leave_topic(course)
            raise
        return reader

    def course(self, topic: Topic, order: str) -> Course:
        """A topic that this node takes part in, from now on if it did not before."""
        self.check_running()
        course = self.courses.get(topic)
        if course is None:
            check(topic, order)
            course = self.courses[topic] = Course(topic, order, self.host.stack(order))
            if self.host.journal is not None:
                self.host.journal.ordered(topic, order)
            self.host.record("subscribe", self.host.clock.read(), self.host.life(topic))
            self.host.feed(course.stack, events.Subscribe(topic))
        elif course.order != order:
            raise other_order(topic, course.order, order)
        return course

    async def unsubscribe(self, topic: Topic) -> None:
        await self.let_go(self, topic)

    async def let_go(self, who: object, topic: Topic, writes: bool = False) -> None:
        """End what somebody has to do with a topic, or only its reading; when nobody is left, leave it."""
        course = self.courses.get(topic)
        if course is None or not course.let_go(who, writes):
            raise NotSubscribed(f"topic {topic!r}: there is no subscription to end")
        await self.leave_unless_used(course)

    async def end_reader(self, reader: Subscription) -> None:
        reader.close()
        course = self.courses.get(reader.topic)
        if course is not None and course.readers.pop(reader, None) is not None:
            await self.leave_unless_used(course)

    async def leave_unless_used(self, course: Course) -> None:
        """What was accepted is settled first; whoever comes back meanwhile finds everything as it was."""
        try:
            while course.outgoing.messages and not course.used:
                await course.outgoing.confirmation()
        except TrellisError:
            return  # the node had to give up
        if not course.used:
            self.leave_topic(course)

    def leave_topic(self, course: Course) -> None:
        if self.courses.get(course.topic) is course:
            del self.courses[course.topic]
            course.fail(NotSubscribed(f"topic {course.topic!r}: unsubscribed before this was done"))
            self.host.record("unsubscribe", self.host.clock.read(), self.host.life(course.topic))
            self.host.feed(course.stack, events.Unsubscribe(course.topic))

    # Publishing

    async def publish_many(
        self, topic: Topic, payloads: Iterable[bytes], confirm: bool = False, order: str | None = None
    ) -> None:
        outgoing = await self.accept(self, topic, payloads, order, confirm)
        if confirm:
            await outgoing.confirmation()

    async def accept(
        self, who: object, topic: Topic, payloads: Iterable[bytes], order: str | None, awaited: bool
    ) -> Outgoing:
        """Take payloads of this program, or of a client, as soon as the topic stands and there is room."""
        self.check_running()
        course = self.courses.get(topic)
        if course is None or (order is not None and order != course.order):
            course = self.course(topic, order or ORDER)
        course.writers[who] = None
        if not course.standing.done():
            await asyncio.shield(course.standing)
        while course.outgoing.full:
            await course.outgoing.room()
        self.check_running()
        if self.courses.get(topic) is not course:
            raise NotSubscribed(f"topic {topic!r}: unsubscribed before this was accepted")
        course.writers[who] = None  # again: it may have let go meanwhile
        if course.outgoing.add(payloads, awaited):
            self.host.loop.call_soon(self.flush, course)
        return course.outgoing

    def flush(self, course: Course) -> None:
        """Everything that was accepted in this turn of the loop, in as few messages as the limits allow."""
        outgoing = course.outgoing
        awaited, outgoing.awaited = outgoing.awaited, False
        for items in outgoing.portions():
            self.host.feed(course.stack, events.Publish(course.topic, Bundle.of(items), len(items), awaited))

    # From the host

    def delivered(self, message: Message) -> None:
        course = self.courses.get(message.id.topic)
        if course is not None and course.readers:
            id, bundle = message.id, message.payload
            batch = Batch(bundle.take(), id.topic, id.source, id.incarnation, id.seq)
            for reader in course.readers:
                reader.put(batch, len(bundle))

    def lacking(self, id: MessageId, count: int) -> None:
        course = self.courses.get(id.topic)
        for reader in course.readers if course is not None else ():
            reader.leave_out(Gap(id.topic, id.source, id.incarnation, id.seq, count, "nobody had them any more"))

    def confirmed(self, topic: Topic) -> None:
        course = self.courses.get(topic)
        if course is not None and not course.standing.done():
            course.standing.set_result(None)

    def published(self, id: MessageId, count: int) -> None:
        course = self.courses.get(id.topic)
        if course is not None:
            course.outgoing.numbered(id.seq, count)

    def settled(self, id: MessageId, count: int) -> None:
        course = self.courses.get(id.topic)
        if course is not None:
            course.outgoing.settled(id.seq, count)

    def joining(self, source: NodeId, topic: Topic, stack: str) -> None:
        """Somebody joins a topic: if it has another order here, it is told."""
        course = self.courses.get(topic)
        peer = self.members.peers.get(source)
        if course is not None and course.stack != stack and peer is not None and peer.link is not None:
            peer.link.send(Order(topic, course.order))

    def be_told_order(self, told: Order) -> None:
        course = self.courses.get(told.topic)
        if course is None or course.order == told.order:
            return
        if course.standing.done():
            log.warning("topic %r: some have subscribed in %s order, some in %s", told.topic, course.order, told.order)
            return
        course.standing.set_exception(other_order(told.topic, told.order, course.order))
        self.leave_topic(course)

    def check_running(self) -> None:
        if not self.running:
            raise self.trouble or LocalProtocolError("this node is not running; use it within `async with`")

    def status(self) -> dict[str, Any]:
        """What `trellis status` shows."""
        from trellis.live.status import report

        return report(self)
