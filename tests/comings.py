"""A small world in rounds, in which nodes come and go."""

from __future__ import annotations

from typing import Any

from trellis.scenario import check, from_mapping
from trellis.scenario.model import Scenario


def comings(seed: int, upkeep: bool | None = None) -> Scenario:
    """One is absent at first, one comes back, one does not; two topics of a tree."""
    network: dict[str, Any] = {"kind": "cycles"} if upkeep is None else {"kind": "cycles", "upkeep": upkeep}
    crashes: list[dict[str, Any]] = [
        {"at": 0, "node": 1, "restart": 20},
        {"at": 10 + seed, "node": 8, "restart": 40},
        {"at": 30, "node": 9},
    ]
    scenario = from_mapping(
        {
            "name": "comings",
            "seed": seed,
            "stack": {"overlay": "damulticast", "ordering": "fifo"},
            "nodes": {"count": 12},
            "subscriptions": {"kind": "explicit", "members": {".a": [0, 1, 2, 3], ".a.b": [4, 5, 6, 7, 8, 9, 10, 11]}},
            "workload": {
                "kind": "explicit",
                "messages": [{"at": at, "node": 4 + at % 3, "topic": ".a.b"} for at in range(5, 90, 7)],
            },
            "network": network,
            "faults": {"events": [{"kind": "crash", **crash} for crash in crashes]},
            "end": 260,
        }
    )
    check(scenario)
    return scenario
