"""What the two layers of a stack may say to each other (`layers.py` says when).

Promises: in a stack these are calls from layer to layer; a layer that stands alone puts the events of the same names
          into its outbox, so that it can be tried alone.
"""

from __future__ import annotations

from typing import Protocol

from trellis.effects import Effect, Gap
from trellis.events import Arrive, Departed, Join, Joined, Leave, Spread
from trellis.words import Message, MessageId, Origin, Topic, Vector

Missing = tuple[Origin, int, int]  # numbers of an origin, from the first to the last


class Above(Protocol):
    """What an overlay says to the layer above it."""

    def arrive(self, message: Message) -> None: ...
    def joined(self, topic: Topic, cut: Vector) -> None: ...
    def inherits(self, topic: Topic, cut: Vector) -> None: ...
    def learns(self, topic: Topic) -> None: ...
    def departed(self, topic: Topic) -> None: ...
    def frontier(self, topic: Topic) -> Vector: ...
    def lacks(self, topic: Topic, cut: Vector, missing: list[Missing]) -> None: ...
    def mute(self, topic: Topic, origin: Origin, upto: int) -> None: ...
    def awaited(self, topic: Topic) -> Vector: ...
    def takes(self, message: Message) -> bool: ...
    @property
    def wants_closed_cuts(self) -> bool: ...
    @property
    def holds_back(self) -> bool: ...


class Below(Protocol):
    """What an ordering asks of the layer below it."""

    def join(self, topic: Topic) -> None: ...
    def leave(self, topic: Topic) -> None: ...
    def come_back(self, topic: Topic) -> None: ...
    def spread(self, message: Message) -> None: ...
    def look_again(self, topic: Topic) -> None: ...


class Outlet:
    """Stands in for the other layer: says as events what would be said to it."""

    def __init__(self, outbox: list[Effect]) -> None:
        self.outbox = outbox

    def arrive(self, message: Message) -> None:
        self.outbox.append(Arrive(message))

    def joined(self, topic: Topic, cut: Vector) -> None:
        self.outbox.append(Joined(topic, cut))

    def inherits(self, topic: Topic, cut: Vector) -> None:
        self.outbox.append(Joined(topic, cut))

    def learns(self, topic: Topic) -> None:
        pass

    def departed(self, topic: Topic) -> None:
        self.outbox.append(Departed(topic))

    def frontier(self, topic: Topic) -> Vector:
        return {}

    def lacks(self, topic: Topic, cut: Vector, missing: list[Missing]) -> None:
        self.outbox += [Gap(MessageId(origin, topic, first), last - first + 1) for origin, first, last in missing]

    def mute(self, topic: Topic, origin: Origin, upto: int) -> None:
        self.outbox.append(Gap(MessageId(origin, topic, upto), 1))

    def awaited(self, topic: Topic) -> Vector:
        return {}

    def takes(self, message: Message) -> bool:
        return True

    @property
    def holds_back(self) -> bool:
        return False

    @property
    def wants_closed_cuts(self) -> bool:
        return False

    def join(self, topic: Topic) -> None:
        self.outbox.append(Join(topic))

    def leave(self, topic: Topic) -> None:
        self.outbox.append(Leave(topic))

    def come_back(self, topic: Topic) -> None:
        self.outbox.append(Join(topic))

    def spread(self, message: Message) -> None:
        self.outbox.append(Spread(message))

    def look_again(self, topic: Topic) -> None:
        pass
