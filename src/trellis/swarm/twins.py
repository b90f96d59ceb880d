"""Random scenarios for the compiled engine: both engines run each, and every row and every measure is compared.

Promises: a run is made on both engines with its trace and on the compiled one without: the measures are the same three
          times. One seed is one scenario; a difference comes with the first row that is not the same, and the command
          that runs it again. Half of the scenarios are the swarm's own schedules of joins and leaves, the others what
          the papers' experiments are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from trellis import draw
from trellis.errors import UnsupportedByEngine
from trellis.metrics.measures import measures
from trellis.protocols import FIXED
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Random, Scenario
from trellis.sim import FAST, REFERENCE, Run, run
from trellis.sim.fast import TWINS, covers
from trellis.swarm.dice import Dice
from trellis.swarm.gossips import gossips, repaired
from trellis.swarm.schedule import schedule
from trellis.swarm.twins_in_rounds import in_rounds
from trellis.trace.rows import COLUMNS


class Difference(NamedTuple):
    seed: int
    says: str
    replay: str


class Comparison:
    """Scenarios tried so far, and those in which the engines differ."""

    def __init__(self, compared: Callable[[int], tuple[str, int] | None], options: str) -> None:
        self.compared = compared  # of a seed: what differs, empty if nothing does, and how many rows; None if refused
        self.options = options  # of `trellis twins`
        self.scenarios = self.rows = 0
        self.refused = 0  # by the compiled engine, on the way
        self.differences: list[Difference] = []

    def go(self, seed: int, count: int, progress: Callable[[int], None] = lambda _: None) -> None:
        for one in range(seed, seed + count):
            self.scenarios += 1
            found = self.compared(one)
            self.refused += found is None
            says, rows = found or ("", 0)
            self.rows += rows
            if says:
                replay = f"trellis twins {self.options} --scenarios 1 --seed {one}"
                self.differences.append(Difference(one, says, replay))
            progress(one - seed + 1)


def of_stack(overlay: str, ordering: str) -> Comparison:
    def compared(seed: int) -> tuple[str, int] | None:
        scenario = scenario_of(seed, overlay, ordering)
        covers(scenario)  # or we make what has no twin
        try:
            return compare(scenario)
        except UnsupportedByEngine:  # seen on the way
            return None

    return Comparison(compared, f"--overlay {overlay} --ordering {ordering}")


def scenario_of(seed: int, overlay: str, ordering: str) -> Scenario:
    """Any number of nodes from 1 on; every kind of load and network that both engines know."""
    dice = Dice(seed, draw.TWINS)
    if overlay in FIXED:
        return gossips(dice, overlay)
    if overlay == "damulticast":
        return repaired(dice, overlay)
    if TWINS[overlay].for_ever:
        return in_rounds(dice, overlay)
    found = schedule(seed, overlay, ordering) if dice.between(0, 1) else experiment(dice, overlay, ordering)
    if overlay == "brokers":  # few of them, too: else nearly every node is one
        stack = msgspec.structs.replace(found.stack, brokers=dice.one_of([1, 2, 5, 32]))
        return msgspec.structs.replace(found, stack=stack)
    if overlay == "vcube":  # small windows and waves, too: else nothing ever waits for them
        window, batch = dice.one_of([None, 1, 2, 5]), dice.one_of([None, 1, 2, 5])
        stack = msgspec.structs.replace(found.stack, window=window, batch=batch)
        return overtaken(dice, msgspec.structs.replace(found, stack=stack))
    return found


def overtaken(dice: Dice, scenario: Scenario) -> Scenario:
    """The same, at times with packets that overtake each other."""
    network = scenario.network
    if isinstance(network, Random) and dice.between(0, 1):
        return msgspec.structs.replace(scenario, network=msgspec.structs.replace(network, fifo=False))
    return scenario


def experiment(dice: Dice, overlay: str, ordering: str) -> Scenario:
    nodes = dice.between(1, 40)
    subscriptions, several, churns = subscribed(dice, nodes)
    raw: dict[str, Any] = {
        "name": f"twins-{dice.seed}",
        "seed": dice.seed,
        "stack": {"overlay": overlay, "ordering": ordering},
        "nodes": {"count": nodes},
        "subscriptions": subscriptions,
        "workload": said(dice, several, churns, subscriptions.get("fraction", 1.0)),
        "network": network(dice),
    }
    if churns or dice.between(0, 3) == 0:
        raw["end"] = dice.one_of([500, 2000, 5000])
    scenario = from_mapping(raw)
    check(scenario)
    return scenario


def subscribed(dice: Dice, nodes: int) -> tuple[dict[str, Any], bool, bool]:
    """Who subscribes; whether to several topics; whether they come and go."""
    announce = dice.between(0, 2) == 0
    what = dice.one_of(["fraction", "fraction", "sessions"])
    if what == "sessions" and nodes > 3:
        span = dice.one_of([100, 1000])
        return {"kind": what, "subscribers": dice.between(2, nodes - 1), "session": span}, False, True
    topics = dice.one_of([1, 1, 2, 5])
    share = dice.one_of([0.25, 0.5, 1.0]) if nodes > 4 else 1.0
    return {"kind": "fraction", "fraction": share, "topics": topics, "announce": announce}, topics > 1, announce


def said(dice: Dice, several: bool, churns: bool, share: float) -> dict[str, Any]:
    if several:
        law = dice.one_of(["uniform", "zipf"])
        return {"kind": "topics", "messages": dice.between(1, 60), "interval": dice.one_of([10, 300]), "law": law}
    if churns or dice.between(0, 2) == 0:
        return {"kind": "periodic", "interval": dice.one_of([7, 50]), "messages": dice.between(1, 40)}
    what = dice.one_of(["once-each", "replies", "at-once"])
    if what == "once-each":
        return {"kind": what, "publishers": share * dice.one_of([0.1, 0.5, 1.0]), "window": dice.one_of([0, 10, 1000])}
    if what == "at-once":
        return {"kind": what, "messages": dice.between(1, 12), "at": dice.between(0, 100)}
    return {"kind": what, "openers": 1, "think": dice.one_of([0, 10, 500])}


def network(dice: Dice) -> dict[str, Any]:
    service = dice.one_of([0, 1, 1, 3])
    if dice.between(0, 1):
        return {"kind": "queue", "service": service, "propagation": dice.one_of([1, 10, 100])}
    return {"kind": "random", "low": 1, "high": dice.one_of([1, 30, 400]), "service": service, "fifo": True}


def compare(scenario: Scenario) -> tuple[str, int]:
    """How the compiled engine differs, empty if it does not; and how many rows there are."""
    mine, theirs = run(scenario, FAST), run(scenario, REFERENCE)
    if mine.trace.digest() != theirs.trace.digest():
        return first_difference(mine, theirs), len(theirs.trace)
    return unlike(scenario, mine, theirs), len(theirs.trace)


def unlike(scenario: Scenario, mine: Run, theirs: Run) -> str:
    """Measures that are not the same; those without a trace leave the digest open."""
    wanted = measures(theirs, judged=False)
    without = run(scenario, FAST, trace=False)
    for name, found, other in (
        ("compiled", measures(mine, judged=False), wanted),
        ("compiled without a trace", measures(without), msgspec.structs.replace(wanted, digest=None)),
    ):
        told = [(field, getattr(found, field), getattr(other, field)) for field in found.__struct_fields__]
        if found != other:
            return f"{name}: " + "; ".join(f"{field} {a}, reference {b}" for field, a, b in told if a != b)
    return ""


def first_difference(mine: Run, theirs: Run) -> str:
    for a, b in zip(mine.trace.rows(), theirs.trace.rows(), strict=False):
        if a != b:
            cells = [f"{c.name} {getattr(a, c.name)!r} / {getattr(b, c.name)!r}" for c in COLUMNS]
            changed = [cell for cell, c in zip(cells, COLUMNS, strict=True) if getattr(a, c.name) != getattr(b, c.name)]
            return f"row {a.position}, compiled / reference: {', '.join(changed)}; the reference has {b}"
    return f"{len(mine.trace)} rows, reference {len(theirs.trace)}; as far as both go they agree"
