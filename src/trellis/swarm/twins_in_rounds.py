"""Random scenarios in rounds for the compiled engine: overlays that grow like a vine."""

from __future__ import annotations

from typing import Any

from trellis.protocols.overlays.vine import AS_NEEDED
from trellis.scenario.load import check, from_mapping
from trellis.scenario.model import Scenario
from trellis.swarm.dice import Dice

LONG = 220  # characters of a name, at times: then what nodes tell of themselves does not fit into a packet


def in_rounds(dice: Dice, overlay: str) -> Scenario:
    """Tables of any size, lossy channels, and limits that are soon reached: else little of it would ever happen."""
    nodes = dice.one_of([dice.between(1, 6), dice.between(4, 16), dice.between(10, 40)])
    subscriptions, topics = subscribed(dice, nodes)
    end = dice.between(8, 60)
    raw: dict[str, Any] = {
        "name": f"twins-{dice.seed}",
        "seed": dice.seed,
        "stack": {"overlay": overlay, "ordering": "unordered", "repair": 0, **options(dice, overlay)},
        "nodes": {"count": nodes},
        "subscriptions": subscriptions,
        "workload": said(dice, topics, end),
        "network": {
            "kind": "cycles",
            "loss": dice.one_of([0.0, 0.0, 0.02, 0.2, 0.6]),
            "upkeep": dice.between(0, 3) > 0,
        },
        "end": end,
    }
    scenario = from_mapping(raw)
    check(scenario)
    return scenario


def options(dice: Dice, overlay: str) -> dict[str, int]:
    found = {"limit": dice.one_of([1, 2, 5, 5]), "sample": dice.one_of([1, 1, 3])}
    if (grace := dice.one_of([0, 1, 3, 12, AS_NEEDED])) != AS_NEEDED:
        found["grace"] = grace
    if overlay == "topic-overlay":
        return found | {"table": dice.one_of([0, 1, 2, 3, 5, 15]), "cover": dice.one_of([1, 2, 3])}
    if overlay == "rendezvous":
        return found | {"table": dice.one_of([2, 3, 4, 6, 15])}
    k = dice.one_of([0, 1, 1, 2, 4])
    return found | {"k": k, "d": dice.one_of([1, 2, 3, 5]), "table": 2 + k + dice.one_of([0, 1, 2, 4, 12])}


def subscribed(dice: Dice, nodes: int) -> tuple[dict[str, Any], int]:
    """Who subscribes, and to how many topics in all."""
    topics = dice.one_of([1, 3, 8, 20, 60])
    what = dice.one_of(["buckets", "buckets", "buckets", "fraction", "explicit"])
    if what == "fraction":
        topics = min(topics, 8)
        return {"kind": what, "topics": topics, "fraction": dice.one_of([0.3, 0.6, 1.0]) if nodes > 4 else 1.0}, topics
    if what == "explicit":  # some take nothing, and some names are long
        more = "x" * dice.one_of([0, 0, LONG])
        shares = {f"{more}{n}": dice.between(1, 4) for n in range(topics)}
        members = {name: [i for i in range(nodes) if dice.between(1, 4) <= share] for name, share in shares.items()}
        members[next(iter(members))] = list(range(nodes))[: dice.between(1, nodes)]
        return {"kind": what, "members": members}, topics
    buckets = dice.one_of([1, 1, 2, 4]) if topics >= 8 else 1
    of = dice.between(0, buckets)
    each = of * dice.between(1, topics // buckets) if of else dice.between(1, topics)
    return {"kind": what, "topics": topics, "each": each, "buckets": buckets, "of": of}, topics


def said(dice: Dice, topics: int, end: int) -> dict[str, Any]:
    begin = dice.between(0, end)
    if dice.between(0, 4) == 0 and topics == 1:
        return {"kind": "at-once", "messages": dice.between(1, 8), "at": begin}
    alpha = dice.one_of([0.0, 0.0, 0.8, 3.0])
    per = dice.one_of([1, 2, 10])
    return {"kind": "rated", "messages": dice.between(1, 30), "begin": begin, "per": per, "alpha": alpha}
