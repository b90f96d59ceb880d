"""One event on a path of topics: groups that include each other, from the lowest topic up to the root.

Source:   daMulticast section 6.1: t groups, every process subscribes to one topic, an event is published once.
Promises: sizes are given from the lowest group to the root group, as in the paper. Nodes are numbered the other way
          round, those of the root first. Who speaks goes by the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trellis.protocols.parts.hierarchy import ROOT
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.words import NodeId, Topic

LOWEST = 0  # the group in which an event is published, counted as the sizes are


def topics_of(levels: int) -> list[Topic]:
    """The lowest first; the last one is the root."""
    return [ROOT + ".".join(f"t{n}" for n in range(1, depth + 1)) for depth in reversed(range(levels))]


def members_of(sizes: Sequence[int]) -> dict[Topic, list[NodeId]]:
    """Who subscribes to what, the lowest topic first."""
    found: dict[Topic, list[NodeId]] = {}
    for n, topic in enumerate(topics_of(len(sizes))):
        first = sum(sizes[n + 1 :])
        found[topic] = list(range(first, first + sizes[n]))
    return found


def one_event(
    sizes: Sequence[int],
    seed: int,
    stack: dict[str, Any],
    loss: float = 0.0,
    stillborn: float = 0.0,
    group: int = LOWEST,
    end: int | None = None,
) -> Scenario:
    """One event in rounds, published by a member of a group; `stack` is an overlay and its options."""
    members = members_of(sizes)
    topic = list(members)[group]
    raw: dict[str, Any] = {
        "name": "one event on a path of topics",
        "seed": seed,
        "stack": {"ordering": "unordered", **stack},
        "nodes": {"count": sum(sizes)},
        "subscriptions": {"kind": "explicit", "members": members},
        "workload": {
            "kind": "explicit",
            "messages": [{"at": 0, "node": members[topic][seed % sizes[group]], "topic": topic}],
        },
        "network": {"kind": "cycles", "loss": loss},
    }
    if end is not None:
        raw["end"] = end
    if stillborn:
        raw["faults"] = {"stillborn": stillborn}
    scenario = from_mapping(raw)
    check(scenario)
    return scenario
