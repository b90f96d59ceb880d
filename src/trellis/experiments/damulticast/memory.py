"""How many processes each process must know.

Source:   daMulticast sections 5.2 and 5.5.2: daMulticast beside broadcast (a), multicast (b) and hierarchical (c).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trellis.events import Standing
from trellis.experiments import tasks
from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.damulticast.setting import (
    BROADCAST,
    DA,
    HIERARCHICAL,
    MULTICAST,
    NAMES,
    OVERLAY,
    PAPER,
    ROOT,
    SIZES,
    STEEP,
    Sizes,
    exactly,
    levels,
    name_of,
    point,
)  # fmt: skip
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick, ratio, setting
from trellis.machine import Place
from trellis.metrics import epidemics
from trellis.metrics.summary import Interval
from trellis.protocols import LAYERED
from trellis.protocols.overlays.gossip import Gossiping
from trellis.scenario.path import LOWEST, members_of

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

OVERLAYS = (DA, BROADCAST, MULTICAST, HIERARCHICAL)
WHICH, DEPTH = "which", "depth"  # group of the process; topics on the path
PLACES = {LOWEST: "lowest", ROOT: "root"}
ALIKE = 100  # processes of each group, where all are alike
DEPTHS = (1, 2, 3, 5, 8, 12, 20)
ASKED = 40  # processes of a group that are asked; those of a small one all

Z_OF_ITS_OWN = (
    "z = 3 entries of the supertopic table are more than what the smaller group saves, ln(n / S), as long as there are "
    "fewer than 20 groups of that size: by the paper's own formulas"
)
FEW_GROUPS = "there are three groups, so a process knows two others of them, not ln(3) + 5 as the formula has it"
LOWEST_OF_B = "a process of the lowest group is in one group only in (b) as well, and has no supertopic table there"


def entries(overlay: str, sizes: Sizes, group: int) -> list[int]:
    """Of some processes of a group, by their own tables."""
    members = members_of(sizes)
    options = {"c": PAPER["c"], "groups": len(sizes)} if overlay == HIERARCHICAL else {"c": PAPER["c"]}
    found = []
    for me in list(members.values())[group][:ASKED]:
        node = LAYERED[overlay](Place(me, sum(sizes)), **(PAPER if overlay == DA else options))
        assert isinstance(node, Gossiping)
        for topic, nodes in members.items():
            node.step(0, Standing(topic, tuple(nodes)))
        found.append(node.entries())
    return found


def row_of(overlay: str, sizes: Sizes, group: int) -> Row:
    told = point(sizes, overlay) | {WHICH: PLACES[group], DEPTH: len(sizes), "name": name_of(sizes)}
    found = entries(overlay, sizes, group)
    return {"run": f"{overlay} {sizes} {group}", "settings": told, "sent": {}, "entries": found}


def rows(shop: Workshop, scale: Scale) -> Rows:
    """The same at both scales."""
    work = [
        (overlay, sizes, group)
        for sizes in (STEEP, *((ALIKE,) * depth for depth in DEPTHS))
        for overlay in OVERLAYS
        for group in PLACES
    ]
    return tasks.on_spark(shop, work, lambda each: [row_of(*each)], lambda each: sum(each[1]))


def formula(overlay: str, sizes: Sizes, group: int) -> float:
    """5.2 and 5.5.2; (b) for a process of the root group, which is in all groups below."""
    path = levels(sizes)
    if overlay == DA:
        return epidemics.memory(path[group], root=group == ROOT or len(sizes) == 1)
    if overlay == BROADCAST:
        return epidemics.broadcast_memory(sum(sizes), PAPER["c"])
    if overlay == HIERARCHICAL:
        return epidemics.hierarchical_memory(len(sizes), sum(sizes) / len(sizes), PAPER["c"], PAPER["c"])
    return epidemics.multicast_memory(path if group == ROOT else path[:1])


def mean(rows: Rows, overlay: str, sizes: Sequence[int], group: int) -> Interval | None:
    """Over the processes that were asked; their tables were drawn once."""
    found = pick(rows, {OVERLAY: overlay, SIZES: list(sizes), WHICH: PLACES[group]})
    return Interval(entries_of(found[0]), 0.0, None, 1) if found else None


def over(rows: Rows, overlay: str, sizes: Sizes, group: int) -> Interval | None:
    return ratio(mean(rows, DA, sizes, group), mean(rows, overlay, sizes, group))


def smaller(overlay: str, sizes: Sizes, group: int, why: str = "") -> Claim:
    return Claim(
        f"{name_of(sizes)}, a process of the {PLACES[group]} group: daMulticast over {NAMES[overlay]}",
        1.0,
        lambda rows: over(rows, overlay, sizes, group),
        "x",
        rule="at most",
        why=why,
    )


def charts(rows: Rows) -> list[Chart]:
    found = []
    for group, place in PLACES.items():
        series = []
        for number, overlay in enumerate(OVERLAYS):
            some = pick(rows, {OVERLAY: overlay, WHICH: place, "name": name_of(STEEP)})
            alike = [row for row in pick(rows, {OVERLAY: overlay, WHICH: place}) if row not in some]
            means = {depth: average(pick(alike, {DEPTH: depth}), entries_of) for depth in setting(alike, DEPTH)}
            points = {depth: value for depth, value in means.items() if value is not None}
            computed = {depth: exactly(formula(overlay, (ALIKE,) * depth, group)) for depth in points}
            series += [
                Series(NAMES[overlay], points, False, 2 * number),
                Series(f"{NAMES[overlay]}, formula", computed, False, 2 * number + 1),
            ]
        title = f"A process of the {place} group; 100 in each"
        note = "Formulas of (b) count the subscribers of each topic alone; ours are those of the topics above, too."
        found.append(
            Chart(title, "lines", "topics on the path", "entries", series, log_x=True, log_y=group == ROOT, note=note)
        )
    return found


def entries_of(row: Row) -> float:
    return float(sum(row["entries"]) / len(row["entries"]))


EXPERIMENT = Experiment(
    id="memory",
    title="Memory: entries of a process",
    source="daMulticast sections 5.2 and 5.5.2",
    about="The tables of real processes, 40 of a group or all of it, counted as they were drawn; c = 5, z = 3. The "
    "paper says that a process of daMulticast always needs less than in the three other approaches. (b) is "
    "`gossip-multicast`: a process is in the groups of all topics below its own. (c) has as many groups as "
    "there are topics.",
    grids=lambda scale: [],
    claims=[
        *(smaller(BROADCAST, sizes, LOWEST, Z_OF_ITS_OWN) for sizes in (STEEP, (ALIKE,) * 20)),
        smaller(BROADCAST, STEEP, ROOT),
        smaller(MULTICAST, STEEP, LOWEST, LOWEST_OF_B),
        smaller(MULTICAST, STEEP, ROOT),
        smaller(HIERARCHICAL, STEEP, LOWEST, FEW_GROUPS),
        smaller(HIERARCHICAL, STEEP, ROOT),
        smaller(HIERARCHICAL, (ALIKE,) * 20, LOWEST),
    ],
    charts=charts,
    tables=(Table("memory", rows),),
)
