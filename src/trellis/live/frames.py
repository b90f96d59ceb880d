"""What two processes say to each other, and how large it may be.

Promises: every field has a type and a range, which hold for whatever was decoded: no field is free-form, nothing nests
          deeper than its type says, and every integer fits 64 bits.
Assumes:  a tag is for ever, and the frames that open a dialogue (`Hello`, `Join`, `Attach`) keep their shape: a later
          version says so in `version`, which the other side can still read and refuse.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from trellis.live.addresses import Address
from trellis.live.places import MEMBERS_MAX, TOLD_MAX, Lot, Member, Vacancy
from trellis.protocols.overlays import damulticast_packets, vcube_packets, vine_packets
from trellis.protocols.parts import desk_packets, detector
from trellis.words import EXACT, LENGTH_MAX, Count, Incarnation, NodeId, Packet, Payload, Seq, Time, Topic

VERSION = 4
FRAME_MAX = LENGTH_MAX  # bytes of header and body together
STRANGER_MAX = 4096  # the same, until the link is accepted
BUNDLE_MAX = 1 << 19  # bytes of one block that may be published: the header of a full barrier fits beside it
QUEUE_MAX = 64 << 20  # bytes that wait for a peer that does not read

Limited = Annotated[int, Meta(ge=0, le=65_535)]
Perhaps = Annotated[int, Meta(ge=-1, lt=1 << 31)]  # a place or an incarnation; -1 is none
Ref = Annotated[int, Meta(ge=0, lt=EXACT)]  # by which a client knows an answer again
Cluster = Annotated[str, Meta(pattern=r"\A[!-~]{0,128}\Z")]  # empty: not known yet
Word = Annotated[str, Meta(pattern=r"\A[a-z0-9/_-]{1,64}\Z")]  # of ours: a stack, an order, a tag
MaybeWord = Annotated[str, Meta(pattern=r"\A[a-z0-9/_-]{0,64}\Z")]  # empty: none
Sum = Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
Text = Annotated[str, Meta(max_length=1024)]  # for people; cut by `said`

if TYPE_CHECKING:
    Travelling = Packet
else:
    Travelling = reduce(
        or_, (*vcube_packets.WIRE, *damulticast_packets.WIRE, *vine_packets.WIRE, *desk_packets.WIRE, *detector.WIRE)
    )


class Frame(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """One unit of a dialogue."""


Members = Annotated[tuple[Member, ...], Meta(max_length=TOLD_MAX)]


# Links between members.


class Hello(Frame, frozen=True, gc=False, tag="hello"):
    """I am this member, in this life. Both sides begin with it."""

    version: Limited
    cluster: Cluster
    place: NodeId
    incarnation: Incarnation
    address: Address
    at: Time


class Roster(Frame, frozen=True, gc=False, tag="roster"):
    """Members that I know of: all of them, in as many frames as that takes, or those that are new."""

    members: Members


class Carry(Frame, frozen=True, gc=False, tag="c"):
    """A packet from a machine to its twin. It may be late or repeated, as every packet."""

    stack: Word  # which machine
    at: Time  # the sender's clock
    packet: Travelling


class Bye(Frame, frozen=True, gc=False, tag="bye"):
    """I close this link, and why."""

    reason: Text


class Pulse(Frame, frozen=True, gc=False, tag="pulse"):
    """I am there. This is a checksum of the members that I know of; whether I want this link though nothing is said."""

    sum: Sum
    keep: bool


class Part(Frame, frozen=True, gc=False, tag="part"):
    """I have nothing to say: let this link go. In answer: I have said all, and heard all. Nothing follows it."""


class Order(Frame, frozen=True, gc=False, tag="order"):
    """The topic that you asked to join has another order here."""

    topic: Topic
    order: Word


# Joining.


class Join(Frame, frozen=True, gc=False, tag="join"):
    """I want to be a member; with a place, I come back to it."""

    address: Address
    cluster: Cluster
    place: Perhaps = -1
    incarnation: Perhaps = -1
    hops: Limited = 0  # how often I was sent elsewhere


class Welcome(Frame, frozen=True, gc=False, tag="welcome"):
    """You are a member, here, among these and those that were told (`Roster`) before it.

    Some of them may be dead: these I reach, myself included.
    """

    cluster: Cluster
    place: NodeId
    incarnation: Incarnation
    lot: Lot
    members: Members
    reached: Annotated[tuple[NodeId, ...], Meta(max_length=MEMBERS_MAX)] = ()


class Elsewhere(Frame, frozen=True, gc=False, tag="elsewhere"):
    """Ask that member instead."""

    address: Address


class Refused(Frame, frozen=True, gc=False, tag="refused"):
    """You are not let in, and why."""

    reason: Text


class Hand(Frame, frozen=True, gc=False, tag="hand"):
    """I leave: these places are yours to give. There may be more to come."""

    vacancies: Annotated[tuple[Vacancy, ...], Meta(max_length=TOLD_MAX)]


# Clients. What a client has asked for and was not told the end of is bounded; whoever goes beyond twice that is left.

ASKED_MAX = 256  # requests
ASKED_BYTES_MAX = 4 << 20  # payloads to publish


class Attach(Frame, frozen=True, gc=False, tag="attach"):
    """I am a client of this node."""

    version: Limited


class Attached(Frame, frozen=True, gc=False, tag="attached"):
    """You are. What you publish bears this source."""

    place: NodeId
    incarnation: Incarnation
    cluster: Cluster


class Subscribe(Frame, frozen=True, gc=False, tag="subscribe"):
    """Bring me a topic in this order. It stands once `Done` came back."""

    ref: Ref
    topic: Topic
    order: Word


class Unsubscribe(Frame, frozen=True, gc=False, tag="unsubscribe"):
    """Bring me no more of it. Unless I still publish on it, you need not take part for me."""

    ref: Ref
    topic: Topic
    writes: bool = False


class Publish(Frame, frozen=True, gc=False, tag="p"):
    """Publish these payloads. `Done`: they are accepted; `Settled`, if asked for: every subscriber has them."""

    ref: Ref
    topic: Topic
    payload: Payload
    count: Count
    confirm: bool
    order: MaybeWord = ""  # the topic's, if I care


class Done(Frame, frozen=True, gc=False, tag="done"):
    """What was asked was done."""

    ref: Ref


class Settled(Frame, frozen=True, gc=False, tag="settled"):
    """Every confirmed subscriber has it."""

    ref: Ref


class Failed(Frame, frozen=True, gc=False, tag="failed"):
    """What was asked was not done, and why."""

    ref: Ref
    error: Text


class Event(Frame, frozen=True, gc=False, tag="e"):
    """Payloads of one source on a topic, numbered from `seq` on."""

    topic: Topic
    source: NodeId
    incarnation: Incarnation
    seq: Seq
    count: Count
    payload: Payload
    tags: Annotated[tuple[Word, ...], Meta(max_length=8)] = ()


class Gap(Frame, frozen=True, gc=False, tag="gap"):
    """These numbers of a source will not come any more."""

    topic: Topic
    source: NodeId
    incarnation: Incarnation
    seq: Seq
    count: Annotated[int, Meta(ge=1, lt=EXACT)]
    why: Text


class AskStatus(Frame, frozen=True, gc=False, tag="ask"):
    """How do you do?"""

    ref: Ref


class Status(Frame, frozen=True, gc=False, tag="status"):
    """Like this, as JSON."""

    ref: Ref
    report: Annotated[bytes, Meta(max_length=FRAME_MAX)]


class Forget(Frame, frozen=True, gc=False, tag="forget"):
    """The member on this place is gone for good: nobody need look for it any more."""

    ref: Ref
    place: NodeId


FRAMES: tuple[type[Frame], ...] = tuple(Frame.__subclasses__())


def said(text: str) -> str:
    """Words for people, short enough for a `Text`."""
    return text if len(text) <= 1024 else f"{text[:1021]}..."
