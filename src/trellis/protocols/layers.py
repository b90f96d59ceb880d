"""The two layers of a stack, and what each may ask of the other.

Source:   the TNO paper's design principle (an ordering between the application and any overlay), taken for all orders.
Promises: an ordering sees a topic as *out -> joining -> in -> leaving -> out*, one at a time, however the application
          changes its mind meanwhile; what the application published is spread even if it leaves at once.
Assumes:  an overlay that says `Joined(topic, cut)` brings every later message beyond the cut, once, in any order.

Downward go join, leave and spread, upward joined, departed and arrive. An overlay that welcomes a joiner asks for the
ordering's `frontier`, what it has delivered so far; what cannot be had any more it says with `lacks`, and what the
application need not wait for with `mute`, after a look at what is `awaited`; if it can bring a message again, it asks
before whether the ordering `takes` it now, which holds back no more than so much. An overlay that meets a topic of the
tree says so (`learns`), and an ordering that has one which includes it joins it as well. `seam.py` has the words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from trellis.effects import Deliver
from trellis.errors import AlreadySubscribed, NotSubscribed, UnexpectedEvent
from trellis.events import (
    Arrive,
    Cycle,
    Departed,
    Event,
    Join,
    Joined,
    Leave,
    Publish,
    Receive,
    Restore,
    Spread,
    Standing,
    Subscribe,
    Suspect,
    Timeout,
    Unsubscribe,
)
from trellis.machine import Machine, Place
from trellis.protocols.interest import IN, JOINING, LEAVING, OUT, Interest, Session
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.protocols.seam import Above, Below, Missing, Outlet
from trellis.words import (
    ENTRY_BYTES,
    NOTHING,
    Barrier,
    Message,
    MessageId,
    NodeId,
    Origin,
    Packet,
    Topic,
    Vector,
    merge,
)

# What an overlay can give and an ordering can need; a stack that lacks one is refused by this name.
START_CUT = "a start cut for joiners"
GAPLESS = "numbers without gaps per source and topic"
CRASHES = "an answer to crashes"
SUBTOPICS = "what is published below a topic"

HELD_MAX = 10_000  # messages that an ordering holds back, and their bytes
HELD_BYTES_MAX = 64 << 20

Hearers = dict[Topic, set[NodeId]]

OWN = "ordering/"  # a timer with this before its name is the ordering's


class Overlay(Machine):
    """How a message reaches the subscribers of its topic."""

    promise: ClassVar[str]
    source: ClassVar[str]
    gives: ClassVar[frozenset[str]] = frozenset()
    fifo_links: ClassVar[bool] = False  # whether it relies on packets that do not overtake each other on a link
    settles: ClassVar[int] = 0  # if it acts in rounds for ever: after how many without anything new all have everything
    lossy: ClassVar[bool] = False  # whether it makes do with packets that may be lost, one by one
    links_on_demand: ClassVar[bool] = False  # whether it talks to few, so that no link need stand between any two nodes
    options: ClassVar[dict[str, int]] = {}  # what a scenario may set under [stack], with the default

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.above: Above = Outlet(self.outbox)

    @classmethod
    def hearers(cls, standing: Mapping[Topic, tuple[NodeId, ...]], place: Place) -> Hearers | None:
        """By topic, which nodes must be told who has subscribed since before the run; None: all of them."""
        return None

    @classmethod
    def gives_with(cls, options: Mapping[str, int]) -> frozenset[str]:
        """What it gives with these options."""
        return cls.gives

    def upon(self, event: Event) -> None:
        match event:
            case Receive():
                self.upon_receive(event.sender, event.packet)
            case Spread():
                self.spread(event.message)
            case Join():
                self.join(event.topic)
            case Leave():
                self.leave(event.topic)
            case Standing():
                self.upon_standing(event.topic, event.members)
            case Timeout() | Cycle():
                self.upon_time(event)
            case Suspect():
                self.upon_suspect(event.node)
            case Restore():
                self.upon_restore(event.node, event.incarnation)
            case _:
                raise UnexpectedEvent(self, event)

    def upon_suspect(self, node: NodeId) -> None:
        """A node cannot be reached. For overlays that give an answer to crashes."""
        raise UnexpectedEvent(self, Suspect(node))

    def upon_restore(self, node: NodeId, incarnation: int) -> None:
        """A node can be reached."""
        raise UnexpectedEvent(self, Restore(node, incarnation))

    def upon_time(self, event: Timeout | Cycle) -> None:
        """A timer of mine ran out, or a round began. For overlays that live by time."""
        raise UnexpectedEvent(self, event)

    @abstractmethod
    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        """A packet came."""

    @abstractmethod
    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """These nodes have subscribed since before the run."""

    @abstractmethod
    def join(self, topic: Topic) -> None:
        """Bring me the topic's messages, from a cut on that I am told. Only while out of it."""

    @abstractmethod
    def leave(self, topic: Topic) -> None:
        """Bring me no more. Only while in it."""

    @abstractmethod
    def spread(self, message: Message) -> None:
        """Bring this to every subscriber. Only while in its topic."""

    def come_back(self, topic: Topic) -> None:
        """I want it again, while leaving. For overlays that need not have left first."""

    def takes_part(self) -> bool:
        """Whether others rely on it in any topic: then the node had better not stop now."""
        return False

    def others_in(self, topic: Topic) -> list[NodeId]:
        """Subscribers of a topic that this node knows, for people to look at."""
        return []

    def under_way(self, topic: Topic) -> int:
        """What it has sent and waits for, for people to look at."""
        return 0

    def look_again(self, topic: Topic) -> None:
        """I lack something that must exist. For overlays that can bring a message again."""


class Ordering(Machine):
    """When a message may be delivered. Subclasses say so in `upon_arrive`."""

    promise: ClassVar[str]
    source: ClassVar[str]
    audits: ClassVar[tuple[str, ...]]  # by which a run under this order is judged
    audits_more: ClassVar[dict[str, tuple[str, ...]]] = {}  # and by these, if an option is set and not 0
    needs: ClassVar[frozenset[str]] = frozenset()
    options: ClassVar[dict[str, int]] = {}  # what a scenario may set under [stack], with the default
    packets: ClassVar[tuple[type[Packet], ...]] = ()  # its own
    fifo_links: ClassVar[bool] = False  # whether those rely on links on which none overtakes another
    holds_back: bool = True  # whether what came ahead of a gap waits here, and is forgotten when its topic is left
    wants_closed_cuts: bool = False  # whether what was given up may hide what something else must follow
    subtopics: ClassVar[bool] = True  # whether a subscription includes them

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.below: Below = Outlet(self.outbox)
        self.interest = Interest(Hierarchy.at(place))
        self.sessions: dict[Topic, Session] = self.interest.sessions
        self.held = 0  # messages that wait for others, over all topics
        self.held_bytes = 0

    def upon(self, event: Event) -> None:
        match event:
            case Arrive():
                self.arrive(event.message)
            case Publish():
                self.upon_publish(event)
            case Joined():
                self.joined(event.topic, event.cut)
            case Departed():
                self.departed(event.topic)
            case Subscribe():
                self.upon_subscribe(event.topic)
            case Unsubscribe():
                self.upon_unsubscribe(event.topic)
            case Standing():
                if self.me in event.members:
                    self.interest.check(event.topic)
                    self.session(event.topic).wanted = True
                    self.joined(event.topic, {})
            case Receive() | Timeout() | Cycle():
                self.upon_own(event)
            case Suspect() | Restore():
                self.upon_link(event)
            case _:
                raise UnexpectedEvent(self, event)

    def upon_link(self, event: Suspect | Restore) -> None:
        """A node cannot be reached, or can. For orderings that talk to each other."""

    def upon_own(self, event: Receive | Timeout | Cycle) -> None:
        """A packet or a timer of the ordering's own, or a round. For orderings that talk to each other."""
        raise UnexpectedEvent(self, event)

    def set_timer(self, name: str, delay: int) -> None:
        super().set_timer(OWN + name, delay)

    def cancel_timer(self, name: str) -> None:
        super().cancel_timer(OWN + name)

    def upon_subscribe(self, topic: Topic) -> None:
        self.interest.check(topic)
        session = self.session(topic)
        if session.wanted:
            raise AlreadySubscribed(f"topic {topic!r}: node {self.me} has subscribed already; unsubscribe first")
        session.wanted = True
        if session.phase is OUT:
            self.begin_joining(topic, session)
        elif session.phase is IN:  # one of mine includes it
            self.confirm(topic)
        elif session.phase is LEAVING:
            self.below.come_back(topic)
        self.look_below(topic)

    def upon_unsubscribe(self, topic: Topic) -> None:
        session = self.subscribed(topic, "leave it")
        session.wanted = False
        self.stay_or_leave(topic, session)
        self.look_below(topic)

    def learns(self, topic: Topic) -> None:
        """The overlay met a topic of the tree that it is out of: if one of mine includes it, I want it, too."""
        if self.interest.concerned(topic):
            self.begin_joining(topic, self.session(topic))

    def stay_or_leave(self, topic: Topic, session: Session) -> None:
        """The application does not want a topic for itself any more, or none that includes it."""
        session.inherited = self.interest.invited(topic)
        if session.phase is IN and not session.wanted and not self.interest.concerned(topic):
            self.begin_leaving(topic, session)
            self.look_below(topic)

    def look_below(self, topic: Topic) -> None:
        """Whether the application wants what a topic includes may have changed."""
        for other in self.interest.below(topic):
            self.stay_or_leave(other, self.sessions[other])

    def upon_publish(self, said: Publish) -> None:
        session = self.subscribed(said.topic, "publish")
        id = MessageId(self.origin, said.topic, session.published + 1)
        session.published += said.count
        self.note("publish", id, count=said.count)
        if session.phase is IN:
            self.spread(session, id, said)
        else:
            session.early.append((id, said))

    def arrive(self, message: Message) -> None:
        session = self.sessions.get(message.id.topic)
        if session is not None and session.phase is IN:
            self.upon_arrive(session, message)
        else:  # the application has left, or never came; the overlay still forwards
            self.note("skip", message.id, count=message.count)

    def joined(self, topic: Topic, cut: Vector) -> None:
        session = self.session(topic)
        session.phase = IN
        session.delivered, session.mute = dict(cut), {}
        self.begin(topic, cut)
        if session.wanted:
            self.confirm(topic)
        elif session.inherited:
            self.note("inherit", MessageId(self.origin, topic, 0))
        early, session.early = session.early, []
        for id, said in early:
            self.spread(session, id, said)
        if not session.wanted:
            self.stay_or_leave(topic, session)

    def inherits(self, topic: Topic, cut: Vector) -> None:
        """The overlay brings a topic that one of mine includes, beyond the cut, and was not asked. It may have said so
        before. When none of mine includes it any more, it is told to `leave`.
        """
        session = self.session(topic)
        if session.phase is OUT:
            session.phase = IN
            session.delivered, session.mute = dict(cut), {}
            self.begin(topic, cut)
            self.stay_or_leave(topic, session)
            if session.inherited:
                self.note("inherit", MessageId(self.origin, topic, 0))

    def departed(self, topic: Topic) -> None:
        session = self.sessions[topic]
        session.phase = OUT
        session.delivered = {}  # the overlay keeps what of it a later subscription needs
        # What it published meanwhile still has to go out.
        if session.wanted or session.early or self.interest.concerned(topic):
            self.begin_joining(topic, session)

    def begin_joining(self, topic: Topic, session: Session) -> None:
        session.phase = JOINING
        self.below.join(topic)

    def begin_leaving(self, topic: Topic, session: Session) -> None:
        session.phase = LEAVING
        self.below.leave(topic)

    def spread(self, session: Session, id: MessageId, said: Publish) -> None:
        """Stamp a message of mine, deliver it here and hand it down."""
        message = Message(id, said.payload, self.follows(id.topic), said.count, said.awaited)
        self.note("spread", id, len(message.follows), said.count)
        self.deliver_and_remember(session, message)
        self.below.spread(message)

    def deliver_and_remember(self, session: Session, message: Message, tags: tuple[str, ...] = ()) -> None:
        origin, last = message.id.origin, message.last
        if last > session.delivered.get(origin, 0):
            session.delivered[origin] = last
        if session.mute and last <= session.mute.get(origin, 0):
            self.note("skip", message.id, count=message.count)
        elif session.wanted or session.inherited:
            self.outbox.append(Deliver(message, tags))
        self.remember(message)

    def frontier(self, topic: Topic) -> Vector:
        """Per origin, what I have delivered or skipped: closed under "follows", as everything delivered is."""
        session = self.sessions.get(topic)
        return dict(session.delivered) if session is not None else {}

    def lacks(self, topic: Topic, cut: Vector, missing: list[Missing]) -> None:
        """The overlay cannot bring these numbers any more: tell the application, and go on from the cut."""
        session = self.session(topic)
        if session.phase is IN:
            missing = [*missing, *self.clear_below(session, topic, cut)]
        for origin, first, last in missing:
            if session.wanted or session.inherited:
                self.gap(MessageId(origin, topic, first), last - first + 1)
        if session.phase is IN:
            merge(session.delivered, cut)
            for origin in cut:
                self.go_on(session, topic, origin)

    def mute(self, topic: Topic, origin: Origin, upto: int) -> None:
        """The application need not wait for these numbers any more. If they come after all they keep their place among
        the others, and it does not hear of them.
        """
        session = self.session(topic)
        first = self.told_upto(session, origin) + 1
        if first > upto:
            return
        if session.phase is IN and (session.wanted or session.inherited):
            self.gap(MessageId(origin, topic, first), upto - first + 1)
        session.mute[origin] = upto

    def told_upto(self, session: Session, origin: Origin) -> int:
        """Up to which number the application has got everything, or was told not to wait."""
        return max(session.delivered.get(origin, 0), session.mute.get(origin, 0))

    def awaited(self, topic: Topic) -> Vector:
        """Per origin, the highest number that did not come, and that something of another origin waits for of which the
        application was not told. None, unless the order makes origins wait for each other.
        """
        return {}

    def clear_below(self, session: Session, topic: Topic, cut: Vector) -> list[Missing]:
        """Deliver what is held back at or below a cut from which I go on; what comes back is given up with the rest."""
        return []

    def takes(self, message: Message) -> bool:
        """Whether there is room for it, or no need to hold it back."""
        if self.held < HELD_MAX and self.held_bytes < HELD_BYTES_MAX:
            return True
        session = self.sessions[message.id.topic]
        return session.phase is not IN or self.deliverable(session, message)

    def deliverable(self, session: Session, message: Message) -> bool:
        """Whether it may be delivered at once."""
        return True

    def hold(self, message: Message, sign: int = 1) -> None:
        """Count what waits, and with -1 what waits no more."""
        self.held += sign * message.count
        self.held_bytes += sign * (len(message.payload) + ENTRY_BYTES * len(message.stamp))

    def go_on(self, session: Session, topic: Topic, origin: Origin) -> None:
        """Deliver what waited for numbers that will not come any more."""

    def session(self, topic: Topic) -> Session:
        return self.interest.session(topic)

    def subscribed(self, topic: Topic, what_for: str) -> Session:
        session = self.sessions.get(topic)
        if session is None or not session.wanted:
            raise NotSubscribed(f"topic {topic!r}: node {self.me} has not subscribed; subscribe before you {what_for}")
        return session

    def follows(self, topic: Topic) -> Barrier:
        """What my next message must follow. Nothing, unless the order says so."""
        return NOTHING

    def remember(self, message: Message) -> None:
        """A message was delivered. What else the order must know of it."""

    def begin(self, topic: Topic, cut: Vector) -> None:
        """A session begins: forget what an earlier one left behind."""

    @abstractmethod
    def upon_arrive(self, session: Session, message: Message) -> None:
        """A message of a topic that I am in, for the first time."""
