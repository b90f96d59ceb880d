"""Who says what, when."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from trellis.scenario.section import Count, Moment, Name, Node, Section, Share, Span


class OnceEach(Section, frozen=True, tag_field="kind", tag="once-each"):
    """Every publisher publishes once on each of its topics, at a time drawn uniformly in [0, window]."""

    publishers: Share  # of the nodes, at least one; always subscribers
    window: Moment


class Periodic(Section, frozen=True, tag_field="kind", tag="periodic"):
    """One message per interval on one topic, by a subscriber drawn anew each time."""

    interval: Span
    messages: Count | None = None  # else until `end`
    spacing: Literal["fixed", "poisson"] = "fixed"


class Replies(Section, frozen=True, tag_field="kind", tag="replies"):
    """A discussion: `openers` speak at time 0; whoever has heard all of them thinks for a while and replies once."""

    openers: Count = 1
    think: Moment = 1000  # thinking time is drawn uniformly in [0, think]


class Topics(Section, frozen=True, tag_field="kind", tag="topics"):
    """Every node speaks on average once per interval, each time on a topic drawn by a popularity law."""

    messages: Count  # in all
    interval: Span
    law: Literal["uniform", "zipf"] = "uniform"
    exponent: Annotated[float, Meta(ge=0.0, le=64.0)] = 0.825


class Requests(Section, frozen=True, tag_field="kind", tag="requests"):
    """The clients of `popular` subscriptions publish, on topics of their own, drawn by the law of those."""

    interval: Span  # mean time between two messages of a client; exponential
    until: Span  # nobody speaks after this
    patient: bool = False  # a client waits with its next message until the one before has been handed to the overlay


class Rated(Section, frozen=True, tag_field="kind", tag="rated"):
    """Topics have rates, by a power law: each message is on a topic drawn by it; see scenario/rates.py."""

    messages: Count  # in all
    begin: Moment = 0  # when the first one is published
    per: Count = 1  # so many in each interval
    interval: Span = 1
    alpha: Annotated[float, Meta(ge=0.0, le=64.0)] = 0.0  # the weight of rank r is r ** -alpha; 0: all the same


class AtOnce(Section, frozen=True, tag_field="kind", tag="at-once"):
    """One source publishes all its messages at one time."""

    messages: Count
    at: Moment = 0


class Publication(Section, frozen=True):
    """One message by name."""

    at: Moment
    node: Node
    topic: Name
    payload: str = ""


class Script(Section, frozen=True, tag_field="kind", tag="explicit"):
    """Every publication by name."""

    messages: list[Publication]


Workload = OnceEach | Periodic | Replies | Topics | Requests | Rated | AtOnce | Script
