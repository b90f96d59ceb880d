"""Relay paths: who carries a topic for others towards its rendezvous node.

Source:   Vitis section III-B and Scribe (Castro et al. 2002): a gateway asks the next node on a greedy lookup of the
          topic's id to carry it, and that one the next, up to the node that is closest. All who were asked are relays.
Promises: a node asks one node for each topic, again in every round (with its profile); whoever is not asked any more is
          out of the path. Paths of one topic meet: at the latest at the rendezvous node. Over one link no more topics
          are carried than fit into a packet.
Departs:  whoever was next on a path gets messages for some rounds more, in which the new path grows: without that,
          every change of a link costs messages (`grace` = 0; V7 in docs/protocols/vitis.md).

An ask names a gateway below: by it the clusters of a topic can be told of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trellis.protocols.parts.profiles import NAME_MORE, NAMES_MAX, size_of_names
from trellis.words import TOPIC_MAX, NodeId, Topic

FEW = NAMES_MAX // (NAME_MORE + TOPIC_MAX)  # topics that fit into a packet whatever their names are

FORMER_MAX = 16_384  # topics of paths that were given up

Asks = tuple[tuple[Topic, NodeId], ...]  # topics that the receiver should carry, each with a gateway that wants it
NO_ASKS: Asks = ()


class Relays:
    """What one node carries for others."""

    def __init__(self, grace: int) -> None:
        self.grace = grace  # rounds in which a path that was given up still counts: as long as a new one takes to grow
        self.children: dict[Topic, dict[NodeId, NodeId]] = {}  # by topic: who asked, and for which gateway
        self.former: dict[Topic, dict[NodeId, int]] = {}  # who was next to me on a path, and until when it still counts
        self.changes = 0

    def hear(self, child: NodeId, before: Asks, asks: Asks, now: int) -> None:
        """It asks for these, and not any more for what it asked before."""
        wanted = dict(asks)
        for topic in dict(before):
            if topic not in wanted:
                self.part(topic, child, now)
                del self.children[topic][child]
                if not self.children[topic]:
                    del self.children[topic]
        for topic, gateway in asks:
            self.children.setdefault(topic, {})[child] = gateway
        self.changes += 1

    def part(self, topic: Topic, node: NodeId, now: int) -> None:
        """It is not next to me on the path any more. Until the new path stands, messages go the old way, too."""
        if self.grace and (topic in self.former or len(self.former) < FORMER_MAX):
            self.former.setdefault(topic, {})[node] = now + self.grace

    def begin_round(self, now: int) -> None:
        if self.former and now % self.grace == 0:
            kept = {
                topic: {n: until for n, until in nodes.items() if until > now} for topic, nodes in self.former.items()
            }
            self.former = {topic: nodes for topic, nodes in kept.items() if nodes}

    def next_to_me(self, topic: Topic, now: int) -> list[NodeId]:
        """Those below me, and who was next to me lately."""
        found = list(self.children.get(topic, ()))
        if topic in self.former:
            found += [node for node, until in self.former[topic].items() if until > now and node not in found]
        return found

    def gateway_below(self, topic: Topic) -> NodeId:
        """One that stands for all of them: the same one for as long as it is there."""
        return min(self.children[topic].values())


def asks_by_hop(wanted: Iterable[tuple[Topic, NodeId]], hops: Mapping[Topic, NodeId | None]) -> dict[NodeId, Asks]:
    """Whom to ask for what."""
    found: dict[NodeId, list[tuple[Topic, NodeId]]] = {}
    for topic, gateway in wanted:
        hop = hops[topic]
        if hop is not None:
            found.setdefault(hop, []).append((topic, gateway))
    return {hop: tuple(asks if len(asks) <= FEW else fitting(asks)) for hop, asks in found.items()}


def fitting(asks: list[tuple[Topic, NodeId]]) -> list[tuple[Topic, NodeId]]:
    """As many as a packet has room for."""
    size = 0
    for n, (topic, _) in enumerate(asks):
        size += size_of_names([topic])
        if size > NAMES_MAX:
            return asks[:n]
    return asks
