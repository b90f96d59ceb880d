"""Who is subscribed from the start, and who comes and goes."""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

from trellis import draw
from trellis.errors import ScenarioError
from trellis.events import Subscribe, Unsubscribe
from trellis.scenario.buckets import drawn
from trellis.scenario.model import Buckets, Burst, Explicit, Fraction, Popular, Scenario, Sessions
from trellis.scenario.popularity import popular
from trellis.scenario.section import COUNT_MAX
from trellis.words import NodeId, Time, Topic

Move = tuple[Time, NodeId, Subscribe | Unsubscribe]


class Census:
    """Who is subscribed to one topic, by the applications' word, at any time."""

    def __init__(self, standing: tuple[NodeId, ...], moves: list[Move]) -> None:
        self.standing = standing
        self.moves = sorted(moves, key=lambda move: (move[0], isinstance(move[2], Subscribe), move[1]))
        self.begin()

    def begin(self) -> None:
        self.inside, self.done, self.time = list(self.standing), 0, -1

    def at(self, time: Time) -> Sequence[NodeId]:
        """What comes back changes with the next call. Times may go back, but cost least if they go forward: a list of
        members for each change would take gigabytes."""
        if time < self.time:
            self.begin()
        self.time = time
        while self.done < len(self.moves) and self.moves[self.done][0] <= time:
            _, node, event = self.moves[self.done]
            self.done += 1
            if isinstance(event, Subscribe):
                insort(self.inside, node)
            elif node in self.inside:
                self.inside.remove(node)
        return self.inside


class Churn(NamedTuple):
    standing: dict[Topic, tuple[NodeId, ...]]
    changes: list[Move]
    announce: bool

    def census(self, topic: Topic) -> Census:
        moves = [move for move in self.changes if move[2].topic == topic]
        return Census(() if self.announce else self.standing[topic], moves)


def churn_of(scenario: Scenario) -> Churn:
    """Standing subscriptions and every join and leave. With `announce`, the standing ones join at time 0."""
    subscriptions = scenario.subscriptions
    match subscriptions:
        case Fraction():
            standing = {
                topic: share(scenario, subscriptions.fraction, index)
                for index, topic in enumerate(scenario.topic_names())
            }
            changes: list[Move] = []
        case Burst():
            standing, changes = burst(scenario, subscriptions)
        case Sessions():
            standing, changes = sessions(scenario, subscriptions)
        case Popular():
            standing, changes = popular(scenario, subscriptions), []
        case Buckets():
            standing, changes = drawn(scenario, subscriptions), []
        case Explicit():
            standing, changes = explicit(scenario, subscriptions)
    if subscriptions.announce:
        changes = [(0, node, Subscribe(topic)) for topic, members in standing.items() for node in members] + changes
    return Churn(standing, changes, subscriptions.announce)


def share(scenario: Scenario, fraction: float, index: int) -> tuple[NodeId, ...]:
    count = max(1, round(fraction * scenario.nodes.count))
    return tuple(draw.sample(scenario.seed, draw.SUBSCRIBERS, range(scenario.nodes.count), count, index))


def burst(scenario: Scenario, spec: Burst) -> tuple[dict[Topic, tuple[NodeId, ...]], list[Move]]:
    """The last experiment of paper 000: a share of the subscribers leaves at once and as many others join."""
    (topic,) = scenario.topic_names()
    if spec.announce and spec.at == 0:
        raise ScenarioError(
            "subscriptions.at = 0: with `announce` the subscribers only join at 0; let them leave later"
        )
    members = share(scenario, spec.fraction, 0)
    outside = [node for node in range(scenario.nodes.count) if node not in set(members)]
    moving = round(spec.churn * len(members))
    if moving > len(outside):
        raise ScenarioError(
            f"subscriptions.churn = {spec.churn}: {moving} nodes leave but only {len(outside)} are outside to join; "
            f"lower churn or fraction"
        )
    leavers = draw.sample(scenario.seed, draw.BURST, members, moving, 0)
    joiners = draw.sample(scenario.seed, draw.BURST, outside, moving, 1)
    leaving: list[Move] = [(spec.at, node, Unsubscribe(topic)) for node in leavers]
    return {topic: members}, leaving + [(spec.at, node, Subscribe(topic)) for node in joiners]


def sessions(scenario: Scenario, spec: Sessions) -> tuple[dict[Topic, tuple[NodeId, ...]], list[Move]]:
    """Section 4.5 of paper 002: the number of subscribers stays the same."""
    count = scenario.nodes.count
    if scenario.end is None:
        raise ScenarioError("end is missing: churn by sessions never stops by itself; add `end` at the top of the file")
    if spec.subscribers >= count:
        raise ScenarioError(
            f"subscriptions.subscribers = {spec.subscribers}: with {count} nodes nobody is left to join; use fewer"
        )
    if spec.subscribers * scenario.end // spec.session > COUNT_MAX:
        raise ScenarioError(
            f"subscriptions.session = {spec.session}: until end = {scenario.end} more than {COUNT_MAX} sessions; "
            f"lower `end` or raise the session"
        )
    (topic,) = scenario.topic_names()
    members = tuple(draw.sample(scenario.seed, draw.SUBSCRIBERS, range(count), spec.subscribers, 0))
    outside = sorted(set(range(count)) - set(members))
    ends = [(draw.exponential(draw.draw(scenario.seed, draw.SESSION, n), spec.session), n) for n in members]
    heapq.heapify(ends)
    changes: list[Move] = []
    for number in range(spec.subscribers, 1 << 40):
        at, leaver = heapq.heappop(ends)
        if at > scenario.end:
            break
        joiner = outside.pop(draw.draw(scenario.seed, draw.REPLACEMENT, number) % len(outside))
        insort(outside, leaver)
        changes += [(at, leaver, Unsubscribe(topic)), (at, joiner, Subscribe(topic))]
        stay = draw.exponential(draw.draw(scenario.seed, draw.SESSION, count + number), spec.session)
        heapq.heappush(ends, (at + stay, joiner))
    return {topic: members}, changes


def explicit(scenario: Scenario, spec: Explicit) -> tuple[dict[Topic, tuple[NodeId, ...]], list[Move]]:
    last = scenario.nodes.count - 1
    standing: dict[Topic, tuple[NodeId, ...]] = {}
    for topic in scenario.topic_names():
        members = spec.members.get(topic, [])
        if len(set(members)) != len(members):
            twice = next(node for node in members if members.count(node) > 1)
            raise ScenarioError(f"subscriptions.members.{topic}: node {twice} is named twice; name it once")
        for node in members:
            if node > last:
                raise ScenarioError(
                    f"subscriptions.members.{topic}: node {node}: ids run from 0 to {last}; use one of those"
                )
        standing[topic] = tuple(sorted(members))
    changes: list[Move] = []
    for change in spec.changes:
        if change.node > last:
            raise ScenarioError(
                f"subscriptions.changes: node {change.node}: ids run from 0 to {last}; use one of those"
            )
        event = Subscribe(change.topic) if change.do == "join" else Unsubscribe(change.topic)
        changes.append((change.at, change.node, event))
    return standing, changes
