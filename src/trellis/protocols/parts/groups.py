"""Sequencing groups: which topics must be ordered together, and how a topic finds its desk.

Source:   TNO, section 3.4, Definition 1; section 4 ("Ordering features") for the wider rule.
Promises: topics that two subscribers share are in each other's group. `Groups` knows only subscriptions that hold one
          of its topics, as a topic manager does, and gives what `sequencing_groups` gives of all of them.
Departs:  T17. Who leaves a topic has got what it got, and others must agree with it on what it gets elsewhere later: so
          what a subscriber ever had counts for its whole life (`add`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from trellis import draw
from trellis.words import Origin, Topic

# Who is in the group of a topic besides itself: what two subscriptions share with it (Definition 1); what any
# subscription does (section 4); nobody.
SHARED, WIDE, ALONE = "shared", "wide", "alone"


def sequencing_groups(subscriptions: Iterable[frozenset[Topic]], rule: str = SHARED) -> dict[Topic, frozenset[Topic]]:
    """The group of every topic that somebody subscribes to."""
    groups = Groups(rule)
    for n, topics in enumerate(subscriptions):
        groups.change((n, 0), topics)
    return {topic: groups.of(topic) for topic in sorted(groups.holders)}


class Groups:
    """Subscriptions, as those see them who must order their topics."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.subscriptions: dict[Origin, frozenset[Topic]] = {}
        self.holders: dict[Topic, dict[Origin, None]] = {}  # by topic; in the order in which they came
        self.groups: dict[Topic, frozenset[Topic]] = {}  # as far as they were asked for since the last change

    def change(self, subscriber: Origin, topics: frozenset[Topic]) -> None:
        """From now on this is what it subscribes to; without topics it is forgotten."""
        before = self.subscriptions.pop(subscriber, frozenset())
        if topics:
            self.subscriptions[subscriber] = topics
        for topic in before - topics:
            del self.holders[topic][subscriber]
            if not self.holders[topic]:
                del self.holders[topic]
        for topic in topics - before:
            self.holders.setdefault(topic, {})[subscriber] = None
        for topic in before | topics:
            self.groups.pop(topic, None)

    def add(self, subscriber: Origin, topics: frozenset[Topic]) -> None:
        """The same, but what it subscribed to before stays: it may have got something there (T17)."""
        self.change(subscriber, self.subscriptions.get(subscriber, frozenset()) | topics)

    def of(self, topic: Topic) -> frozenset[Topic]:
        """SG_T."""
        group = self.groups.get(topic)
        if group is None:
            group = self.groups[topic] = group_of(topic, self.held(topic), self.rule)
        return group

    def held(self, topic: Topic) -> list[frozenset[Topic]]:
        """The subscriptions that hold a topic."""
        return [self.subscriptions[subscriber] for subscriber in self.holders.get(topic, ())]


def group_of(topic: Topic, subscriptions: list[frozenset[Topic]], rule: str) -> frozenset[Topic]:
    """The group of a topic, by the subscriptions that hold it."""
    if rule == ALONE:
        return frozenset({topic})
    if rule == WIDE:
        return frozenset({topic}).union(*subscriptions)
    shared = Counter(other for topics in subscriptions for other in topics)
    return frozenset({topic, *(other for other, holders in shared.items() if holders >= 2)})


class Desks:
    """Where the managers of all topics sit. The rank of a topic: by its desk, then by its name.

    So whatever climbs the rank visits a desk once, and all stages of a desk are one step. Unless it is told, a topic is
    at the desk that wins the draw for its name: of more desks, a few topics move to the new ones and none elsewhere.
    With blocks, those whose names end in a number come in blocks of so many: the first at desk 0, the next at desk 1.
    """

    def __init__(self, count: int, told: Mapping[Topic, int] | None = None, block: int = 0) -> None:
        self.count = count
        self.homes: dict[Topic, int] = dict(told or {})
        self.block = block

    def of(self, topic: Topic) -> int:
        home = self.homes.get(topic)
        if home is None and self.block and (number := number_in(topic)) is not None:
            home = self.homes[topic] = min(number // self.block, self.count - 1)
        if home is None:
            key = draw.key_of(topic)
            home = max(range(self.count), key=lambda desk: draw.draw(0, draw.DESK, key, desk))
            self.homes[topic] = home
        return home


def number_in(topic: Topic) -> int | None:
    """The number with which a name ends."""
    digits = topic[len(topic.rstrip("0123456789")) :]
    return int(digits) if digits.isascii() and digits else None
