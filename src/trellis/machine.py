"""The step: all that a protocol sees of the world, and all that a host sees of a protocol.

A machine has no clock, no randomness but `draw`, no socket and no log. `step` feeds it one event and empties the
outbox that its verbs (`send`, `deliver`, ...) filled. An event that is refused leaves the state as it was: check
first, then change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec

from trellis.effects import Accuse, CancelTimer, Confirm, Deliver, Effect, Gap, Keep, Note, Send, SetTimer, Settle
from trellis.events import Event
from trellis.words import Message, MessageId, NodeId, Origin, Packet, Time, Topic


class About(msgspec.Struct, frozen=True, gc=False):
    """What everybody knows of one topic before the first event."""

    supers: tuple[Topic, ...] = ()  # that include it, beside that of its name
    options: dict[str, int] = {}  # of the overlay, where this topic has others


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a machine stands: what it may know of the world before the first event."""

    me: NodeId
    size: int  # ids run from 0 to size - 1; the hypercube is the next power of two
    incarnation: int = 0
    seed: int = 0  # for draws of protocols that are random by design
    alone: bool = False  # it knows of nobody yet, and is told by `Restore` who is there
    pristine: bool = True  # the place was never somebody else's: what this node did not write down never was
    topics: dict[Topic, About] = {}  # those of which there is something to know; the same for everybody
    barrier_max: int = 0  # how many predecessors a message may name where its packets travel; 0: any number


class Machine(ABC):
    """Events in, effects out."""

    wants_cycles: bool = False  # whether a cycle-driven host wakes it in every round

    def __init__(self, place: Place) -> None:
        self.place = place
        self.me = place.me
        self.origin: Origin = (place.me, place.incarnation)
        self.now: Time = 0
        self.outbox: list[Effect] = []

    def step(self, now: Time, event: Event) -> Sequence[Effect]:
        """What this event makes the machine ask for, in order."""
        self.now = now
        self.upon(event)
        effects = self.outbox.copy()
        self.outbox.clear()  # the same list for ever: the layers of a stack share it
        return effects

    @abstractmethod
    def upon(self, event: Event) -> None:
        """Change the state and fill the outbox. One `case` per rule of the protocol."""

    def send(self, to: NodeId, packet: Packet) -> None:
        self.outbox.append(Send(to, packet))

    def deliver(self, message: Message) -> None:
        self.outbox.append(Deliver(message))

    def confirm(self, topic: Topic) -> None:
        self.outbox.append(Confirm(topic))

    def settle(self, id: MessageId, count: int) -> None:
        self.outbox.append(Settle(id, count))

    def gap(self, id: MessageId, count: int) -> None:
        self.outbox.append(Gap(id, count))

    def set_timer(self, name: str, delay: int) -> None:
        self.outbox.append(SetTimer(name, delay))

    def cancel_timer(self, name: str) -> None:
        self.outbox.append(CancelTimer(name))

    def note(self, kind: str, id: MessageId, barrier: int = 0, count: int = 1) -> None:
        self.outbox.append(Note(kind, id, barrier, count))

    def accuse(self, node: NodeId) -> None:
        self.outbox.append(Accuse(node))

    def keep(self, key: str, value: Any) -> None:
        self.outbox.append(Keep(key, value))
