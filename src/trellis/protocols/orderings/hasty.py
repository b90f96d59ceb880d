"""Total order for a subscriber that would rather go on than wait: what comes too late is delivered with a tag.

Source:   TNO section 4, "Working with unreliable ENSs".
Promises: what is delivered without a tag is in total order, as everybody else has it. What arrives is delivered, once:
          what should have come before something that was delivered already, at once and tagged as out of order. What
          never arrives is told as a gap.
Assumes:  what `Total` does. The haste of one subscriber is its own: others neither see it nor take part in it.
Departs:  half of the time, or half of the room, is used to ask for what is missing. If what may be held back is full,
          the oldest one goes; if something held must come before it, that goes first, though it came later. What was
          published by one call has one timestamp, and counts as one. Numbers that were passed over are kept until they
          come or are told to be void; when those are too many, it waits like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from trellis.events import Cycle, Receive, Timeout
from trellis.machine import Place
from trellis.protocols.interest import Session
from trellis.protocols.orderings.subscriber import number_of
from trellis.protocols.orderings.total import Total
from trellis.protocols.parts.desk_packets import Pull, Told
from trellis.protocols.parts.haste import Buffer, Held
from trellis.protocols.parts.passed import Passed
from trellis.words import OUT_OF_ORDER, Message, MessageId, Topic

HASTE = "haste"
PULLS_MAX = 16  # rows of a topic that were passed over, asked for at once


class Hasty(Total):
    """`total` with a bounded buffer."""

    options: ClassVar[dict[str, int]] = {**Total.options, "buffer": 0, "ttl": 0}

    def __init__(self, place: Place, buffer: int = 0, ttl: int = 0, **others: int) -> None:
        super().__init__(place, **others)
        self.buffer = Buffer(buffer, ttl)
        self.passed = Passed()
        self.floor: dict[Topic, int] = {}  # up to where I passed over topics to which I was not admitted yet
        self.pulled: dict[Topic, int] = {}  # after which number I last asked in haste
        self.alert = False  # whether the timer is set

    def upon_own(self, event: Receive | Timeout | Cycle) -> None:
        if isinstance(event, Timeout) and event.name == HASTE:
            self.upon_haste()
        else:
            super().upon_own(event)

    # What is held back

    def upon_arrive(self, session: Session, message: Message) -> None:
        topic, number = message.id.topic, number_of(message)
        if (topic, number) in self.passed:
            self.hand_over(session, message)
            return
        super().upon_arrive(session, message)
        if self.ahead[topic].get(number) is message:
            self.hold_back(message)

    def hold_back(self, message: Message) -> None:
        """Section 4: e is "enqueued to a buffer", and "a timer for e is started"."""
        self.buffer.held[message.id] = Held(message, self.now)
        if self.buffer.half_full:
            self.pull_in_haste()
        while self.buffer.overflows and self.release_head():
            pass
        self.stay_alert()

    def hold(self, message: Message, sign: int = 1) -> None:
        super().hold(message, sign)
        if sign < 0:
            self.buffer.held.pop(message.id, None)

    def upon_haste(self) -> None:
        self.alert = False
        while self.buffer.expired(self.now) and self.release_head():
            pass
        if self.buffer.half_over(self.now):
            self.pull_in_haste()
        self.stay_alert()

    def stay_alert(self) -> None:
        at = self.buffer.next_time(self.now)
        if at is not None and not self.alert:
            self.alert = True
            self.set_timer(HASTE, self.buffer.ttl if self.held_up else at - self.now)

    @property
    def held_up(self) -> bool:
        """Whether haste must wait: for what was passed over, or for my lease."""
        return self.passed.full or not self.may_deliver()

    def pull_in_haste(self) -> None:
        """Ask, once each, for the numbers that something waits for."""
        stuck = {topic: number for topic, number in self.clock.items() if self.is_stuck(topic)}
        for topic, number in stuck.items():
            if self.pulled.get(topic) != number:
                self.pulled[topic] = number
                self.pull(topic)

    # What is not waited for

    def release_head(self) -> bool:
        """Conditions (ii) and (iii). Whether it could be done."""
        head = self.buffer.head
        if head is None or self.held_up:
            return False
        moved = self.release(head.message)
        self.look_at({**moved, **{waiting: None for topic in moved for waiting in self.waits.pop(topic, ())}})
        return True

    def release(self, message: Message) -> dict[Topic, None]:
        """Deliver it, after what I hold and must come before it, and pass over what is missing. Which clocks moved."""
        moved: dict[Topic, None] = {}
        way = [(self.taken_out(message), self.held_before(message))]
        while way:
            message, before = way[-1]
            first = next(before, None)
            if first is not None:
                way.append((self.taken_out(first), self.held_before(first)))
                continue
            way.pop()
            for topic, upto in self.needs_of(message):
                self.pass_over(topic, upto)
                moved[topic] = None
            self.hand_over(self.sessions[message.id.topic], message)
        return moved

    def needs_of(self, message: Message) -> Iterator[tuple[Topic, int]]:
        """Up to which numbers of my topics something comes before it."""
        own = message.id.topic
        return ((topic, number - (topic == own)) for topic, number in message.stamp if topic in self.inside)

    def held_before(self, message: Message) -> Iterator[Message]:
        """Of each topic the smallest first; what one of them needs is gone when the next one is asked for."""
        for topic, upto in self.needs_of(message):
            ahead, mine = self.ahead[topic], self.clock.get(topic)
            if mine is None or mine >= upto:
                continue
            between = range(mine + 1, upto + 1)
            found = [n for n in between if n in ahead] if len(between) < len(ahead) else sorted(ahead)
            for number in found:
                if number <= upto and number in ahead:
                    yield ahead[number]

    def taken_out(self, message: Message) -> Message:
        del self.ahead[message.id.topic][number_of(message)]
        self.hold(message, -1)
        return message

    def pass_over(self, topic: Topic, upto: int) -> None:
        mine = self.clock.get(topic)
        if mine is None:
            self.floor[topic] = max(upto, self.floor.get(topic, 0))
        elif mine < upto:
            self.passed.add(topic, mine + 1, upto)
            self.clock[topic] = upto
            self.be_patient()

    def hand_over(self, session: Session, message: Message) -> None:
        """Tagged, if its number was passed over."""
        topic, number = message.id.topic, number_of(message)
        last = number + message.count - 1
        late = bool(self.passed.take(topic, number, last))
        self.clock[topic] = max(last, self.clock[topic])
        self.deliver_and_remember(session, message, (OUT_OF_ORDER,) if late else ())

    def leave_out(self, message: Message) -> None:
        """What others must tell as a gap is only late here."""
        self.deliver_and_remember(self.sessions[message.id.topic], message, (OUT_OF_ORDER,))

    def deliverable(self, session: Session, message: Message) -> bool:
        place = (message.id.topic, number_of(message))
        return place in self.passed or super().deliverable(session, message)

    # Coming and going

    def admit(self, topic: Topic, number: int) -> None:
        floor = max(number, self.floor.pop(topic, 0))
        if number < floor:
            self.passed.add(topic, number + 1, floor)
        super().admit(topic, floor)

    def part_when_drained(self, topic: Topic) -> None:
        super().part_when_drained(topic)
        if topic not in self.inside:
            self.passed.forget(topic)
            self.floor.pop(topic, None)
            self.pulled.pop(topic, None)

    # What does not come

    def pull_what_is_stuck(self) -> bool:
        waiting = super().pull_what_is_stuck()
        for topic in list(self.passed.rows):
            self.pull_passed(topic)
        return waiting or bool(self.passed.rows)

    def pull_passed(self, topic: Topic, rows: int = PULLS_MAX) -> None:
        for first, last in self.passed.rows.get(topic, [])[:rows]:
            self.to_desk(self.desks.of(topic), Pull(MessageId(self.origin, topic, first), first, last))

    def upon_told(self, told: Told) -> None:
        topic = told.id.topic
        if (topic, told.number) not in self.passed:
            super().upon_told(told)
            return
        if not told.known:  # if they come after all they are late
            for first, last in self.passed.take(topic, told.number, told.number + told.count - 1):
                self.left_out.add(topic, first, last)
            return
        count, given_up = self.lost_of(told)
        if not count:
            self.below.look_again(topic)
            return
        for first, last in self.passed.take(topic, told.number, told.number + count - 1):
            untold = max(first, told.number + given_up)
            if untold <= last and self.sessions[topic].wanted:
                self.gap(MessageId(told.id.origin, topic, told.id.seq + untold - told.number), last - untold + 1)
        self.patience.rewarded()
        self.pull_passed(topic, 1)
