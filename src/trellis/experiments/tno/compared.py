"""Random settings of the timestamp generation, on the machines and compiled: every row of the trace, every measure.

Promises: one seed is one setting; a difference comes with the first row, or the first measure, that is not the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trellis import draw
from trellis.experiments.tno.stamping import Found, by_machines, found_of, stamped
from trellis.protocols.parts.groups import ALONE, SHARED
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.sim import FAST, Run
from trellis.sim.fast.total.sequencing import Sequencing
from trellis.swarm.dice import Dice
from trellis.swarm.twins import Comparison, first_difference


def of_sequencer() -> Comparison:
    return Comparison(lambda seed: compare(*setting(seed)), "--sequencer")


def setting(seed: int) -> tuple[Scenario, str]:
    """A scenario and a rule: up to eight desks, with or without queues, hurried clients and patient ones."""
    dice = Dice(seed, draw.TWINS)
    servers = dice.between(1, 8)
    topics, short, long = dice.one_of([1, 12, 12, 60, 300]), dice.one_of([1, 50, 10_000]), dice.one_of([10, 100_000])
    interval, most = dice.one_of([20, 400, 2000, 100_000]), dice.between(1, 150)
    raw: dict[str, Any] = {
        "name": f"stamping-{seed}",
        "seed": seed,
        "stack": {
            "overlay": "vcube",
            "ordering": "total",
            "desks": dice.one_of([servers, dice.between(1, servers)]),
            "block": dice.one_of([0, 1, max(1, topics // servers)]),
        },
        "nodes": {"count": servers + dice.between(1, 60)},
        "subscriptions": {
            "kind": "popular",
            "topics": topics,
            "each": min(topics, dice.one_of([1, 3, 5, 40])),
            "exponent": dice.one_of([0.0, 1.349, 1.901]),
            "clients": servers,
            "near": bool(dice.between(0, 1)),
        },
        "workload": {
            "kind": "requests",
            "interval": interval,
            "until": interval * dice.one_of([1, most // 4 + 1, most]),
            "patient": bool(dice.between(0, 1)),
        },
        "network": {
            "kind": "sites",
            "sites": [dice.between(0, 3) for _ in range(dice.between(1, 6))],
            "short": short,
            "short_spread": dice.one_of([0, short // 5]),
            "long": long,
            "long_spread": dice.one_of([0, long // 10]),
            "servers": dice.between(0, servers),
            "service": dice.one_of([0, 1, 30, 1000]),
        },
    }
    if dice.between(0, 2):
        raw["end"] = raw["workload"]["until"]
    scenario = from_mapping(raw)
    check(scenario)
    return scenario, dice.one_of([SHARED, SHARED, SHARED, ALONE])


def compare(scenario: Scenario, rule: str) -> tuple[str, int]:
    """How the compiled form differs, empty if it does not; and how many rows there are."""
    mine, (theirs, servers) = Sequencing(scenario, rule, kept=True), by_machines(scenario, rule)
    mine.run()
    ours = Run(scenario, mine.trace(), FAST, mine.events, 0.0, mine.quiet)
    if ours.trace.digest() != theirs.trace.digest():
        return first_difference(ours, theirs), len(theirs.trace)
    told = [(name, getattr(ours, name), getattr(theirs, name)) for name in ("events", "quiet")]
    one, other = stamped(scenario, rule, FAST), found_of(theirs, servers)
    told += [(name, getattr(one, name), getattr(other, name)) for name in Found._fields[:-1]]
    differ = [(name, a, b) for name, a, b in told if not np.array_equal(plain(a), plain(b))]
    return "; ".join(f"{name} {a}, reference {b}" for name, a, b in differ), len(theirs.trace)


def plain(value: Any) -> Any:
    """What packets were sent, with their order."""
    return list(map(str, value.items())) if isinstance(value, dict) else value
