"""What breaks, and for how long."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from trellis.scenario.section import Moment, Name, Node, Section, Span


class Crash(Section, frozen=True, tag_field="kind", tag="crash"):
    """A node dies without a word. If it comes back, it remembers nothing but its incarnation."""

    at: Moment
    node: Node
    restart: Moment | None = None  # its applications subscribe again to what they had


class Pause(Section, frozen=True, tag_field="kind", tag="pause"):
    """A node stands still for a while, and then goes on as if nothing had happened."""

    at: Moment
    node: Node
    span: Span


class Sever(Section, frozen=True, tag_field="kind", tag="sever"):
    """The link between two nodes is cut for a while."""

    at: Moment
    node: Node
    other: Node
    span: Span


class Lose(Section, frozen=True):
    """A share of the packets of one kind never arrive, one by one. Only an ordering's own packets can be lost so."""

    packet: Name
    share: Annotated[float, Meta(ge=0.0, lt=1.0)]


class Faults(Section, frozen=True):
    """What goes wrong. A broken link is noticed at each end after a time drawn from 1 to `notice`."""

    events: list[Crash | Pause | Sever] = []
    notice: Span = 100
    stillborn: Annotated[float, Meta(ge=0.0, lt=1.0)] | UnsetType = UNSET  # of the nodes: dead from the beginning
    lose: list[Lose] | UnsetType = UNSET

    def losses(self) -> dict[str, float]:
        """By kind of packet."""
        return {each.packet: each.share for each in self.lose or []}
