"""The packets of `vcube`: waves down a tree, and what comes back up.

Source:   SUB, UNS, PUB and ACK of VCube-PS section 3.3. CUT and GONE are ours (docs/protocols/vcube.md).
Assumes:  a tag is for ever: on a wire it is the packet's name.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from trellis.errors import RemoteProtocolError
from trellis.protocols.parts.portions import weight
from trellis.protocols.parts.view import Rank
from trellis.words import EXACT, Height, Message, Packet, Topic, Vector

Messages = Annotated[tuple[Message, ...], Meta(min_length=1, max_length=65_536)]
Topics = Annotated[tuple[Topic, ...], Meta(max_length=65_536)]
Ranks = Annotated[tuple[Rank, ...], Meta(max_length=65_536)]

WAVE_BYTES_MAX = 1 << 19  # of the messages in one wave
PATIENT_BYTES_MAX = 1 << 14


class Wave(Packet, frozen=True, gc=False):
    """A packet that goes down a tree. The receiver answers for its own clusters 1..height, then acknowledges."""

    height: Height

    def at(self, height: int) -> Wave:
        """The same wave for a child that answers for fewer clusters."""
        return msgspec.structs.replace(self, height=height)


class Pub(Wave, frozen=True, gc=False, tag="P"):
    """Messages of one source on one topic, numbered one after the other; `id` is the first one's."""

    messages: Messages  # type: ignore[misc]
    kind: ClassVar[str] = "PUB"

    def at(self, height: int) -> Pub:
        return Pub(self.id, height, self.messages)  # as above, three times as fast

    @property
    def patient(self) -> bool:
        """Whether its acknowledgements may wait a little: nobody waits for them, and many such waves fit the window."""
        size = 0
        for message in self.messages:
            if message.awaited:
                return False
            size += len(message.payload)
        return size < PATIENT_BYTES_MAX


class Sub(Wave, frozen=True, gc=False, tag="S"):
    """Its source is joining. Goes to every node, so that nobody is left out who subscribes at the same time."""

    rank: Rank
    kind: ClassVar[str] = "SUB"


class Cut(Wave, frozen=True, gc=False, tag="C"):
    """Its source knows all members now, and asks what they have delivered."""

    rank: Rank
    kind: ClassVar[str] = "CUT"


class Uns(Wave, frozen=True, gc=False, tag="U"):
    """Its source has left. The vector is what it had delivered, so that a later joiner can skip it."""

    rank: Rank
    vector: Vector
    kind: ClassVar[str] = "UNS"


class Ack(Packet, frozen=True, gc=False, tag="A"):
    """The messages of this wave reached the whole subtree of this height."""

    height: Height
    kind: ClassVar[str] = "ACK"


class Answer(Packet, frozen=True, gc=False, tag="W"):
    """The membership change reached the whole subtree of this height, which answers together."""

    height: Height
    ranks: Ranks
    vector: Vector
    kind: ClassVar[str] = "ACK"
    topics: ClassVar[tuple[Topic, ...]] = ()


class AnswerBelow(Answer, frozen=True, gc=False, tag="B"):
    """The same to a SUB of the tree, with topics below its own that somebody there has ever had to do with."""

    topics: Topics  # type: ignore[misc]


class Below(Packet, frozen=True, gc=False, tag="K"):
    """Topics of the tree that its sender has ever had to do with: for whoever was out of reach, or asks."""

    topics: Topics
    kind: ClassVar[str] = "BELOW"


class Refuse(Packet, frozen=True, gc=False, tag="R"):
    """Not I: this is my rank. Give the subtree of this height to somebody else."""

    height: Height
    rank: Rank
    vector: Vector
    kind: ClassVar[str] = "GONE"


class State(Packet, frozen=True, gc=False, tag="T"):
    """Where the sender stands on a topic: its rank, and per origin up to which number it has everything."""

    rank: Rank
    vector: Vector | None  # None: it is not in the topic yet, or any more
    asks: bool  # it lacks something and wants an answer, whatever it is
    reply: bool  # to such a word of the receiver: not to be replied to in turn
    kind: ClassVar[str] = "STATE"


class Fill(Packet, frozen=True, gc=False, tag="F"):
    """What the receiver lacked, as its State showed."""

    messages: tuple[Message, ...]  # type: ignore[misc]
    gone: Vector  # up to these numbers, which it has delivered, the sender cannot help
    cut: Vector  # then, all that it has delivered: whoever gives them up must begin anew from there
    more: bool  # it has more than this: ask again
    kind: ClassVar[str] = "FILL"

    @property
    def batch(self) -> int:
        return 0  # of several sources, so not numbered from `id` on


def portion(queue: list[Message], batch: int) -> tuple[Message, ...]:
    """The messages that go out as one wave: at least one, else not above the bounds."""
    count = size = 0
    for n, message in enumerate(queue):
        count += message.count
        size += weight(message)
        if n and (count > batch or size > WAVE_BYTES_MAX):
            return tuple(queue[:n])
    return tuple(queue)


def check(packet: Packet) -> None:
    """What a packet promises beyond the ranges of its fields. For hosts whose peers may send anything."""
    topic = packet.id.topic
    for message in packet.messages:
        if message.id.topic != topic or message.id.seq < 1 or message.last >= EXACT:
            raise RemoteProtocolError(f"{packet.kind} on {topic!r} with {message.id} in it")
    if type(packet) is Pub:
        origin, seq = packet.id.origin, packet.id.seq
        for message in packet.messages:
            if message.id.origin != origin or message.id.seq != seq:
                raise RemoteProtocolError(f"PUB with {message.id} where number {seq} of its source must be")
            seq += message.count


WIRE: tuple[type[Packet], ...] = (
    Pub,
    Sub,
    Cut,
    Uns,
    Ack,
    Answer,
    Refuse,
    State,
    Fill,
    AnswerBelow,
    Below,
)  # what travels between processes
