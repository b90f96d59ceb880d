"""Single root per topic over brokers (SRPT-B): the tree is made of brokers, subscribers hang on them.

Source:   VCube-PS section 4.6, after DYNATOPS.
Promises: a message goes from its publisher to the root broker, down a tree of all brokers, and from each broker to
          the subscribers that are attached to it. A joiner is welcomed by its broker, in step with the messages.
Assumes:  reliable FIFO links; nodes do not fail.
Departs:  brokers stand evenly spaced among the ids, so that each serves the ids up to the next broker. A broker may
          subscribe too; it then serves itself.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from trellis.errors import UnexpectedEvent
from trellis.machine import Place
from trellis.protocols.overlays.rooted import Rooted
from trellis.protocols.parts.hypercube import children, cluster, dimension, path
from trellis.protocols.parts.relay import Pub, Root, Sub, Uns, Welcome, root_of
from trellis.words import NodeId, Packet, Topic


class Brokers(Rooted):
    """One tree of brokers per topic; brokers fan out to subscribers."""

    promise = "one tree of brokers per topic; every broker fans out to its own subscribers"
    source = "SRPT-B of VCube-PS section 4.6"
    options: ClassVar[dict[str, int]] = {"brokers": 32}

    def __init__(self, place: Place, brokers: int) -> None:
        super().__init__(place)
        self.brokers = min(brokers, place.size)
        self.mine = bisect_right(range(self.brokers), place.me, key=self.id_of) - 1  # the index of my broker
        self.broker = self.id_of(self.mine)
        self.dimension = dimension(self.brokers)

    def id_of(self, index: int) -> NodeId:
        return index * self.place.size // self.brokers

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        match packet:
            case Pub() | Root():
                self.upon_pub(packet.messages[0])
            case Sub():
                self.send(sender, Welcome(packet.id, dict(self.feed(packet.id.topic).fed)))
                self.feed(packet.id.topic).children[sender] = None
            case Welcome():
                self.begin(packet)
            case Uns():
                self.feed(packet.id.topic).children.pop(sender, None)
            case _:
                raise UnexpectedEvent(self, packet)

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        feed = self.feed(topic)
        feed.member = self.me in members
        if self.broker == self.me:
            last = self.id_of(self.mine + 1) if self.mine + 1 < self.brokers else self.place.size
            feed.children.update((member, None) for member in members if self.me < member < last)

    def join(self, topic: Topic) -> None:
        sub = Sub(self.changes.next(topic))
        self.feed(topic).joining = True
        if self.broker == self.me:
            self.begin(Welcome(sub.id, dict(self.feed(topic).fed)))
        else:
            self.send(self.broker, sub)

    def begin(self, welcome: Welcome) -> None:
        self.feed(welcome.id.topic).begin(welcome.vector)
        self.above.joined(welcome.id.topic, welcome.vector)

    def leave(self, topic: Topic) -> None:
        self.feed(topic).member = False
        if self.broker != self.me:
            self.send(self.broker, Uns(self.changes.next(topic)))
        self.above.departed(topic)

    def fed_by_me(self, topic: Topic) -> list[NodeId]:
        """A broker feeds the brokers below it in the tree, then its own subscribers; a subscriber feeds nobody."""
        if self.broker != self.me:
            return []
        return [self.id_of(index) for index in self.below(topic)] + list(self.feed(topic).children)

    def below(self, topic: Topic) -> list[int]:
        """The brokers that I feed, by index, in the tree over all brokers."""
        hops = list(path(self.root_index(topic), self.mine, range(self.brokers)))
        height = self.dimension if len(hops) == 1 else cluster(self.mine, hops[-2]) - 1
        return children(self.mine, range(self.brokers), height)

    def root(self, topic: Topic) -> NodeId:
        return self.id_of(self.root_index(topic))

    def root_index(self, topic: Topic) -> int:
        return root_of(self.place.seed, topic, self.brokers)
