"""What a subscriber has to do with the desks: which topics it has, from which number on, and whether that still holds.

Source:   TNO section 3.4, subscription management.
Promises: one change of mind at a time; a topic is delivered from the number on at which all desks knew of it.
          With a lease, nothing is delivered unless the desks knew this subscriber less than half a lease ago. If they
          gave it up, it begins anew on all of its topics, and what it missed is told as gaps.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left

from trellis.events import Event, Standing
from trellis.machine import Place
from trellis.protocols.interest import LEAVING, Session
from trellis.protocols.orderings.deskbound import Deskbound
from trellis.protocols.parts.desk_packets import Admitted, Change, Ours, Reach, Reached, Renew, Renewed
from trellis.protocols.parts.passed import Passed
from trellis.words import Message, MessageId, NodeId, Time, Topic, Vector

NEVER = -1


class Subscriber(Deskbound):
    """Admissions, by topic."""

    def __init__(self, place: Place, rule: str, **at_desks: int) -> None:
        super().__init__(place, rule, **at_desks)
        self.inside: dict[Topic, Vector] = {}  # topics that the overlay brings and that I do not leave, with its cut
        self.returning: dict[Topic, Vector] = {}  # the same, of those that the desks must first hear I left
        self.told: frozenset[Topic] = frozenset()  # what the desks know of that
        self.changing: frozenset[Topic] | None = None  # what they are told just now
        self.version = 0
        self.admitted = 0  # the last of them that all desks know of
        self.anew = 0  # the last one before which they had given me up
        self.clock: dict[Topic, int] = {}  # sub_LC: the last number delivered, of topics to which I am admitted
        self.ahead: dict[Topic, dict[int, Message]] = {}  # held back, by number
        self.resuming: dict[Topic, int] = {}  # the same, of topics to which I was, until the desks gave me up
        self.left_out = Passed()  # what I will not deliver if it still comes
        self.question: Reach | None = None  # how far I am, somebody wants to know
        self.leased: Time = NEVER  # when I asked, the last time that my subscription was confirmed
        self.renewing: Time = NEVER  # when I asked, if no answer came

    def upon(self, event: Event) -> None:
        if isinstance(event, Standing):
            self.upon_standing(event.topic, event.members)
        else:
            super().upon(event)

    def upon_packet(self, sender: NodeId, packet: Ours) -> None:
        match packet:
            case Admitted():
                self.upon_admitted(packet)
            case Renewed():
                self.upon_renewed(packet)
            case Reach():
                self.question = packet
                self.tell_how_far()
            case _:
                self.bureau.upon_packet(sender, packet)

    @abstractmethod
    def look_at(self, topics: tuple[Topic, ...] | dict[Topic, None]) -> None:
        """Deliver what may be delivered now on these topics, and what waited for that."""

    @abstractmethod
    def look_at_what_waits_for(self, topic: Topic) -> None:
        """The same, of what waited for this one."""

    @abstractmethod
    def has_unspread(self, topic: Topic) -> bool:
        """Whether something that I published is not handed down yet."""

    # Changes of mind

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        self.bureau.stand(topic, members)
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
        if self.changing is None and wanted != self.told:
            self.version += 1
            self.changing = wanted
            self.send_change()

    def send_change(self) -> None:
        assert self.changing is not None
        id = MessageId(self.origin, min(self.changing | self.told), -self.version)
        self.to_registry(Change(id, self.version, tuple(sorted(self.changing))))

    def upon_admitted(self, admitted: Admitted) -> None:
        if self.changing is None or admitted.version != self.version or admitted.id.origin != self.origin:
            return
        self.patience.rewarded()
        if admitted.anew:
            self.lose_admissions()
            self.anew, self.renewing = admitted.version, NEVER
        new, self.told, self.changing = self.changing - self.told, self.changing, None
        self.admitted = admitted.version
        numbers = dict(admitted.entries)
        for topic in sorted(new & self.inside.keys()):
            self.admit(topic, numbers.get(topic, 0))
        for topic in [topic for topic in self.returning if topic not in self.told]:
            self.inside[topic] = self.returning.pop(topic)
        self.tell_desks()
        for topic in sorted(new):
            self.look_at_what_waits_for(topic)
        if self.lease:  # it may have waited for this
            self.look_at(dict.fromkeys(self.clock))

    def admit(self, topic: Topic, number: int) -> None:
        self.clock[topic] = number
        early, self.ahead[topic] = self.ahead.get(topic, {}), {}
        last = self.resuming.pop(topic, None)
        if last is None:
            super().joined(topic, self.inside[topic])
        elif last < number:
            self.left_out.add(topic, last + 1, number)
        for message in early.values():
            self.hold(message, -1)
            self.arrive(message)

    def begin_leaving(self, topic: Topic, session: Session) -> None:
        session.phase = LEAVING
        self.part_when_drained(topic)

    def part_when_drained(self, topic: Topic) -> None:
        """What I published must be handed down before I leave the overlay."""
        if self.sessions[topic].phase is not LEAVING or topic not in self.inside or self.has_unspread(topic):
            return
        del self.inside[topic]
        self.clock.pop(topic, None)
        self.resuming.pop(topic, None)
        self.left_out.forget(topic)
        for message in self.ahead.pop(topic).values():
            self.hold(message, -1)
        self.below.leave(topic)
        self.tell_desks()
        self.look_at_what_waits_for(topic)

    def to_registry(self, packet: Ours) -> None:
        """To the desk where changes begin."""
        self.to_desk(self.desks.count - 1, packet)
        self.be_patient()

    # Leases

    def may_deliver(self) -> bool:
        """Whether no desk can have given me up. While I deliver I ask in good time."""
        if not self.lease:
            return True
        age = self.now - self.leased
        if self.renewing == NEVER and (self.leased == NEVER or age >= self.lease // 4) and any(self.ahead.values()):
            self.renew()
        return self.leased != NEVER and age < self.lease // 2

    def renew(self) -> None:
        self.renewing = self.now
        self.to_registry(Renew(MessageId(self.origin, min(self.inside, default="-"), 0), self.admitted, self.now))

    def upon_renewed(self, renewed: Renewed) -> None:
        if renewed.id.origin != self.origin or not self.leased <= renewed.at <= self.now:
            return
        self.patience.answered(self.now - renewed.at)
        if renewed.version < self.anew or self.now - renewed.at >= self.lease // 2:  # it came too late
            return
        self.renewing = NEVER
        if renewed.stands:
            self.patience.rewarded()
            self.leased = renewed.at
            self.look_at(dict.fromkeys(self.clock))
        elif self.changing is None:
            self.lose_admissions()
            self.tell_desks()

    def lose_admissions(self) -> None:
        """The desks have given me up: what is numbered until they know me again is not ordered for me."""
        self.told = frozenset()
        self.resuming |= self.clock
        self.clock.clear()

    def leave_out(self, message: Message) -> None:
        """It comes after something that it may have to come before."""
        session, origin = self.sessions[message.id.topic], message.id.origin
        session.delivered[origin] = max(message.last, session.delivered.get(origin, 0))
        if session.wanted:
            self.gap(message.id, message.count)

    # Questions

    def tell_how_far(self) -> None:
        """T17: as soon as I have got, or do not get, all that somebody wants to know of."""
        question = self.question
        if question is None:
            return
        if all(
            topic not in self.inside or self.clock.get(topic, NEVER) >= number for topic, number in question.numbers
        ):
            self.question = None
            reached = Reached(MessageId(self.origin, question.id.topic, 0), question.round)
            self.to_desk(self.desks.count - 1, reached)

    def ask_all_again(self) -> bool:
        if self.changing is not None:
            self.send_change()
        if self.renewing != NEVER:
            self.renew()
        return self.changing is not None or self.renewing != NEVER

    def ask_again(self, desk: int) -> None:
        self.patience.changed()
        if desk == self.desks.count - 1:
            self.ask_all_again()
        self.be_patient()


def number_of(message: Message) -> int:
    """Its place on its own topic."""
    return message.stamp[bisect_left(message.stamp, (message.id.topic,))][1]
