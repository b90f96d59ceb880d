"""How long a packet takes."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from trellis.scenario.section import NODES_MAX, Moment, Node, Section, Span


class Queue(Section, frozen=True, tag_field="kind", tag="queue"):
    """The papers' model: one packet per `service` leaves a node's only queue, then takes `propagation`."""

    service: Moment
    propagation: Span


class Random(Section, frozen=True, tag_field="kind", tag="random"):
    """Each packet takes a time drawn uniformly in [low, high]."""

    low: Span
    high: Span
    service: Moment = 0
    fifo: bool = True  # a packet does not overtake another one of the same link


class Matrix(Section, frozen=True, tag_field="kind", tag="matrix"):
    """A time per pair of nodes, from the file's rows or from a CSV file beside it."""

    rows: list[list[Moment]] = []  # 0 only from a node to itself, which no packet takes
    file: str = ""
    service: Moment = 0


class Sites(Section, frozen=True, tag_field="kind", tag="sites"):
    """Nodes at sites: short links within one, long links between two. Each time is drawn, nearly normal.

    Node n is at site `sites[n % len(sites)]`. The nodes before `servers` take `service` to handle a packet that came,
    one after the other; what comes meanwhile waits.
    """

    sites: Annotated[list[Annotated[int, Meta(ge=0, lt=NODES_MAX)]], Meta(min_length=1, max_length=NODES_MAX)]
    short: Span
    long: Span
    short_spread: Moment = 0  # standard deviation
    long_spread: Moment = 0
    servers: Node = 0
    service: Moment = 0

    def site(self, node: int) -> int:
        return self.sites[node % len(self.sites)]


class Cycles(Section, frozen=True, tag_field="kind", tag="cycles"):
    """Rounds: what is sent in one round arrives in the next; times are round numbers."""

    loss: Annotated[float, Meta(ge=0.0, lt=1.0)] | UnsetType = UNSET  # the share of packets that never arrive
    upkeep: bool | UnsetType = (
        UNSET  # false: packets that serve no message leave no rows; else, and by default, they do
    )


Network = Queue | Random | Matrix | Sites | Cycles
