"""Who is in, who comes and goes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from trellis.scenario.section import COUNT_MAX, TOPICS_MAX, Count, Moment, Name, Node, Section, Share, Span


class Fraction(Section, frozen=True, tag_field="kind", tag="fraction"):
    """A share of the nodes subscribes to each topic, from the start."""

    fraction: Share
    topics: Annotated[int, Meta(ge=1, le=TOPICS_MAX)] = 1  # t0, t1, ...; each draws its own subscribers
    announce: bool = False  # true: they subscribe at time 0, with all the traffic of it


class Change(Section, frozen=True):
    """One node joins or leaves one topic at one time."""

    at: Moment
    node: Node
    topic: Name
    do: Literal["join", "leave"]


class Explicit(Section, frozen=True, tag_field="kind", tag="explicit"):
    """Who subscribes from the start, by topic, and every change by name."""

    members: dict[str, list[Node]]
    changes: list[Change] = []
    announce: bool = False


class Sessions(Section, frozen=True, tag_field="kind", tag="sessions"):
    """Churn by session time: whoever's session ends leaves, and a node that is out joins in its place."""

    subscribers: Count
    session: Span  # mean length; exponential
    announce: bool = False


class Burst(Section, frozen=True, tag_field="kind", tag="burst"):
    """A share of the nodes subscribes; at one time a share of those leave and as many others join."""

    fraction: Share
    churn: Share
    at: Moment = 0
    announce: bool = False


class Popular(Section, frozen=True, tag_field="kind", tag="popular"):
    """Every client subscribes to as many topics, drawn by a power law from the start; see scenario/popularity.py."""

    topics: Annotated[int, Meta(ge=1, le=TOPICS_MAX)]
    each: Count  # topics of a client, all different
    exponent: Annotated[float, Meta(ge=0.0, le=64.0)]  # of the law's density: the weight of rank r is r ** -exponent
    clients: Node = 0  # nodes from this one on are clients; those before only serve
    near: bool = False  # each site has a ranking of its own, that begins with the topics of its share
    announce: bool = False


class Buckets(Section, frozen=True, tag_field="kind", tag="buckets"):
    """Every node has as many topics, drawn from a few buckets of topics of its own choice; see scenario/buckets.py."""

    topics: Annotated[int, Meta(ge=1, le=TOPICS_MAX)] = 5000
    each: Count = 50  # topics of a node, all different
    buckets: Count = 100  # topics that follow each other make one
    of: Annotated[int, Meta(ge=0, le=COUNT_MAX)] = 0  # buckets of a node, as many topics from each; 0: from all topics
    announce: bool = False


Subscriptions = Fraction | Explicit | Sessions | Burst | Popular | Buckets
