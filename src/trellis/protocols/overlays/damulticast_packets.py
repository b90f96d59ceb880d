"""The packets of `damulticast`: events, comparisons, and what holds groups together.

Assumes:  `id.topic` is the group that a packet is about; a tag is for ever: on a wire it is the packet's name.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from trellis.errors import RemoteProtocolError
from trellis.protocols.overlays.gossip import Gossip
from trellis.protocols.parts.company import Entry
from trellis.protocols.parts.portions import TOPICS_MAX, Vectors
from trellis.words import EXACT, LEVELS_MAX, TOPIC_MAX, Message, Packet, Topic

ENTRIES_MAX = 256

Entries = Annotated[tuple[Entry, ...], Meta(max_length=ENTRIES_MAX)]
Sum = Annotated[str, Meta(max_length=16)]  # 64 bits, in hexadecimal digits: JSON-like formats have no such numbers
Bound = Annotated[str, Meta(max_length=TOPIC_MAX)]
Hops = Annotated[int, Meta(ge=0, le=16)]


class Upper(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """Whom the sender knows of a group above its own."""

    branch: Topic  # the direct supertopic over which that group lies
    topic: Topic
    entries: Entries


class Digest(Packet, frozen=True, gc=False, tag="GD"):
    """A checksum of what the sender has of the group's topics, and whom it knows."""

    sum: Sum
    up: bool  # the receiver is not in the group, but in one above it
    same: bool  # the answer to one with the same sum
    me: Entry
    leaving: bool
    fellows: Entries  # of the group; in an answer from above, of the group above
    uppers: Annotated[tuple[Upper, ...], Meta(max_length=LEVELS_MAX)]
    kind: ClassVar[str] = "DIGEST"


class Holdings(Packet, frozen=True, gc=False, tag="GH"):
    """Where the sender stands on topics of the group: the sums were not the same.

    If they are too many for one packet, it speaks of some; of others nothing follows from it.
    """

    vectors: Vectors
    up: bool  # to a group above
    reply: bool  # to such a word of the receiver, or to what came of it
    me: Entry
    leaving: bool
    named: bool = False  # only about topics that stand here: those of which the sender lacks something
    since: Bound = ""  # else about all topics from this one on
    until: Bound = ""  # and before that one; empty: up to the last
    kind: ClassVar[str] = "HOLDINGS"

    def speaks_of(self, topic: Topic) -> bool:
        if self.named:
            return topic in self.vectors
        return self.since <= topic and (not self.until or topic < self.until)


class Refill(Packet, frozen=True, gc=False, tag="GF"):
    """What the receiver lacked, as its Holdings showed."""

    messages: Annotated[tuple[Message, ...], Meta(max_length=TOPICS_MAX)]  # type: ignore[misc]
    gone: Vectors  # up to these numbers the sender cannot help
    cuts: Vectors  # then, all that it has delivered: whoever gives them up must begin anew from there
    up: bool
    more: bool  # it has more than this: ask again
    kind: ClassVar[str] = "REFILL"

    @property
    def batch(self) -> int:
        return 0  # of several sources, so not numbered from `id` on


class Search(Packet, frozen=True, gc=False, tag="GS"):
    """A process of the group looks for whoever is in the group of the wanted topic: in its own, or in one above."""

    wanted: Topic
    me: Entry
    stays: bool  # whether it wants to be found itself
    hops: Hops  # how often it may still be passed on by those who know nobody
    kind: ClassVar[str] = "SEARCH"


class Found(Packet, frozen=True, gc=False, tag="GN"):
    """Members of the wanted group; from a node that remembers them (`listed`), or that was passed the question."""

    wanted: Topic
    members: Entries
    below: Annotated[tuple[tuple[Topic, Entry], ...], Meta(max_length=TOPICS_MAX)]  # who waits for members of the group
    listed: bool
    kind: ClassVar[str] = "FOUND"


class Ask(Packet, frozen=True, gc=False, tag="GA"):
    """A joiner asks what has been delivered: a fellow, or a process of a group below or above (`of`)."""

    of: Topic
    me: Entry
    kind: ClassVar[str] = "ASK"


class Start(Packet, frozen=True, gc=False, tag="GC"):
    """The joiner may begin from here. Not ready: the sender is joining itself. More: another one follows."""

    of: Topic
    ready: bool
    vectors: Vectors
    more: bool = False
    kind: ClassVar[str] = "START"


class Stray(Packet, frozen=True, gc=False, tag="GX"):
    """The sender is not in the group any more, or never was."""

    me: Entry
    kind: ClassVar[str] = "STRAY"


def check(packet: Packet) -> None:
    """What a packet promises beyond the ranges of its fields. For hosts whose peers may send anything."""
    if isinstance(packet, Gossip | Refill):
        for message in packet.messages:
            if message.id.seq < 1 or message.last >= EXACT:
                raise RemoteProtocolError(f"{packet.kind} with {message.id} in it")


WIRE: tuple[type[Packet], ...] = (Gossip, Digest, Holdings, Refill, Search, Found, Ask, Start, Stray)
