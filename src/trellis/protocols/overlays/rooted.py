"""What the single-root overlays share: a message goes to its topic's root, and from feeder to fed.

Source:   section 4 of VCube-PS (SRPT).
"""

from __future__ import annotations

from abc import abstractmethod

from trellis.machine import Place
from trellis.protocols.layers import GAPLESS, START_CUT, Overlay
from trellis.protocols.parts.relay import Changes, Feed, Pub, Root
from trellis.words import Message, NodeId, Topic


class Rooted(Overlay):
    """An overlay in which one node per topic decides the order of its messages."""

    gives = frozenset({START_CUT, GAPLESS})
    fifo_links = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.feeds: dict[Topic, Feed] = {}
        self.changes = Changes(self.origin)

    @abstractmethod
    def root(self, topic: Topic) -> NodeId:
        """Who decides."""

    @abstractmethod
    def fed_by_me(self, topic: Topic) -> list[NodeId]:
        """Whom I pass the topic's messages on to."""

    def spread(self, message: Message) -> None:
        """The publisher sends its message to the root; being the root, it starts at once."""
        root = self.root(message.id.topic)
        if root == self.me:
            self.upon_pub(message)
        else:
            self.send(root, Root(message.id, (message,)))

    def upon_pub(self, message: Message) -> None:
        """Pass it on, and take it if I want it. What I published myself the ordering delivered at once."""
        topic = message.id.topic
        feed = self.feed(topic)
        feed.pass_on(message)
        for child in self.fed_by_me(topic):
            self.send(child, Pub(message.id, (message,)))
        if feed.member and message.id.origin != self.origin and feed.is_new(message):
            self.above.arrive(message)
        elif feed.member or feed.joining:
            self.note("skip", message.id)

    def feed(self, topic: Topic) -> Feed:
        return self.feeds.setdefault(topic, Feed())
