"""What a machine can ask of its host. Named for what is wanted; nothing is carried out inside a machine."""

from __future__ import annotations

from typing import Any

import msgspec

from trellis.events import Arrive, Departed, Join, Joined, Leave, Spread
from trellis.words import Message, MessageId, NodeId, Packet, Topic


class Send(msgspec.Struct, frozen=True, gc=False):
    """Carry a packet to a peer. It may be lost."""

    to: NodeId
    packet: Packet
    can_wait: bool = False  # for other packets to the same peer: nobody is waiting for this one


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand a message to the application, in the order of these effects."""

    message: Message
    tags: tuple[str, ...] = ()  # what the application must know of it, as OUT_OF_ORDER


class Confirm(msgspec.Struct, frozen=True, gc=False):
    """Tell the application that its subscription stands: what is published from now on reaches it."""

    topic: Topic


class Settle(msgspec.Struct, frozen=True, gc=False):
    """Tell the application that every confirmed subscriber has its messages from `id` on, `count` of them."""

    id: MessageId
    count: int


class Gap(msgspec.Struct, frozen=True, gc=False):
    """Tell the application that `count` messages of a source, from `id` on, will not come any more."""

    id: MessageId
    count: int


class SetTimer(msgspec.Struct, frozen=True, gc=False):
    """Wake this machine with `Timeout(name)` after a delay of at least one unit. Setting it again moves it."""

    name: str
    delay: int


class CancelTimer(msgspec.Struct, frozen=True, gc=False):
    """Forget a timer. It may not exist."""

    name: str


class Note(msgspec.Struct, frozen=True, gc=False):
    """Write a row of this kind about messages, from `id` on, into the trace. It changes nothing in the world."""

    kind: str
    id: MessageId
    barrier: int = 0  # how many direct predecessors the message names
    count: int = 1


class Held(msgspec.Struct, frozen=True, gc=False):
    """These messages of this node's application are also with somebody else: they do not die with it. Less than
    `Settle`, for overlays that cannot know when all have them.
    """

    id: MessageId
    count: int


class Accuse(msgspec.Struct, frozen=True, gc=False):
    """Hold a node to be dead: close the link to it and tell the other machines `Suspect`. It may be alive."""

    node: NodeId


class Keep(msgspec.Struct, frozen=True, gc=False):
    """Write this down so that it is there after a crash, before any packet leaves that was asked for later."""

    key: str
    value: Any  # a value of ours, or an integer; None: it may be forgotten


# What one layer of a stack asks of the other is an event for that other: see protocols/stack.py.
Effect = (
    Send
    | Deliver
    | Confirm
    | Settle
    | Held
    | Gap
    | SetTimer
    | CancelTimer
    | Note
    | Accuse
    | Keep
    | Join
    | Leave
    | Spread
    | Joined
    | Departed
    | Arrive
)
