"""Who subscribes to what, as one desk knows it: now, and what still counts of the past.

Source:   TNO section 3.4, the subscriptions that a topic manager stores.
Promises: a group holds what its subscribers have, and what they had as long as that matters (T17). Who lives again has
          no past.
"""

from __future__ import annotations

from trellis.protocols.parts.desk_packets import Listed, Pairs
from trellis.protocols.parts.groups import Groups
from trellis.words import NodeId, Origin, Topic

NO_TOPICS: frozenset[Topic] = frozenset()


class Registry:
    """Subscriptions, in the order in which they climbed."""

    def __init__(self, rule: str) -> None:
        self.groups = Groups(rule)  # of all that counts
        self.current: dict[Origin, frozenset[Topic]] = {}
        self.left: dict[Origin, frozenset[Topic]] = {}  # what counts, although its subscriber has it no more

    def stand(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """They have subscribed since before the run."""
        for node in members:
            self.change((node, 0), self.current.get((node, 0), NO_TOPICS) | {topic})

    def change(self, subscriber: Origin, topics: frozenset[Topic]) -> None:
        """From now on this is what it subscribes to; what it had before may still count."""
        self.groups.add(subscriber, topics)
        self.current[subscriber] = topics
        self.count(subscriber)

    def forget(self, pairs: Pairs) -> None:
        """What these had matters no more, unless they have it again."""
        for subscriber, topics in pairs:
            current = self.current.get(subscriber, NO_TOPICS)
            self.groups.change(subscriber, self.counted(subscriber) - (frozenset(topics) - current))
            self.count(subscriber)

    def end_former_lives(self, subscriber: Origin) -> list[Origin]:
        """T6: what a node subscribed to before it lived again is nobody's any more. Which lives these were."""
        node, incarnation = subscriber
        lives = [life for life in self.groups.subscriptions if life[0] == node and life[1] < incarnation]
        for life in lives:
            self.groups.change(life, NO_TOPICS)
            self.current.pop(life, None)
            self.left.pop(life, None)
        return lives

    def counted(self, subscriber: Origin) -> frozenset[Topic]:
        return self.groups.subscriptions.get(subscriber, NO_TOPICS)

    def count(self, subscriber: Origin) -> None:
        current = self.current.get(subscriber, NO_TOPICS)
        left = self.counted(subscriber) - current
        for table, topics in ((self.current, current), (self.left, left)):
            if topics:
                table[subscriber] = topics
            else:
                table.pop(subscriber, None)

    def listed(self) -> list[Listed]:
        """All of it, for a desk that must know it too."""
        subscribers = self.groups.subscriptions
        return [
            Listed(who, ascending(self.current.get(who, NO_TOPICS)), ascending(subscribers[who])) for who in subscribers
        ]

    def install(self, listed: list[Listed]) -> None:
        self.groups, self.current, self.left = Groups(self.groups.rule), {}, {}
        for one in listed:
            self.groups.change(one.subscriber, frozenset(one.counted))
            self.current[one.subscriber] = frozenset(one.current)
            self.count(one.subscriber)


def ascending(topics: frozenset[Topic]) -> tuple[Topic, ...]:
    return tuple(sorted(topics))
