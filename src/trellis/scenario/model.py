"""One run described completely: stack, size, subscriptions, workload, network, seed, end.

Promises: a scenario is a value. Two equal scenarios have one fingerprint and give one trace. What a file leaves out has
          a default here and nowhere else; every limit that a single key has is written beside that key.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from trellis import draw
from trellis.machine import About
from trellis.words import Time, Topic

TIME_MAX = 1 << 40  # of one key; a trace has 63 bits, so eight million of the longest waits can follow each other
COUNT_MAX = 10_000_000
NODES_MAX = 1 << 20
TOPICS_MAX = 1 << 17
NAME_BYTES_MAX = 256
SEED_MAX = (1 << 63) - 1

Count = Annotated[int, Meta(ge=1, le=COUNT_MAX)]
Moment = Annotated[int, Meta(ge=0, le=TIME_MAX)]
Span = Annotated[int, Meta(ge=1, le=TIME_MAX)]
Node = Annotated[int, Meta(ge=0, lt=NODES_MAX)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_BYTES_MAX)]


RATE_MAX = 1 << 20
TUNED = ("damulticast",)  # overlays that a scenario tunes topic by topic


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file. A key that is not listed is refused."""


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


class Nodes(Section, frozen=True):
    """How many nodes; any number, the hypercube is the next power of two."""

    count: Annotated[int, Meta(ge=1, le=NODES_MAX)]


# Subscriptions: who is in, who comes and goes.


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


# Workload: who says what, when.


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


# Network: how long a packet takes.


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


# Faults: what breaks, and for how long.


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


class Scenario(Section, frozen=True):
    """All that decides a run."""

    name: Name
    seed: Annotated[int, Meta(ge=0, le=SEED_MAX)]
    stack: StackSpec
    nodes: Nodes
    subscriptions: Subscriptions
    workload: Workload
    network: Network
    end: Moment | None = None  # stop here; else when nothing is left to happen
    faults: Faults | UnsetType = UNSET  # unset: nothing fails
    topics: dict[str, TopicSpec] | UnsetType = UNSET  # unset: topics include each other by their names alone

    def special_topics(self) -> dict[Topic, About]:
        """What the file says of topics."""
        return {topic: About(tuple(spec.supers), spec.options()) for topic, spec in sorted((self.topics or {}).items())}

    def about_topics(self) -> dict[Topic, About]:
        """What a place may know of topics: also how often is spoken on each, if that differs."""
        special, rates = self.special_topics(), self.rates()
        usual = About()
        told = {topic: special.get(topic, usual) for topic in sorted({*special, *rates})}
        return {
            topic: About(about.supers, about.options | ({"rate": rates[topic]} if topic in rates else {}))
            for topic, about in told.items()
        }

    def rates(self) -> dict[Topic, int]:
        """In proportion to how often is spoken on each topic, from 1 to RATE_MAX; empty: equally often on all.

        An overlay that takes what it is told of a topic for parameters of its own is told nothing.
        """
        if not isinstance(self.workload, Rated) or not self.workload.alpha or self.stack.overlay in TUNED:
            return {}
        weights = heat(self.seed, self.topic_names(), self.workload.alpha)
        most = max(weights.values())
        return {topic: max(1, weight * RATE_MAX // most) for topic, weight in weights.items()}

    def fingerprint(self) -> str:
        """Of the content: the same scenario has the same one everywhere."""
        return hashlib.sha256(self.to_json()).hexdigest()[:16]

    def to_json(self) -> bytes:
        return msgspec.json.encode(self, order="deterministic")

    def with_seed(self, seed: int) -> Scenario:
        return msgspec.structs.replace(self, seed=seed)

    def last_cause(self) -> Time:
        """When the last fault has passed, and everybody has noticed; in rounds nobody is told."""
        if not isinstance(self.faults, Faults):
            return 0
        ends = [max(f.at + getattr(f, "span", 0), getattr(f, "restart", None) or 0) for f in self.faults.events]
        return max(ends, default=0) + (0 if isinstance(self.network, Cycles) else 8 * self.faults.notice)

    def time_to_rejoin(self) -> Time:
        """From when a node is back until its applications subscribe again."""
        if isinstance(self.network, Cycles) or not isinstance(self.faults, Faults):
            return 0
        return 4 * self.faults.notice

    def waits(self) -> str:
        """The key by which packets wait at a server, or clients for themselves; empty if nothing does."""
        if isinstance(self.network, Sites) and self.network.service:
            return "network.service"
        return "workload.patient" if isinstance(self.workload, Requests) and self.workload.patient else ""

    def topic_names(self) -> list[Topic]:
        match self.subscriptions:
            case Fraction() | Popular() | Buckets():
                return [f"t{n}" for n in range(self.subscriptions.topics)]
            case Explicit():
                named = [*self.subscriptions.members, *(change.topic for change in self.subscriptions.changes)]
                return sorted(set(named))
            case _:
                return ["t0"]


def heat(seed: int, topics: list[Topic], alpha: float) -> dict[Topic, int]:
    """The weight of each topic by its rank. Which topic has which is drawn: the first one is not always the hottest."""
    ranked = sorted(range(len(topics)), key=lambda n: (draw.draw(seed, draw.HEAT, n), n))
    return {topics[n]: weight for n, weight in zip(ranked, draw.zipf_weights(len(topics), alpha), strict=True)}


__all__ = [
    "AtOnce",
    "Buckets",
    "Burst",
    "Change",
    "Crash",
    "Cycles",
    "Explicit",
    "Faults",
    "Fraction",
    "Lose",
    "Matrix",
    "Network",
    "Nodes",
    "OnceEach",
    "Pause",
    "Periodic",
    "Popular",
    "Publication",
    "Queue",
    "Random",
    "Rated",
    "Replies",
    "Requests",
    "Scenario",
    "Script",
    "Section",
    "Sessions",
    "Sever",
    "Sites",
    "StackSpec",
    "Subscriptions",
    "Time",
    "TopicSpec",
    "Topics",
    "Workload",
]
