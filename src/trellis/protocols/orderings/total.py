"""Total notification order: what two subscribers both get, on whatever topics, they get in the same order.

Source:   TNO, the multistage sequencer (Baldoni, Bonomi, Platania, Querzoni), sections 3 and 4.
Promises: pairwise: if two nodes both deliver a and b, on one topic or on two, they deliver them in the same order.
          With `across`, also causal order between topics.
Assumes:  an overlay that brings every message that was handed down after a node joined it; desks (parts/desk.py) whose
          hosts can be reached.
Departs:  a message may be delivered when all entries of its timestamp are at or below the subscriber's clock and its
          own is the next one; the text asks for equality, which never comes true once the other topic has moved on.
          A node that waits to be admitted to a topic delivers nothing that may have to come after something on it.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from trellis.errors import UnexpectedEvent
from trellis.events import Cycle, Event, Publish, Receive, Standing, Timeout
from trellis.machine import Place
from trellis.protocols.layers import GAPLESS, LEAVING, START_CUT, Ordering, Session
from trellis.protocols.parts.desk import Desk
from trellis.protocols.parts.desk_packets import Admitted, Ask, Change, Climb, Climbed, Stamped
from trellis.protocols.parts.groups import ALONE, SAFE, WIDE, Desks
from trellis.words import Message, MessageId, NodeId, Packet, Stamp, Topic, Vector

RETRY = "retry"


class Line:
    """My messages on one topic, from the call to the overlay."""

    __slots__ = ("asked", "first", "stamps", "waiting")

    def __init__(self) -> None:
        self.first = 1  # the number of the oldest that was not handed down yet; counts from 1
        self.asked = 0  # up to which number I asked
        self.waiting: list[tuple[MessageId, Publish]] = []  # from `first` on
        self.stamps: dict[int, Stamp] = {}

    @property
    def last(self) -> int:
        return self.first + len(self.waiting) - 1


class Total(Ordering):
    """Timestamps from the desks, and a clock at each subscriber."""

    promise = "two subscribers that both get two messages, on whatever topics, get them in the same order"
    source = "TNO (Baldoni et al.), holes T1-T6, T8-T10 closed"
    audits = ("creation", "duplicate", "uninvited", "fifo", "total", "lost", "stuck")
    needs = frozenset({START_CUT, GAPLESS})
    options: ClassVar[dict[str, int]] = {"desks": 3, "across": 0, "retry": 0, "block": 0}
    rule = SAFE

    def __init__(self, place: Place, desks: int, across: int, retry: int, block: int) -> None:
        super().__init__(place)
        self.desks = Desks(min(desks, place.size), block=block)
        self.across = bool(across)
        self.retry = retry
        rule = WIDE if across else self.rule
        self.mine = {n: Desk(n, self.desks, rule, self) for n in range(self.desks.count) if self.host_of(n) == self.me}
        self.inside: dict[Topic, Vector] = {}  # topics that the overlay brings and that I do not leave, with its cut
        self.told: frozenset[Topic] = frozenset()  # what the desks know of that
        self.changing: frozenset[Topic] | None = None  # what they are told just now
        self.version = 0
        self.returning: dict[Topic, Vector] = {}  # the same, of those that the desks must first hear I left
        self.clock: dict[Topic, int] = {}  # sub_LC: the last number delivered, of topics to which I am admitted
        self.ahead: dict[Topic, dict[int, Message]] = {}  # held back, by number
        self.waits: dict[Topic, dict[Topic, None]] = {}  # topics whose next message waits for this one
        self.lines: dict[Topic, Line] = {}
        self.letters: deque[Packet] = deque()  # from me to me
        self.reading = False
        self.patient = False  # a timer is set
        self.unasked: list[Topic] = []  # of my messages that wait until those on other topics have their numbers

    def host_of(self, desk: int) -> NodeId:
        return desk

    def upon(self, event: Event) -> None:
        if isinstance(event, Standing):
            self.upon_standing(event.topic, event.members)
        else:
            super().upon(event)

    def upon_own(self, event: Receive | Timeout | Cycle) -> None:
        match event:
            case Receive():
                self.to_node(self.me, event.packet)
            case Timeout(name) if name == RETRY:
                self.upon_retry()
            case _:
                raise UnexpectedEvent(self, event)

    def upon_packet(self, packet: Packet) -> None:
        match packet:
            case Stamped():
                self.upon_stamped(packet)
            case Admitted():
                self.upon_admitted(packet)
            case Ask():
                self.mine[self.desks.of(packet.id.topic)].upon_ask(packet)
            case Change():
                self.mine[self.desks.count - 1].upon_change(packet)
            case Climb():
                self.mine[packet.to].upon_climb(packet)
            case Climbed():
                self.mine[packet.to].upon_climbed(packet)
            case _:
                raise UnexpectedEvent(self, packet)

    # Subscribing

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        for desk in self.mine.values():
            desk.stand(topic, members)
        if self.me in members:
            self.session(topic).wanted = True
            self.inside[topic] = {}
            self.told |= {topic}
            self.admit(topic, 0)

    def joined(self, topic: Topic, cut: Vector) -> None:
        """The overlay brings what is published from now on. What of that is for me the desks decide. Those that still
        count the topic as mine must hear first that I left it: an old admission says nothing about a new one.
        """
        self.ahead[topic] = {}
        if topic in self.told or (self.changing is not None and topic in self.changing):
            self.returning[topic] = cut
        else:
            self.inside[topic] = cut
            self.tell_desks()

    def tell_desks(self) -> None:
        """One change at a time."""
        wanted = frozenset(self.inside)
        if self.changing is not None or wanted == self.told:
            return
        self.version += 1
        self.changing = wanted
        self.send_change()

    def send_change(self) -> None:
        assert self.changing is not None
        topics = tuple(sorted(self.changing))
        id = MessageId(self.origin, min(self.changing | self.told), -self.version)
        self.to_desk(self.desks.count - 1, Change(id, self.version, topics))
        self.be_patient()

    def upon_admitted(self, admitted: Admitted) -> None:
        if self.changing is None or admitted.version != self.version:
            return
        new, self.told, self.changing = self.changing - self.told, self.changing, None
        numbers = dict(admitted.entries)
        for topic in sorted(new & self.inside.keys()):
            self.admit(topic, numbers[topic])
        for topic in [topic for topic in self.returning if topic not in self.told]:
            self.inside[topic] = self.returning.pop(topic)
        self.tell_desks()
        for topic in sorted(new):
            self.free(topic)

    def admit(self, topic: Topic, number: int) -> None:
        self.clock[topic] = number
        early, self.ahead[topic] = self.ahead.get(topic, {}), {}
        super().joined(topic, self.inside[topic])
        for message in early.values():
            self.hold(message, -1)
            self.arrive(message)

    def begin_leaving(self, topic: Topic, session: Session) -> None:
        session.phase = LEAVING
        self.part_when_drained(topic)

    def part_when_drained(self, topic: Topic) -> None:
        """What I published must be handed down before I leave the overlay."""
        if self.sessions[topic].phase is not LEAVING or topic not in self.inside or self.line(topic).waiting:
            return
        del self.inside[topic], self.clock[topic]
        for message in self.ahead.pop(topic).values():
            self.hold(message, -1)
        self.below.leave(topic)
        self.tell_desks()
        self.free(topic)

    # Publishing

    def spread(self, session: Session, id: MessageId, said: Publish) -> None:
        """Section 3.4: the publisher asks for a timestamp, and keeps the payload meanwhile."""
        self.line(id.topic).waiting.append((id, said))
        self.unasked.append(id.topic)
        self.ask()

    def ask(self) -> None:
        """For all that may be asked for. For causal order across topics, one topic after the other."""
        while self.unasked:
            topic = self.unasked[0]
            if self.across and any(line.asked >= line.first for t, line in self.lines.items() if t != topic):
                return
            self.unasked.pop(0)
            line = self.line(topic)
            line.asked += 1
            self.send_ask(topic, line)

    def send_ask(self, topic: Topic, line: Line) -> None:
        id = MessageId(self.origin, topic, line.first)
        self.to_desk(self.desks.of(topic), Ask(id, line.first, line.asked))
        self.be_patient()

    def upon_stamped(self, stamped: Stamped) -> None:
        """Hand down what has its timestamp, in the order in which it was published."""
        topic = stamped.id.topic
        line = self.line(topic)
        for n in range(stamped.count):
            if stamped.first + n >= line.first:
                own = (topic, stamped.number + n)
                line.stamps[stamped.first + n] = tuple(sorted((own, *stamped.entries)))
        while (stamp := line.stamps.pop(line.first, None)) is not None:
            id, said = line.waiting.pop(0)
            line.first += 1
            message = Message(id, said.payload, (), said.count, said.awaited, stamp)
            self.note("spread", id, len(stamp), said.count)
            self.below.spread(message)
            if self.sessions[topic].phase is not LEAVING:
                self.upon_arrive(self.sessions[topic], message)
        self.ask()
        self.part_when_drained(topic)

    def line(self, topic: Topic) -> Line:
        return self.lines.setdefault(topic, Line())

    # Delivering

    def arrive(self, message: Message) -> None:
        topic = message.id.topic
        if topic not in self.clock and (
            topic in self.inside or topic in self.returning
        ):  # it is for me if it comes after my admission
            self.ahead[topic][number_of(message)] = message
            self.hold(message)
        else:
            super().arrive(message)

    def upon_arrive(self, session: Session, message: Message) -> None:
        topic, number = message.id.topic, number_of(message)
        if number <= self.clock[topic]:
            self.note("skip", message.id, count=message.count)
            return
        self.ahead[topic][number] = message
        self.hold(message)
        self.deliver_from(topic)

    def deliver_from(self, topic: Topic) -> None:
        """What may be delivered now on a topic, and what waited for that."""
        look = [topic]
        while look:
            topic = look.pop()
            message = self.ahead[topic].get(self.clock[topic] + 1) if topic in self.clock else None
            if message is None:
                continue
            blocker = self.blocker(message)
            if blocker is not None:
                self.waits.setdefault(blocker, {})[topic] = None
                continue
            self.clock[topic] += 1
            del self.ahead[topic][self.clock[topic]]
            self.hold(message, -1)
            self.deliver_and_remember(self.sessions[topic], message)
            look += [topic, *sorted(self.waits.pop(topic, ()), reverse=True)]

    def blocker(self, message: Message) -> Topic | None:
        """A topic of mine on which something comes before this message, or may."""
        for topic, number in message.stamp:
            if topic == message.id.topic:
                continue
            mine = self.clock.get(topic)
            if mine is not None and mine < number:
                return topic
            if mine is None and topic in self.inside:  # until I know from where on I get it
                return topic
        return None

    def free(self, topic: Topic) -> None:
        """A topic is nobody's blocker any more, or for another reason."""
        for waiting in sorted(self.waits.pop(topic, ())):
            self.deliver_from(waiting)

    def deliverable(self, session: Session, message: Message) -> bool:
        topic = message.id.topic
        return number_of(message) == self.clock.get(topic, 0) + 1 and self.blocker(message) is None

    # Between desks and nodes

    def to_desk(self, desk: int, packet: Packet) -> None:
        self.to_node(self.host_of(desk), packet)

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
            if any(desk.open for desk in self.mine.values()):
                self.be_patient()

    # What was lost on the way is asked for again

    def be_patient(self) -> None:
        if self.retry and not self.patient:
            self.patient = True
            self.set_timer(RETRY, self.retry)

    def upon_retry(self) -> None:
        self.patient = False
        if self.changing is not None:
            self.send_change()
        for topic, line in self.lines.items():
            if line.asked >= line.first:
                self.send_ask(topic, line)
        for desk in self.mine.values():
            if desk.open:
                self.be_patient()
                desk.send_again()


class PerTopic(Total):
    """A sequencer for each topic and no groups: what everybody does first, and what is not enough."""

    promise = "two subscribers that both get two messages of one topic get them in the same order"
    source = "TNO, section 2: a sequencer per topic; inverts across topics"
    rule = ALONE


def number_of(message: Message) -> int:
    """Its place on its own topic."""
    topic = message.id.topic
    return next(number for other, number in message.stamp if other == topic)
