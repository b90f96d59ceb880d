"""Vitis: clusters of nodes with similar subscriptions, tied together by a navigable small world.

Source:   Rahimian, Girdzijauskas, Payberah, Haridi, *Vitis* (2011), Algorithms 1-7. `docs/protocols/vitis.md` has the
          lines and the methods side by side.
Promises: every message reaches every cluster of its topic, and there every node that takes the topic: by its neighbours
          that take it, and by relay paths from the clusters' gateways to the node that is closest to the topic's id.
          The number of links does not depend on the number of topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from trellis import draw
from trellis.errors import ScenarioError
from trellis.machine import Place
from trellis.protocols.overlays.vine import AS_NEEDED, Chosen, Vine
from trellis.protocols.overlays.vine_packets import Meet
from trellis.protocols.parts import small_world
from trellis.protocols.parts.gateways import Election, Proposals, Told
from trellis.protocols.parts.neighbours import FRIEND, RING, SHORTCUT
from trellis.protocols.parts.profiles import Profile
from trellis.protocols.parts.relays import Asks, asks_by_hop
from trellis.protocols.parts.ring import SIZE, clockwise, closest, distance, of_node, of_topic
from trellis.words import NodeId, Topic

LIKED_MAX = 256  # nodes whose utility is remembered
PROBE = 4  # of so many rounds, in one a gateway looks for other clusters


def grace_of(asked: int, k: int, size: int) -> int:
    """A former way counts until a new one has grown: a step in each round."""
    return small_world.steps(k, size) if asked == AS_NEEDED else asked


class Routed(Vine):
    """What Vitis has in common with its rival of rendezvous routing: a ring, shortcuts, and relay paths."""

    options: ClassVar[dict[str, int]] = {**Vine.options, "grace": AS_NEEDED}

    def __init__(self, place: Place, *, k: int, table: int, grace: int, **options: int) -> None:
        if table < 2 + k:
            raise ScenarioError(
                f"stack.table = {table} with k = {k}: the ring takes 2 links; at least {2 + k} are needed"
            )
        super().__init__(place, table=table, grace=grace_of(grace, k, place.size), **options)
        self.k = k
        self.grace = grace
        self.believed = place.size  # how many nodes there are
        self.shortcuts = small_world.distances(place.seed, place.me, k, place.size)
        self.hops: dict[Topic, NodeId | None] = {}  # where a lookup goes on, for the neighbours of now
        self.hops_for = -1
        self.asked_for = (-1, -1)
        self.asking: dict[NodeId, Asks] = {}
        self.asked: dict[Topic, NodeId] = {}  # the same by topic

    # Neighbours

    def select_ring(self, candidates: dict[NodeId, Profile]) -> Chosen:
        """Algorithm 4, lines 2-10. What is chosen is taken out of the candidates."""
        seed, here = self.place.seed, self.here
        around = sorted([(clockwise(here, of_node(seed, node)), node) for node in candidates])
        chosen: Chosen = {}
        if self.place.alone and len(around) > 1:
            self.count(around[0][0], SIZE - around[-1][0])
        for _, node in (around.pop(0), around.pop()) if len(around) > 1 else around:
            chosen[node] = (RING, candidates.pop(node))
        for node in self.neighbours.full:
            candidates.pop(node, None)
        around = [one for one in around if one[1] in candidates]
        known = self.neighbours.known
        kept = [one for one in around if (mine := known.get(one[1])) is not None and mine.mine == SHORTCUT]
        for far in self.shortcuts:
            if not around:
                break
            one = small_world.near_enough(kept, far)
            if one is None:
                one = around[closest(around, far)]
            if one in kept:
                kept.remove(one)
            around.remove(one)
            chosen[one[1]] = (SHORTCUT, candidates.pop(one[1]))
        return chosen

    def count(self, before: int, after: int) -> None:
        """How many nodes there are, from the gaps at both sides of me (Symphony section 3.4); if I was told at the
        beginning, I need not guess. It matters only if I was far from the truth.
        """
        found = max(2, 2 * SIZE // (before + after))
        if not self.believed // 4 <= found <= 4 * self.believed:
            self.believed = found
            self.shortcuts = small_world.distances(self.place.seed, self.me, self.k, found)
            self.relays.grace = grace_of(self.grace, self.k, found)

    # Relay paths

    def hop(self, topic: Topic) -> NodeId | None:
        if self.hops_for != self.neighbours.changes:
            self.hops_for = self.neighbours.changes
            self.hops = {}
        try:
            return self.hops[topic]
        except KeyError:
            found = self.neighbours.compass().closer(of_topic(self.place.seed, topic), self.here)
            self.hops[topic] = found
            return found

    def is_gateway(self, topic: Topic) -> bool:
        """Whether I ask for a relay path."""
        return topic in self.taken

    def asks(self) -> Mapping[NodeId, Asks]:
        state = (self.neighbours.changes, self.relays.changes)
        if self.asked_for != state:
            self.asked_for = state
            carried = self.relays.children
            wanted = [(topic, self.me) for topic in self.taken if topic in carried or self.is_gateway(topic)]
            wanted += [(topic, self.relays.gateway_below(topic)) for topic in carried if topic not in self.taken]
            before, self.asking = self.asking, asks_by_hop(wanted, {topic: self.hop(topic) for topic, _ in wanted})
            self.asked = {topic: hop for hop, asks in self.asking.items() for topic, _ in asks}
            self.part_from_hops(before)
        return self.asking

    def part_from_hops(self, before: Mapping[NodeId, Asks]) -> None:
        """Whom I do not ask any more."""
        for hop, asks in before.items():
            now = dict(self.asking.get(hop, ()))
            for topic, _ in asks:
                if topic not in now:
                    self.relays.part(topic, hop, self.round)

    def carried_for(self, topic: Topic, asker: NodeId) -> NodeId | None:
        """One after the other: some of them may be joining themselves."""
        gateways = sorted({gateway for gateway in self.relays.children.get(topic, {}).values() if gateway != asker})
        return gateways[self.round % len(gateways)] if gateways else None

    def carries(self, topic: Topic) -> bool:
        return bool(self.relays.next_to_me(topic, self.round))

    def path(self, topic: Topic) -> list[NodeId]:
        """The next nodes of a relay path, up and down, if I am on one. Whom I have asked still carries it, though I
        may ask somebody else with my next profile, or nobody.
        """
        found = self.relays.next_to_me(topic, self.round)
        if topic in self.relays.children or (topic in self.taken and self.is_gateway(topic)):
            hop = self.hop(topic)
            if hop is not None and hop not in found:
                found.append(hop)
        asked = self.asked.get(topic)
        if asked is not None and asked not in found:
            found.append(asked)
        return found

    # Clusters are told of each other

    def introduce(self) -> None:
        """One topic in a round on which something was said lately. And now and then I look for another cluster, of one
        topic after the other on which I have something and am the gateway: that cluster may have missed it.
        """
        carried = self.relays.children
        lately = [topic for topic in self.spreading.lately if topic in carried]
        if lately:
            word = draw.draw(self.place.seed, draw.INTRODUCED, self.me, self.round)
            self.introduce_in(lately[word % len(lately)], word >> 32)
        turn, now = divmod(self.round + self.me, PROBE)
        mine = [topic for topic, sum in self.comparison.account.sums.items() if sum and self.is_gateway(topic)]
        if mine and not now:
            self.look(mine[turn % len(mine)])

    def introduce_in(self, topic: Topic, word: int) -> None:
        children = self.relays.children[topic]
        gateways = sorted({*children.values(), *([self.me] if topic in self.taken else [])})
        if len(gateways) < 2:
            return
        n = word % len(gateways)
        self.pass_down(Meet(self.id_of(topic), gateways[n], gateways[n - 1]))

    def upon_meet(self, packet: Meet) -> None:
        if packet.gateway != self.me:
            self.pass_down(packet)
        elif packet.other != self.me and packet.id.topic in self.taken:
            self.comparison.compare(packet.other, [packet.id.topic])

    def pass_down(self, packet: Meet) -> None:
        """Towards the gateway that it is for: the way that its ask came, which leads away from the topic's id."""
        if packet.gateway == self.me:
            self.upon_meet(packet)
            return
        for child, gateway in self.relays.children.get(packet.id.topic, {}).items():
            if gateway == packet.gateway and self.is_below(child, packet.id.topic):
                self.send(child, packet)
                return

    def is_below(self, child: NodeId, topic: Topic) -> bool:
        """Whoever asks without being further away leads nowhere, or round in a circle."""
        seed, to = self.place.seed, of_topic(self.place.seed, topic)
        return distance(of_node(seed, child), to) > distance(self.here, to)


class Vitis(Routed):
    """Friends besides, gateways for clusters, and notifications to all neighbours that take a topic."""

    promise = "all who take a topic get its messages, over a bounded number of links, by few who do not take it"
    source = "Vitis (Rahimian et al. 2011), with a digest exchange beyond it"
    links_on_demand = True
    options: ClassVar[dict[str, int]] = {"k": 1, "d": 5, **Routed.options}

    def __init__(self, place: Place, *, d: int, **options: int) -> None:
        super().__init__(place, **options)
        self.election = Election(place.seed, place.me, d)
        self.liked: dict[NodeId, tuple[Profile, float]] = {}

    def select(self, candidates: Mapping[NodeId, Profile]) -> Chosen:
        """Algorithm 4: the ring, shortcuts, and the nodes that have the most in common with me. Whom I have chosen I
        do not exchange for somebody who is liked as much: every change of a link breaks paths (V7).
        """
        rest = dict(candidates)
        chosen = self.select_ring(rest)
        salt, liking = self.here, self.liking  # who is liked as much comes in an order of my own
        mine = set(self.neighbours.table())
        friends = sorted([(-liking(profile), node not in mine, node ^ salt, node) for node, profile in rest.items()])
        for *_, node in friends[: max(0, self.neighbours.table_max - len(chosen))]:
            chosen[node] = (FRIEND, rest[node])
        return chosen

    def liking(self, profile: Profile) -> float:
        """Utility, which is asked for again and again of the same nodes."""
        known = self.liked.get(profile.node)
        if known is not None and known[0] is profile:
            return known[1]
        if len(self.liked) >= LIKED_MAX:
            self.liked.clear()
        found = self.rates.utility(self.profile, profile)
        self.liked[profile.node] = profile, found
        return found

    def renew(self) -> None:
        self.liked.clear()
        super().renew()

    def propose(self) -> Proposals:
        known = self.neighbours.known
        told = [Told(node, known[node].shared, known[node].proposals) for node in sorted(known) if known[node].shared]
        return self.election.propose(self.taken, told, known)

    def is_gateway(self, topic: Topic) -> bool:
        """Algorithm 5, line 20."""
        proposal = self.proposals.get(topic)
        return proposal is not None and proposal.gateway == self.me

    def ways(self, topic: Topic) -> list[NodeId]:
        """Section III-C: neighbours that take it, and the relay path."""
        return list(dict.fromkeys([*self.fellows(topic), *self.former_fellows(topic), *self.path(topic)]))
