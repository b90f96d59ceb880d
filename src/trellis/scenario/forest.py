"""A world of many topics in a hierarchy: from names to a scenario.

Promises: a pure function of names, sizes and seed. Which groups are popular: a Zipf law over a shuffled list of
          names; whoever is interested in a group subscribes to it, or with chance CLIMB to the topic above, and so on.
          The latest names are nobody's at first: they appear while the run goes on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from trellis import draw
from trellis.errors import ScenarioError
from trellis.protocols.parts.hierarchy import ROOT, super_of
from trellis.scenario.model import Change, Cycles, Explicit, Nodes, Publication, Scenario, Script, StackSpec
from trellis.words import NodeId, Topic

CLIMB = 0.3
EXPONENT = 0.8
JOINERS = 3  # of a topic that appears
BEGIN = 2  # the first round in which somebody speaks
SPEAK_AFTER = 40  # rounds after it joined a new topic, its first subscriber speaks there


class Wish(NamedTuple):
    """How large, and for how long."""

    nodes: int
    each: int  # topics of a node
    messages: int
    rounds: int
    loss: float
    seed: int
    overlay: str = "damulticast"


def forest(names: Sequence[Topic], late: Sequence[Topic], wish: Wish) -> Scenario:
    """Everybody subscribes; messages on the most popular groups that have subscribers, then on those that appear."""
    last = BEGIN + SPEAK_AFTER if late else BEGIN
    if wish.rounds <= last:
        raise ScenarioError(f"rounds = {wish.rounds}: somebody speaks in round {last}; use more, say {4 * last}")
    ranked = sorted(names, key=lambda name: (draw.draw(wish.seed, draw.RANK, draw.key_of(name)), name))
    members = interests(ranked, wish)
    popular = [topic for topic in ranked if topic in members][: wish.messages]
    said = [
        Publication(at=BEGIN, node=members[topic][0], topic=topic)
        for topic in (popular * wish.messages)[: wish.messages]
    ]
    changes = []
    for n, topic in enumerate(late):
        joiners = draw.sample(wish.seed, draw.INTEREST, range(wish.nodes), min(JOINERS, wish.nodes), n)
        joiners = [node for node in joiners if node not in members.get(topic, ())]
        changes += [Change(at=BEGIN, node=node, topic=topic, do="join") for node in joiners]
        said += [Publication(at=last, node=node, topic=topic) for node in joiners[:1]]
    return Scenario(
        name="forest",
        seed=wish.seed,
        stack=StackSpec(overlay=wish.overlay, ordering="unordered"),
        nodes=Nodes(count=wish.nodes),
        subscriptions=Explicit(members=members, changes=changes),
        workload=Script(messages=said),
        network=Cycles(loss=wish.loss),
        end=wish.rounds,
    )


def interests(ranked: Sequence[Topic], wish: Wish) -> dict[Topic, list[NodeId]]:
    weights = list(accumulate(draw.zipf_weights(len(ranked), EXPONENT)))
    members: dict[Topic, list[NodeId]] = {}
    for node in range(wish.nodes):
        chosen = {interest(ranked, weights, wish.seed, node, turn): None for turn in range(wish.each)}
        for topic in chosen:
            members.setdefault(topic, []).append(node)
    return dict(sorted(members.items()))


def interest(ranked: Sequence[Topic], weights: list[int], seed: int, node: NodeId, turn: int) -> Topic:
    topic = ranked[bisect_right(weights, draw.draw(seed, draw.INTEREST, node, turn) % weights[-1])]
    luck = draw.unit(draw.draw(seed, draw.INTEREST, node, turn, 1))
    while luck < CLIMB and topic != ROOT:
        topic, luck = super_of(topic) or ROOT, luck / CLIMB
    return topic
