"""One run described completely: stack, size, subscriptions, workload, network, seed, end.

Promises: a scenario is a value. Two equal scenarios have one fingerprint and give one trace. What a file leaves out has
          a default here and nowhere else; every limit that a single key has is written beside that key.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from trellis import draw
from trellis.machine import About
from trellis.scenario.faults import Crash, Faults, Lose, Pause, Sever
from trellis.scenario.networks import Cycles, Matrix, Network, Queue, Random, Sites
from trellis.scenario.section import NODES_MAX, SEED_MAX, Moment, Name, Section
from trellis.scenario.stack import StackSpec, TopicSpec
from trellis.scenario.subscriptions import (
    Buckets,
    Burst,
    Change,
    Explicit,
    Fraction,
    Popular,
    Sessions,
    Subscriptions,
)
from trellis.scenario.workloads import (
    AtOnce,
    OnceEach,
    Periodic,
    Publication,
    Rated,
    Replies,
    Requests,
    Script,
    Topics,
    Workload,
)
from trellis.words import Time, Topic

RATE_MAX = 1 << 20
TUNED = ("damulticast",)  # overlays that a scenario tunes topic by topic


class Nodes(Section, frozen=True):
    """How many nodes; any number, the hypercube is the next power of two."""

    count: Annotated[int, Meta(ge=1, le=NODES_MAX)]


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
