"""Total notification order as printed: section 3.4 of TNO to the letter as far as that can run, with its holes.

Source:   TNO (Baldoni, Bonomi, Platania, Querzoni), section 3.4; re-requests after section 4, "Reliability".
Promises: what `total` does, as long as nothing fails, subscriptions do not change meanwhile, and all topics of a
          subscription are in each other's groups: it is the known-bad case of the audits (holes T1-T6, T8-T10, T14, T15
          of docs/protocols/total.md).
Assumes:  FIFO links and nodes that do not fail.
Departs:  where the letter cannot work at all, and nowhere else. T11: an entry of another topic must be at or below
          the subscriber's clock, not equal to it. T12: a subscription timestamp sets the clock of the new topic only.
          T13: a dummy event waits for the number before it on its own topic, and for no other topic.
          The text is silent on a publisher's second event while the first has no timestamp yet: it waits for its turn
          ("it will sequentially request two timestamps"). A subscriber adds one topic at a time, and leaves none while
          a subscription timestamp is under way: it still owes that topic a dummy event.
"""

from __future__ import annotations

from collections import deque
from typing import Annotated, ClassVar

from msgspec import Meta

from trellis.errors import UnexpectedEvent
from trellis.events import Cycle, Event, Publish, Receive, Standing, Timeout
from trellis.machine import Place
from trellis.protocols.interest import IN, LEAVING, Session
from trellis.protocols.layers import GAPLESS, START_CUT, Ordering
from trellis.protocols.parts.desk_packets import Ours
from trellis.protocols.parts.groups import SHARED, Desks, Groups
from trellis.protocols.parts.stamps import stamp_of
from trellis.words import GROUP_MAX, Message, MessageId, NodeId, Origin, Packet, Stamp, Topic, Vector

RETRY = "retry/"  # and the topic whose event, or subscription, has no timestamp yet
EVENT, SUBSCRIPTION = "event/", "subscription/"

Topics = Annotated[tuple[Topic, ...], Meta(max_length=GROUP_MAX)]


class Request(Ours, frozen=True, gc=False):
    """A publisher asks the manager of the event's topic for a timestamp. Only the id travels."""

    kind: ClassVar[str] = "ASK"


class Climb(Ours, frozen=True, gc=False):
    """An event timestamp under construction, on its way up the rank."""

    at: Topic  # the manager that it goes to
    group: Topics  # its structure, as the event's topic had it
    entries: Stamp  # those that are filled in
    kind: ClassVar[str] = "CLIMB"


class Timestamp(Ours, frozen=True, gc=False):
    """To the publisher: the timestamp of its event."""

    entries: Stamp
    kind: ClassVar[str] = "STAMP"


class Enrolment(Ours, frozen=True, gc=False):
    """A subscription timestamp under construction, with the new subscription."""

    at: Topic
    topics: Topics
    entries: Stamp
    kind: ClassVar[str] = "ENROL"


class Enrolled(Ours, frozen=True, gc=False):
    """To the subscriber: its subscription timestamp."""

    entries: Stamp
    kind: ClassVar[str] = "ADMIT"


class Listing(Ours, frozen=True, gc=False):
    """A subscriber tells a manager that it left a topic: this is what remains; empty for the manager of that topic."""

    at: Topic
    topics: Topics
    kind: ClassVar[str] = "LIST"


class Dummy(Message, frozen=True, gc=False, array_like=True):
    """An event without meaning for an application: it stands for the number that a subscription took on its topic."""


class TopicManager:
    """TM_T."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.subscriptions = Groups(SHARED)  # those that contain T
        self.lc = 0  # LC_T: events published in T
        self.llc: dict[Topic, int] = {}  # LLC_T: the same of topics of lower rank, as far as it was told

    @property
    def group(self) -> frozenset[Topic]:
        """SG_T, Definition 1."""
        return self.subscriptions.of(self.topic)

    def list_subscription(self, subscriber: Origin, topics: Topics) -> None:
        self.subscriptions.change(subscriber, frozenset(topics) if self.topic in topics else frozenset())

    def begin(self) -> tuple[Topics, Stamp]:
        """Steps 1-4 of the multistage timestamp generation: structure, and what is known here of its entries."""
        self.lc += 1
        group = tuple(sorted(self.group))
        lower = {topic: self.llc.get(topic, 0) for topic in group if topic > self.topic}
        return group, stamp_of({self.topic: self.lc, **lower})

    def insert(self, entries: Stamp) -> Stamp:
        """As a higher stage: my number as it is; the numbers below are news to me."""
        self.learn(entries)
        return stamp_of({**dict(entries), self.topic: self.lc})

    def enrol(self, subscriber: Origin, topics: Topics, entries: Stamp) -> Stamp:
        """A stage of a subscription timestamp: it takes a number."""
        self.list_subscription(subscriber, topics)
        self.lc += 1
        return self.insert(entries)

    def learn(self, entries: Stamp) -> None:
        for topic, number in entries:
            if topic > self.topic:
                self.llc[topic] = max(number, self.llc.get(topic, 0))


class TotalPrinted(Ordering):
    """The ordering module of section 3.3, and the topic managers that sit at this node."""

    promise = "as total, while nothing fails and nobody comes or goes"
    source = "TNO (Baldoni et al.) section 3.4, with its holes; for the simulator"
    audits = ("creation", "duplicate", "uninvited", "fifo", "total", "lost", "stuck")
    needs = frozenset({START_CUT, GAPLESS})
    options: ClassVar[dict[str, int]] = {"desks": 3, "retry": 0}
    packets = (Request, Climb, Timestamp, Enrolment, Enrolled, Listing)
    fifo_links = True
    subtopics = False

    def __init__(self, place: Place, desks: int, retry: int) -> None:
        super().__init__(place)
        self.desks = Desks(min(desks, place.size))  # desk n sits at node n
        self.retry = retry
        self.managers: dict[Topic, TopicManager] = {}  # of topics that have their desk here
        self.standing: dict[NodeId, tuple[Topic, ...]] = {}  # subscriptions from before the run
        self.letters: deque[Packet] = deque()  # from me to me
        self.reading = False
        # As a publisher: my events per topic that have no timestamp yet, the first of which was asked for
        self.lines: dict[Topic, deque[tuple[MessageId, Publish] | Dummy]] = {}
        # As a subscriber
        self.subscription: frozenset[Topic] = frozenset()  # S: what the managers were told, and I have not left
        self.clock: dict[Topic, int] = {}  # sub_LC
        self.buffer: dict[Topic, dict[int, Message]] = {}  # notified by the overlay, not yet to the application
        self.joining: dict[Topic, Vector] = {}  # the overlay brings them; the first one is being enrolled; with its cut
        self.enrolling: MessageId | None = None
        self.enrolments = 0

    def upon(self, event: Event) -> None:
        if isinstance(event, Standing):
            self.upon_standing(event.topic, event.members)
        else:
            super().upon(event)

    def upon_own(self, event: Receive | Timeout | Cycle) -> None:
        match event:
            case Receive():
                self.to_node(self.me, event.packet)
            case Timeout(name) if name.startswith(RETRY):
                self.upon_retry(name.removeprefix(RETRY))
            case _:
                raise UnexpectedEvent(self, event)

    def upon_packet(self, packet: Packet) -> None:
        match packet:
            case Request():
                self.upon_request(packet)
            case Climb():
                self.upon_climb(packet)
            case Timestamp():
                self.upon_timestamp(packet)
            case Enrolment():
                self.upon_enrolment(packet)
            case Enrolled():
                self.upon_enrolled(packet)
            case Listing():
                self.manager(packet.at).list_subscription(packet.id.origin, packet.topics)
            case _:
                raise UnexpectedEvent(self, packet)

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        for node in members:
            topics = self.standing[node] = (*self.standing.get(node, ()), topic)
            for each in topics:
                if self.desks.of(each) == self.me:
                    self.manager(each).list_subscription((node, 0), topics)
        if self.me in members:
            self.session(topic).wanted = True
            self.admit(topic, 0, {})

    # Topic managers: multistage timestamp generation, and subscription management

    def manager(self, topic: Topic) -> TopicManager:
        return self.managers.setdefault(topic, TopicManager(topic))

    def upon_request(self, request: Request) -> None:
        """Steps 1-5. Whoever asks again gets another number (T1)."""
        topic = request.id.topic
        group, entries = self.manager(topic).begin()
        self.forward(Climb(request.id, topic, group, entries))

    def upon_climb(self, climb: Climb) -> None:
        entries = self.manager(climb.at).insert(climb.entries)
        self.forward(Climb(climb.id, climb.at, climb.group, entries))

    def forward(self, climb: Climb) -> None:
        """To the first topic of the group that precedes this one; from the last one back to the publisher."""
        above = [topic for topic in climb.group if topic < climb.at]
        if above:
            self.to_manager(above[-1], Climb(climb.id, above[-1], climb.group, climb.entries))
        else:
            self.to_node(climb.id.source, Timestamp(climb.id, climb.entries))

    def upon_enrolment(self, enrolment: Enrolment) -> None:
        id, at, topics = enrolment.id, enrolment.at, enrolment.topics
        entries = self.manager(at).enrol(id.origin, topics, enrolment.entries)
        above = [topic for topic in topics if topic < at]
        if above:
            self.to_manager(above[-1], Enrolment(id, above[-1], topics, entries))
        else:
            self.to_node(id.source, Enrolled(id, entries))

    # Publishing

    def spread(self, session: Session, id: MessageId, said: Publish) -> None:
        """The payload stays here until the timestamp comes."""
        self.line(id.topic).append((id, said))
        if len(self.line(id.topic)) == 1:
            self.publish_next(id.topic)

    def publish_next(self, topic: Topic) -> None:
        """A dummy event has its timestamp already; for another one ask."""
        line = self.line(topic)
        while line and isinstance(first := line[0], Dummy):
            line.popleft()
            self.hand_down(first)
        if line:
            self.request(topic)
        else:
            self.part_when_drained(topic)

    def request(self, topic: Topic) -> None:
        first = self.line(topic)[0]
        assert isinstance(first, tuple)
        self.be_patient(EVENT, topic)
        self.to_manager(topic, Request(first[0]))

    def upon_timestamp(self, timestamp: Timestamp) -> None:
        """Publish the event together with its timestamp. A second one for it is of no use: its number is nobody's."""
        id, line = timestamp.id, self.line(timestamp.id.topic)
        first = line[0] if line else None
        if not isinstance(first, tuple) or first[0] != id:
            return
        line.popleft()
        self.be_patient_no_more(EVENT, id.topic)
        said = first[1]
        self.hand_down(Message(id, said.payload, (), said.count, said.awaited, timestamp.entries))
        self.publish_next(id.topic)

    def hand_down(self, message: Message) -> None:
        session = self.sessions[message.id.topic]
        self.note("spread", message.id, len(message.stamp), message.count)
        self.below.spread(message)
        if session.phase is IN:
            self.upon_arrive(session, message)

    def line(self, topic: Topic) -> deque[tuple[MessageId, Publish] | Dummy]:
        return self.lines.setdefault(topic, deque())

    # Event notification

    def arrive(self, message: Message) -> None:
        topic = message.id.topic
        if topic in self.joining:  # what of it is for me, the subscription timestamp will tell
            self.put_back(message)
        else:
            super().arrive(message)

    def upon_arrive(self, session: Session, message: Message) -> None:
        if number_of(message) <= self.clock[message.id.topic]:
            self.pass_over(session, message)
        else:
            self.put_back(message)
            self.notify()

    def notify(self) -> None:
        """Whatever is the next one now; one can free others, also on other topics."""
        while (topic := next(filter(self.next_is_ready, sorted(self.clock)), None)) is not None:
            self.clock[topic] += 1
            message = self.buffer[topic].pop(self.clock[topic])
            self.hold(message, -1)
            if isinstance(message, Dummy):
                self.pass_over(self.sessions[topic], message)
            else:
                self.deliver_and_remember(self.sessions[topic], message)

    def next_is_ready(self, topic: Topic) -> bool:
        message = self.buffer[topic].get(self.clock[topic] + 1)
        return message is not None and (isinstance(message, Dummy) or self.has_what_precedes(message))

    def has_what_precedes(self, message: Message) -> bool:
        """The printed check, for all topics but its own."""
        others = ((topic, number) for topic, number in message.stamp if topic != message.id.topic)
        return all(self.fits(number, self.clock[topic]) for topic, number in others if topic in self.clock)

    def fits(self, number: int, clock: int) -> bool:
        """T11: as printed they are equal. That never comes true where the clock has moved on meanwhile."""
        return number <= clock

    def deliverable(self, session: Session, message: Message) -> bool:
        return number_of(message) == self.clock[message.id.topic] + 1 and self.has_what_precedes(message)

    def put_back(self, message: Message) -> None:
        self.buffer[message.id.topic][number_of(message)] = message
        self.hold(message)

    def pass_over(self, session: Session, message: Message) -> None:
        origin = message.id.origin
        session.delivered[origin] = max(message.last, session.delivered.get(origin, 0))
        self.note("skip", message.id, count=message.count)

    # Subscribing

    def joined(self, topic: Topic, cut: Vector) -> None:
        """ENSsubscribe has returned: put back what comes, and ask for a subscription timestamp."""
        self.buffer[topic] = {}
        self.joining[topic] = cut
        self.enrol_next()

    def enrol_next(self) -> None:
        if self.enrolling is None and self.joining:
            self.enrolments += 1
            self.enrolling = MessageId(self.origin, next(iter(self.joining)), -self.enrolments)
            self.request_enrolment()

    def request_enrolment(self) -> None:
        """To the manager of the lowest ranked topic."""
        assert self.enrolling is not None
        topics = tuple(sorted(self.subscription | {self.enrolling.topic}))
        self.be_patient(SUBSCRIPTION, self.enrolling.topic)
        self.to_manager(topics[-1], Enrolment(self.enrolling, topics[-1], topics, ()))

    def upon_enrolled(self, enrolled: Enrolled) -> None:
        """Set the clock, flush the buffer, and tell everybody of the numbers that this took."""
        if enrolled.id != self.enrolling:
            return
        topic, numbers = enrolled.id.topic, dict(enrolled.entries)
        self.be_patient_no_more(SUBSCRIPTION, topic)
        self.set_clock(topic, numbers, self.joining.pop(topic))
        for each in sorted(numbers):
            session, line = self.sessions[each], self.line(each)
            session.published += 1
            line.append(Dummy(MessageId(self.origin, each, session.published), b"", stamp=enrolled.entries))
        self.enrolling = None
        for each in sorted(numbers):
            if isinstance(self.line(each)[0], Dummy):
                self.publish_next(each)
        self.enrol_next()

    def set_clock(self, topic: Topic, numbers: dict[Topic, int], cut: Vector) -> None:
        """T12: as printed, of all topics. That would pass over what is still on its way on the others."""
        self.admit(topic, numbers[topic], cut)

    def admit(self, topic: Topic, number: int, cut: Vector) -> None:
        self.subscription |= {topic}
        self.clock[topic] = number
        early, self.buffer[topic] = self.buffer.get(topic, {}), {}
        super().joined(topic, cut)
        for message in early.values():
            self.hold(message, -1)
            self.arrive(message)

    def begin_leaving(self, topic: Topic, session: Session) -> None:
        """From now on what comes is ignored."""
        session.phase = LEAVING
        self.part_when_drained(topic)

    def part_when_drained(self, topic: Topic) -> None:
        """Once all that I owe the topic is published: a list update for every manager, and no clock."""
        if self.sessions[topic].phase is not LEAVING or self.line(topic) or self.enrolling is not None:
            return
        self.subscription -= {topic}
        del self.clock[topic]
        for message in self.buffer.pop(topic).values():
            self.hold(message, -1)
        id = MessageId(self.origin, topic, 0)
        self.to_manager(topic, Listing(id, topic, ()))
        rest = tuple(sorted(self.subscription))
        for each in rest:
            self.to_manager(each, Listing(id, each, rest))
        self.below.leave(topic)
        self.notify()

    # Between nodes, and between those who share one

    def to_manager(self, topic: Topic, packet: Packet) -> None:
        self.to_node(self.desks.of(topic), packet)

    def to_node(self, node: NodeId, packet: Packet) -> None:
        if node != self.me:
            self.send(node, packet)
            return
        self.letters.append(packet)
        if not self.reading:
            self.reading = True
            while self.letters:
                self.upon_packet(self.letters.popleft())
            self.reading = False

    # Reliability: "the publisher periodically re-initiates the procedure", and so does a subscriber

    def be_patient(self, what: str, topic: Topic) -> None:
        if self.retry:
            self.set_timer(RETRY + what + topic, self.retry)

    def be_patient_no_more(self, what: str, topic: Topic) -> None:
        if self.retry:
            self.cancel_timer(RETRY + what + topic)

    def upon_retry(self, what: str) -> None:
        if what.startswith(EVENT):
            self.request(what.removeprefix(EVENT))
        else:
            self.request_enrolment()


def number_of(message: Message) -> int:
    """Its place on its own topic."""
    topic = message.id.topic
    return next(number for other, number in message.stamp if other == topic)
