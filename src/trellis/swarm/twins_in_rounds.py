"""Random scenarios in rounds for the compiled engine: overlays that grow like a vine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trellis.errors import ScenarioError
from trellis.protocols.overlays.vine import AS_NEEDED
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.scenario.plan import plan
from trellis.swarm.dice import Dice
from trellis.words import NodeId, Topic

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
    found = scenario_of(raw)
    if crashes := comings(dice, nodes, end):
        standing = plan(found).standing
        raw["faults"] = {"events": crashes}
        found = scenario_of(raw)
        if dice.between(0, 1) or not somebody_speaks(found):
            found = scenario_of(raw | {"workload": said_by_anybody(dice, standing, end)})
    return found


def scenario_of(raw: dict[str, Any]) -> Scenario:
    scenario = from_mapping(raw)
    check(scenario)
    return scenario


def somebody_speaks(scenario: Scenario) -> bool:
    """Whether there is always somebody up who can say what has to be said."""
    try:
        plan(scenario)
    except ScenarioError:
        return False
    return True


def comings(dice: Dice, nodes: int, end: int) -> list[dict[str, Any]]:
    """Nobody, few or nearly all; some dead in round 0, some for good, some several times, many in the same round."""
    share = dice.one_of([1, 0, 3, 0, 7, 1, 0, 0, 3, 7])  # of eight
    together = dice.between(1, end)
    found: list[dict[str, Any]] = []
    for node in range(nodes):
        at = dice.one_of([0, dice.between(1, end), together]) if dice.between(1, 8) <= share else end + 1
        while at <= end:
            restart = at + dice.one_of([1, 2, dice.between(1, 12), dice.between(1, end)])
            if dice.between(0, 5) == 0:
                found.append({"kind": "crash", "at": at, "node": node})
                break
            found.append({"kind": "crash", "at": at, "node": node, "restart": restart})
            at = restart + dice.one_of([1, 5, dice.between(1, 30), end])
    return found


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


def said_by_anybody(dice: Dice, standing: Mapping[Topic, tuple[NodeId, ...]], end: int) -> dict[str, Any]:
    """Also by the dead, and by those who have just come back."""
    members = [(topic, node) for topic, nodes in standing.items() for node in nodes]
    often = [dice.one_of(members) for _ in range(dice.between(1, 5))]  # some say several things on one topic
    messages = []
    for _ in range(dice.between(1, 40)):
        topic, node = dice.one_of(dice.one_of([members, often]))
        messages.append({"at": dice.between(0, end), "node": node, "topic": topic})
    return {"kind": "explicit", "messages": messages}
