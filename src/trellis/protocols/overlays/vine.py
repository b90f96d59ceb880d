"""What all overlays that grow like a vine have in common: nodes find each other by gossip and keep a bounded table.

Source:   Vitis (Rahimian et al. 2011), Algorithms 1-4, 6 and 7: peer sampling, T-Man, profiles as heartbeats. Its
          rivals RVR and OPT run on the same parts (section IV) and differ in `select` and in where a notification goes.
Promises: at most `table` neighbours that a node chose and as many that chose it. Whoever falls silent is forgotten
          after `limit` rounds by all.
Assumes:  a node knows some others at the beginning. Packets may be lost, or come in any order. A node that cannot be
          reached is told of (`Suspect`), or falls silent.
Departs:  V1-V8 in docs/protocols/vitis.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

from trellis import draw
from trellis.errors import RemoteProtocolError, UnexpectedEvent
from trellis.events import Cycle, Timeout
from trellis.machine import Place
from trellis.protocols.layers import CRASHES, GAPLESS, START_CUT, Hearers
from trellis.protocols.overlays.vine_packets import (
    EVERY,
    Ask,
    Beat,
    Bring,
    Found,
    Full,
    Lookup,
    Meet,
    Notify,
    Numbers,
    Pull,
    Pulled,
    Sample,
    Start,
    Sums,
    Swap,
)
from trellis.protocols.overlays.vine_topics import Topics
from trellis.protocols.parts import tman
from trellis.protocols.parts.gateways import Proposals
from trellis.protocols.parts.neighbours import NOT, RING, SHORTCUT, Neighbour, Neighbours
from trellis.protocols.parts.profiles import Contact, Profile
from trellis.protocols.parts.relays import NO_ASKS, Asks, Relays
from trellis.protocols.parts.ring import distance, of_node
from trellis.protocols.parts.sampling import Sampling
from trellis.words import NodeId, Packet, Topic

TIMER = "round"
CONTACTS = 8  # whom a node knows at the beginning
FORMER_MAX = 256  # neighbours of late
NEW = 16  # rounds in which it looks for others as often as it can
GRACE, AS_NEEDED = 12, -1  # rounds; so many that a new path has grown, by the number of nodes

Chosen = dict[NodeId, tuple[int, Profile]]  # with the reason
Members = tuple[NodeId, ...]


class Vine(Topics):
    """Gossip, and a table."""

    gives = frozenset({START_CUT, GAPLESS, CRASHES})
    lossy = True
    settles = 160
    options: ClassVar[dict[str, int]] = {
        "table": 15,
        "limit": 5,
        "sample": 1,
        "grace": GRACE,
        "repair": 1,
        "period": 0,
        "keep": 10_000,
    }

    def __init__(
        self, place: Place, *, table: int, limit: int, sample: int, grace: int, repair: int, period: int, keep: int
    ) -> None:
        super().__init__(place, keep, bool(repair))
        self.sample_every = sample  # rounds; whom one meets there one has no link to
        self.period = period  # 0: the host says when a round begins
        self.wants_cycles = not period
        self.armed = False
        self.begun = False
        self.here = of_node(place.seed, place.me)
        self.neighbours = Neighbours(place.seed, place.me, table, table, limit)
        self.sampling = Sampling(place)
        self.relays = Relays(grace)
        self.proposals: Proposals = {}
        self.doubtful = True  # whether something has changed that proposals depend on
        self.former: dict[NodeId, tuple[frozenset[Topic], int]] = {}  # neighbours of late, and until when they count
        self.standing: list[Topic] = []

    @classmethod
    def hearers(cls, standing: Mapping[Topic, Members], place: Place) -> Hearers:
        return {topic: set(members) for topic, members in standing.items()}

    @classmethod
    def gives_with(cls, options: Mapping[str, int]) -> frozenset[str]:
        return cls.gives if options.get("repair", 1) else frozenset({CRASHES})

    # What the overlays differ in

    @abstractmethod
    def select(self, candidates: Mapping[NodeId, Profile]) -> Chosen:
        """Algorithm 4: whom of these I like best."""

    def propose(self) -> Proposals:
        """Algorithm 5, where there is one."""
        return {}

    def asks(self) -> Mapping[NodeId, Asks]:
        """Whom of my neighbours I ask to carry what."""
        return {}

    def introduce(self) -> None:
        """Tell clusters of each other, where there are any."""

    # The beginning (Algorithm 1)

    def begin_once(self) -> None:
        """Before anything else: what stood before the run, and some whom I know."""
        if self.begun:
            return
        self.begun = True
        if self.standing:
            self.stand(self.standing)
        if not self.place.alone:
            everybody = range(self.place.size)
            for node in draw.few(self.place.seed, draw.CONTACTS, everybody, CONTACTS, self.me, self.me):
                self.meet(node, 0)
        self.arm()

    def meet(self, node: NodeId, incarnation: int) -> None:
        """Somebody of whom I know nothing else yet."""
        self.sampling.take([Contact(Profile(node, incarnation, 0, frozenset(), 0), 0)], self.round)

    def arm(self) -> None:
        """Rounds begin at a time of my own."""
        if self.period and not self.armed:
            self.armed = True
            self.set_timer(TIMER, 1 + draw.draw(self.place.seed, draw.ROUND, self.me) % self.period)

    def upon_standing(self, topic: Topic, members: Members) -> None:
        if self.me in members:
            self.standing.append(topic)
            self.arm()

    # Time

    def upon_time(self, event: Timeout | Cycle) -> None:
        self.begin_once()
        if isinstance(event, Timeout):
            if event.name != TIMER:
                raise UnexpectedEvent(self, event)
            self.set_timer(TIMER, self.period)
        self.round += 1
        self.comparison.log.age()
        for node in self.neighbours.begin_round(self.round):
            self.part_from(node)
        self.relays.begin_round(self.round)
        self.exchange_sample()
        self.exchange_table()
        self.exchange_profile()
        if self.taken:
            self.go_on_with_topics()
            self.hold_alone()
        if self.spreading.passages:
            self.spreading.begin_round()
        if self.repairs:
            self.repair()

    def exchange_sample(self) -> None:
        partner = self.sampling.partner(self.round)
        due = self.round <= NEW or self.round % self.sample_every == 0
        if partner is not None and due:
            self.send(partner, Sample(self.id_of(EVERY), self.view(), False))

    def view(self) -> tuple[Contact, ...]:
        return tman.fitting(self.place, self.round, self.sampling.shown(self.profile, self.round))

    def exchange_table(self) -> None:
        """Algorithm 2; at the very beginning there is nobody in the table, so somebody of the sample. In every other
        round somebody next to me on the ring, who knows best who is between us (V8).
        """
        ring = self.neighbours.ring() if self.round % 2 == 0 else []
        table = ring or self.neighbours.table()
        partner = tman.partner(self.place, table, self.round) if table else self.sampling.partner(self.round)
        if partner is not None:
            self.send(partner, Swap(self.id_of(EVERY), self.buffer(), False))

    def buffer(self) -> tuple[Contact, ...]:
        """Lines 3-4: a fresh sample, and my table."""
        now = self.round
        return tman.buffer(self.place, now, self.sampling.shown(self.profile, now), self.neighbours.contacts(now))

    def exchange_profile(self) -> None:
        """Algorithm 6; who is silent has been forgotten before."""
        if self.doubtful:
            self.doubtful = False
            proposals = self.propose()
            if proposals != self.proposals:
                self.proposals = proposals
                self.relays.changes += 1
        asks, id = self.asks(), self.id_of(EVERY)
        for node, one in self.neighbours.known.items():
            self.send(node, Beat(id, self.profile, self.proposals, asks.get(node, NO_ASKS), one.mine))

    def repair(self) -> None:
        if self.comparison.account.topics:
            self.comparison.begin_round(self.partners())
            if self.comparison.refused:
                self.comparison.give_up_refused(len(self.neighbours.known))
            if self.lives:
                self.comparison.look_for_orphans()
        self.introduce()

    def partners(self) -> Iterable[tuple[NodeId, frozenset[Topic]]]:
        """Neighbours from one on that luck decides."""
        known = self.neighbours.known
        nodes = list(known)
        start = draw.draw(self.place.seed, draw.PARTNER, self.me, self.round) % (len(nodes) or 1)
        return ((node, known[node].shared) for node in nodes[start:] + nodes[:start])

    # Packets

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        if not self.begun:
            self.begin_once()
        match packet:
            case Beat():
                self.upon_beat(sender, packet)
            case Notify():
                self.spreading.upon_notify(sender, packet)
            case Pull():
                self.spreading.upon_pull(sender, packet.id)
            case Pulled():
                self.spreading.upon_pulled(packet)
            case Sample():
                self.upon_sample(sender, packet)
            case Swap():
                self.upon_swap(sender, packet)
            case Full():
                self.upon_full(sender)
            case Lookup():
                self.upon_lookup(sender, packet)
            case Found():
                self.upon_found(packet)
            case Meet():
                self.upon_meet(packet)
            case Ask():
                self.upon_ask(sender, packet)
            case Start():
                self.upon_start(sender, packet)
            case Sums():
                self.comparison.upon_sums(sender, packet)
            case Numbers():
                self.comparison.upon_numbers(sender, packet)
            case Bring():
                self.comparison.upon_bring(sender, packet)
            case _:
                raise UnexpectedEvent(self, packet)

    def upon_meet(self, packet: Meet) -> None:
        """For overlays with relays."""
        raise RemoteProtocolError(f"{packet.kind} for node {packet.gateway}: this overlay has no gateways")

    def upon_sample(self, sender: NodeId, packet: Sample) -> None:
        if not packet.reply:
            self.send(sender, Sample(self.id_of(EVERY), self.view(), True))
        self.sampling.take(packet.contacts, self.round)

    def upon_swap(self, sender: NodeId, packet: Swap) -> None:
        """Algorithms 2 and 3."""
        if not packet.reply:
            self.send(sender, Swap(self.id_of(EVERY), self.buffer(), True))
        self.reconsider(packet.contacts)

    def reconsider(self, contacts: Iterable[Contact]) -> None:
        """Lines 7-8: my table is what I like best of all whom I know and am told of."""
        limit, known, shunned = self.neighbours.limit, self.neighbours.known, self.neighbours.shunned
        candidates: tman.Candidates = {node: one.profile for node, one in known.items()}
        tman.merge(candidates, contacts, limit)
        for profile, spoke in self.sampling.view.values():
            if self.round - spoke <= limit and profile.node not in candidates:
                candidates[profile.node] = profile
        candidates.pop(self.me, None)
        for node in shunned:
            candidates.pop(node, None)
        for node in self.neighbours.choose(self.select(candidates), self.round):
            self.send(node, Beat(self.id_of(EVERY), self.profile, {}, NO_ASKS, NOT))
            self.let_go(node)
        self.make_room()

    # Neighbours (Algorithm 7)

    def upon_beat(self, sender: NodeId, packet: Beat) -> None:
        one = self.neighbours.known.get(sender)
        if packet.profile.node != sender:
            raise RemoteProtocolError(f"profile of node {packet.profile.node} from node {sender}")
        if one is None:
            if packet.why == NOT:
                return
            self.neighbours.shunned.pop(sender, None)
            self.neighbours.full.pop(sender, None)
            one = self.neighbours.add(sender, packet.profile, self.round)
            one.theirs = packet.why
            self.hear(one, packet)
            self.make_room()
        elif packet.why == NOT and not one.mine:
            self.let_go(sender)
        else:
            one.theirs = packet.why
            self.hear(one, packet)

    def hear(self, one: Neighbour, packet: Beat) -> None:
        one.heard = self.round
        if not one.spoke or packet.profile is not one.profile:
            if not one.spoke:
                one.spoke = self.doubtful = True
                self.neighbours.changes += 1
            one.profile = packet.profile
            self.compare_profiles(one)
        if packet.proposals is not one.proposals and packet.proposals != one.proposals:
            one.proposals = packet.proposals
            self.doubtful = True
        if packet.asks is not one.asks and packet.asks != one.asks:
            self.relays.hear(one.profile.node, one.asks, packet.asks, self.round)
            one.asks = packet.asks

    def compare_profiles(self, one: Neighbour) -> None:
        shared = self.profile.topics & one.profile.topics
        if shared != one.shared:
            one.shared = shared
            self.doubtful = True

    def renew(self) -> None:
        self.doubtful = True
        for one in self.neighbours.known.values():
            self.compare_profiles(one)

    def part_from(self, node: NodeId) -> None:
        one = self.neighbours.remove(node)
        if one is not None:
            self.doubtful = True
            if one.asks:
                self.relays.hear(node, one.asks, NO_ASKS, self.round)

    def let_go(self, node: NodeId) -> None:
        """It is there, but no neighbour any more: it still gets messages until each of us has found another way."""
        one = self.neighbours.known.get(node)
        if one is not None and one.shared and self.relays.grace:
            self.former.pop(node, None)
            self.former[node] = one.profile.topics, self.round + self.relays.grace
            if len(self.former) > min(self.neighbours.table_max, FORMER_MAX):
                del self.former[next(iter(self.former))]
        self.part_from(node)

    def former_fellows(self, topic: Topic) -> list[NodeId]:
        """Who took a topic and was my neighbour lately."""
        known, now = self.neighbours.known, self.round
        return [
            node
            for node, (topics, until) in self.former.items()
            if topic in topics and until > now and node not in known
        ]

    def make_room(self) -> None:
        """If too many chose me, those who matter least must choose somebody else."""
        audience = self.neighbours.audience()
        if len(audience) > self.neighbours.audience_max:
            ranked = [(self.rank(self.neighbours.known[node]), node) for node in audience]
            for node in self.neighbours.too_many(ranked):
                self.send(node, Full(self.id_of(EVERY)))
                self.let_go(node)

    def rank(self, one: Neighbour) -> tuple[int, float]:
        """The ring first, the closest of it; then shortcuts, the oldest; then by what we have in common."""
        if one.theirs == RING:
            return RING, -distance(of_node(self.place.seed, one.profile.node), self.here)
        if one.theirs == SHORTCUT:
            return SHORTCUT, -one.since
        return one.theirs, self.rates.utility(self.profile, one.profile)

    def upon_full(self, sender: NodeId) -> None:
        one = self.neighbours.known.get(sender)
        if one is not None:
            self.let_go(sender)
            self.neighbours.be_refused(sender, self.round)

    def fellows(self, topic: Topic) -> list[NodeId]:
        return [node for node, one in self.neighbours.known.items() if one.spoke and topic in one.profile.topics]

    # Crashes

    def upon_suspect(self, node: NodeId) -> None:
        self.begin_once()
        self.suspected.add(node)
        self.sampling.forget(node)
        self.former.pop(node, None)
        self.part_from(node)
        self.neighbours.shun(node, self.round + self.neighbours.limit + 2)

    def upon_restore(self, node: NodeId, incarnation: int) -> None:
        self.begin_once()
        if incarnation > self.lives.get(node, 0):
            self.part_from(node)
        if node in self.suspected:
            self.suspected.remove(node)
            self.returned = self.round
        self.lives[node] = incarnation
        self.neighbours.shunned.pop(node, None)
        self.neighbours.full.pop(node, None)
        if len(self.sampling.view) < self.sampling.size:
            self.meet(node, incarnation)
