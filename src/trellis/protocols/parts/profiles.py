"""What a node tells of itself: which topics it takes, and how much of it two nodes share.

Source:   Vitis section III-A2, formula (1): the rates of the topics that two nodes share over the rates of all that
          either of them takes.
Promises: utility(i, j) = utility(j, i), in [0, 1], whatever a profile says of itself; 1 if both take the same, 0 if
          they share nothing. The same numbers on any machine: sums of whole numbers, and one division.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from trellis.machine import About
from trellis.words import Incarnation, NodeId, Topic, Version

TOPICS_MAX = 65_536  # that a node takes
NAMES_MAX = 1 << 18  # bytes of all their names: so that a profile fits into a packet, with what its node proposes
NAME_MORE = 24  # what each costs besides
AGE_MAX = 1 << 16

Topics = Annotated[frozenset[Topic], Meta(max_length=TOPICS_MAX)]


class Profile(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """One state of one node's interests. It is told as it is, and never changed."""

    node: NodeId
    incarnation: Incarnation
    version: Version
    topics: Topics
    weight: Version  # the rates of all of them together

    @property
    def state(self) -> tuple[int, int]:
        """Of two profiles of one node, the one with the higher state is the later one."""
        return self.incarnation, self.version


class Contact(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """A node that somebody knows, with the rounds since it spoke itself."""

    profile: Profile
    age: Annotated[int, Meta(ge=0, le=AGE_MAX)]


def size_of_names(topics: Iterable[Topic]) -> int:
    """Bytes on a wire, at most."""
    return sum([NAME_MORE + len(topic.encode()) for topic in topics])


class Rates:
    """How often something is published on a topic: 1, unless everybody knows better."""

    def __init__(self, about: Mapping[Topic, About]) -> None:
        self.about = about

    def of(self, topic: Topic) -> int:
        known = self.about.get(topic)
        return known.options.get("rate", 1) if known is not None else 1

    def weight(self, topics: frozenset[Topic]) -> int:
        return sum(map(self.of, topics)) if self.about else len(topics)

    def utility(self, one: Profile, other: Profile) -> float:
        """Formula (1)."""
        shared = self.weight(one.topics & other.topics)
        either = max(shared, one.weight + other.weight - shared)
        return shared / either if shared else 0.0
