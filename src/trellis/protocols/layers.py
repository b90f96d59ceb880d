"""The two layers of a stack, and what each may ask of the other.

Source:   the TNO paper's design principle (an ordering between the application and any overlay), taken for all orders.
Promises: an ordering sees a topic as *out -> joining -> in -> leaving -> out*, one at a time, however the application
          changes its mind meanwhile; what the application published is spread even if it leaves at once.
Assumes:  an overlay that says `Joined(topic, cut)` brings every later message beyond the cut, once, in any order.

Downward go Join, Leave and Spread, upward Joined, Departed and Arrive. One question goes upward without an event: an
overlay that welcomes a joiner asks the ordering for its `frontier`, what it has delivered so far.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import ClassVar

from trellis.errors import AlreadySubscribed, NotSubscribed, UnexpectedEvent
from trellis.events import (
    Arrive,
    Departed,
    Event,
    Join,
    Joined,
    Leave,
    Publish,
    Spread,
    Standing,
    Subscribe,
    Unsubscribe,
)
from trellis.machine import Machine, Place
from trellis.words import NOTHING, Barrier, Message, MessageId, Topic, Vector

# What an overlay can give and an ordering can need; a stack that lacks one is refused by this name.
START_CUT = "a start cut for joiners"
GAPLESS = "numbers without gaps per source and topic"


class Overlay(Machine):
    """How a message reaches the subscribers of its topic."""

    promise: ClassVar[str]
    source: ClassVar[str]
    gives: ClassVar[frozenset[str]] = frozenset()
    options: ClassVar[dict[str, int]] = {}  # what a scenario may set under [stack], with the default
    frontier: Callable[[Topic], Vector]  # asks the ordering above; the stack sets it

    def arrive(self, message: Message) -> None:
        self.outbox.append(Arrive(message))

    def joined(self, topic: Topic, cut: Vector) -> None:
        self.outbox.append(Joined(topic, cut))

    def departed(self, topic: Topic) -> None:
        self.outbox.append(Departed(topic))


class Phase(Enum):
    OUT = "out"
    JOINING = "joining"
    IN = "in"
    LEAVING = "leaving"


class Session:
    """One node's relation to one topic, over all its subscriptions to it."""

    def __init__(self) -> None:
        self.phase = Phase.OUT
        self.wanted = False  # the application's last word
        self.published = 0  # my messages on this topic, over all sessions
        self.since = 0  # `published` when the current session began
        self.early: list[tuple[MessageId, bytes]] = []  # published before the overlay was in
        self.delivered: Vector = {}  # per origin, the highest number delivered, or skipped by the cut


class Ordering(Machine):
    """When a message may be delivered. Subclasses say so in `upon_arrive`."""

    promise: ClassVar[str]
    source: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.sessions: dict[Topic, Session] = {}

    def upon(self, event: Event) -> None:
        match event:
            case Arrive():
                session = self.sessions[event.message.id.topic]
                if session.phase is Phase.IN:
                    self.upon_arrive(session, event.message)
                else:  # the application has left; the overlay still forwards
                    self.note("skip", event.message.id)
            case Publish():
                self.upon_publish(event.topic, event.payload)
            case Joined():
                self.upon_joined(event.topic, event.cut)
            case Departed():
                self.upon_departed(event.topic)
            case Subscribe():
                self.upon_subscribe(event.topic)
            case Unsubscribe():
                self.upon_unsubscribe(event.topic)
            case Standing():
                if self.me in event.members:
                    self.session(event.topic).wanted = True
                    self.upon_joined(event.topic, {})
            case _:
                raise UnexpectedEvent(self, event)

    def upon_subscribe(self, topic: Topic) -> None:
        session = self.session(topic)
        if session.wanted:
            raise AlreadySubscribed(f"topic {topic!r}: node {self.me} has subscribed already; unsubscribe first")
        session.wanted = True
        if session.phase is Phase.OUT:
            self.join(topic, session)

    def upon_unsubscribe(self, topic: Topic) -> None:
        session = self.subscribed(topic, "leave it")
        session.wanted = False
        if session.phase is Phase.IN:
            self.leave(topic, session)

    def upon_publish(self, topic: Topic, payload: bytes) -> None:
        session = self.subscribed(topic, "publish")
        session.published += 1
        id = MessageId(self.origin, topic, session.published)
        self.note("publish", id)
        if session.phase is Phase.IN:
            self.spread(session, id, payload)
        else:
            session.early.append((id, payload))

    def upon_joined(self, topic: Topic, cut: Vector) -> None:
        session = self.session(topic)
        session.phase = Phase.IN
        session.since = session.published - len(session.early)
        session.delivered = dict(cut)
        self.begin(topic, cut)
        if session.wanted:
            self.confirm(topic)
        for id, payload in session.early:
            self.spread(session, id, payload)
        session.early = []
        if not session.wanted:
            self.leave(topic, session)

    def upon_departed(self, topic: Topic) -> None:
        session = self.sessions[topic]
        session.phase = Phase.OUT
        session.delivered = {}  # the group may be another one when I come back: its cut decides, not my memory
        if session.wanted or session.early:  # what it published meanwhile still has to go out
            self.join(topic, session)

    def join(self, topic: Topic, session: Session) -> None:
        session.phase = Phase.JOINING
        self.outbox.append(Join(topic))

    def leave(self, topic: Topic, session: Session) -> None:
        session.phase = Phase.LEAVING
        self.outbox.append(Leave(topic))

    def spread(self, session: Session, id: MessageId, payload: bytes) -> None:
        """Stamp a message of mine, deliver it here and hand it down."""
        message = Message(id, payload, self.follows(id.topic), session.since)
        self.note("spread", id, len(message.follows))
        self.deliver_and_remember(session, message)
        self.outbox.append(Spread(message))

    def deliver_and_remember(self, session: Session, message: Message) -> None:
        origin, seq = message.id.origin, message.id.seq
        if seq > session.delivered.get(origin, 0):
            session.delivered[origin] = seq
        if session.wanted:
            self.deliver(message)

    def frontier(self, topic: Topic) -> Vector:
        """Per origin, what I have delivered or skipped: closed under "follows", as everything delivered is."""
        session = self.sessions.get(topic)
        return dict(session.delivered) if session is not None else {}

    def session(self, topic: Topic) -> Session:
        return self.sessions.setdefault(topic, Session())

    def subscribed(self, topic: Topic, what_for: str) -> Session:
        session = self.sessions.get(topic)
        if session is None or not session.wanted:
            raise NotSubscribed(f"topic {topic!r}: node {self.me} has not subscribed; subscribe before you {what_for}")
        return session

    def follows(self, topic: Topic) -> Barrier:
        """What my next message must follow. Nothing, unless the order says so."""
        return NOTHING

    def begin(self, topic: Topic, cut: Vector) -> None:
        """A session begins: forget what an earlier one left behind."""

    @abstractmethod
    def upon_arrive(self, session: Session, message: Message) -> None:
        """A message of a topic that I am in, for the first time."""
