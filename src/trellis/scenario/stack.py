"""Which order over which overlay, with the options of both, and of single topics."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from trellis.scenario.section import COUNT_MAX, Count, Moment, Name, Section
from trellis.words import Time


class StackSpec(Section, frozen=True):
    """Which order over which overlay, with the overlay's options."""

    overlay: str
    ordering: str
    window: Count | None = None  # vcube: waves on their way per source and topic
    batch: Count | None = None  # vcube: messages per wave
    brokers: Count | None = None  # brokers: how many
    repair: Moment | UnsetType = UNSET  # vcube: how long until neighbours compare what they have; 0 or unset: never;
    # damulticast: 0 for never, else (and by default) in every round
    keep: Count | UnsetType = UNSET  # vcube: messages that a node keeps for those who missed them
    copies: Annotated[int, Meta(ge=1, le=64)] | UnsetType = UNSET  # total: hosts that keep the book of a desk
    lease: Time | UnsetType = UNSET  # total: out of reach for so long, a subscriber is given up; 0: never
    desks: Annotated[int, Meta(ge=1, le=64)] | UnsetType = UNSET  # total: at how many nodes topics have their managers
    across: Annotated[int, Meta(ge=0, le=1)] | UnsetType = UNSET  # total: 1 for causal order across topics
    retry: Moment | UnsetType = UNSET  # total: how long until what is not answered is asked again; 0 or unset: never
    buffer: Annotated[int, Meta(ge=0, le=COUNT_MAX)] | UnsetType = UNSET  # total: messages held back; 0 or unset: any
    ttl: Moment | UnsetType = UNSET  # total: how long one is held back; 0 or unset: for as long as it takes
    c: Moment | UnsetType = UNSET  # gossip: a node tells ln(S) + c others of a group of S
    g: Count | UnsetType = UNSET  # damulticast: how many of a group tell the group above
    a: Count | UnsetType = UNSET  # damulticast: how many of those that it knows there each of them tells
    z: Count | UnsetType = UNSET  # damulticast: how many it knows there
    tau: Count | UnsetType = UNSET  # damulticast: knowing fewer there, it asks in every round
    period: Moment | UnsetType = UNSET  # damulticast: time between two rounds; 0 or unset: the network has rounds
    hops: Annotated[int, Meta(ge=0, le=16)] | UnsetType = UNSET  # damulticast: how often a search is passed on
    k: Annotated[int, Meta(ge=0, le=4096)] | UnsetType = UNSET  # vitis: links of the small world
    d: Annotated[int, Meta(ge=1, le=255)] | UnsetType = UNSET  # vitis: how far a gateway may be, in steps
    table: Annotated[int, Meta(ge=0, le=4096)] | UnsetType = UNSET  # vitis and its rivals: whom a node chooses
    limit: Annotated[int, Meta(ge=1, le=4096)] | UnsetType = UNSET  # after so many silent rounds it forgets one
    grace: Annotated[int, Meta(ge=0, le=4096)] | UnsetType = UNSET  # rounds for former ways; unset: by size
    sample: Count | UnsetType = UNSET  # vitis and its rivals: rounds between two looks at somebody at random
    cover: Count | UnsetType = UNSET  # topic-overlay: how many neighbours it wants for each of its topics
    groups: Count | UnsetType = UNSET  # gossip-hierarchical: how many
    block: Moment | UnsetType = UNSET  # total: topic tN has its manager at desk N / block; 0 or unset: by a draw

    def options(self) -> dict[str, int]:
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name not in ("overlay", "ordering")}
        return {name: value for name, value in given.items() if isinstance(value, int)}


class TopicSpec(Section, frozen=True):
    """What is special about one topic of a tree."""

    supers: list[Name] = []  # topics that include it, beside that of its name
    c: Moment | UnsetType = UNSET  # damulticast: as in the stack, for this topic
    g: Count | UnsetType = UNSET
    a: Count | UnsetType = UNSET
    z: Count | UnsetType = UNSET
    tau: Count | UnsetType = UNSET

    def options(self) -> dict[str, int]:
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name != "supers"}
        return {name: value for name, value in given.items() if isinstance(value, int)}
