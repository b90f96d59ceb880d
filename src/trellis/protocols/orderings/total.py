"""Total notification order: what two subscribers both get, on whatever topics, they get in the same order.

Source:   TNO, the multistage sequencer (Baldoni, Bonomi, Platania, Querzoni), sections 3 and 4.
Promises: pairwise: if two nodes both deliver a and b, on one topic or on two, they deliver them in the same order.
          With `across`, also causal order between topics. What cannot be had any more is told as a gap.
Assumes:  an overlay that brings every message that was handed down after a node joined it; of the hosts of each desk
          (parts/bureau.py) a majority, sooner or later.
Departs:  a message may be delivered when all entries of its timestamp are at or below the subscriber's clock and its
          own is the next one; the text asks for equality, which never comes true once the other topic has moved on.
          A node that waits to be admitted to a topic delivers nothing that may have to come after something on it.
          T5. Who waits too long for a number asks its desk whose it is.
"""

from __future__ import annotations

from typing import ClassVar

from trellis.events import Publish
from trellis.machine import Place
from trellis.protocols.interest import LEAVING, Session
from trellis.protocols.layers import GAPLESS, START_CUT
from trellis.protocols.orderings.deskbound import Deskbound
from trellis.protocols.orderings.subscriber import Subscriber, number_of
from trellis.protocols.parts.desk_packets import Ask, Ours, Pull, Stamped, Told
from trellis.protocols.parts.groups import ALONE, SHARED, WIDE
from trellis.protocols.parts.line import Line
from trellis.protocols.seam import Missing
from trellis.words import Message, MessageId, NodeId, Origin, Topic, Vector

HOPES = 3  # how often I hear that nobody knows a number before I go on without it


class Total(Subscriber):
    """Timestamps from the desks, and a clock at each subscriber."""

    promise = "two subscribers that both get two messages, on whatever topics, get them in the same order"
    source = "TNO (Baldoni et al.), holes T1-T6 and T8-T17 closed"
    audits: ClassVar[tuple[str, ...]] = ("creation", "duplicate", "uninvited", "fifo", "total", "lost", "stuck")
    audits_more: ClassVar[dict[str, tuple[str, ...]]] = {"across": ("across",)}
    needs = frozenset({START_CUT, GAPLESS})
    options: ClassVar[dict[str, int]] = {**Deskbound.options, "across": 0}
    rule = SHARED

    def __init__(self, place: Place, across: int = 0, **at_desks: int) -> None:
        super().__init__(place, WIDE if across else self.rule, **at_desks)
        self.across = bool(across)
        self.waits: dict[Topic, dict[Topic, None]] = {}  # topics whose next message waits for this one
        self.given_up: dict[tuple[Topic, Origin], int] = {}  # up to which number of a source the overlay gave up
        self.stuck: dict[Topic, int] = {}  # what I waited for when I last looked
        self.hopes: dict[Topic, tuple[int, int]] = {}  # a number of which nobody knows, and how often I heard that
        # As a publisher
        self.lines: dict[Topic, Line] = {}
        self.unasked: list[tuple[Topic, int]] = []  # up to where I will ask, in the order of the application's calls

    def upon_packet(self, sender: NodeId, packet: Ours) -> None:
        match packet:
            case Stamped():
                self.upon_stamped(packet)
            case Told():
                self.upon_told(packet)
            case _:
                super().upon_packet(sender, packet)

    # Publishing

    def upon_publish(self, said: Publish) -> None:
        """With `across` it has its place among my messages from now on, also if I am not in its topic yet."""
        session = self.subscribed(said.topic, "publish")
        if self.across:
            self.line_up(said.topic, session.published + said.count)
        super().upon_publish(said)

    def spread(self, session: Session, id: MessageId, said: Publish) -> None:
        """Section 3.4: the publisher asks for a timestamp, and keeps the payload meanwhile."""
        self.line(id.topic).waiting.append((id, said))
        if not self.across:
            self.line_up(id.topic, id.seq + said.count - 1)
        self.ask()

    def line_up(self, topic: Topic, last: int) -> None:
        if self.unasked and self.unasked[-1][0] == topic and not self.across:  # one may be here, and the other not yet
            self.unasked.pop()
        self.unasked.append((topic, last))

    def ask(self) -> None:
        """For all that may be asked for. For causal order across topics, one topic after the other."""
        unasked, self.unasked = self.unasked, []
        for n, (topic, last) in enumerate(unasked):
            line = self.line(topic)
            if self.across and (last > line.last or any(o.open for t, o in self.lines.items() if t != topic)):
                self.unasked += unasked[n:]  # I am not in the topic yet, or another one is not done
                return
            if line.busy:
                self.unasked.append((topic, last))
            else:
                line.ask(last)
                self.send_ask(topic)

    def send_ask(self, topic: Topic) -> None:
        line = self.line(topic)
        self.to_desk(self.desks.of(topic), Ask(MessageId(self.origin, topic, line.first), line.first, line.asked))
        self.be_patient()

    def upon_stamped(self, stamped: Stamped) -> None:
        """Hand down what has its timestamp, in the order in which it was published."""
        topic = stamped.id.topic
        if stamped.id.origin != self.origin or topic not in self.lines:
            return
        self.patience.rewarded()
        for message in self.lines[topic].stamp(stamped):
            self.note("spread", message.id, len(message.stamp), message.count)
            self.below.spread(message)
            if self.sessions[topic].phase is not LEAVING:
                self.arrive(message)
        self.ask()
        self.part_when_drained(topic)

    def line(self, topic: Topic) -> Line:
        return self.lines.setdefault(topic, Line())

    def has_unspread(self, topic: Topic) -> bool:
        return bool(self.line(topic).waiting)

    # Delivering

    def arrive(self, message: Message) -> None:
        topic = message.id.topic
        if topic not in self.clock and (topic in self.inside or topic in self.returning):
            self.ahead[topic][number_of(message)] = message  # it is for me if it comes after my admission
            self.hold(message)
        else:
            super().arrive(message)

    def upon_arrive(self, session: Session, message: Message) -> None:
        topic, number = message.id.topic, number_of(message)
        if self.left_out.take(topic, number, number + message.count - 1):
            self.leave_out(message)
            return
        if number <= self.clock[topic] or number in self.ahead[topic]:
            self.note("skip", message.id, count=message.count)
            return
        self.ahead[topic][number] = message
        self.hold(message)
        self.look_at((topic,))

    def look_at(self, topics: tuple[Topic, ...] | dict[Topic, None]) -> None:
        """Deliver what may be delivered now on these topics, and what waited for that."""
        look = sorted(topics, reverse=True) if self.may_deliver() else []
        while look:
            topic = look.pop()
            if topic not in self.clock:
                continue
            message = self.ahead[topic].get(self.clock[topic] + 1)
            blocker = topic if message is None else self.blocker(message)
            if message is None or blocker is not None:
                if message is not None:
                    assert blocker is not None
                    self.waits.setdefault(blocker, {})[topic] = None
                if self.ahead[topic]:
                    self.be_patient()
                continue
            del self.ahead[topic][self.clock[topic] + 1]
            self.hold(message, -1)
            self.deliver_and_remember(self.sessions[topic], message)
            self.clock[topic] += message.count
            look += [topic, *sorted(self.waits.pop(topic, ()), reverse=True)]
        self.tell_how_far()

    def look_at_what_waits_for(self, topic: Topic) -> None:
        self.look_at(self.waits.pop(topic, ()))

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

    def frontier(self, topic: Topic) -> Vector:
        """What I handed down counts: a joiner gets it by its number, and nobody else has to bring it to me."""
        vector = super().frontier(topic)
        line = self.lines.get(topic)
        if line is not None and line.first > 1:
            vector[self.origin] = line.first - 1
        return vector

    def deliverable(self, session: Session, message: Message) -> bool:
        topic = message.id.topic
        return number_of(message) == self.clock.get(topic, 0) + 1 and self.blocker(message) is None

    # What does not come

    def lacks(self, topic: Topic, cut: Vector, missing: list[Missing]) -> None:
        """Which of my numbers that is the desk will tell."""
        super().lacks(topic, cut, missing)
        for origin, seq in cut.items():
            self.given_up[topic, origin] = max(seq, self.given_up.get((topic, origin), 0))
        self.be_patient()

    def pull_what_is_stuck(self) -> bool:
        """Ask whose the numbers are for which I have waited since I last looked; whether I wait for any."""
        stuck = {topic: number + 1 for topic, number in self.clock.items() if self.is_stuck(topic)}
        for topic, number in sorted(stuck.items()):
            if self.stuck.get(topic) == number:
                self.pull(topic)
        self.stuck = stuck
        return bool(stuck)

    def is_stuck(self, topic: Topic) -> bool:
        """Whether something waits for a number of this topic that has not come."""
        ahead = self.ahead[topic]
        return self.clock[topic] + 1 not in ahead and bool(ahead or topic in self.waits)

    def pull(self, topic: Topic) -> None:
        number = self.clock[topic] + 1
        upto = min(self.ahead[topic], default=1) - 1
        self.to_desk(self.desks.of(topic), Pull(MessageId(self.origin, topic, number), number, upto))

    def upon_told(self, told: Told) -> None:
        """Go on after numbers that will not come."""
        topic, origin, seq = told.id.topic, told.id.origin, told.id.seq
        if self.clock.get(topic, -1) + 1 != told.number:
            return
        if not told.known:
            self.upon_unknown(told)
            return
        count, given_up = self.lost_of(told)
        if not count:
            self.below.look_again(topic)
            return
        session = self.sessions[topic]
        if told.void and session.wanted and count > given_up:
            self.gap(MessageId(origin, topic, seq + given_up), count - given_up)
        self.go_past(topic, count)

    def upon_unknown(self, told: Told) -> None:
        """They may still be on their way, so I wait for a while. What comes after that is told as a gap."""
        topic = told.id.topic
        asked, times = self.hopes.pop(topic, (0, 0))
        times = times + 1 if asked == told.number else 1
        if times <= HOPES:
            self.hopes[topic] = told.number, times
            self.below.look_again(topic)
        else:
            count = min([told.number + told.count, *self.ahead[topic]]) - told.number
            self.left_out.add(topic, told.number, told.number + count - 1)
            self.go_past(topic, count)

    def go_past(self, topic: Topic, count: int) -> None:
        self.clock[topic] += count
        self.patience.rewarded()
        self.look_at({topic: None, **self.waits.pop(topic, {})})
        if topic in self.clock and self.is_stuck(topic):  # where one was lost, the next one mostly was, too
            self.pull(topic)

    def lost_of(self, told: Told) -> tuple[int, int]:
        """How many of these will not come; and of how many of those the overlay has told."""
        missing = min([told.number + told.count, *self.ahead[told.id.topic]]) - told.number  # some came since I asked
        given_up = self.given_up.get((told.id.topic, told.id.origin), 0) - told.id.seq + 1
        given_up = max(0, min(missing, given_up))
        return missing if told.void else given_up, given_up

    # What was lost on the way is asked for again

    def ask_all_again(self) -> bool:
        waiting = self.pull_what_is_stuck()
        for topic, line in self.lines.items():
            if line.open:
                waiting = True
                self.send_ask(topic)
        return super().ask_all_again() or waiting

    def ask_again(self, desk: int) -> None:
        super().ask_again(desk)
        for topic, line in self.lines.items():
            if line.open and self.desks.of(topic) == desk:
                self.send_ask(topic)


class TotalCausal(Total):
    """The same with causal order across topics, as an order of its own: for programs, which choose by name."""

    promise = "as total; and what happened before a message is delivered before it, on whatever topics"
    source = "TNO section 4, Ordering features: sequencing groups from one common subscription on"
    audits = (*Total.audits, "across")
    audits_more: ClassVar[dict[str, tuple[str, ...]]] = {}
    options: ClassVar[dict[str, int]] = Deskbound.options

    def __init__(self, place: Place, **at_desks: int) -> None:
        super().__init__(place, across=1, **at_desks)


class PerTopic(Total):
    """A sequencer for each topic and no groups: what everybody does first, and what is not enough."""

    promise = "two subscribers that both get two messages of one topic get them in the same order"
    source = "TNO, section 2: a sequencer per topic; inverts across topics"
    audits_more: ClassVar[dict[str, tuple[str, ...]]] = {}
    options: ClassVar[dict[str, int]] = Deskbound.options
    rule = ALONE
