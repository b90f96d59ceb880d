"""What the experiments of Vitis share: the setting of section IV-A, a run of it, and what is kept of the run.

Source:   Vitis section IV: 10,000 nodes with 50 of 5,000 topics each, in rounds; Vitis, RVR and OPT over the same peer
          sampling and T-Man. The overlay grows, then events are published, then what is under way arrives.
Promises: a row depends on its settings, its seed and what was brought for it alone.
Departs:  the paper says neither how long it lets the overlay grow nor how many events it publishes: `Size` does. It
          grows until few links change, and former ways do not count any more for those that did at the beginning.
          The publisher of an event is no subscriber that has to be reached; here it is always one that has it.

**k.** Section IV-A has k = 3 "unless otherwise mentioned", the end of IV-B one shortcut "in the rest of our
experiments". All but Figure 4 are after that, so k = 1 here; in Figure 4 it is what the friends leave.

**Links.** A node's table has 15 entries that it chose, as in the paper. Ours answers whoever chose it, and events go
both ways, so it has up to as many links again (docs/protocols/vitis.md). They are counted when a run is over, in the
machines or in the memory of the compiled engine: a trace without upkeep does not show them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from trellis.experiments import tasks
from trellis.experiments.experiment import Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick
from trellis.machine import Machine
from trellis.metrics.hits import hits
from trellis.metrics.relaying import relaying
from trellis.metrics.summary import Interval
from trellis.metrics.timeline import timeline
from trellis.metrics.traffic import sent
from trellis.protocols.overlays.vine import Vine
from trellis.protocols.stack import Stack
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.scenario.plan import plan
from trellis.sim import FAST, REFERENCE, host_of, is_for_the_compiled
from trellis.trace.table import Trace

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

VITIS, RVR, OPT = "vitis", "rendezvous", "topic-overlay"
NAMES = {VITIS: "Vitis", RVR: "RVR", OPT: "OPT"}
RANDOM, LOW, HIGH = "random", "low correlation", "high correlation"
PATTERNS = {RANDOM: 0, LOW: 5, HIGH: 2}  # buckets of a node; 0: from all topics

TABLE = 15
RING = 2  # links to the predecessor and the successor
OVERLAY, SIZE, SHORTCUTS, PATTERN, ALPHA, REPAIR, NODES = "overlay", "table", "k", "pattern", "alpha", "repair", "nodes"
OPTIONS = {VITIS: (SHORTCUTS, "d", SIZE, REPAIR), RVR: (SIZE, REPAIR), OPT: ("cover", SIZE, REPAIR)}
MACHINE = (OVERLAY, SHORTCUTS, "d", SIZE, "cover", REPAIR)  # what two points may differ in and share their luck

GRACE = "grace"  # rounds from when a node came up until it counts

BINS = 20  # of overheads of nodes, after one for none at all


class Size(NamedTuple):
    """How much a scale runs."""

    nodes: int
    topics: int
    each: int
    buckets: int
    grow: int  # rounds before the first event
    events: int
    per: int  # in each round
    drain: int  # rounds after the last one


SIZES: dict[Scale, Size] = {
    "quick": Size(1000, 500, 50, 10, 120, 200, 40, 48),
    "paper": Size(10_000, 5000, 50, 100, 200, 1000, 200, 60),
}

SMALLER = (
    " At `quick` there are 1,000 nodes, 500 topics and 10 buckets: as many subscribers of a topic and nodes of a bucket"
    " as in the paper, but two nodes have ten times as many topics in common, and a route is shorter."
)

BY_CHANCE = (
    "at quick one in ten of any nodes takes a topic, in the paper one in a hundred: of some 20 links, two lead to "
    "others of a topic by chance, so Vitis without friends has half the overhead of RVR already; and RVR's routes are "
    "shorter. With 10,000 nodes and random subscriptions a node's twelve best friends share four of its 50 topics, so "
    "the hundred nodes of a topic fall into some 44 clusters, each with a relay path of its own over few shortcuts"
)


def rounds(size: Size) -> int:
    """In which events are published."""
    return math.ceil(size.events / size.per)


def machine(overlay: str, table: int = TABLE, k: int = 1, repair: int = 0) -> Row:
    """An overlay with all its options that matter here; `repair` = 0 is the printed form."""
    known = {SHORTCUTS: k, "d": 5, SIZE: table, "cover": 3, REPAIR: repair}
    return {OVERLAY: overlay} | {name: known[name] for name in OPTIONS[overlay]}


def point(size: Size, overlay: str, pattern: str = RANDOM, alpha: float = 0.0, **options: int) -> Row:
    """The settings of a run, all of them."""
    return machine(overlay, **options) | {PATTERN: pattern, ALPHA: alpha} | size._asdict()


def buckets(told: Row) -> dict[str, Any]:
    names = ("topics", "each", "buckets")
    return {"kind": "buckets", "of": PATTERNS[told[PATTERN]]} | {name: told[name] for name in names}


def world(told: Row, seed: int, more: Mapping[str, Any]) -> Scenario:
    """The scenario of a point; `more` are sections that were read from data."""
    raw: dict[str, Any] = {
        "name": f"{told[OVERLAY]}, section IV of Vitis",
        "seed": seed,
        "stack": {
            "overlay": told[OVERLAY],
            "ordering": "unordered",
            **{name: told[name] for name in OPTIONS[told[OVERLAY]]},
        },
        "nodes": {"count": told[NODES]},
        "workload": {
            "kind": "rated",
            "messages": told["events"],
            "begin": told["grow"],
            "per": told["per"],
            "alpha": told[ALPHA],
        },
        "network": {"kind": "cycles", "upkeep": False},
        "end": told["grow"] + math.ceil(told["events"] / told["per"]) + told["drain"],
        **more,
    }
    if "subscriptions" not in raw:
        raw["subscriptions"] = buckets(told)
    scenario = from_mapping(raw)
    check(scenario)
    return scenario


class Task(NamedTuple):
    """A run to be made."""

    point: Row
    seed: int
    more: Mapping[str, Any] = {}


def task(told: Row, number: int = 0, more: Mapping[str, Any] | None = None) -> Task:
    content = {key: value for key, value in told.items() if key not in MACHINE}
    return Task(told, tasks.seed_of(content, number), more or {})


def measured(asked: Task) -> Row:
    """Run one point, and keep what its trace says, and how many links its nodes had in the end."""
    scenario = world(*asked)
    engine, trace, degrees = ran(scenario)
    found, promised = relaying(trace), hits(trace)
    fates = over_time(timeline(trace, asked.point.get(GRACE, 0), asked.point["drain"]))
    return {
        "run": scenario.fingerprint(),
        "settings": asked.point | {"seed": asked.seed},
        "sent": sent(trace),
        "owed": sum(fate[1] for fate in fates),
        "made": sum(fate[2] for fate in fates),
        "promised": promised.owed,
        "kept": promised.made,
        "overhead": found.overhead,
        "delay": found.delay,
        "shares": binned(found.shares()),
        "links": [[count, nodes] for count, nodes in sorted(Counter(degrees).items())],  # how many have so many
        "fates": fates if GRACE in asked.point else [],
        "engine": engine,
    }


def ran(scenario: Scenario) -> tuple[str, Trace, list[int]]:
    """On which engine, what happened, and how many neighbours each node had in the end. Both say the same."""
    if is_for_the_compiled(scenario):
        from trellis.sim.fast.vine.running import Vines

        vines = Vines(scenario, plan(scenario))
        vines.run()
        return FAST, vines.trace(), vines.degrees()
    host = host_of(scenario)(scenario)
    return REFERENCE, host.run(), [degree(machine) for machine in host.machines]


def degree(machine: Machine) -> int:
    assert isinstance(machine, Stack)
    assert isinstance(machine.overlay, Vine)
    return len(machine.overlay.neighbours.known)


def binned(shares: Iterable[float]) -> list[int]:
    """Nodes by the share of what they receive in vain: none, up to 5%, up to 10%, ..., up to 100%."""
    counts = [0] * (BINS + 1)
    for share in shares:
        counts[math.ceil(BINS * share - 1e-9)] += 1
    return counts


def over_time(fates: Iterable[Iterable[int]]) -> list[list[int]]:
    """Messages of one round together: when, then sums."""
    found: dict[int, list[int]] = {}
    for at, *sums in fates:
        found[at] = [a + b for a, b in zip(found.get(at, [0] * len(sums)), sums, strict=True)]
    return [[at, *sums] for at, sums in sorted(found.items())]


def on_spark(shop: Workshop, work: Iterable[Task]) -> Rows:
    return tasks.on_spark(shop, list(work), lambda each: [measured(each)], cost)


def usual(shop: Workshop, scale: Scale) -> Rows:
    """Vitis with every pattern and RVR, with a table of 15: what most figures have beside their own runs."""
    size = SIZES[scale]
    return on_spark(shop, map(task, [*(point(size, VITIS, pattern) for pattern in PATTERNS), point(size, RVR)]))


USUAL = Table("usual", usual)


def cost(asked: Task) -> float:
    """Without a bound there are many links."""
    told = asked.point
    return float(told[NODES] * (told[SIZE] or 100) * (told["grow"] + told["drain"]))


# What a row says


def hit(row: Row) -> float | None:
    """In percent."""
    return 100.0 * row["made"] / row["owed"] if row["owed"] else None


def overhead(row: Row) -> float | None:
    """In percent of all messages that nodes receive."""
    return None if row["overhead"] is None else 100.0 * row["overhead"]


def delay(row: Row) -> float | None:
    found: float | None = row["delay"]
    return found


def share_of_nodes(row: Row, above: int, upto: int = BINS) -> float | None:
    """Percent of the nodes whose overhead is in these bins of 5%: above the first, up to the last."""
    total = sum(row["shares"])
    return 100.0 * sum(row["shares"][above + 1 : upto + 1]) / total if total else None


def links_above(row: Row, many: int) -> float:
    """Percent of the nodes with more links."""
    total = sum(nodes for _, nodes in row["links"])
    return 100.0 * float(sum(nodes for count, nodes in row["links"] if count > many) / total)


def links_most(row: Row) -> float:
    return float(max(count for count, _ in row["links"]))


# Which rows


def of(rows: Rows, overlay: str, **wanted: Any) -> Rows:
    return pick(rows, {OVERLAY: overlay, **wanted})


def fixed(overlay: str, pattern: str = RANDOM, alpha: float = 0.0, **options: int) -> dict[str, Any]:
    """What decides which line a run belongs to."""
    return machine(overlay, **options) | {PATTERN: pattern, ALPHA: alpha}


def mean(
    rows: Rows, value: Callable[[Row], float | None], overlay: str, *about: Any, **options: Any
) -> Interval | None:
    return average(pick(rows, fixed(overlay, *about, **options)), value)


def worst(rows: Rows, value: Callable[[Row], float | None], smallest: bool = True) -> Interval | None:
    """Over all runs."""
    found = [measured for row in rows if (measured := value(row)) is not None]
    return Interval((min if smallest else max)(found), 0.0, None, len(found)) if found else None


def below(ours: Interval | None, theirs: Interval | None) -> Interval | None:
    """By how many percent the first is below the second."""
    if ours is None or theirs is None or not theirs.mean:
        return None
    return Interval(100.0 * (1 - ours.mean / theirs.mean), 0.0, None, min(ours.count, theirs.count))
