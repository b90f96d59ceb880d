"""An overlay for tests of links on demand: a node talks to the next ones on both sides, and to whom a test tells it to.

With a `period` it says something to both sides in every round; without, it only passes on what is published. It keeps
no order, and repairs nothing. `events` is what it was told of others, and what came from them, in this order.
"""

from __future__ import annotations

from typing import Any, ClassVar

from trellis import protocols
from trellis.effects import Send
from trellis.events import Cycle, Timeout
from trellis.live import node
from trellis.machine import Place
from trellis.protocols.layers import CRASHES, Overlay
from trellis.protocols.overlays import damulticast_packets
from trellis.protocols.overlays.damulticast_packets import Stray
from trellis.protocols.overlays.gossip import Gossip
from trellis.protocols.parts.company import Entry
from trellis.words import Message, MessageId, NodeId, Packet, Topic

STACK = "ring/unordered"


class Ring(Overlay):
    promise = "whoever is not cut off on both sides gets a message"
    source = "these tests"
    gives = frozenset({CRASHES})
    lossy = True
    links_on_demand = True
    options: ClassVar[dict[str, int]] = {"size": 2, "period": 0}

    def __init__(self, place: Place, size: int, period: int) -> None:
        super().__init__(place)
        self.sides = sorted({(place.me + step) % size for step in (1, -1)} - {place.me})
        self.period = period
        self.said = 0
        self.seen: set[MessageId] = set()
        self.events: list[tuple[Any, ...]] = []
        self.armed = False

    def join(self, topic: Topic) -> None:
        if self.period and not self.armed:
            self.armed = True
            self.set_timer("round", self.period)
        self.above.joined(topic, {})
        self.confirm(topic)

    def leave(self, topic: Topic) -> None:
        self.above.departed(topic)

    def spread(self, message: Message) -> None:
        self.seen.add(message.id)
        self.pass_on(message)
        self.settle(message.id, message.count)

    def pass_on(self, message: Message) -> None:
        for side in self.sides:
            self.send(side, Gossip(message.id, (message,), message.id.topic))

    def upon_time(self, event: Timeout | Cycle) -> None:
        for side in self.sides:
            self.send(side, self.word())
        self.set_timer("round", self.period)

    def word(self) -> Packet:
        self.said += 1
        return word(self.me, self.said, self.place.incarnation)

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        self.events.append(("got", sender, packet.id.incarnation, packet.id.seq))
        if isinstance(packet, Gossip) and packet.messages[0].id not in self.seen:
            message = packet.messages[0]
            self.seen.add(message.id)
            self.pass_on(message)
            self.above.arrive(message)

    def upon_suspect(self, node: NodeId) -> None:
        self.events.append(("suspect", node))

    def upon_restore(self, node: NodeId, incarnation: int) -> None:
        self.events.append(("restore", node, incarnation))

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        raise AssertionError("a live node never is told that")


def word(source: NodeId, number: int, incarnation: int = 0) -> Packet:
    return Stray(MessageId((source, incarnation), "ring", number), Entry(source, incarnation, 0))


def register(size: int = 2, period_us: int = 0) -> None:
    """In a process of its own; a test sets the same and takes it back."""
    protocols.LAYERED["ring"] = Ring
    node.OPTIONS["ring"] = {"size": size, "period": period_us}
    node.WORDS["ring"] = damulticast_packets


def say(host: node.Host, to: NodeId, number: int) -> None:
    """As if the machine of this node had asked for it."""
    me = host.place
    host.carry_out(STACK, host.clock.read(), [Send(to, word(me.me, number, me.incarnation))])


def heard(host: node.Host) -> list[tuple[Any, ...]]:
    events: list[tuple[Any, ...]] = host.overlay(STACK).events
    return events
