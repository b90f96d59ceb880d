"""The nouns that every part of Trellis shares.

A *message* is what an application published, a *packet* is what a link carries, an *event* is what happens to a
machine, an *effect* is what a machine asks for. All four are small frozen values: they can be compared, logged,
pickled to a Spark worker and encoded for the wire (decision 0001 says why they are
msgspec structs; they refer to no cycles, so the collector need not follow them)
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

NodeId = int
Topic = str
Time = int  # whole units: microseconds in a live run, the scenario's unit of time in a simulated one
Origin = tuple[int, int]  # (source, incarnation): one life of one publisher
Vector = dict[Origin, int]  # per origin, the highest sequence number known


class MessageId(msgspec.Struct, frozen=True, gc=False, order=True, cache_hash=True):
    """One message for ever: the sequence counts per topic, the incarnation makes a restart safe."""

    origin: Origin
    topic: Topic
    seq: int

    @property
    def source(self) -> NodeId:
        return self.origin[0]

    @property
    def incarnation(self) -> int:
        return self.origin[1]

    def __str__(self) -> str:
        """`3:7@news`, or `3.1:7@news` for the second life of node 3."""
        source, incarnation = self.origin
        life = f".{incarnation}" if incarnation else ""
        return f"{source}{life}:{self.seq}@{self.topic}"


Barrier = frozenset[MessageId]  # direct predecessors on one topic
NOTHING: Barrier = frozenset()


class Message(msgspec.Struct, frozen=True, gc=False):
    """What an application published in one call, with what the ordering needs to place it.

    One call may publish many payloads: they are numbered from `id` on, travel together and are decided on once.
    """

    id: MessageId
    payload: Any  # opaque to machines: bytes in a simulated run, a `Bundle` of `count` payloads in a live one
    follows: Barrier = NOTHING  # causal order: deliver these first
    count: int = 1

    @property
    def last(self) -> int:
        """The highest of its numbers."""
        return self.id.seq + self.count - 1


class Packet(msgspec.Struct, frozen=True, gc=False):
    """What a link carries. `id` names the message or the membership change that it serves."""

    id: MessageId
    kind: ClassVar[str] = "?"
    for_ordering: ClassVar[bool] = False  # in a stack: made by the ordering, not by the overlay
    messages: ClassVar[tuple[Message, ...]] = ()  # a packet that carries any has a field of this name

    @property
    def batch(self) -> int:
        """How many numbers it carries, from `id` on."""
        return self.messages[-1].last - self.id.seq + 1 if self.messages else 0


def merge(into: Vector, other: Vector) -> None:
    """Element-wise maximum, in place."""
    for origin, seq in other.items():
        if seq > into.get(origin, 0):
            into[origin] = seq
