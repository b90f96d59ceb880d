"""Messages on topics of which some are hotter than others.

Source:   Vitis (seed paper 004), sections IV-A and IV-D: all topics at the same rate, or "a power-law function, with a
          parameter alpha" over topics.
Promises: each message is on a topic drawn by the law, of those that have a subscriber then; one of these says it, each
          as likely as the others. Nobody who is down then (`faults.events`) is drawn.
Departs:  the paper does not say who publishes. Our publishers are subscribers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from trellis import draw
from trellis.errors import ScenarioError
from trellis.events import Publish
from trellis.scenario.churn import Census, Churn, Move
from trellis.scenario.model import Crash, Faults, Rated, Scenario, heat
from trellis.words import NodeId, Time, Topic

TRIES = 64  # topics drawn before all are looked through
NEVER = 1 << 62


class Audience:
    """Who could speak on a topic at a time."""

    def __init__(self, scenario: Scenario, churn: Churn) -> None:
        self.churn = churn
        self.down = downtimes(scenario)
        self.moves: dict[Topic, list[Move]] = {}
        for move in churn.changes:
            self.moves.setdefault(move[2].topic, []).append(move)
        self.taken: dict[Topic, Census] = {}

    def topics(self) -> list[Topic]:
        """That somebody has at any time."""
        return [topic for topic, members in self.churn.standing.items() if members or topic in self.moves]

    def at(self, topic: Topic, time: Time) -> Sequence[NodeId]:
        members = self.churn.standing[topic] if topic not in self.moves else self.census(topic).at(time)
        return [node for node in members if not self.is_down(node, time)] if self.down else members

    def census(self, topic: Topic) -> Census:
        if topic not in self.taken:
            standing = () if self.churn.announce else self.churn.standing[topic]
            self.taken[topic] = Census(standing, self.moves[topic])
        return self.taken[topic]

    def is_down(self, node: NodeId, time: Time) -> bool:
        spans = self.down.get(node, ())
        n = bisect_right(spans, (time, NEVER)) - 1
        return n >= 0 and time <= spans[n][1]


def downtimes(scenario: Scenario) -> dict[NodeId, list[tuple[Time, Time]]]:
    """Of each node that is ever down: from its crash until its application has subscribed again, both included."""
    faults = scenario.faults
    crashes = [fault for fault in faults.events if isinstance(fault, Crash)] if isinstance(faults, Faults) else []
    found: dict[NodeId, list[tuple[Time, Time]]] = {}
    for crash in sorted(crashes, key=lambda crash: crash.at):
        until = NEVER if crash.restart is None else crash.restart + scenario.time_to_rejoin()
        spans = found.setdefault(crash.node, [])
        if spans and crash.at <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(until, spans[-1][1]))
        else:
            spans.append((crash.at, until))
    return found


def rated(scenario: Scenario, workload: Rated, churn: Churn) -> Iterator[tuple[Time, NodeId, Publish]]:
    audience = Audience(scenario, churn)
    weights = heat(scenario.seed, scenario.topic_names(), workload.alpha)
    topics = audience.topics()
    thresholds = list(accumulate(weights[topic] for topic in topics))
    for number in range(workload.messages):
        at = workload.begin + number * workload.interval // workload.per
        if scenario.end is not None and at > scenario.end:
            return
        topic, speakers = drawn(scenario.seed, number, at, topics, thresholds, audience)
        word = draw.draw(scenario.seed, draw.SPEAKER, number)
        yield at, speakers[word % len(speakers)], Publish(topic, b"news")


def drawn(
    seed: int, number: int, at: Time, topics: list[Topic], thresholds: list[int], audience: Audience
) -> tuple[Topic, Sequence[NodeId]]:
    """The topic of a message, and who could say it: drawn again where that is nobody."""
    for turn in range(TRIES if thresholds else 0):
        topic = topics[bisect_right(thresholds, draw.draw(seed, draw.RATED_TOPIC, number, turn) % thresholds[-1])]
        if speakers := audience.at(topic, at):
            return topic, speakers
    weights = [above - below for below, above in zip([0, *thresholds], thresholds, strict=False)]
    left = [(topic, weight) for topic, weight in zip(topics, weights, strict=True) if audience.at(topic, at)]
    if not left:
        raise ScenarioError(
            f"workload 'rated': nobody who is up has subscribed to anything at {at}; let it begin later"
        )
    sums = list(accumulate(weight for _, weight in left))
    topic = left[bisect_right(sums, draw.draw(seed, draw.RATED_TOPIC, number, TRIES) % sums[-1])][0]
    return topic, audience.at(topic, at)
