"""The nouns that every part of Trellis shares.

A *message* is what an application published, a *packet* is what a link carries, an *event* is what happens to a
machine, an *effect* is what a machine asks for. All four are small frozen values: they can be compared, logged,
pickled to a Spark worker and encoded for the wire (decision 0001 says why they are
msgspec structs; they refer to no cycles, so the collector need not follow them)

The ranges beside the types hold for what comes from a wire: they are checked when it is decoded, and cost nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

EXACT = 1 << 53  # below this every number is exact, also in a table of doubles
TOPIC_MAX = 256  # bytes of UTF-8
LEVELS_MAX = 32  # parts of a topic
BARRIER_MAX = 1024
VECTOR_MAX = 65_536
COUNT_MAX = 1 << 20  # payloads of a message
LENGTH_MAX = 1 << 20  # bytes of a block

# No control characters, nor what turns the direction or the line of a log; LEVELS_MAX parts between dots.
PART = "[^.\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]*"
TOPIC = rf"\A{PART}(?:\.{PART}){{0,{LEVELS_MAX - 1}}}\Z"

NodeId = Annotated[int, Meta(ge=0, lt=1 << 31)]
Incarnation = Annotated[int, Meta(ge=0, lt=1 << 31)]
Seq = Annotated[int, Meta(gt=-EXACT, lt=EXACT)]  # of a message from 1 on; a membership change has a negative one
Count = Annotated[int, Meta(ge=1, le=COUNT_MAX)]
Version = Annotated[int, Meta(ge=0, lt=EXACT)]
Height = Annotated[int, Meta(ge=0, le=31)]  # of a subtree of the hypercube
Topic = Annotated[str, Meta(min_length=1, max_length=TOPIC_MAX, pattern=TOPIC)]
Time = Annotated[int, Meta(ge=0, lt=EXACT)]  # microseconds in a live run, the scenario's unit in a simulated one
Origin = tuple[NodeId, Incarnation]  # (source, incarnation): one life of one publisher
Vector = Annotated[dict[Origin, Seq], Meta(max_length=VECTOR_MAX)]  # per origin, the highest sequence number known

if TYPE_CHECKING:
    Payload = Any  # opaque to machines: bytes in a simulated run, a `Bundle` of `count` payloads in a live one
else:
    Payload = Annotated[int, Meta(ge=1, le=LENGTH_MAX)]  # on a wire its length stands for it: the block comes after


class MessageId(
    msgspec.Struct, frozen=True, gc=False, order=True, cache_hash=True, array_like=True, forbid_unknown_fields=True
):
    """One message for ever: the sequence counts per topic, the incarnation makes a restart safe."""

    origin: Origin
    topic: Topic
    seq: Seq

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


# Direct predecessors on one topic, ascending. A tuple, because the collector lets go of one that refers to no cycles.
Barrier = Annotated[tuple[MessageId, ...], Meta(max_length=BARRIER_MAX)]
NOTHING: Barrier = ()

GROUP_MAX = 4096  # topics in a timestamp
Number = Annotated[int, Meta(ge=0, lt=EXACT)]
Stamp = Annotated[tuple[tuple[Topic, Number], ...], Meta(max_length=GROUP_MAX)]  # ascending by topic
UNSTAMPED: Stamp = ()
ENTRY_BYTES = 16  # of an entry in memory: timestamps share most of theirs with those before them

OUT_OF_ORDER = "out_of_order"  # a tag of a delivery: something that comes after it was delivered before


class Message(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """What an application published in one call, with what the ordering needs to place it.

    One call may publish many payloads: they are numbered from `id` on, travel together and are decided on once.
    """

    id: MessageId
    payload: Payload
    follows: Barrier = NOTHING  # causal order: deliver these first
    count: Count = 1
    awaited: bool = False  # the publisher waits to hear that every subscriber has it
    stamp: Stamp = UNSTAMPED  # total order: its number on its topic, and what of other topics comes before it

    @property
    def last(self) -> int:
        """The highest of its numbers."""
        return self.id.seq + self.count - 1


class Packet(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
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
