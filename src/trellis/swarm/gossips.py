"""Random scenarios of gossip: groups of all sizes, one above the other or not, with losses and with dead processes.

Promises: one seed is one scenario.

What a compiled twin may get wrong are the edges: a group of one or none, a process in several groups of one path, a
table that has the whole group, nobody above, a process that is not of the group that it tells.
"""

from __future__ import annotations

from typing import Any

from trellis.protocols import LAYERED
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.swarm.dice import Dice

TOPICS = (".", ".a", ".a.b", ".a.b.c", ".a.b.c.d", ".a.d", ".e", "flat", "a")
SOME = {
    "c": [0, 0, 1, 1, 2, 5, 5, 5, 20, 10_000],
    "g": [1, 2, 5, 5, 20, 1000],
    "a": [1, 1, 2, 3, 9],
    "z": [1, 2, 3, 3, 7, 300],
    "groups": [1, 2, 3, 10, 10, 50, 500],
    "tau": [1, 1, 2, 5],
    "repair": [0, 1, 1, 1],
    "keep": [60, 10_000],
    "hops": [0, 2],
}


def gossips(dice: Dice, overlay: str) -> Scenario:
    """1 to 200 nodes on one topic or on a tree, in rounds or on links."""
    nodes = dice.one_of([dice.between(1, 4), dice.between(2, 30), dice.between(20, 80), dice.between(60, 200)])
    rounds = dice.between(0, 3) > 0
    raw: dict[str, Any] = {
        "name": f"gossips-{dice.seed}",
        "seed": dice.seed,
        "stack": {"overlay": overlay, "ordering": "unordered", **options(dice, overlay)},
        "nodes": {"count": nodes},
        **(on_a_tree(dice, nodes) if dice.between(0, 3) else on_flat_topics(dice, nodes)),
        "network": in_rounds(dice) if rounds else on_links(dice, nodes),
    }
    if rounds and dice.between(0, 2) == 0:
        raw["faults"] = {"stillborn": dice.one_of([0.0, 0.02, 0.3, 0.3, 0.7, 0.95])}
    if dice.between(0, 4) == 0:
        raw["end"] = dice.one_of([0, 1, 2, 5, 12])
    scenario = from_mapping(raw)
    check(scenario)
    return scenario


def repaired(dice: Dice, overlay: str) -> Scenario:
    """As far as the compiled engine knows it: everybody on one topic, and one message of each that speaks."""
    nodes = dice.one_of([dice.between(1, 4), dice.between(2, 30), dice.between(20, 80), dice.between(60, 200)])
    topics = dice.one_of([TOPICS[:5], TOPICS[:3], (".", ".a.b", ".e", "flat"), (".", ".a.b.c.d"), TOPICS, ("flat",)])
    slope = dice.one_of([1, 1, 2, 10])
    members: dict[str, list[int]] = {}
    for node in range(dice.between(0, 2) if nodes > 5 else 0, nodes):  # the others take no part
        level = max(dice.between(0, len(topics) - 1) for _ in range(slope))
        members.setdefault(topics[level] if members else topics[0], []).append(node)
    speakers = [(topic, node) for topic, inside in members.items() for node in inside]
    few = {dice.one_of(speakers): dice.between(0, 10) for _ in range(dice.one_of([1, 1, 2, 5, 30]))}
    until = dice.one_of([1, 1, 4])
    raw: dict[str, Any] = {
        "name": f"gossips-{dice.seed}",
        "seed": dice.seed,
        "stack": {"overlay": overlay, "ordering": "unordered", **options(dice, overlay)},
        "nodes": {"count": nodes},
        "subscriptions": {"kind": "explicit", "members": members},
        "workload": {
            "kind": "explicit",
            "messages": [{"at": at // until, "node": node, "topic": topic} for (topic, node), at in few.items()],
        },
        "network": in_rounds(dice),
        "end": dice.one_of([1, 4, 12, 20, 20, 40] if nodes > 30 else [0, 2, 20, 40, 64]),
    }
    if dice.between(0, 2) == 0:
        raw["faults"] = {"stillborn": dice.one_of([0.0, 0.02, 0.3, 0.3, 0.7, 0.95])}
    scenario = from_mapping(raw)
    check(scenario)
    return scenario


def options(dice: Dice, overlay: str) -> dict[str, int]:
    """All, some or none of those that the overlay has."""
    often, known = dice.one_of([0, 1, 2, 2]), [name for name in LAYERED[overlay].options if name in SOME]
    return {name: dice.one_of(SOME[name]) for name in known if dice.between(0, 1) < often}


def on_a_tree(dice: Dice, nodes: int) -> dict[str, Any]:
    """Each process at one level of a path, as in the papers' setting; or everybody wherever it likes."""
    topics = TOPICS[: dice.between(1, len(TOPICS))]
    members: dict[str, list[int]] = {topic: [] for topic in topics}
    shape = dice.one_of(["path", "path", "scattered", "several"])
    slope = dice.one_of([1, 1, 2, 10])
    for node in range(nodes):
        for _ in range(1 if shape != "several" else dice.between(0, 3)):
            level = dice.between(0, len(topics) - 1)
            for _ in range(slope - 1 if shape == "path" else 0):  # most are far from the root
                level = max(level, dice.between(0, len(topics) - 1))
            if node not in members[topics[level]]:
                members[topics[level]].append(node)
    if not any(members.values()):
        members[topics[-1]].append(nodes - 1)
    for topic in [topic for topic in topics if dice.between(0, 5) == 0 and len(topics) > 1]:
        if any(nodes for other, nodes in members.items() if other != topic):
            members[topic] = []  # a hole in the path
    speakers = [(topic, node) for topic, inside in members.items() for node in inside]
    few = [dice.one_of(speakers) for _ in range(dice.one_of([1, 1, 2, 5]))]
    until = dice.one_of([0, 0, 1, 3, 20])
    said = [
        {"at": dice.between(0, until), "node": node, "topic": topic, "payload": str(n)}
        for n in range(dice.one_of([1, 1, 1, 2, 5, 30 if nodes < 40 else 1]))
        for topic, node in [dice.one_of(few)]
    ]
    found: dict[str, Any] = {
        "subscriptions": {"kind": "explicit", "members": members},
        "workload": {"kind": "explicit", "messages": said},
    }
    if dice.between(0, 4) == 0 and ".e" in topics:
        found["topics"] = {".a.b": {"supers": [".e"]}, ".a.d": {"supers": [".a.b.c"]}}
    return found


def on_flat_topics(dice: Dice, nodes: int) -> dict[str, Any]:
    """Topics that stand for themselves, with other workloads."""
    said: dict[str, Any]
    topics = dice.one_of([1, 1, 3])
    share = dice.one_of([0.25, 0.5, 1.0]) if nodes > 4 else 1.0
    if topics > 1:
        said = {"kind": "topics", "messages": dice.between(1, 20), "interval": dice.one_of([1, 5])}
    else:
        kind = dice.one_of(["once-each", "replies", "at-once", "periodic"])
        kinds: dict[str, dict[str, Any]] = {
            "once-each": {"publishers": share * dice.one_of([0.01, 0.1]), "window": dice.one_of([0, 3, 10])},
            "replies": {"openers": 1, "think": dice.one_of([0, 1, 8])},
            "at-once": {"messages": dice.between(1, 9), "at": dice.between(0, 2)},
            "periodic": {"interval": dice.one_of([1, 4]), "messages": dice.between(1, 9)},
        }
        said = {"kind": kind, **kinds[kind]}
    return {"subscriptions": {"kind": "fraction", "fraction": share, "topics": topics}, "workload": said}


def in_rounds(dice: Dice) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "cycles"}
    if loss := dice.one_of([None, 0.0, 0.15, 0.15, 0.575, 0.99]):
        found["loss"] = loss
    if dice.between(0, 5) == 0:
        found["upkeep"] = bool(dice.between(0, 1))
    return found


def on_links(dice: Dice, nodes: int) -> dict[str, Any]:
    service = dice.one_of([0, 1, 3])
    kind = dice.between(0, 2)
    if kind == 0:
        return {"kind": "queue", "service": service, "propagation": dice.one_of([1, 10])}
    if kind == 1 and nodes <= 40:
        rows = [[dice.one_of([1, 1, 5, 30]) for _ in range(nodes)] for _ in range(nodes)]
        return {"kind": "matrix", "rows": rows, "service": service}
    fifo = bool(dice.between(0, 1))
    return {"kind": "random", "low": 1, "high": dice.one_of([1, 5, 60]), "service": service, "fifo": fifo}
