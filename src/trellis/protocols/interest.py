"""What a node has to do with topics, and which of them matter to others: what is published below one is for it, too.

Promises: an application is handed what is below its topics as long as it wants one that includes it (`invited`), from
          the moment on when it says so. A node takes part in what is below its topics as long as it takes part in one
          that includes it, or is about to (`concerned`): it may change its mind while it is joining, and must not have
          missed a topic that began meanwhile.
"""

from __future__ import annotations

from trellis.errors import LocalProtocolError
from trellis.events import Publish
from trellis.protocols.parts.hierarchy import Hierarchy, check, depth, in_tree
from trellis.words import MessageId, Topic, Vector

# Where a session stands (plain words: CPython 3.11 takes ten times as long to look an Enum's member up).
OUT, JOINING, IN, LEAVING = "out", "joining", "in", "leaving"


class Session:
    """One node's relation to one topic, over all its subscriptions to it."""

    __slots__ = ("delivered", "early", "inherited", "mute", "phase", "published", "wanted")

    def __init__(self) -> None:
        self.phase = OUT
        self.wanted = False  # the application's last word
        self.inherited = False  # it has subscribed to a topic that includes this one
        self.published = 0  # my messages on this topic, over all sessions
        self.early: list[tuple[MessageId, Publish]] = []  # published before the overlay was in
        self.delivered: Vector = {}  # per origin, the highest number delivered, or skipped by the cut
        self.mute: Vector = {}  # per origin, up to which number the application was told not to wait


class Interest:
    """The sessions of one node."""

    def __init__(self, tree: Hierarchy) -> None:
        self.sessions: dict[Topic, Session] = {}
        self.tree = tree
        self.lacking = ""  # why no topic of the tree can be had here

    def check(self, topic: Topic) -> None:
        """Refuse what is no name in the tree, and all of the tree where nobody brings what is below a topic."""
        if in_tree(topic):
            check(topic)
            if self.lacking:
                raise LocalProtocolError(f"topic {topic!r}: {self.lacking}")

    def session(self, topic: Topic) -> Session:
        found = self.sessions.get(topic)
        if found is None:
            found = self.sessions[topic] = Session()
            found.inherited = self.invited(topic)
        return found

    def above(self, topic: Topic) -> list[Session]:
        if not in_tree(topic):
            return []
        return [found for other in self.tree.above(topic) if (found := self.sessions.get(other)) is not None]

    def invited(self, topic: Topic) -> bool:
        return any(session.wanted for session in self.above(topic))

    def concerned(self, topic: Topic) -> bool:
        return any(s.wanted or s.phase is JOINING or s.phase is IN for s in self.above(topic))

    def below(self, topic: Topic) -> list[Topic]:
        """Those that it includes, the nearest first: whether one stays decides on what is below it in turn."""
        if not in_tree(topic):
            return []
        return sorted((other for other in self.sessions if self.tree.includes(topic, other)), key=depth)
