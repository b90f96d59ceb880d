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
from typing import TYPE_CHECKING, Any

from trellis import events
from trellis.errors import LocalProtocolError, NetworkError, NotSubscribed, TraceError, TrellisError
from trellis.live import transport
from trellis.live.bus import ORDER, Bus, check, other_order
from trellis.live.clock import Clock
from trellis.live.codec import Bundle
from trellis.live.course import Course
from trellis.live.frames import Order
from trellis.live.members import Members
from trellis.live.net import Net
from trellis.live.node import Host
from trellis.live.outgoing import Outgoing
from trellis.live.places import Member
from trellis.live.sessions import Session, Sessions
from trellis.live.state import State
from trellis.live.status import report
from trellis.live.subscription import Batch, Budget, Gap, Subscription
from trellis.live.tls import identity
from trellis.words import Message, MessageId, NodeId, Topic

if TYPE_CHECKING:
    from trellis.live.record import Journal

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
        self.tls = identity(keys, name, plaintext)
        self.name = self.tls.name if self.tls is not None else ""
        self.courses: dict[Topic, Course] = {}
        self.budget = Budget()
        self.sessions = Sessions(self)
        self.members: Members
        self.host: Host
        self.running = False
        self.ending: asyncio.Task[None] | None = None  # from when it has said goodbye
        self.stopped: asyncio.Event = asyncio.Event()
        self.trouble: TrellisError | None = None  # why it had to stop

    # Life

    async def start(self) -> None:
        """Become a member. Returns when the links to all members that are there stand."""
        self.stopped.clear()
        self.trouble = self.ending = None
        self.state = State(self.data, self.name)
        self.members = members = Members(self.net, self.tls, self.state)
        try:
            await members.begin(self.listen, self.join, self.advertise)
            self.host = self.make_host(members.roster.said)
        except BaseException:
            members.close("it could not start")
            self.state.close()
            raise
        members.ousted, members.ordered = self.be_ousted, self.be_told_order
        members.clients = self.sessions.attach
        try:
            await members.link_up(self.host)
            if self.trouble is not None:
                raise self.trouble
        except BaseException:
            if self.trouble is None:  # else it has ended already
                self.sessions.close("this node could not start")
                await self.go("it could not start", self.data is None)
            await self.ended()
            raise
        self.running = True
        log.info("place %d, incarnation %d, at %s", self.place, self.incarnation, self.address)

    def make_host(self, me: Member) -> Host:
        clock, journal = Clock(), None
        if self.trace is not None:
            from trellis.live.record import Journal, last_time  # Arrow and NumPy, which others need not load

            clock.hear(last_time(self.trace))
            journal = Journal(self.trace, me.place, me.incarnation, clock.read())
        return Host(me.place, me.incarnation, clock, journal, self)

    async def stop(self, leave: bool | None = None) -> None:
        """Unsubscribe from everything and go. Without a data directory, or with leave=True, the place is given back."""
        if self.running:
            await self.wind_up(leave)
        await self.ended()

    async def ended(self) -> None:
        """Until nothing of it is left, if it has said goodbye."""
        if self.ending is not None:
            await asyncio.shield(self.ending)

    async def wind_up(self, leave: bool | None) -> None:
        self.running = False
        self.sessions.close("this node stops")
        for course in list(self.courses.values()):
            for reader in course.readers:
                reader.close()
            course.readers.clear()
            course.writers.clear()
        try:
            await self.unsubscribe_all()
        finally:  # whoever waits may give up; then it ends at once
            if self.ending is None:  # else it had to give up meanwhile
                for course in self.courses.values():
                    course.fail(NetworkError(f"topic {course.topic!r}: this node stopped before all was settled"))
                self.courses.clear()
                await self.go("it stops", leave if leave is not None else self.data is None)

    async def go(self, reason: str, leave: bool) -> None:
        try:
            if leave:
                await self.members.leave()
        finally:
            self.end(reason)

    async def unsubscribe_all(self) -> None:
        """In good order: what was published is settled before we go, if the others still answer."""
        limit = asyncio.get_running_loop().time() + SETTLE_MAX
        leaving = [self.part(course) for course in self.courses.values()]
        if leaving:
            await asyncio.wait(leaving, timeout=SETTLE_MAX)
        while self.busy() and asyncio.get_running_loop().time() < limit:
            await asyncio.sleep(0.01)

    def busy(self) -> bool:
        """Whether a stack still takes part in a topic."""
        overlays = map(self.host.overlay, self.host.machines)
        return any(overlay.topics for overlay in overlays if overlay is not None)

    def end(self, reason: str) -> None:
        self.running = False
        if self.ending is not None:
            return
        self.members.close(reason)
        self.ending = asyncio.create_task(self.close(self.host.close()))

    async def close(self, journal: Journal | None) -> None:
        """When the last words have left, the trace is laid down for good: by a thread, for it may be much."""
        try:
            try:
                if journal is not None:
                    journal.stop(self.host.clock.read())
            finally:
                await self.members.gone()
                if journal is not None:
                    await asyncio.to_thread(journal.turn_rest)
        finally:
            self.state.close()
            self.stopped.set()

    def be_ousted(self, reason: str) -> None:
        self.give_up(NetworkError(reason))

    def unrecorded(self, why: TraceError) -> None:
        self.give_up(why)

    def give_up(self, why: TrellisError) -> None:
        """It has to stop at once; whoever uses it learns why."""
        log.error("%s", why)
        self.trouble = why
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

    async def read(self, who: Node | Session, topic: Topic, order: str) -> Subscription:
        """A subscription of this program, or of a client."""
        course = self.course(topic, order)
        reader = Subscription(topic, order, self.end_reader, tally=self.host.tally, budget=who.budget)
        course.readers[reader] = who  # before it stands: what comes right after must not be missed
        try:
            await asyncio.shield(course.standing)
        except BaseException:
            reader.close()
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
        await asyncio.shield(self.release(who, topic, writes))

    def release(self, who: object, topic: Topic, writes: bool = False) -> asyncio.Task[None]:
        """The same at once; what comes back is done when the topic is left, if it is."""
        course = self.courses.get(topic)
        if course is None or not course.let_go(who, writes):
            raise NotSubscribed(f"topic {topic!r}: there is no subscription to end")
        return self.part(course)

    def takes_part(self, who: object, topic: Topic) -> bool:
        course = self.courses.get(topic)
        return course is not None and (who in course.writers or who in course.readers.values())

    async def end_reader(self, reader: Subscription) -> None:
        reader.close()
        course = self.courses.get(reader.topic)
        if course is not None and course.readers.pop(reader, None) is not None:
            await asyncio.shield(self.part(course))

    def part(self, course: Course) -> asyncio.Task[None]:
        """Leave a topic unless it is used: a task of the node's own, which goes on when whoever asked waits no more."""
        if course.parting is None or course.parting.done():
            course.parting = asyncio.create_task(self.leave_unless_used(course))
        return course.parting

    async def leave_unless_used(self, course: Course) -> None:
        """What was accepted is settled first; whoever comes back meanwhile finds everything as it was."""
        try:
            while course.outgoing.messages and not course.used and not self.stopped.is_set():
                await course.outgoing.confirmation()
        except TrellisError:
            return  # the node had to give up
        if not course.used and not self.stopped.is_set():
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
            try:
                self.host.feed(course.stack, events.Publish(course.topic, Bundle.of(items), len(items), awaited))
            except LocalProtocolError as error:  # it was accepted, so whoever reads or waits here must hear of it
                log.error("%s", error)
                course.fail(error)
                self.leave_topic(course)
                return

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
        link = self.members.peers.link_to(source)
        if course is not None and course.stack != stack and link is not None:
            link.send(Order(topic, course.order))

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

    async def forget(self, place: NodeId) -> None:
        """A member is gone for good: nobody looks for it any more, and nobody ever stands on its place again."""
        self.check_running()
        await self.members.forget(place)

    def status(self) -> dict[str, Any]:
        """What `trellis status` shows."""
        return report(self)
