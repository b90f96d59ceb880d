"""Topics that include each other, and who subscribes to them, for tests of gossip."""

from __future__ import annotations

from typing import Any

from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.sim import Run

SIZES = {".": 10, ".a": 100, ".a.b": 1000}


def grown(sizes: dict[str, int]) -> dict[str, list[int]]:
    """Members of each topic, one after the other."""
    members: dict[str, list[int]] = {}
    for topic, size in sizes.items():
        first = sum(map(len, members.values()))
        members[topic] = list(range(first, first + size))
    return members


def checked(raw: dict[str, Any]) -> Scenario:
    scenario = from_mapping(raw)
    check(scenario)
    return scenario


def interested(members: dict[str, list[int]], topic: str) -> set[int]:
    tree = Hierarchy()
    return {node for mine, nodes in members.items() if tree.reaches(mine, topic) for node in nodes}


def nodes_with(found: Run, *kinds: str) -> list[int]:
    return [row.node for row in found.trace.rows() if row.kind in kinds]
