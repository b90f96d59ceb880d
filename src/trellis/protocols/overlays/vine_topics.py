"""Which topics a node takes over a vine, from when on and until when.

Promises: whoever's subscription is confirmed gets every message that is published later on its topic, once, as long as
          somebody who has it stays. It begins from a cut that somebody tells who takes the topic already: whatever is
          published later is beyond any such cut. If nobody is found who does, it begins from nothing.
          It leaves when what it has is with somebody who stays, or when nobody is there who would want it.

A topic's life at one node:

    OUT --Join--> JOINING --somebody told a cut, or nobody is there--> IN
    IN --Leave--> LEAVING --what I have is safe--> OUT
    LEAVING --Join--> IN
"""

from __future__ import annotations

from abc import abstractmethod

from trellis.effects import Held
from trellis.errors import LocalProtocolError, RemoteProtocolError
from trellis.machine import Place
from trellis.protocols.layers import Overlay
from trellis.protocols.overlays.vine_packets import STEPS_MAX, Ask, Found, Lookup, Start
from trellis.protocols.overlays.vine_repair import Comparison
from trellis.protocols.overlays.vine_spreading import Spreading
from trellis.protocols.parts.profiles import NAMES_MAX, Profile, Rates, size_of_names
from trellis.words import Message, MessageId, NodeId, Topic, Vector, merge

JOINING, IN, LEAVING = "joining", "in", "leaving"

AGAIN = 4  # rounds until what was not answered is asked again
ALONE = 12  # rounds in which a joiner looks for others, before it believes that there are none
SLOW = 40  # and if there are some, but none that can tell it where to begin
LONELY = 24  # rounds in which whoever leaves looks for somebody to leave with what it has
PATIENCE = 512  # if somebody is out of reach who may want it
RETURNS = 64  # rounds in which somebody who came back may be found again
ASKED = 2  # whom a joiner asks at once
ASKED_MAX = 64  # and in all, as far as it remembers
BEFORE_MAX = 1024  # topics that it has left, of which it knows what it had


class Taken:
    """One topic that a node takes."""

    def __init__(self, phase: str, now: int) -> None:
        self.phase = phase
        self.since = now  # the round in which the phase began
        self.asked: dict[NodeId, int] = {}  # joining: who should tell a cut, and when I asked
        self.unready: dict[NodeId, int] = {}  # joining: who could not tell one, and when it said so
        self.askers: dict[NodeId, None] = {}  # joining: who asked me, and waits for me
        self.nobody = 0  # how often a search ended without finding anybody, in this phase
        self.unheld: list[Message] = []  # mine, that nobody else has for certain
        self.agreed = -1  # in which round somebody who stays had what I have
        self.fresh = False  # nobody told where to begin: what is gone was before my time


class Topics(Overlay):
    """The topics of one node."""

    def __init__(self, place: Place, keep: int, repairs: bool) -> None:
        super().__init__(place)
        self.repairs = repairs
        self.taken: dict[Topic, Taken] = {}
        self.brought: dict[Topic, None] = {}  # topics whose messages the layer above takes
        self.said: dict[Topic, int] = {}  # my last number on each topic, also from earlier subscriptions
        self.before: dict[Topic, Vector] = {}  # of topics that I have left: what the layer above has had of them
        self.rates = Rates(place.topics)
        self.comparison = Comparison(self, keep)
        self.spreading = Spreading(self)
        self.suspected: set[NodeId] = set()  # who was there, and cannot be reached; never iterated
        self.returned = -RETURNS - 1  # the round in which one of them came back
        self.lives: dict[NodeId, int] = {}
        self.round = 0
        self.profile = Profile(self.me, self.origin[1], 0, frozenset(), 0)

    @abstractmethod
    def begin_once(self) -> None:
        """Before anything else happens."""

    @abstractmethod
    def renew(self) -> None:
        """The profile has changed."""

    @abstractmethod
    def hop(self, topic: Topic) -> NodeId | None:
        """The next node of a lookup; none if I am the closest one."""

    @abstractmethod
    def ways(self, topic: Topic) -> list[NodeId]:
        """Where a notification goes on."""

    @abstractmethod
    def fellows(self, topic: Topic) -> list[NodeId]:
        """Neighbours that take a topic."""

    @abstractmethod
    def carried_for(self, topic: Topic, asker: NodeId) -> NodeId | None:
        """Somebody for whom I carry a topic, but the asker."""

    def carries(self, topic: Topic) -> bool:
        """Whether I am on a relay path of a topic, for others."""
        return False

    def id_of(self, topic: Topic) -> MessageId:
        """For a packet that is about a topic, not about a message."""
        return MessageId(self.origin, topic, 0)

    # My profile

    def take_topic(self, topic: Topic, phase: str) -> Taken:
        taken = self.taken[topic] = Taken(phase, self.round)
        self.show(self.profile.topics | {topic})
        return taken

    def show(self, topics: frozenset[Topic]) -> None:
        profile = self.profile
        weight = self.rates.weight(topics)
        self.profile = Profile(self.me, profile.incarnation, profile.version + 1, topics, weight)
        self.renew()

    def stand(self, topics: list[Topic]) -> None:
        """Those that I have taken since before the run."""
        for topic in topics:
            self.taken[topic] = Taken(IN, self.round)
            self.comparison.begin(topic, {})
            self.brought[topic] = None
        self.show(self.profile.topics.union(topics))

    # Joining

    def join(self, topic: Topic) -> None:
        self.begin_once()
        if size_of_names((*self.taken, topic)) > NAMES_MAX:
            raise LocalProtocolError(
                f"topic {topic!r}: node {self.me} takes {len(self.taken)} topics already, and what it tells others of "
                f"them must stay below {NAMES_MAX} bytes; leave some, or use more nodes"
            )
        self.take_topic(topic, JOINING)
        self.look(topic)

    def look(self, topic: Topic) -> None:
        """For somebody who takes it: on the way to its rendezvous node."""
        hop = self.hop(topic)
        if hop is not None:
            self.send(hop, Lookup(self.id_of(topic), (self.me,)))
        else:
            self.found(topic, self.carried_for(topic, self.me))

    def upon_lookup(self, sender: NodeId, packet: Lookup) -> None:
        topic, path = packet.id.topic, packet.path
        if path[-1] != sender:
            raise RemoteProtocolError(f"{packet.kind} that node {path[-1]} passed on from node {sender}")
        if self.me in path:
            return
        taken = self.taken.get(topic)
        takes = taken is not None and taken.phase is IN
        found = self.me if takes else self.carried_for(topic, path[0])
        hop = self.hop(topic)
        if found is not None or hop is None or len(path) == STEPS_MAX:
            vectors = {topic: self.above.frontier(topic)} if takes else {}
            node = self.me if found is None else found
            self.send(sender, Found(self.id_of(topic), node, found is None, vectors, path[:-1]))
        else:
            self.send(hop, Lookup(packet.id, (*path, self.me)))

    def upon_found(self, packet: Found) -> None:
        topic, path = packet.id.topic, packet.path
        if path:
            if path[-1] != self.me:
                self.send(path[-1], Found(packet.id, packet.node, packet.nobody, packet.vectors, path[:-1]))
            return
        taken = self.taken.get(topic)
        if taken is not None and taken.phase is JOINING and topic in packet.vectors:
            self.begin(topic, taken, packet.vectors[topic])
        else:
            self.found(topic, None if packet.nobody else packet.node)

    def found(self, topic: Topic, node: NodeId | None) -> None:
        taken = self.taken.get(topic)
        if taken is None:
            return
        if node is None or node == self.me:
            taken.nobody += 1
        elif taken.phase is JOINING:
            self.ask(topic, taken, node)
        else:
            self.comparison.compare(node, [topic])

    def ask(self, topic: Topic, taken: Taken, node: NodeId) -> None:
        if self.round - taken.asked.get(node, -AGAIN) >= AGAIN:
            taken.asked.pop(node, None)
            taken.asked[node] = self.round
            if len(taken.asked) > ASKED_MAX:
                oldest = next(iter(taken.asked))
                del taken.asked[oldest]
                taken.unready.pop(oldest, None)
            self.send(node, Ask(self.id_of(topic)))

    def upon_ask(self, sender: NodeId, packet: Ask) -> None:
        topic = packet.id.topic
        taken = self.taken.get(topic)
        ready = taken is not None and taken.phase is not JOINING
        if taken is not None and not ready and len(taken.askers) < ASKED_MAX:
            taken.askers[sender] = None
        self.tell_start(sender, topic, ready)

    def tell_start(self, node: NodeId, topic: Topic, ready: bool) -> None:
        self.send(node, Start(self.id_of(topic), ready, {topic: self.above.frontier(topic)} if ready else {}))

    def upon_start(self, sender: NodeId, packet: Start) -> None:
        topic = packet.id.topic
        taken = self.taken.get(topic)
        if taken is None or taken.phase is not JOINING or sender not in taken.asked:
            return
        if packet.ready:
            self.begin(topic, taken, packet.vectors.get(topic, {}))
        else:
            taken.unready[sender] = self.round

    def go_on_joining(self, topic: Topic, taken: Taken) -> None:
        """In every round: ask, or begin if there is nobody to ask."""
        waited = self.round - taken.since
        fellows = self.fellows(topic)
        alone = taken.nobody > 1 and not fellows
        if (waited >= ALONE and (alone or self.is_first(taken))) or waited >= SLOW:
            taken.fresh = True
            self.begin(topic, taken, {})
            return
        for node in fellows[:ASKED] if waited < AGAIN else fellows:
            self.ask(topic, taken, node)
        if waited % AGAIN == 0:
            self.look(topic)

    def is_first(self, taken: Taken) -> bool:
        """Whether all whom I have found are joining like me: then one of us begins, and tells the others."""
        return bool(taken.asked) and all(
            self.me < node and taken.unready.get(node, -1) >= asked for node, asked in taken.asked.items()
        )

    def begin(self, topic: Topic, taken: Taken, cut: Vector) -> None:
        """I know from where on I get everything. If I was here before, whoever told me may be behind what I had then,
        and not know what I have said.
        """
        cut = dict(cut)
        merge(cut, self.before.pop(topic, {}))
        merge(cut, {self.origin: self.said.get(topic, 0)})
        taken.phase, taken.since, taken.nobody = IN, self.round, 0
        askers = list(taken.askers)
        for told in (taken.asked, taken.unready, taken.askers):
            told.clear()
        self.comparison.begin(topic, cut)
        self.bring(topic)
        for node in askers if topic in self.brought else ():
            self.tell_start(node, topic, True)
        if topic in self.brought:
            self.spreading.hand_over(topic)

    def bring(self, topic: Topic) -> None:
        """From now on the layer above gets it."""
        self.brought[topic] = None
        self.above.joined(topic, dict(self.comparison.account.topics[topic].upto))
        if topic in self.brought and self.above.holds_back:  # unless it has left at once, or has had it before
            for message in self.comparison.ahead(topic):
                self.above.arrive(message)

    # Messages

    def spread(self, message: Message) -> None:
        self.begin_once()
        self.said[message.id.topic] = message.last
        self.taken[message.id.topic].unheld.append(message)
        self.comparison.add(message)
        self.spreading.begin(message)

    def take(self, message: Message) -> bool:
        """Hand a message up unless it came before; whether it was."""
        topic = message.id.topic
        taken = self.taken.get(topic)
        if taken is None or taken.phase is JOINING:
            return False
        if message.id.origin == self.origin:  # from an earlier subscription of mine
            self.comparison.add(message)
            return False
        if not self.above.takes(message) or not self.comparison.add(message):  # too much: as if it were lost
            return False
        self.above.arrive(message)
        return True

    def skip(self, message: Message) -> None:
        """It came, and is not for the layer above."""
        self.note("skip", message.id, count=message.count)

    def lacks(self, id: MessageId) -> bool:
        """Whether a message is still to come, as far as I take its topic."""
        seen = self.comparison.account.topics.get(id.topic)
        if seen is None:
            return True
        return id.seq > seen.upto.get(id.origin, 0) and id.seq not in seen.ahead.get(id.origin, {})

    def hold(self, taken: Taken) -> None:
        """What I said is with somebody else, too, or there is nobody else."""
        for message in taken.unheld:
            self.outbox.append(Held(message.id, message.count))
        taken.unheld.clear()

    def was_pulled(self, message: Message) -> None:
        """Where nobody compares, that is all that I shall ever know."""
        if not self.repairs and message.id.origin == self.origin and message.id.topic in self.taken:
            self.hold(self.taken[message.id.topic])

    def stays_in(self, topic: Topic) -> bool:
        taken = self.taken.get(topic)
        return taken is not None and taken.phase is IN

    def agree(self, topic: Topic) -> None:
        """Somebody who stays has what I have."""
        taken = self.taken[topic]
        taken.agreed = self.round
        self.hold(taken)

    # Leaving

    def leave(self, topic: Topic) -> None:
        """I stay until what I have is safe; what comes meanwhile is not for the application."""
        self.begin_once()
        self.brought.pop(topic, None)
        taken = self.taken[topic]
        taken.phase, taken.since, taken.nobody = LEAVING, self.round, 0
        self.depart_if_safe(topic, taken)

    def come_back(self, topic: Topic) -> None:
        """I had not left yet, and have missed nothing."""
        taken = self.taken[topic]
        taken.phase, taken.since = IN, self.round
        self.bring(topic)

    def go_on_leaving(self, topic: Topic, taken: Taken) -> None:
        self.depart_if_safe(topic, taken)
        if taken.phase is LEAVING and topic in self.taken and (self.round - taken.since) % AGAIN == 0:
            for node in self.fellows(topic)[:ASKED]:
                self.comparison.compare(node, [topic])
            self.look(topic)

    def depart_if_safe(self, topic: Topic, taken: Taken) -> None:
        if self.is_safe(topic, taken):
            self.depart(topic, taken)

    def is_safe(self, topic: Topic, taken: Taken) -> bool:
        if not self.repairs or not self.comparison.log.held[topic] or taken.agreed >= taken.since:
            return True
        awaited = bool(self.suspected) or self.round - self.returned <= RETURNS
        waited = self.round - taken.since
        return taken.nobody > 1 and not self.fellows(topic) and waited >= (PATIENCE if awaited else LONELY)

    def depart(self, topic: Topic, taken: Taken) -> None:
        self.hold(taken)
        self.remember(topic)
        del self.taken[topic]
        self.comparison.end(topic)
        self.show(self.profile.topics - {topic})
        self.above.departed(topic)

    def remember(self, topic: Topic) -> None:
        """So that I do not get it again if I come back before all others have it."""
        vector = self.above.frontier(topic)
        if not self.above.holds_back:
            ahead = self.comparison.account.topics[topic].ahead
            merge(vector, {origin: max(row.values()) for origin, row in ahead.items() if row})
        self.before[topic] = vector
        if len(self.before) > BEFORE_MAX:
            del self.before[next(iter(self.before))]

    # Time

    def go_on_with_topics(self) -> None:
        for topic, taken in [(topic, taken) for topic, taken in self.taken.items() if taken.phase is not IN]:
            if taken.phase is JOINING:
                self.go_on_joining(topic, taken)
            else:
                self.go_on_leaving(topic, taken)

    def hold_alone(self) -> None:
        """What I said is as safe as it can be if nobody else takes the topic."""
        for topic, taken in self.taken.items():
            if taken.unheld and not self.fellows(topic) and self.hop(topic) is None:
                self.hold(taken)

    # For hosts

    def takes_part(self) -> bool:
        return any(
            taken.phase is not LEAVING or not self.is_safe(topic, taken)
            for topic, taken in self.taken.items()
            if self.fellows(topic)
        )

    def others_in(self, topic: Topic) -> list[NodeId]:
        return sorted(self.fellows(topic))
