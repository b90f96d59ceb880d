"""What the applications do in a scenario: who stands subscribed, who does what when, and how they react.

Promises: a pure function of the scenario. Every draw is made by what it is for, so a plan does not depend on the
          protocol that will run it: two stacks see the same world.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from trellis import draw
from trellis.errors import ScenarioError
from trellis.events import Publish, Subscribe, Unsubscribe
from trellis.protocols import check_tree
from trellis.scenario.churn import Churn, churn_of
from trellis.scenario.model import AtOnce, OnceEach, Periodic, Rated, Replies, Requests, Scenario, Script, Topics
from trellis.scenario.popularity import requests
from trellis.scenario.rates import rated
from trellis.scenario.section import COUNT_MAX, TIME_MAX
from trellis.words import NodeId, Time, Topic

REPLY = b"reply"


class Action(NamedTuple):
    """The application at a node does something. Equal times at one node keep this order: leave, join, publish."""

    at: Time
    node: NodeId
    event: Subscribe | Unsubscribe | Publish


class Discussion(NamedTuple):
    """A node that has delivered the messages of all openers replies once, after thinking."""

    topic: Topic
    openers: frozenset[NodeId]
    thinking: dict[NodeId, Time]  # who replies, and after how long


class Plan(NamedTuple):
    standing: dict[Topic, tuple[NodeId, ...]]  # ascending
    actions: list[Action]  # ascending by time
    discussion: Discussion | None = None


def plan(scenario: Scenario) -> Plan:
    """Lay out everything the applications will do. A publisher that has not subscribed is refused here."""
    churn = churn_of(scenario)
    for topic in sorted({*churn.standing, *(event.topic for _, _, event in churn.changes)}):
        check_tree(scenario.stack.overlay, scenario.stack.ordering, topic)
    published, discussion = publications(scenario, churn)
    rank: dict[type, int] = {Unsubscribe: 0, Subscribe: 1, Publish: 2}
    actions = [Action(*change) for change in churn.changes] + published
    actions.sort(key=lambda action: (action.at, action.node, rank[type(action.event)]))
    refuse_strangers(scenario, churn, actions)
    if scenario.end is not None:
        actions = [action for action in actions if action.at <= scenario.end]
    if actions and actions[-1].at > TIME_MAX:
        raise ScenarioError(
            f"workload: the last message would be published at {actions[-1].at}, after {TIME_MAX}; "
            f"lower the interval or give an `end`"
        )
    return Plan(churn.standing, actions, discussion)


def publications(scenario: Scenario, churn: Churn) -> tuple[list[Action], Discussion | None]:
    match scenario.workload:
        case OnceEach():
            return once_each(scenario, scenario.workload, churn), None
        case Periodic():
            return periodic(scenario, scenario.workload, churn), None
        case Topics():
            return topics(scenario, scenario.workload, churn), None
        case Requests():
            return [Action(*said) for said in requests(scenario, scenario.workload)], None
        case Rated():
            return [Action(*said) for said in rated(scenario, scenario.workload, churn)], None
        case AtOnce():
            return at_once(scenario, scenario.workload, churn), None
        case Replies():
            return replies(scenario, scenario.workload, churn)
        case Script():
            said = scenario.workload.messages
            return [Action(p.at, in_range(scenario, p.node), Publish(p.topic, p.payload.encode())) for p in said], None


def once_each(scenario: Scenario, workload: OnceEach, churn: Churn) -> list[Action]:
    """Section 4.2 of VCube-PS."""
    said = []
    wanted = max(1, round(workload.publishers * scenario.nodes.count))
    for index, (topic, members) in enumerate(churn.standing.items()):
        if wanted > len(members):
            raise ScenarioError(
                f"workload.publishers = {workload.publishers}: {wanted} publishers but topic {topic!r} has "
                f"{len(members)} subscribers; publishers must be subscribers, so lower it or raise subscriptions"
            )
        for node in draw.sample(scenario.seed, draw.PUBLISHERS, members, wanted, index):
            word = draw.draw(scenario.seed, draw.PUBLISH_AT, index, node)
            said.append(Action(draw.between(word, 0, workload.window), node, Publish(topic, b"once")))
    return said


def periodic(scenario: Scenario, workload: Periodic, churn: Churn) -> list[Action]:
    """Section 4.5 of VCube-PS: a subscriber of that moment speaks."""
    if workload.messages is None and scenario.end is None:
        raise ScenarioError(
            "workload.messages is missing: without `end` a periodic workload never stops; give one of both"
        )
    if workload.messages is None and scenario.end is not None and scenario.end // workload.interval > COUNT_MAX:
        raise ScenarioError(
            f"workload.interval = {workload.interval}: until end = {scenario.end} more than {COUNT_MAX} messages; "
            f"lower `end` or raise the interval"
        )
    topic = only_topic(churn)
    census = churn.census(topic)
    said: list[Action] = []
    at = workload.interval
    while workload.messages is None or len(said) < workload.messages:
        if scenario.end is not None and at > scenario.end:
            break
        number = len(said)
        members = census.at(at)
        if not members:
            raise ScenarioError(
                f"workload 'periodic': nobody is subscribed to {topic!r} at time {at}; keep a subscriber"
            )
        speaker = members[draw.draw(scenario.seed, draw.PUBLISHER, number) % len(members)]
        said.append(Action(at, speaker, Publish(topic, b"news")))
        word = draw.draw(scenario.seed, draw.INTERVAL, number)
        at += workload.interval if workload.spacing == "fixed" else draw.exponential(word, workload.interval)
    return said


def topics(scenario: Scenario, workload: Topics, churn: Churn) -> list[Action]:
    """Section 4.4 of VCube-PS: messages are even among nodes, and as the law says among the topics of each."""
    weights = draw.zipf_weights(len(churn.standing), workload.exponent if workload.law == "zipf" else 0.0)
    choices: dict[NodeId, tuple[list[Topic], list[int]]] = {}  # per node, its topics and their cumulative weights
    for (topic, members), weight in zip(churn.standing.items(), weights, strict=True):
        for node in members:
            names, thresholds = choices.setdefault(node, ([], []))
            names.append(topic)
            thresholds.append((thresholds[-1] if thresholds else 0) + weight)
    speakers = sorted(choices)
    clocks = dict.fromkeys(speakers, 0)
    said = []
    for number in range(workload.messages):
        node, turn = speakers[number % len(speakers)], number // len(speakers)
        names, thresholds = choices[node]
        clocks[node] += draw.exponential(draw.draw(scenario.seed, draw.INTERVAL, node, turn), workload.interval)
        word = draw.draw(scenario.seed, draw.TOPIC, node, turn)
        topic = names[bisect_right(thresholds, word % thresholds[-1])]
        said.append(Action(clocks[node], node, Publish(topic, b"news")))
    return said


def at_once(scenario: Scenario, workload: AtOnce, churn: Churn) -> list[Action]:
    """One source that stays; with a burst, one of those who neither leave nor join."""
    topic = only_topic(churn)
    leavers = {node for _, node, event in churn.changes if isinstance(event, Unsubscribe)}
    steady = [node for node in churn.standing[topic] if node not in leavers]
    if not steady:
        raise ScenarioError("workload 'at-once': nobody stays subscribed, so nobody can publish; lower the churn")
    source = draw.sample(scenario.seed, draw.PUBLISHERS, steady, 1)[0]
    return [Action(workload.at, source, Publish(topic, b"%d" % n)) for n in range(workload.messages)]


def replies(scenario: Scenario, workload: Replies, churn: Churn) -> tuple[list[Action], Discussion]:
    """Section 4.3 of VCube-PS: openers speak at time 0, everybody else answers when all openings are delivered."""
    topic = only_topic(churn)
    members = churn.standing[topic]
    if workload.openers > len(members):
        raise ScenarioError(
            f"workload.openers = {workload.openers}: only {len(members)} nodes subscribe; use at most that"
        )
    openers = draw.sample(scenario.seed, draw.STARTER, members, workload.openers)
    thinking = {
        node: draw.between(draw.draw(scenario.seed, draw.THINK, node), 0, workload.think)
        for node in members
        if node not in openers
    }
    opened = [Action(0, node, Publish(topic, b"question")) for node in openers]
    return opened, Discussion(topic, frozenset(openers), thinking)


def only_topic(churn: Churn) -> Topic:
    names = list(churn.standing)
    if len(names) != 1:
        raise ScenarioError(
            f"workload: it speaks on one topic, but there are {len(names)}; use kind 'topics' or 'explicit'"
        )
    return names[0]


def in_range(scenario: Scenario, node: NodeId) -> NodeId:
    if node >= scenario.nodes.count:
        raise ScenarioError(
            f"workload.messages: node {node}: ids run from 0 to {scenario.nodes.count - 1}; use one of those"
        )
    return node


def refuse_strangers(scenario: Scenario, churn: Churn, actions: Iterable[Action]) -> None:
    """Nobody publishes, joins or leaves out of turn, seen from the applications."""
    inside = {(topic, node) for topic, members in churn.standing.items() for node in members if not churn.announce}
    for at, node, event in actions:
        here = (event.topic, node)
        if isinstance(event, Subscribe):
            if here in inside:
                raise ScenarioError(
                    f"node {node} joins {event.topic!r} at {at}: it has subscribed already; let it leave first"
                )
            inside.add(here)
        elif here not in inside:
            what = "publishes on" if isinstance(event, Publish) else "leaves"
            named = isinstance(event, Unsubscribe) or isinstance(scenario.workload, Script)
            way_out = "let it join first" if named else "take another workload, or subscribers that stay"
            raise ScenarioError(f"node {node} {what} {event.topic!r} at {at}: it is not a subscriber then; {way_out}")
        elif isinstance(event, Unsubscribe):
            inside.remove(here)
