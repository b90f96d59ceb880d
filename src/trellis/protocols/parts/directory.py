"""Where a search begins: for each topic a few nodes, the same ones for everybody, who remember who asked.

Source:   ours. daMulticast searches among whom it happens to know (section 4.2.2), and remarks that with a consistent
          overlay it would be easier to find somebody; here the nodes of a topic are drawn by its name.
Promises: of two processes that told the same node of a topic that they are there, the later one is told of the earlier
          one, and neither of whoever has not spoken for `limit` rounds. Few are remembered of a group, however large,
          and no more than so many groups: of those of whom one has not heard for longest, nothing any more.
"""

from __future__ import annotations

import msgspec

from trellis import draw
from trellis.protocols.parts.company import AGE_MAX, Entry
from trellis.protocols.parts.reach import Reach
from trellis.words import NodeId, Topic

PLACES = 3  # nodes that remember a topic
LISTED = 16  # members of a topic that each of them remembers, the latest ones
WAITING = 3  # of each group that waits for members of a topic above it
TOPICS_MAX = 65_536  # that a node remembers members of; and pairs of a topic and a group that waits for it
DRAWS_MAX = 4096

Listed = dict[NodeId, tuple[Entry, int]]  # with the round in which it spoke; the latest last


def places_of(seed: int, topic: Topic, size: int, reach: Reach) -> tuple[NodeId, ...]:
    """The first PLACES nodes of a topic that can be reached: the same ones for all who reach the same nodes."""
    key, found = draw.key_of(topic), dict[NodeId, None]()
    for n in range(DRAWS_MAX):
        node = draw.draw(seed, draw.PLACE, key, n) % size
        if node in reach and node not in found:
            found[node] = None
            if len(found) == min(PLACES, len(reach)):
                return tuple(found)
    return tuple(sorted(reach)[:PLACES])


class Directory:
    """What one node remembers for others."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.members: dict[Topic, Listed] = {}
        self.waiting: dict[Topic, dict[Topic, Listed]] = {}  # by topic, and by the group that waits for it
        self.pairs = 0  # of those
        # In all of these what was heard of last comes last.

    def enrol(self, topic: Topic, entry: Entry, now: int) -> None:
        """A process is in the group of a topic."""
        listed = self.members[topic] = self.members.pop(topic, {})
        put(listed, entry, now, LISTED)
        if len(self.members) > TOPICS_MAX:
            del self.members[next(iter(self.members))]

    def wait(self, topic: Topic, group: Topic, entry: Entry, now: int) -> None:
        """A process of a group below would like to know of whoever joins that of the topic."""
        groups = self.waiting[topic] = self.waiting.pop(topic, {})
        self.pairs += group not in groups
        listed = groups[group] = groups.pop(group, {})
        put(listed, entry, now, WAITING)
        if self.pairs > TOPICS_MAX:
            self.drop_oldest()

    def drop_oldest(self) -> None:
        topic, groups = next(iter(self.waiting.items()))
        del groups[next(iter(groups))]
        self.pairs -= 1
        if not groups:
            del self.waiting[topic]

    def strike(self, topic: Topic, entry: Entry) -> None:
        """It has left."""
        strike(self.members.get(topic, {}), entry)

    def forget(self, node: NodeId) -> None:
        """It cannot be reached."""
        for listed in [*self.members.values(), *(one for groups in self.waiting.values() for one in groups.values())]:
            listed.pop(node, None)

    def found(self, topic: Topic, asker: NodeId, now: int) -> tuple[Entry, ...]:
        """Who is in the group of a topic."""
        return tuple(entry for entry in fresh(self.members.get(topic), now, self.limit) if entry.node != asker)

    def below(self, topic: Topic, asker: NodeId, now: int) -> tuple[tuple[Topic, Entry], ...]:
        """Who waits for members of a topic."""
        groups = self.waiting.get(topic, {})
        listed = ((group, entry) for group in sorted(groups) for entry in fresh(groups[group], now, self.limit))
        return tuple((group, entry) for group, entry in listed if entry.node != asker)

    def clear(self, now: int) -> None:
        """Forget what is too old."""
        since = now - self.limit
        self.members = {topic: kept for topic, listed in self.members.items() if (kept := young(listed, since))}
        waiting = {}
        for topic, groups in self.waiting.items():
            kept_groups = {group: kept for group, listed in groups.items() if (kept := young(listed, since))}
            if kept_groups:
                waiting[topic] = kept_groups
        self.waiting, self.pairs = waiting, sum(map(len, waiting.values()))


def put(listed: Listed, entry: Entry, now: int, most: int) -> None:
    before = listed.pop(entry.node, None)
    listed[entry.node] = (entry if before is None or entry.life >= before[0].life else before[0]), now
    while len(listed) > most:
        del listed[next(iter(listed))]


def strike(listed: Listed, entry: Entry) -> None:
    if entry.node in listed and listed[entry.node][0].life <= entry.life:
        del listed[entry.node]


def young(listed: Listed, since: int) -> Listed:
    return {node: told for node, told in listed.items() if told[1] >= since}


def fresh(listed: Listed | None, now: int, limit: int) -> list[Entry]:
    """With how long ago each of them spoke."""
    told = (listed or {}).values()
    return [
        msgspec.structs.replace(entry, age=min(AGE_MAX, entry.age + now - at))
        for entry, at in told
        if at >= now - limit
    ]
