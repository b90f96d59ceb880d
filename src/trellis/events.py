"""What can happen to a machine. Named for what happened; a reader may assume no more than the docstring says."""

from __future__ import annotations

from typing import Any

import msgspec

from trellis.words import Message, NodeId, Packet, Topic, Vector


class Publish(msgspec.Struct, frozen=True, gc=False):
    """The application at this node publishes on a topic. It may not be subscribed: then it is refused."""

    topic: Topic
    payload: Any  # see `Message`
    count: int = 1  # payloads in it
    awaited: bool = False  # the application waits until it is settled


class Subscribe(msgspec.Struct, frozen=True, gc=False):
    """The application wants the messages of a topic. It is a member only once `Confirm` came back."""

    topic: Topic


class Unsubscribe(msgspec.Struct, frozen=True, gc=False):
    """The application wants no more messages of a topic. What it published before still goes out."""

    topic: Topic


class Receive(msgspec.Struct, frozen=True, gc=False):
    """A packet arrived from a peer. It may be a duplicate, late, or out of order."""

    sender: NodeId
    packet: Packet


class Timeout(msgspec.Struct, frozen=True, gc=False):
    """A timer that this machine set has run out. It may have become pointless meanwhile."""

    name: str


class Suspect(msgspec.Struct, frozen=True, gc=False):
    """The link to a node broke, or the node is held to be dead. It may be alive, and others may still reach it.

    Whatever was sent to it and not answered may be lost. Nothing comes from it until it is restored.
    """

    node: NodeId


class Restore(msgspec.Struct, frozen=True, gc=False):
    """A node can be reached: for the first time, or again, or in a new life of which it has told the incarnation."""

    node: NodeId
    incarnation: int


class Kept(msgspec.Struct, frozen=True, gc=False):
    """What this node had written down (`Keep`) in its former lives. The first event of a life, if there is any."""

    items: dict[str, Any]


class Cycle(msgspec.Struct, frozen=True, gc=False):
    """One more round of a cycle-driven host began."""

    number: int


class Standing(msgspec.Struct, frozen=True, gc=False):
    """These nodes have subscribed to the topic since before the run began. Every node is told, subscriber or not."""

    topic: Topic
    members: tuple[NodeId, ...]  # ascending


# Between the layers of a stack: downward from the ordering ...


class Join(msgspec.Struct, frozen=True, gc=False):
    """The ordering wants the overlay to bring a topic's messages. Only while the overlay is out of the topic."""

    topic: Topic


class Leave(msgspec.Struct, frozen=True, gc=False):
    """The ordering wants out of a topic. Only while the overlay is in it; what was spread before still goes out."""

    topic: Topic


class Spread(msgspec.Struct, frozen=True, gc=False):
    """The ordering hands a message down, to be brought to every subscriber. Only while the overlay is in the topic."""

    message: Message


# ... and upward from the overlay.


class Joined(msgspec.Struct, frozen=True, gc=False):
    """The overlay is in the topic. Every message beyond the cut will arrive, and none at or below it."""

    topic: Topic
    cut: Vector


class Departed(msgspec.Struct, frozen=True, gc=False):
    """The overlay is out of the topic."""

    topic: Topic


class Arrive(msgspec.Struct, frozen=True, gc=False):
    """The overlay brings a message: once, but in any order."""

    message: Message


Event = (
    Publish
    | Subscribe
    | Unsubscribe
    | Receive
    | Timeout
    | Suspect
    | Restore
    | Kept
    | Cycle
    | Standing
    | Join
    | Leave
    | Spread
    | Joined
    | Departed
    | Arrive
)
