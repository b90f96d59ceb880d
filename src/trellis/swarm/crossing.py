"""Worlds of several topics whose subscriptions cross, for orders that reach across topics.

Promises: as in schedule.py, one seed is one world, the same for every stack but for the options that an ordering takes.
          An overlay that relies on FIFO links gets them.

What breaks such an order is a ring: messages each two of which were ordered elsewhere. It takes few common
subscribers, links of very different speed, and changes under way. So in two worlds of five the nodes take neighbours
on a ring of topics, in one of those but for a node that takes all, and in two everybody takes few. Nodes also speak on
several topics in one breath, and at once after they have asked to join.
"""

from __future__ import annotations

from typing import Any

from trellis import draw
from trellis.protocols import ORDERINGS, needs_fifo_links
from trellis.scenario.model import Change, Explicit, Network, Nodes, Publication, Random, Scenario, Script, StackSpec
from trellis.swarm.dice import Dice, uneven_links
from trellis.words import NodeId, Topic

NODES_MIN, NODES_MAX = 4, 12
TOPICS_MIN, RING_MIN, TOPICS_MAX = 2, 4, 6
DESKS_MAX = 5
NAMES = range(100)  # a topic's desk goes by its name

Taken = dict[NodeId, list[Topic]]


def crossing(seed: int, overlay: str, ordering: str) -> Scenario:
    """4 to 12 nodes on 2 to 6 topics."""
    dice = Dice(seed, draw.CROSSING)
    count = dice.between(NODES_MIN, NODES_MAX)
    shape = dice.between(0, 4)
    desks = min(count, DESKS_MAX if shape < 2 else dice.between(1, DESKS_MAX))
    options = options_for(ordering, desks, dice.one_of([0, 0, 1]))
    network = links(dice, count, bool(needs_fifo_links(overlay, ordering)))
    least = RING_MIN if shape < 2 else TOPICS_MIN
    names = draw.sample(seed, draw.CROSSING, NAMES, dice.between(least, TOPICS_MAX))
    topics = [f"t{n}" for n in names]
    match shape:
        case 0:
            taken = on_a_ring(dice, topics, count, 2) | {dice.between(0, count - 1): topics}
        case 1:
            taken = on_a_ring(dice, topics, count, 3)
        case _:
            taken = at_random(dice, topics, count, dice.between(4, 7) if shape == 4 else dice.between(1, 3))
    changes, said = days(dice, topics, taken, restless=dice.one_of([0, 0, 2, 4]) if shape else 0)
    return Scenario(
        name=f"swarm-{seed}",
        seed=seed,
        stack=StackSpec(overlay=overlay, ordering=ordering, **options),
        nodes=Nodes(count=count),
        subscriptions=Explicit(
            members={topic: [node for node in taken if topic in taken[node]] for topic in topics}, changes=changes
        ),
        workload=Script(messages=said),
        network=network,
    )


def options_for(ordering: str, desks: int, across: int) -> dict[str, Any]:
    """Causal order across topics is asked of those who promise it."""
    kind = ORDERINGS[ordering]
    drawn = {"desks": desks, "across": across if "across" in kind.audits_more else 0}
    return {name: value for name, value in drawn.items() if value and name in kind.options}


def links(dice: Dice, count: int, fifo: bool) -> Network:
    """Alike, in order or not; or some a thousand times slower than others."""
    kind, high, service = dice.between(0, 3), dice.one_of([10, 100, 400]), dice.one_of([0, 0, 1, 3])
    if kind < 2:
        return uneven_links(dice, count, service)
    return Random(low=1, high=high, service=service, fifo=fifo or kind == 2)


def on_a_ring(dice: Dice, topics: list[Topic], count: int, arc: int) -> Taken:
    """Everybody takes so many topics that stand side by side on a ring."""
    ring = sorted(topics, key=lambda topic: (draw.draw(dice.seed, draw.CROSSING, draw.key_of(topic)), topic))
    return {node: sorted(ring[(node + n) % len(ring)] for n in range(arc)) for node in range(count)}


def at_random(dice: Dice, topics: list[Topic], count: int, chance: int) -> Taken:
    """Everybody takes each topic by so many chances of ten."""
    return {node: [topic for topic in topics if dice.between(1, 10) <= chance] for node in range(count)}


def days(dice: Dice, topics: list[Topic], taken: Taken, restless: int) -> tuple[list[Change], list[Publication]]:
    """At each step somebody speaks; in so many of ten it joins or leaves first."""
    inside = {node: list(mine) for node, mine in taken.items()}
    changes: list[Change] = []
    said: list[Publication] = []
    pauses = dice.one_of([[1, 2, 5], [1, 5, 40], [1, 2, 5, 40, 150, 500]])
    at = 0
    for _ in range(dice.between(10, 60)):
        at += dice.one_of(pauses)
        node = dice.between(0, len(inside) - 1)
        mine = inside[node]
        if dice.between(0, 9) < restless:
            topic = dice.one_of(topics)
            changes.append(Change(at=at, node=node, topic=topic, do="leave" if topic in mine else "join"))
            (mine.remove if topic in mine else mine.append)(topic)
        for _ in range(dice.one_of([0, 1, 1, 1, 2, 3]) if mine else 0):
            at += 1
            said.append(Publication(at=at, node=node, topic=dice.one_of(mine), payload=f"{len(said)}"))
    return changes, said
