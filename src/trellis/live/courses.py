"""The topics that a node takes part in, for its own program and for its clients.

Promises: what the machines say of a topic reaches all who read it here, and what is published here is accepted in the
          order in which it was given. A node leaves a topic when nobody here has to do with it any more, after all that
          was accepted is settled, whoever waits for that or no longer does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol

from trellis import events
from trellis.errors import LocalProtocolError, NotSubscribed, TrellisError
from trellis.live.bus import ORDER, Topics, check, check_orders, chosen, other_order
from trellis.live.codec import Bundle
from trellis.live.course import Course
from trellis.live.frames import Order
from trellis.live.outgoing import Outgoing
from trellis.live.subscription import Batch, Budget, Gap, Subscription
from trellis.protocols import live_order, live_stack
from trellis.protocols.parts.hierarchy import around, in_tree, supers
from trellis.words import Message, MessageId, NodeId, Topic

if TYPE_CHECKING:
    from trellis.live.api import Node

log = logging.getLogger("trellis.live")

ACROSS = frozenset({"total-causal"})  # orders in which it matters what was said first, also on two topics


class Owner(Protocol):
    """Whose subscriptions share one bound: a program, or a client."""

    budget: Budget


class Courses(dict[Topic, Course]):
    """Of one node, by topic."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node
        self.speaking: Course | None = None  # the last one on which something was said in an order across topics

    # Subscribing

    async def read(self, who: Owner, topics: Topics, order: str) -> Subscription:
        """A subscription of this program."""
        self.node.check_running()
        wanted = chosen(topics, order, self.node.overlay)
        order = live_order(order, self.node.overlay)
        reader = Subscription(wanted, order, self.end_reader, tally=self.node.host.tally, budget=who.budget)
        try:
            await self.give(who, reader, wanted, order)
        except BaseException:
            reader.close()
            raise
        return reader

    async def give(self, who: Owner, reader: Subscription, topics: tuple[Topic, ...], order: str) -> None:
        """Topics to a reader, from now on. Returns when all of them stand; if one cannot be had, none is given."""
        order = live_order(order, self.node.overlay)
        for topic in topics:
            self.check(topic, order)
        courses = []
        for topic in topics:
            courses.append(course := self.course(topic, order))
            course.readers[reader] = who  # before it stands: what comes right after must not be missed
        try:
            await asyncio.gather(*(asyncio.shield(course.standing) for course in courses))
        except BaseException:
            for course in courses:
                if course.readers.pop(reader, None) is None or course.used:
                    continue
                if course.outgoing.messages:
                    self.part(course)
                else:
                    self.leave_topic(course)
            raise

    def check(self, topic: Topic, order: str) -> None:
        """Whether this node can have a topic in this order, as far as it knows."""
        self.node.check_running()
        course = self.get(topic)
        if course is None:
            check(topic, order, self.node.overlay)
            if in_tree(topic):
                check_orders(topic, order, {other: course.order for other, course in self.items()})
        elif course.order != order:
            raise other_order(topic, course.order, order)

    def course(self, topic: Topic, order: str) -> Course:
        """A topic that this node takes part in, from now on if it did not before."""
        self.check(topic, order)
        course = self.get(topic)
        if course is None:
            host = self.node.host
            course = self[topic] = Course(topic, order, host.stack(order))
            if host.journal is not None:
                host.journal.ordered(topic, live_stack(order, host.linked)[1])
            host.record("subscribe", host.clock.read(), host.life(topic))
            host.feed(course.stack, events.Subscribe(topic))
        return course

    async def let_go(self, who: object, topic: Topic, writes: bool = False) -> None:
        """End what somebody has to do with a topic, or only its reading; when nobody is left, leave it."""
        await asyncio.shield(self.release(who, topic, writes))

    def release(self, who: object, topic: Topic, writes: bool = False) -> asyncio.Task[None]:
        """The same at once; what comes back is done when the topic is left, if it is."""
        course = self.get(topic)
        if course is None or not course.let_go(who, writes):
            raise NotSubscribed(f"topic {topic!r}: there is no subscription to end")
        return self.part(course)

    def takes_part(self, who: object, topic: Topic) -> bool:
        course = self.get(topic)
        return course is not None and (who in course.writers or who in course.readers.values())

    async def end_reader(self, reader: Subscription, topics: tuple[Topic, ...]) -> None:
        await asyncio.shield(asyncio.gather(*self.take_away(reader, topics)))

    def take_away(self, reader: Subscription, topics: tuple[Topic, ...]) -> list[asyncio.Task[None]]:
        """Topics from a reader, at once; what comes back is done when those are left that nobody else here uses."""
        parting = []
        for topic in topics:
            reader.drop(topic)
            course = self.get(topic)
            if course is not None and course.readers.pop(reader, None) is not None:
                parting.append(self.part(course))
        return parting

    def part(self, course: Course) -> asyncio.Task[None]:
        """Leave a topic unless it is used: a task of the node's own, which goes on when whoever asked waits no more."""
        if course.parting is None or course.parting.done():
            course.parting = asyncio.create_task(self.leave_unless_used(course))
        return course.parting

    async def leave_unless_used(self, course: Course) -> None:
        """What was accepted is settled first; whoever comes back meanwhile finds everything as it was."""
        try:
            while course.outgoing.messages and not course.used and not self.node.stopped.is_set():
                await course.outgoing.confirmation()
        except TrellisError:
            return  # the node had to give up
        if not course.used and not self.node.stopped.is_set():
            self.leave_topic(course)

    def leave_topic(self, course: Course) -> None:
        if self.get(course.topic) is course:
            del self[course.topic]
            course.fail(NotSubscribed(f"topic {course.topic!r}: unsubscribed before this was done"))
            host = self.node.host
            host.record("unsubscribe", host.clock.read(), host.life(course.topic))
            host.feed(course.stack, events.Unsubscribe(course.topic))

    # Publishing

    async def accept(
        self, who: object, topic: Topic, payloads: Iterable[bytes], order: str | None, awaited: bool
    ) -> Outgoing:
        """Take payloads of this program, or of a client, as soon as the topic stands and there is room."""
        self.node.check_running()
        order = None if order is None else live_order(order, self.node.overlay)
        course = self.get(topic)
        if course is None or (order is not None and order != course.order):
            course = self.course(topic, order or ORDER)
        course.writers[who] = None
        if not course.standing.done():
            await asyncio.shield(course.standing)
        while course.outgoing.full:
            await course.outgoing.room()
        self.node.check_running()
        if self.get(topic) is not course:
            raise NotSubscribed(f"topic {topic!r}: unsubscribed before this was accepted")
        course.writers[who] = None  # again: it may have let go meanwhile
        if course.order in ACROSS:
            if self.speaking is not None and self.speaking is not course:
                self.flush(self.speaking)  # what was given before comes before
            self.speaking = course
        if course.outgoing.add(payloads, awaited):
            self.node.host.loop.call_soon(self.flush, course)
        return course.outgoing

    def flush(self, course: Course) -> None:
        """Everything that was accepted in this turn of the loop, in as few messages as the limits allow."""
        outgoing = course.outgoing
        awaited, outgoing.awaited = outgoing.awaited, False
        for items in outgoing.portions():
            try:
                self.node.host.feed(course.stack, events.Publish(course.topic, Bundle.of(items), len(items), awaited))
            except LocalProtocolError as error:  # it was accepted, so whoever reads or waits here must hear of it
                log.error("%s", error)
                course.fail(error)
                self.leave_topic(course)
                for reader in course.readers:  # without this topic the order of the others would not be the whole one
                    self.take_away(reader, reader.topics)
                return

    # From the host

    def delivered(self, message: Message, tags: tuple[str, ...]) -> None:
        readers = self.readers_of(message.id.topic)
        if readers:
            id, bundle = message.id, message.payload
            batch = Batch(bundle.take(), id.topic, id.source, id.incarnation, id.seq, tags)
            for reader in readers:
                reader.put(batch, len(bundle))

    def readers_of(self, topic: Topic) -> Collection[Subscription]:
        """Each once, however many of its topics include this one."""
        if not in_tree(topic):
            course = self.get(topic)
            return course.readers if course is not None else ()
        courses = [self.get(name) for name in (topic, *supers(topic))]
        return {reader: None for course in courses if course is not None for reader in course.readers}

    def lacking(self, id: MessageId, count: int) -> None:
        for reader in self.readers_of(id.topic):
            reader.leave_out(Gap(id.topic, id.source, id.incarnation, id.seq, count, "nobody had them any more"))

    def confirmed(self, topic: Topic) -> None:
        course = self.get(topic)
        if course is not None and not course.standing.done():
            course.standing.set_result(None)

    def published(self, id: MessageId, count: int) -> None:
        course = self.get(id.topic)
        if course is not None:
            course.outgoing.numbered(id.seq, count)

    def settled(self, id: MessageId, count: int) -> None:
        course = self.get(id.topic)
        if course is not None:
            course.outgoing.settled(id.seq, count)

    def joining(self, source: NodeId, topic: Topic, stack: str) -> None:
        """Somebody joins a topic: if that has another order here, or one above or below it, it is told."""
        other = next((found for name in around(topic, self) if (found := self[name]).stack != stack), None)
        link = self.node.members.peers.link_to(source)
        if other is not None and link is not None:
            link.send(Order(topic, other.order))

    def be_told_order(self, told: Order) -> None:
        course = self.get(told.topic)
        if course is None or course.order == told.order:
            return
        if course.standing.done():
            log.warning("topic %r: some have subscribed in %s order, some in %s", told.topic, course.order, told.order)
            return
        course.standing.set_exception(other_order(told.topic, told.order, course.order))
        self.leave_topic(course)

    def unrecorded(self, why: TrellisError) -> None:
        self.node.give_up(why)
