"""How far a message got among those who want it, group by group, and whom it reached in vain.

Source:   daMulticast section 6: reliability per group, rounds, parasite messages. A group is who subscribes to a topic
          that includes the message's.
Promises: who wants a message is who has a confirmed subscription that includes its topic when it is published, and has
          not left or died before. Whoever has several counts once, in the group nearest to the root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from trellis.protocols.parts.hierarchy import Hierarchy, depth
from trellis.trace.rows import DELIVERIES, OF_NODE
from trellis.trace.table import Trace
from trellis.words import MessageId, NodeId, Time, Topic

WORDS = ("confirm", "unsubscribe", *OF_NODE)
NEVER = -1


class Reach(NamedTuple):
    """A message in one group."""

    message: MessageId
    group: Topic
    wanted: int  # how many of the group wanted it, its publisher among them
    reached: int  # how many of those it was delivered to
    first: Time  # from its publication to the first delivery in the group; NEVER if there is none
    last: Time  # to the last one

    @property
    def share(self) -> float:
        return self.reached / self.wanted

    @property
    def is_whole(self) -> bool:
        return self.reached == self.wanted


class Wishes:
    """Who is subscribed to what, as the rows of a trace go by."""

    def __init__(self) -> None:
        self.tree = Hierarchy()
        self.standing: dict[NodeId, dict[Topic, None]] = {}
        self.known: dict[NodeId, dict[Topic, Topic | None]] = {}  # what `group` found since the node's last word
        self.alike: dict[tuple[Topic, ...], dict[Topic, Topic | None]] = {}  # the same by what nodes are subscribed to

    def hear(self, kind: str, node: NodeId, topic: Topic) -> None:
        self.known.pop(node, None)
        if kind in OF_NODE:
            self.standing.pop(node, None)
        elif kind == "confirm":
            self.standing.setdefault(node, {})[topic] = None
        elif kind == "unsubscribe":
            self.standing.get(node, {}).pop(topic, None)

    def group(self, node: NodeId, topic: Topic) -> Topic | None:
        """By which of its subscriptions a node wants what is published on a topic; None if it does not."""
        known = self.known.get(node)
        if known is None:
            known = self.known[node] = self.alike.setdefault(tuple(self.standing.get(node, ())), {})
        if topic not in known:
            mine = (each for each in self.standing.get(node, ()) if self.tree.reaches(each, topic))
            known[topic] = min(mine, key=depth, default=None)
        return known[topic]


def reach(trace: Trace) -> list[Reach]:
    """One entry per message and group, in the order of publication, the groups from the root down."""
    wishes = Wishes()
    born: dict[MessageId, Time] = {}
    wanted: dict[MessageId, dict[NodeId, Topic]] = {}
    told: dict[MessageId, dict[NodeId, Time]] = {}
    for row in trace.of_kind(*WORDS, "publish", *DELIVERIES).rows():
        if row.kind in WORDS:
            wishes.hear(row.kind, row.node, row.topic)
            continue
        id = MessageId((row.source, row.incarnation), row.topic, row.seq)
        if row.kind == "publish":
            born[id] = row.at
            groups = ((node, wishes.group(node, row.topic)) for node in sorted(wishes.standing))
            wanted[id] = {node: group for node, group in groups if group is not None}
        else:
            told.setdefault(id, {}).setdefault(row.node, row.at)
    return [found for id, at in born.items() for found in by_group(id, at, wanted[id], told.get(id, {}))]


def by_group(id: MessageId, born: Time, wanted: dict[NodeId, Topic], told: dict[NodeId, Time]) -> Iterator[Reach]:
    for group in sorted(set(wanted.values()), key=lambda topic: (depth(topic), topic)):
        nodes = [node for node, its in wanted.items() if its == group]
        times = [told[node] - born for node in nodes if node in told]
        yield Reach(id, group, len(nodes), len(times), min(times, default=NEVER), max(times, default=NEVER))


def parasites(trace: Trace) -> int:
    """Messages that arrived at nodes that want none of their topic then; each time that one did."""
    wishes, found = Wishes(), 0
    rows = trace.of_kind(*WORDS, "receive")
    (kinds, kind_names), (topics, names) = rows.words("kind"), rows.words("topic")
    columns = (kinds, topics, rows.numbers("node"), rows.numbers("batch"))
    for code, place, node, batch in zip(*(column.tolist() for column in columns), strict=True):
        if (kind := kind_names[code]) != "receive":
            wishes.hear(kind, node, names[place])
        elif batch and wishes.group(node, names[place]) is None:
            found += batch
    return found
