"""What the experiments of daMulticast share: the setting of section 6.1, a run of it, and what is kept of the run.

Source:   daMulticast section 6.1: one event in synchronous rounds, channels that bring 85% of all packets, tables drawn
          before the run. The first size is that of the group in which the event is published, the last one the root's.
Promises: a row depends on its settings and its seed alone.

**Rounds.** An event is published in round 0; what is sent in one round arrives in the next. Section 5.4 counts the
rounds until the whole system is infected, so a run takes as many as pass until the last process that ever gets the
event has it. Runs in which the root group gets nothing have no such number (the paper's footnote 12).

**Failing.** A stillborn process is dead from the beginning and stays in the tables of others (Figure 4). A process that
appears to be crashed to some and alive to others (Figure 5) is a packet that does not arrive, drawn for each one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trellis.experiments import tasks
from trellis.experiments.rows import Row, Rows
from trellis.metrics.epidemics import Level
from trellis.metrics.reach import NEVER, parasites, reach
from trellis.metrics.summary import Interval
from trellis.metrics.traffic import sent
from trellis.scenario.path import LOWEST, one_event, topics_of
from trellis.sim import run

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

Sizes = tuple[int, ...]

DA, BROADCAST, MULTICAST, HIERARCHICAL = (
    "damulticast-printed", "gossip-broadcast", "gossip-multicast", "gossip-hierarchical",
)  # fmt: skip
REPAIRED = "damulticast"  # acts in rounds for ever: a run of it has an end
END = 40
NAMES = {DA: "daMulticast", BROADCAST: "broadcast (a)", MULTICAST: "multicast (b)", HIERARCHICAL: "hierarchical (c)"}
PAPER: dict[str, int] = {"c": 5, "g": 5, "a": 1, "z": 3}
SUCCESS = 0.85  # that a packet arrives

STEEP: Sizes = (1000, 100, 10)
SHALLOW: Sizes = (100, 100, 100)
DEEP: Sizes = (100, 100, 100, 100, 100)
TOPOLOGIES = (STEEP, SHALLOW, DEEP)
GROUPS = ("T2", "T1", "T0")  # of the first two

OVERLAY, SIZES, STILLBORN, APPEARING, GROUP = "overlay", "sizes", "stillborn", "appearing", "group"
ROOT = -1


def name_of(sizes: Sizes) -> str:
    return f"{sizes[0]} x {len(sizes)}" if len(set(sizes)) == 1 else ", ".join(map(str, sizes))


def point(
    sizes: Sizes, overlay: str = DA, stillborn: float = 0.0, appearing: float = 0.0, group: int = LOWEST, **options: int
) -> Row:
    """The settings of a run, all of them."""
    known = PAPER if overlay in (DA, REPAIRED) else {"c": PAPER["c"]}
    told = {SIZES: list(sizes), OVERLAY: overlay, STILLBORN: stillborn, APPEARING: appearing, GROUP: group}
    return told | known | options


def options_of(point: Row) -> dict[str, int]:
    return {name: point[name] for name in PAPER if name in point}


def levels(sizes: Sizes, success: float = SUCCESS, **options: Any) -> list[Level]:
    """The same for the formulas."""
    return [Level(size, success=success, **{**PAPER, **options}) for size in sizes]


def measured(point: Row, seed: int) -> Row:
    """Run one point, and keep what its trace says of each group."""
    sizes = point[SIZES]
    loss = 1.0 - SUCCESS * (1.0 - point[APPEARING])
    stack = {"overlay": point[OVERLAY], **options_of(point)}
    end = END if point[OVERLAY] == REPAIRED else None
    scenario = one_event(sizes, seed, stack, loss, point[STILLBORN], point[GROUP], end)
    trace = run(scenario).trace
    by_group = {found.group: found for found in reach(trace)}
    groups = []
    for topic, size in zip(topics_of(len(sizes)), sizes, strict=True):
        found = by_group.get(topic)
        living, got, first, last = found[2:] if found else (0, 0, NEVER, NEVER)  # nobody lives, or nobody wants it
        groups.append({"size": size, "living": living, "reached": got, "first": first, "last": last})
    arrivals = trace.of_kind("receive").numbers("at")
    return {
        "run": scenario.fingerprint(),
        "settings": point | {"seed": seed},
        "sent": sent(trace),
        "groups": groups,
        "silence": int(arrivals.max(initial=0)),
        "parasites": parasites(trace),
    }


def seed_of(point: Row, number: int) -> int:
    """Stacks are compared under the same luck, other points each have their own."""
    return tasks.seed_of({key: value for key, value in point.items() if key not in (OVERLAY, *PAPER)}, number)


def on_spark(shop: Workshop, asked: Iterable[tuple[Row, int]]) -> Rows:
    """Every point as often as it is asked for."""
    work = [(point, seed_of(point, number)) for point, runs in asked for number in range(runs)]
    return tasks.on_spark(shop, work, lambda each: [measured(*each)], lambda each: sum(each[0][SIZES]))


# What a row says


def got_to_root(row: Row) -> bool:
    return bool(row["groups"][ROOT]["reached"])


def rounds(row: Row) -> float | None:
    """Until the last process that ever gets the event has it."""
    return max(group["last"] for group in row["groups"]) if got_to_root(row) else None


def root_first(row: Row) -> float | None:
    """Until the root group gets it at all."""
    return row["groups"][ROOT]["first"] if got_to_root(row) else None


def silence(row: Row) -> float | None:
    """Until no packet is on its way any more."""
    return row["silence"] if got_to_root(row) else None


def of_all(row: Row, group: int) -> float:
    """The share of a group that gets the event, dead ones counted."""
    here = row["groups"][group]
    return float(here["reached"] / here["size"])


def of_living(row: Row, group: int) -> float | None:
    here = row["groups"][group]
    return here["reached"] / here["living"] if here["living"] else None


def is_whole(row: Row, group: int) -> float | None:
    """1 if all living processes of a group get it."""
    here = row["groups"][group]
    return float(here["reached"] == here["living"]) if here["living"] else None


def everybody(row: Row) -> float:
    """1 if all living processes of all groups get it."""
    return float(all(here["reached"] == here["living"] for here in row["groups"]))


def packets(row: Row) -> float:
    return float(sum(row["sent"].values()))


def exactly(value: float) -> Interval:
    """What a formula says: no runs, no spread."""
    return Interval(value, 0.0, None, 0)


def chosen(rows: Rows, sizes: Sizes, overlay: str = DA, **more: Any) -> Rows:
    """The runs at just this point; what is not told is as in section 6.1."""
    wanted = point(sizes, overlay, **more)
    return [row for row in rows if {**row["settings"], "seed": 0} == {**wanted, "seed": 0}]
