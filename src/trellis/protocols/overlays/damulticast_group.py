"""What one process keeps of one of its groups in `damulticast`.

A group's life at one process:

    OUT --Join--> JOINING --searches answered, a start cut told--> IN
    IN --Leave--> LEAVING --what I have is safe, and nobody knows me any more--> OUT
    LEAVING --Join--> IN
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from trellis.machine import Place
from trellis.protocols.parts.company import Company, Entry, Roll
from trellis.words import Message, MessageId, NodeId, Topic, Vector, merge

JOINING, IN, LEAVING = "joining", "in", "leaving"
PASSED_MAX = 4096


class Parameters(NamedTuple):
    """Of one topic (sections 4.2 and 4.3)."""

    c: int  # a process tells ln(S) + c others of its group
    g: int  # so many of a group tell the group above
    a: int  # each of them so many there
    z: int  # of those it knows
    tau: int  # knowing fewer, it asks in every round


class Uplink(Roll):
    """z processes of the next group above that is not empty, over one direct supertopic: the supertopic table."""

    def __init__(self, place: Place, group: Topic, scope: tuple[Topic, ...], z: int, limit: int) -> None:
        super().__init__(place, f"{group} {scope[0]}", limit)
        self.scope = scope  # the direct supertopic and those above it: the nearest first
        self.z = z
        self.topic: Topic | None = None  # whose processes they are
        self.former: dict[Topic, dict[NodeId, None]] = {}  # groups that I let go of when all that I have is there
        self.agreed = -1  # in which round somebody there had what I have
        self.agreed_on = -1  # and after how many changes of it

    @property
    def branch(self) -> Topic:
        return self.scope[0]

    def trim(self) -> None:
        if len(self.known) > self.z:
            kept = set(self.by_luck()[: self.z])
            self.known = {node: known for node, known in self.known.items() if node in kept}

    def offer(self, topic: Topic, entries: Iterable[Entry]) -> None:
        """Somebody tells me of processes of a group above: the nearest such group counts."""
        if topic not in self.scope:
            return
        told = [entry for entry in entries if entry.node != self.me]
        if (
            topic != self.topic
            and told
            and (self.topic is None or self.scope.index(topic) < self.scope.index(self.topic))
        ):
            if self.topic is not None and self.known:
                self.former[self.topic] = dict.fromkeys(self.known)
            self.topic, self.known, self.agreed, self.agreed_on = topic, {}, -1, -1
        if topic == self.topic:
            self.hear_all(told)
            self.close_if_empty()

    def begin_round(self, number: int) -> None:
        super().begin_round(number)
        self.close_if_empty()

    def forget(self, node: NodeId) -> None:
        super().forget(node)
        for topic in [topic for topic, nodes in self.former.items() if node in nodes]:
            del self.former[topic][node]
            if not self.former[topic]:
                del self.former[topic]
        self.close_if_empty()

    def knew(self, node: NodeId) -> bool:
        return any(node in nodes for nodes in self.former.values())

    def leave(self, entry: Entry) -> None:
        """It is not there any more."""
        self.forget(entry.node)
        self.hear_leave(entry)

    def close_if_empty(self) -> None:
        if not self.known:
            self.topic = None


class Group:
    """One topic that I subscribe to, and those who do as well."""

    def __init__(self, topic: Topic, entry: Entry, with_: Parameters, company: Company, uplinks: list[Uplink]) -> None:
        self.topic = topic
        self.with_ = with_
        self.me = entry
        self.phase = JOINING
        self.company = company
        self.uplinks = uplinks
        self.parting = False  # I leave as soon as I am in it, and have said what I had to say
        self.queue: list[Message] = []  # mine, from before I was in it
        self.unheld: list[Message] = []  # mine, that nobody else has for certain
        self.passed: dict[MessageId, None] = {}  # lately, by me
        self.agreed = -1  # in which round a fellow had what I have
        self.left = -1  # in which round I began to leave
        self.silent = -1  # and from which one on I asked nobody any more
        # While joining:
        self.unanswered: dict[Topic, dict[NodeId, int]] = {}  # searches: by wanted topic and place, how often asked
        self.answered: dict[Topic, set[NodeId]] = {}  # and those of its places that have answered
        self.below: dict[NodeId, Topic] = {}  # who waited for members of this group, and of which group it is
        self.asked: dict[NodeId, int] = {}  # who should tell me a start cut, and how often I asked
        self.asked_of: dict[NodeId, Topic] = {}  # as a process of which group
        self.unready: dict[NodeId, None] = {}  # fellows that are joining themselves
        self.waits = 0  # how often all of them were
        self.cuts: dict[Topic, Vector] = {}

    def pass_once(self, id: MessageId) -> bool:
        """Whether I have not passed it on in this group before."""
        if id in self.passed:
            return False
        self.passed[id] = None
        if len(self.passed) > PASSED_MAX:
            del self.passed[next(iter(self.passed))]
        return True

    def learn_cut(self, vectors: dict[Topic, Vector]) -> None:
        for topic, vector in vectors.items():
            merge(self.cuts.setdefault(topic, {}), vector)

    def begin_round(self, number: int) -> None:
        self.company.begin_round(number)
        for uplink in self.uplinks:
            uplink.begin_round(number)

    def forget(self, node: NodeId) -> None:
        self.company.forget(node)
        self.below.pop(node, None)
        self.asked.pop(node, None)
        for uplink in self.uplinks:
            uplink.forget(node)

    def entries(self) -> int:
        """Processes that I know because of this group."""
        return len(self.company.known) + sum(len(uplink.known) for uplink in self.uplinks)
