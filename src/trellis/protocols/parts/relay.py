"""What the single-root overlays share: one order per topic, made by its root, and a start cut from whoever feeds me.

Source:   section 4 of VCube-PS (SRPT), after Scribe.
Promises: a node is fed by one neighbour per topic over a FIFO link, so that what it was fed is a prefix of what the
          root emitted, and the feeder's vector at the moment of welcome is an exact start cut.
"""

from __future__ import annotations

from typing import ClassVar

from trellis import draw
from trellis.protocols.parts.seen import Seen
from trellis.words import Message, MessageId, NodeId, Origin, Packet, Topic, Vector


class Root(Packet, frozen=True, gc=False):
    """A publisher hands its message to the root of the topic."""

    messages: tuple[Message]  # type: ignore[misc]
    kind: ClassVar[str] = "ROOT"


class Pub(Packet, frozen=True, gc=False):
    """A message on its way down."""

    messages: tuple[Message]  # type: ignore[misc]
    kind: ClassVar[str] = "PUB"


class Sub(Packet, frozen=True, gc=False):
    """Its source wants the topic: on its way up to whoever can welcome it."""

    kind: ClassVar[str] = "SUB"


class Welcome(Packet, frozen=True, gc=False):
    """The subscription of its source stands; everything that was emitted before is in the vector."""

    vector: Vector
    kind: ClassVar[str] = "ACK"


class Uns(Packet, frozen=True, gc=False):
    """The sender wants the topic no more."""

    kind: ClassVar[str] = "UNS"


def root_of(seed: int, topic: Topic, count: int) -> int:
    """Which of `count` nodes is the topic's root: as good as a hash of its name, and another one for another seed."""
    return draw.draw(seed, draw.ROOT, draw.key_of(topic)) % count


class Feed:
    """What one node has been fed of one topic, and whom it feeds."""

    def __init__(self) -> None:
        self.children: dict[NodeId, None] = {}
        self.joining = False
        self.member = False
        self.fed: Vector = {}  # per origin, the highest number passed on
        self.seen = Seen()  # handed up to the ordering

    def pass_on(self, message: Message) -> None:
        origin, last = message.id.origin, message.last
        if last > self.fed.get(origin, 0):
            self.fed[origin] = last

    def begin(self, cut: Vector) -> None:
        self.joining = False
        self.member = True
        self.seen = Seen(cut)

    def is_new(self, message: Message) -> bool:
        return self.seen.add(message.id.origin, message.id.seq, message.last)


class Changes:
    """Ids for a node's membership changes: they count downward, so that they never meet a message's number."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.count: dict[Topic, int] = {}

    def next(self, topic: Topic) -> MessageId:
        self.count[topic] = self.count.get(topic, 0) - 1
        return MessageId(self.origin, topic, self.count[topic])
