"""The packets of the overlays that grow like a vine: who knows whom, events, and comparisons.

Assumes:  `id.topic` is the topic that a packet is about, or EVERY; a tag is for ever: it is the packet's name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, ClassVar

from msgspec import Meta

from trellis.errors import RemoteProtocolError
from trellis.protocols.parts.gateways import Proposals
from trellis.protocols.parts.neighbours import RING
from trellis.protocols.parts.portions import TOPICS_MAX, Vectors
from trellis.protocols.parts.profiles import NAMES_MAX, Contact, Profile, size_of_names
from trellis.protocols.parts.profiles import TOPICS_MAX as PROFILE_MAX
from trellis.protocols.parts.tman import CONTACTS_MAX
from trellis.words import EXACT, Message, NodeId, Packet, Topic

EVERY: Topic = "*"
STEPS_MAX = 64  # of a lookup

Contacts = Annotated[tuple[Contact, ...], Meta(max_length=CONTACTS_MAX)]
Wanted = Annotated[tuple[tuple[Topic, NodeId], ...], Meta(max_length=TOPICS_MAX)]
Proposed = Annotated[Proposals, Meta(max_length=PROFILE_MAX)]
Sum = Annotated[str, Meta(max_length=16)]  # 64 bits, in hexadecimal digits


class Sample(Packet, frozen=True, gc=False, tag="NS"):
    """The sender's view of all nodes; the receiver answers with its own."""

    contacts: Contacts
    reply: bool
    kind: ClassVar[str] = "SAMPLE"


class Swap(Packet, frozen=True, gc=False, tag="NT"):
    """The sender's table, and a sample of all nodes; the receiver answers with its own."""

    contacts: Contacts
    reply: bool
    kind: ClassVar[str] = "SWAP"


class Beat(Packet, frozen=True, gc=False, tag="NB"):
    """The sender's profile: it is there, takes these topics, and proposes these gateways."""

    profile: Profile
    proposals: Proposed
    asks: Wanted  # what the receiver should carry for it
    why: Annotated[int, Meta(ge=0, le=RING)]  # it chose the receiver; 0 if not, or not any more
    kind: ClassVar[str] = "BEAT"


class Full(Packet, frozen=True, gc=False, tag="NF"):
    """The sender has no room for the receiver among those who chose it."""

    kind: ClassVar[str] = "FULL"


class Notify(Packet, frozen=True, gc=False, tag="NN"):
    """There is a message. Whoever does not have it may pull it from the sender."""

    count: Annotated[int, Meta(ge=1, le=TOPICS_MAX)]
    kind: ClassVar[str] = "NOTIFY"


class Pull(Packet, frozen=True, gc=False, tag="NP"):
    """The sender wants the message of which it was notified."""

    kind: ClassVar[str] = "PULL"


class Pulled(Packet, frozen=True, gc=False, tag="NM"):
    """Here it is."""

    messages: tuple[Message]  # type: ignore[misc]
    kind: ClassVar[str] = "EVENT"


class Lookup(Packet, frozen=True, gc=False, tag="NL"):
    """A joiner looks for somebody who takes the topic, on the way to the rendezvous node."""

    path: Annotated[tuple[NodeId, ...], Meta(min_length=1, max_length=STEPS_MAX)]  # the joiner, and who passed it on
    kind: ClassVar[str] = "LOOKUP"


class Found(Packet, frozen=True, gc=False, tag="NR"):
    """Somebody who takes the topic; the rendezvous node itself if it knows of nobody. It goes back as the question
    came: so nobody needs a link to a stranger.
    """

    node: NodeId
    nobody: bool
    vectors: Vectors  # where the joiner may begin, if that node has answered itself
    path: Annotated[tuple[NodeId, ...], Meta(max_length=STEPS_MAX)]  # whom it must still pass
    kind: ClassVar[str] = "FOUND-SOME"


class Meet(Packet, frozen=True, gc=False, tag="NG"):
    """For a gateway, along its relay path: another cluster of the topic has this one."""

    gateway: NodeId
    other: NodeId
    kind: ClassVar[str] = "MEET"


class Ask(Packet, frozen=True, gc=False, tag="NA"):
    """A joiner asks what was delivered on the topic."""

    kind: ClassVar[str] = "ASK-START"


class Start(Packet, frozen=True, gc=False, tag="NC"):
    """The joiner may begin from here. Not ready: the sender is joining itself, or has left."""

    ready: bool
    vectors: Vectors
    kind: ClassVar[str] = "START-AT"


class Sums(Packet, frozen=True, gc=False, tag="ND"):
    """Checksums of what the sender has, of topics that both take. The answer names those that agree."""

    sums: Annotated[tuple[tuple[Topic, Sum], ...], Meta(max_length=TOPICS_MAX)]
    reply: bool
    kind: ClassVar[str] = "SUMS"


class Numbers(Packet, frozen=True, gc=False, tag="NV"):
    """Where the sender stands on topics whose sums were not the same."""

    vectors: Vectors
    reply: bool
    kind: ClassVar[str] = "NUMBERS"


class Bring(Packet, frozen=True, gc=False, tag="NE"):
    """What the receiver lacked, as its Numbers showed."""

    messages: Annotated[tuple[Message, ...], Meta(max_length=TOPICS_MAX)]  # type: ignore[misc]
    gone: Vectors  # up to these numbers the sender cannot help
    cuts: Vectors  # then, all that it has delivered
    more: bool  # it has more than this: ask again
    kind: ClassVar[str] = "BRING"

    @property
    def batch(self) -> int:
        return 0  # of several sources, so not numbered from `id` on


def check(packet: Packet) -> None:
    """What a packet promises beyond the ranges of its fields. For hosts whose peers may send anything."""
    if isinstance(packet, Sample | Swap):
        for contact in packet.contacts:
            check_names(packet, contact.profile.topics)
    if isinstance(packet, Beat):
        for topics in (packet.profile.topics, packet.proposals, [topic for topic, _ in packet.asks]):
            check_names(packet, topics)
    if isinstance(packet, Pulled | Bring):
        for message in packet.messages:
            if message.id.seq < 1 or message.last >= EXACT:
                raise RemoteProtocolError(f"{packet.kind} with {message.id} in it")
    if isinstance(packet, Notify | Pull | Pulled) and packet.id.seq < 1:
        raise RemoteProtocolError(f"{packet.kind} of {packet.id}")
    if isinstance(packet, Pulled) and packet.messages[0].id != packet.id:
        raise RemoteProtocolError(f"{packet.kind} of {packet.id} with {packet.messages[0].id} in it")


def check_names(packet: Packet, topics: Collection[Topic]) -> None:
    if (size := size_of_names(topics)) > NAMES_MAX:
        raise RemoteProtocolError(f"{packet.kind} with {len(topics)} topics of {size} bytes; {NAMES_MAX} are allowed")


WIRE: tuple[type[Packet], ...] = (
    Sample,
    Swap,
    Beat,
    Full,
    Notify,
    Pull,
    Pulled,
    Lookup,
    Found,
    Meet,
    Ask,
    Start,
    Sums,
    Numbers,
    Bring,
)
