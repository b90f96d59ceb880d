"""Worlds in which topics include each other: readers at all levels, and subtopics that come up while they read.

Promises: as in schedule.py, one seed is one world, whatever the order.

What breaks an order of this kind is a subtopic that begins while somebody subscribes to one above it, or while that one
comes back, or changes its mind. So nodes join, speak at once and leave again, and some links are much slower than
others.
"""

from __future__ import annotations

from trellis import draw
from trellis.scenario.model import Change, Explicit, Network, Nodes, Publication, Random, Scenario, Script, StackSpec
from trellis.swarm.dice import Dice, uneven_links
from trellis.words import NodeId, Topic

NODES_MIN, NODES_MAX = 3, 16
TOPICS: tuple[Topic, ...] = (".", ".a", ".a.b", ".a.b.c", ".a.d", ".e", "a")
LEAVES: tuple[Topic, ...] = (".a.b", ".a.b.c", ".a.b.c", ".a.d", ".e", ".a")  # where most is said


def trees(seed: int, overlay: str, ordering: str) -> Scenario:
    """3 to 16 nodes on the topics of a small tree."""
    dice = Dice(seed, draw.TREES)
    count = dice.between(NODES_MIN, NODES_MAX)
    network = links(dice, count)
    inside: dict[NodeId, list[Topic]] = {node: [] for node in range(count)}
    members: dict[Topic, list[NodeId]] = {}
    for _ in range(dice.one_of([0, 0, 2, 6])):
        node, topic = dice.between(0, count - 1), dice.one_of(TOPICS)
        if topic not in inside[node]:
            inside[node].append(topic)
            members.setdefault(topic, []).append(node)
    changes, said = days(dice, inside)
    return Scenario(
        name=f"swarm-{seed}",
        seed=seed,
        stack=StackSpec(overlay=overlay, ordering=ordering),
        nodes=Nodes(count=count),
        subscriptions=Explicit(members={topic: sorted(nodes) for topic, nodes in members.items()}, changes=changes),
        workload=Script(messages=said),
        network=network,
    )


def links(dice: Dice, count: int) -> Network:
    """Alike, in order or not; or some a thousand times slower than others."""
    kind, high, service = dice.between(0, 3), dice.one_of([10, 100, 400]), dice.one_of([0, 0, 1, 3])
    if kind < 2:
        return uneven_links(dice, count, service)
    return Random(low=1, high=high, service=service, fifo=kind == 2)


def days(dice: Dice, inside: dict[NodeId, list[Topic]]) -> tuple[list[Change], list[Publication]]:
    """At each step somebody subscribes to something, or leaves it, or speaks; or comes, speaks at once and goes."""
    changes: list[Change] = []
    said: list[Publication] = []
    pauses = dice.one_of([[1, 2, 5], [1, 5, 40], [1, 2, 5, 40, 150, 500]])
    restless = dice.one_of([2, 4, 6])
    at = 0

    def change(node: NodeId, topic: Topic) -> None:
        leaves = topic in inside[node]
        changes.append(Change(at=at, node=node, topic=topic, do="leave" if leaves else "join"))
        (inside[node].remove if leaves else inside[node].append)(topic)

    def speak(node: NodeId, topic: Topic) -> None:
        said.append(Publication(at=at, node=node, topic=topic, payload=f"{len(said)}"))

    for _ in range(dice.between(10, 60)):
        at += dice.one_of(pauses)
        node = dice.between(0, len(inside) - 1)
        what = dice.between(0, 9)
        if what < restless:
            change(node, dice.one_of(TOPICS))
        elif what == 9:
            topic = dice.one_of(LEAVES)
            if topic not in inside[node]:
                change(node, topic)
            at += dice.one_of([0, 1, 100])
            speak(node, topic)
            at += dice.one_of([1, 1, 30, 200])
            change(node, topic)
        elif inside[node]:
            for _ in range(dice.one_of([1, 1, 2, 3])):
                speak(node, dice.one_of(inside[node]))
                at += dice.one_of([0, 1, 1])
    return changes, said
