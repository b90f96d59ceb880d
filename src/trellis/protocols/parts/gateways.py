"""Who speaks for a cluster: gateways, proposed from neighbour to neighbour.

Source:   Vitis, Algorithm 5: a node proposes for each of its topics the closest to the topic's id of itself and what
          its neighbours propose, if that is fewer than d steps away.
Promises: proposals never loop: in a state that does not change, each is one step further than its parent's, and the
          first of them is the gateway's own. A gateway that is gone is proposed by nobody after `d` rounds more.
Departs:  line 7 takes a proposal whose parent is not in the table, and so also one that its neighbour has from this
          node itself, which is never in its own table: two nodes could propose a dead gateway to each other until the
          steps reach d. Here a node never takes back what it has proposed (V2 in docs/protocols/vitis.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from trellis.protocols.parts.ring import Point, distance, of_node, of_topic
from trellis.words import NodeId, Topic

HOPS_MAX = 255


class Proposal(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """Who should be the gateway, who told so, and how far it is."""

    gateway: NodeId
    parent: NodeId
    hops: Annotated[int, Meta(ge=0, le=HOPS_MAX)]


Proposals = dict[Topic, Proposal]


class Told(NamedTuple):
    """What one neighbour proposes, of the topics that both take."""

    node: NodeId
    topics: Iterable[Topic]
    proposals: Mapping[Topic, Proposal]


class Election:
    """One node's part in it."""

    def __init__(self, seed: int, me: NodeId, d: int) -> None:
        self.seed = seed
        self.me = me
        self.d = d
        self.own = Proposal(me, me, 0)
        self.here: Point = of_node(seed, me)

    def distance(self, node: NodeId, topic: Topic) -> int:
        return distance(of_node(self.seed, node), of_topic(self.seed, topic))

    def propose(self, topics: Iterable[Topic], told: Iterable[Told], known: Mapping[NodeId, object]) -> Proposals:
        """Algorithm 5, for all topics at once: the neighbours one after the other, their topics inside."""
        best: dict[Topic, Proposal] = {}
        me, own, d = self.me, self.own, self.d
        for node, shared, proposals in told:
            for topic in shared:
                new = proposals.get(topic)
                if new is None or new.parent == me or (new.parent != node and new.parent in known):
                    continue
                current = best.get(topic, own)
                hops = new.hops + 1
                if new.gateway == current.gateway:
                    is_better = hops < current.hops
                else:
                    is_better = hops < d and self.distance(new.gateway, topic) < self.distance(current.gateway, topic)
                if is_better:
                    best[topic] = Proposal(new.gateway, node, hops)
        return {topic: best.get(topic, own) for topic in topics}
