"""How a message goes through a vine: a notification first, and whoever wants the message pulls it.

Source:   Vitis section III-C: a node that is notified pulls the message from the sender and notifies its own neighbours
          that take the topic; gateways and relays notify the next node of their relay path, and those below it.
Promises: a node gets a message once, however often it is notified. If it does not come, it is pulled from another one
          that has notified it.
Departs:  (V4) the paper does not say what happens if a pull is not answered; here it is repeated, as often as there are
          others to ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.protocols.overlays.vine_packets import Notify, Pull, Pulled
from trellis.words import Message, MessageId, NodeId, Topic

if TYPE_CHECKING:
    from trellis.protocols.overlays.vine_topics import Topics

KEPT = 24  # rounds in which a message on its way can be pulled
AGAIN = 4  # rounds until it is pulled again
PASSED_MAX = 16_384  # notifications that a node remembers; and messages on their way
BYTES_MAX = 64 << 20  # of those messages
SOURCES_MAX = 8
ASKERS_MAX = 1024


class Passage:
    """A message on its way through this node."""

    __slots__ = ("asked", "askers", "born", "message", "sources")

    def __init__(self, message: Message | None, born: int) -> None:
        self.message = message
        self.born = born
        self.asked = born  # the round in which it was last pulled
        self.sources: list[NodeId] = []  # who has notified me; the first one is pulled from
        self.askers: list[NodeId] = []  # who waits for it


class Spreading:
    """One node's part in it."""

    def __init__(self, overlay: Topics) -> None:
        self.overlay = overlay
        self.passages: dict[MessageId, Passage] = {}  # the oldest first
        self.bytes = 0  # of their messages
        self.waiting: dict[MessageId, None] = {}  # those that were not pulled yet
        self.passed: dict[MessageId, None] = {}  # what went through here before that
        self.lately: dict[Topic, int] = {}  # topics of late, with the round

    def begin(self, message: Message) -> None:
        """A message of mine, or one that my cluster has missed."""
        if message.id not in self.passages:
            self.passages[message.id] = Passage(message, self.overlay.round)
            self.bytes += len(message.payload)
            self.make_room()
            self.notify(message.id, message.count, ())

    def notify(self, id: MessageId, count: int, but: tuple[NodeId, ...]) -> None:
        self.lately[id.topic] = self.overlay.round
        packet = Notify(id, count)
        for node in self.overlay.ways(id.topic):
            if node not in but:
                self.overlay.send(node, packet)

    def upon_notify(self, sender: NodeId, packet: Notify) -> None:
        id = packet.id
        passage = self.passages.get(id)
        if passage is not None:
            if passage.message is None and len(passage.sources) < SOURCES_MAX and sender not in passage.sources:
                passage.sources.append(sender)
            return
        if id in self.passed or id.origin == self.overlay.origin or not self.concerns(id):
            return
        passage = self.passages[id] = Passage(None, self.overlay.round)
        passage.sources.append(sender)
        self.waiting[id] = None
        self.overlay.send(sender, Pull(id))
        self.notify(id, packet.count, (sender,))
        self.make_room()

    def concerns(self, id: MessageId) -> bool:
        """Whether it is for me, or for somebody behind me."""
        if id.topic in self.overlay.taken:
            return self.overlay.lacks(id)
        return self.overlay.carries(id.topic)

    def upon_pull(self, sender: NodeId, id: MessageId) -> None:
        passage = self.passages.get(id)
        if passage is None:
            return  # too late: a comparison will bring it
        if passage.message is None:
            if sender not in passage.askers and len(passage.askers) < ASKERS_MAX:
                passage.askers.append(sender)
        else:
            self.overlay.send(sender, Pulled(id, (passage.message,)))
            self.overlay.was_pulled(passage.message)

    def upon_pulled(self, packet: Pulled) -> None:
        passage = self.passages.get(packet.id)
        message = packet.messages[0]
        if passage is None or passage.message is not None:  # it came before, or nobody asked for it
            self.overlay.skip(message)
            return
        passage.message = message
        self.bytes += len(message.payload)
        self.waiting.pop(packet.id, None)
        self.make_room()
        if not self.overlay.take(message):
            self.overlay.skip(message)  # I only pass it on
        askers, passage.askers = passage.askers, []
        for node in askers:
            self.overlay.send(node, Pulled(packet.id, (message,)))

    def hand_over(self, topic: Topic) -> None:
        """What came while I was joining the topic."""
        for id, passage in list(self.passages.items()):
            if id.topic == topic and passage.message is not None:
                self.overlay.take(passage.message)

    def begin_round(self) -> None:
        """Pull again what did not come; forget what is over."""
        now = self.overlay.round
        for id in list(self.waiting):
            passage = self.passages[id]
            if now - passage.asked >= AGAIN:
                passage.asked = now
                passage.sources.append(passage.sources.pop(0))
                self.overlay.send(passage.sources[0], Pull(id))
        while self.passages:
            id, passage = next(iter(self.passages.items()))
            if now - passage.born <= KEPT:
                break
            self.forget(id)
        if self.lately and now % KEPT == 0:
            self.lately = {topic: at for topic, at in self.lately.items() if now - at <= 2 * KEPT}

    def make_room(self) -> None:
        while len(self.passages) > PASSED_MAX or self.bytes > BYTES_MAX:
            self.forget(next(iter(self.passages)))

    def forget(self, id: MessageId) -> None:
        passage = self.passages.pop(id)
        if self.waiting.pop(id, id) is None:
            return  # it never came: it may be told of again
        if passage.message is not None:
            self.bytes -= len(passage.message.payload)
            self.passed[id] = None
            if len(self.passed) > PASSED_MAX:
                del self.passed[next(iter(self.passed))]
