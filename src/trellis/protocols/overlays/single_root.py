"""Single root per topic (SRPT-S): one spanning tree per topic, with forwarders.

Source:   VCube-PS section 4 ("SRPT selects a node to act as the root of the broadcast tree"), after Scribe.
Promises: every message of a topic goes to its root and from there down one tree, made of the subscribers and of the
          non-subscribers on the way to them. A joiner is grafted from the root downward, in step with the messages.
Assumes:  reliable FIFO links; nodes do not fail.
Departs:  the paper does not print the algorithm. No acknowledgements of messages: half of the paper's nodes send
          nothing at all (Table 1). A change of subscription goes hop by hop along the tree's path.
"""

from __future__ import annotations

from typing import ClassVar

from trellis.errors import UnexpectedEvent
from trellis.machine import Place
from trellis.protocols.overlays.rooted import Rooted
from trellis.protocols.parts.hypercube import any_in, block, cluster, dimension, first, path
from trellis.protocols.parts.relay import Pub, Root, Sub, Uns, Welcome, root_of
from trellis.words import NodeId, Packet, Topic


class SingleRoot(Rooted):
    """One tree per topic, rooted at a node that the topic's name gives."""

    promise = "one tree per topic with forwarders; the root's order for everybody; the root is the bottleneck"
    source = "SRPT-S of VCube-PS section 4"
    options: ClassVar[dict[str, int]] = {}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.population = range(place.size)
        self.dimension = dimension(place.size)
        self.grafting: dict[Topic, int] = {}  # joins that passed upward through me and have not come back
        self.roots: dict[Topic, NodeId] = {}
        self.parents: dict[Topic, NodeId | None] = {}

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        match packet:
            case Pub() | Root():
                self.upon_pub(packet.messages[0])
            case Sub():
                self.upon_sub(packet)
            case Welcome():
                self.upon_welcome(packet)
            case Uns():
                self.feed(packet.id.topic).children.pop(sender, None)
                self.prune(packet.id.topic)
            case _:
                raise UnexpectedEvent(self, packet)

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """My children are the heads of those of my clusters that hold a member."""
        feed = self.feed(topic)
        feed.member = self.me in members
        parent = self.parent(topic)
        height = self.dimension if parent is None else cluster(self.me, parent) - 1
        for s in range(1, height + 1):
            if any_in(block(self.me, s), members):
                child = first(self.me, s, self.population)
                assert child is not None
                feed.children[child] = None

    def join(self, topic: Topic) -> None:
        self.feed(topic).joining = True
        self.upon_sub(Sub(self.changes.next(topic)))

    def leave(self, topic: Topic) -> None:
        self.feed(topic).member = False
        self.prune(topic)
        self.above.departed(topic)

    def fed_by_me(self, topic: Topic) -> list[NodeId]:
        return list(self.feed(topic).children)

    def upon_sub(self, sub: Sub) -> None:
        """Upward to the root, which sends the welcome down the path: what it emitted before is the cut."""
        topic = sub.id.topic
        parent = self.parent(topic)
        if parent is not None:
            self.grafting[topic] = self.grafting.get(topic, 0) + 1
            self.send(parent, sub)
        else:
            self.upon_welcome(Welcome(sub.id, dict(self.feed(topic).fed)))

    def upon_welcome(self, welcome: Welcome) -> None:
        """Graft the next hop towards the joiner, and everything after this welcome goes there too."""
        topic, joiner = welcome.id.topic, welcome.id.source
        feed = self.feed(topic)
        if self.parent(topic) is not None:
            self.grafting[topic] -= 1
        if joiner == self.me:
            feed.begin(welcome.vector)
            self.above.joined(topic, welcome.vector)
        else:
            child = first(self.me, cluster(self.me, joiner), self.population)
            assert child is not None
            feed.children[child] = None
            self.send(child, welcome)

    def prune(self, topic: Topic) -> None:
        """Leave the tree when nobody behind me needs me. A join on its way through me keeps me in."""
        feed, parent = self.feed(topic), self.parent(topic)
        if parent is not None and not feed.member and not feed.children and not self.grafting.get(topic, 0):
            self.send(parent, Uns(self.changes.next(topic)))

    def root(self, topic: Topic) -> NodeId:
        if topic not in self.roots:
            self.roots[topic] = root_of(self.place.seed, topic, self.place.size)
        return self.roots[topic]

    def parent(self, topic: Topic) -> NodeId | None:
        """The node before me on the path from the root; None for the root itself."""
        if topic not in self.parents:
            hops = list(path(self.root(topic), self.me, self.population))
            self.parents[topic] = hops[-2] if len(hops) > 1 else None
        return self.parents[topic]
