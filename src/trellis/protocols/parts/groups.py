"""Sequencing groups: which topics must be ordered together, and how a topic finds its desk.

Source:   TNO, section 3.4, Definition 1; section 4 ("Ordering features") for the wider rule.
Promises: topics that two subscribers share are in each other's group. `Groups` knows only subscriptions that hold one
          of its topics, as a topic manager does, and gives what `sequencing_groups` gives of all of them.
Departs:  T10. Definition 1 orders each two topics for themselves. A subscriber of four topics that shares each two
          neighbours of a ring with somebody else, and the diagonals with nobody, may be asked for a ring of four
          messages, each before the next. So a topic that only one subscription shares is in the group (SAFE) if that
          subscription has at least four topics: three have no diagonals. Both topics' managers see that alike.
          T17. Who leaves a topic has got what it got, and others must agree with it on what it gets elsewhere later: so
          what a subscriber ever had counts for its whole life (`add`).
          Whoever knows all subscriptions, as a desk does, can do with less (RINGS): such a topic is in the group only
          if a ring of pairs that others share, within that subscription, runs through both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from trellis import draw
from trellis.words import Origin, Topic

# Who is in the group of a topic besides itself: what two subscriptions share with it; that, and what one of at least
# four topics does; what any subscription does; nobody; what two share, and what is on a ring of those in one.
PRINTED, SAFE, WIDE, ALONE, RINGS = "printed", "safe", "wide", "alone", "rings"
RING = 4  # topics


def sequencing_groups(subscriptions: Iterable[frozenset[Topic]], rule: str = PRINTED) -> dict[Topic, frozenset[Topic]]:
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
        self.blocks: dict[Origin, list[frozenset[Topic]]] = {}  # RINGS, by subscriber: the same
        self.both: Counter[frozenset[Topic]] = Counter()  # RINGS: how many subscriptions hold two topics

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
        if self.rule == RINGS:
            self.count(before, topics)

    def add(self, subscriber: Origin, topics: frozenset[Topic]) -> None:
        """The same, but what it subscribed to before stays: it may have got something there (T17)."""
        self.change(subscriber, self.subscriptions.get(subscriber, frozenset()) | topics)

    def of(self, topic: Topic) -> frozenset[Topic]:
        """SG_T."""
        group = self.groups.get(topic)
        if group is None:
            group = group_of(topic, self.held(topic), self.rule)
            if self.rule == RINGS:
                rings = [block for holder in self.holders.get(topic, ()) for block in self.rings(holder)]
                group = group.union(*(block for block in rings if topic in block))
            self.groups[topic] = group
        return group

    def rings(self, subscriber: Origin) -> list[frozenset[Topic]]:
        """Topics of a subscription that a ring of pairs runs through which others share too."""
        if subscriber not in self.blocks:
            mine = sorted(self.subscriptions[subscriber])
            near = {one: [two for two in mine if one != two and self.both[frozenset((one, two))] >= 2] for one in mine}
            self.blocks[subscriber] = [block for block in blocks(near) if len(block) >= RING]
        return self.blocks[subscriber]

    def count(self, before: frozenset[Topic], now: frozenset[Topic]) -> None:
        """One subscription changed. What it shares may close rings of others, or open them."""
        self.both.update(pairs_of(now - before, now))
        for pair in pairs_of(before - now, before):
            self.both[pair] -= 1
            if not self.both[pair]:
                del self.both[pair]
        self.groups.clear()
        self.blocks.clear()

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
    group = {other for other, holders in shared.items() if holders >= 2} | {topic}
    if rule == SAFE:
        group = group.union(*(topics for topics in subscriptions if len(topics) >= RING))
    return frozenset(group)


def pairs_of(some: frozenset[Topic], topics: frozenset[Topic]) -> set[frozenset[Topic]]:
    """Two topics of which one is among these."""
    return {frozenset((one, two)) for one in some for two in topics if one != two}


def blocks(near: Mapping[Topic, list[Topic]]) -> list[frozenset[Topic]]:
    """The parts of a graph that no vertex cuts in two (Hopcroft, Tarjan 1973): a ring lies within one of them."""
    found: list[frozenset[Topic]] = []
    depth: dict[Topic, int] = {}
    low: dict[Topic, int] = {}
    seen: list[Topic] = []

    def visit(topic: Topic, above: Topic | None) -> None:
        depth[topic] = low[topic] = len(depth)
        seen.append(topic)
        for other in near[topic]:
            if other not in depth:
                visit(other, topic)
                low[topic] = min(low[topic], low[other])
                if low[other] >= depth[topic]:
                    at = seen.index(other)
                    found.append(frozenset([topic, *seen[at:]]))
                    del seen[at:]
            elif other != above:
                low[topic] = min(low[topic], depth[other])

    for topic in near:
        if topic not in depth:
            visit(topic, None)
            seen.clear()
    return found


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
