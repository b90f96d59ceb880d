"""Parasites: packets with an event that reach somebody who does not want it.

Source:   daMulticast section 6.2, Table 2: an event of the root topic, which only the root group wants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series, published
from trellis.experiments.claim import Claim
from trellis.experiments.damulticast.setting import (
    BROADCAST,
    DA,
    DEEP,
    HIERARCHICAL,
    MULTICAST,
    NAMES,
    PAPER,
    ROOT,
    SHALLOW,
    STEEP,
    SUCCESS,
    TOPOLOGIES,
    Sizes,
    chosen,
    exactly,
    name_of,
    on_spark,
    point,
)  # fmt: skip
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Rows, average
from trellis.metrics.epidemics import broadcast_parasites
from trellis.metrics.summary import Interval

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

PUBLISHED: dict[Sizes, float] = {STEEP: 11_216, SHALLOW: 1_699, DEEP: 3_739}
PMCAST: dict[Sizes, float] = {STEEP: 453, SHALLOW: 369, DEEP: 615}
WITHIN = 0.1
OVERLAYS = (DA, MULTICAST, BROADCAST, HIERARCHICAL)


def rows(shop: Workshop, scale: Scale) -> Rows:
    runs = 200 if scale == "paper" else 12
    return on_spark(shop, [(point(sizes, overlay, group=ROOT), runs) for sizes in TOPOLOGIES for overlay in OVERLAYS])


TABLE = Table("parasites", rows)


def mean(rows: Rows, sizes: Sizes, overlay: str) -> Interval | None:
    return average(chosen(rows, sizes, overlay, group=ROOT), lambda row: row["parasites"])


def claim(overlay: str, sizes: Sizes, figure: float) -> Claim:
    says = f"{NAMES[overlay]}, {name_of(sizes)}: parasites of an event of the root topic"
    return Claim(says, figure, lambda rows: mean(rows, sizes, overlay), within=WITHIN)


def charts(rows: Rows) -> list[Chart]:
    def named(points: dict[Sizes, float]) -> dict[str, float]:
        return {name_of(sizes): figure for sizes, figure in points.items()}

    series = []
    for color, overlay in zip((0, 1, 2, 4), OVERLAYS, strict=True):
        means = {name_of(sizes): mean(rows, sizes, overlay) for sizes in TOPOLOGIES}
        series.append(
            Series(NAMES[overlay], {at: found for at, found in means.items() if found is not None}, False, color)
        )
    formula = {
        name_of(sizes): exactly(broadcast_parasites(sum(sizes), sizes[ROOT], PAPER["c"], SUCCESS))
        for sizes in TOPOLOGIES
    }
    series += [
        published(NAMES[BROADCAST], named(PUBLISHED), 2),
        Series("broadcast, formula", formula, False, 3),
        published("PMcast", named(PMCAST), 6),
    ]
    x = "processes from the lowest group to the root"
    note = "PMcast: as published only. daMulticast and multicast have none in any run."
    return [Chart("Parasites of an event", "bars", x, "packets received in vain", series, note=note)]


EXPERIMENT = Experiment(
    id="table2",
    title="Table 2: parasite messages",
    source="daMulticast Table 2, section 6.2",
    about="One event of the root topic, 85% of the packets arrive. A parasite is a packet with the event that reaches "
    "a process that did not subscribe to the root; each one counts. Multicast and hierarchical are not in the paper's "
    "table. Held is within 10% for broadcast; of daMulticast there may be none at all.",
    grids=lambda scale: [],
    claims=[
        *(claim(DA, sizes, 0.0) for sizes in TOPOLOGIES),
        *(claim(BROADCAST, sizes, figure) for sizes, figure in PUBLISHED.items()),
    ],
    charts=charts,
    tables=(TABLE,),
)
