"""Larger tables.

Source:   Vitis section IV-C, Figure 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, ratio
from trellis.experiments.vitis.setting import (
    BY_CHANCE,
    HIGH,
    NAMES,
    PATTERNS,
    RANDOM,
    RVR,
    SIZES,
    SMALLER,
    TABLE,
    USUAL,
    VITIS,
    delay,
    mean,
    on_spark,
    overhead,
    point,
    task,
)  # fmt: skip
from trellis.metrics.summary import Interval

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

LARGEST = 35
LARGER: dict[Scale, tuple[int, ...]] = {"quick": (LARGEST,), "paper": (20, 25, 30, LARGEST)}  # besides 15
LINES = [(VITIS, pattern) for pattern in PATTERNS] + [(RVR, RANDOM)]
RUN: dict[Scale, list[tuple[str, str]]] = {"quick": [(VITIS, RANDOM), (VITIS, HIGH), (RVR, RANDOM)], "paper": LINES}


def rows(shop: Workshop, scale: Scale) -> Rows:
    points = [point(SIZES[scale], *line, table=table) for line in RUN[scale] for table in LARGER[scale]]
    return on_spark(shop, map(task, points))


def by_size(rows: Rows, value: Callable[[Row], float | None]) -> list[Series]:
    series = []
    for color, (overlay, pattern) in enumerate(LINES):
        points = {size: mean(rows, value, overlay, pattern, table=size) for size in (TABLE, *LARGER["paper"])}
        name = f"Vitis, {pattern}" if overlay == VITIS else NAMES[overlay]
        found = {size: x for size, x in points.items() if x is not None}
        series.append(Series(name, found, False, 6 if overlay == RVR else color))
    return series


def charts(rows: Rows) -> list[Chart]:
    x = "entries of the table"
    return [
        Chart("6(a): traffic overhead", "lines", x, "% of what nodes receive", by_size(rows, overhead)),
        Chart("6(b): propagation delay", "lines", x, "hops", by_size(rows, delay)),
    ]


def gain(rows: Rows, value: Callable[[Row], float | None], overlay: str, pattern: str) -> Interval | None:
    return ratio(mean(rows, value, overlay, pattern, table=LARGEST), mean(rows, value, overlay, pattern))


def beside_rvr(rows: Rows, table: int) -> Interval | None:
    return ratio(mean(rows, delay, VITIS, table=table), mean(rows, delay, RVR, table=table))


EXPERIMENT = Experiment(
    id="fig6",
    title="Figure 6: size of the routing table",
    source="Vitis Fig. 6, section IV-C",
    about="k = 1, so every further entry of `vitis` is a friend, and every one of `rendezvous` a shortcut. The text "
    "says that both fall in both systems, and that Vitis with random subscriptions is faster than RVR above 30 "
    "entries: so it is not with 15." + SMALLER,
    grids=lambda scale: [],
    claims=[
        *(
            Claim(
                f"{NAMES[overlay]}, {pattern}: {name} with 35 entries over that with 15",
                1.0,
                lambda rows, value=value, overlay=overlay, pattern=pattern: gain(rows, value, overlay, pattern),  # type: ignore[misc]
                "x",
                "at most",
            )
            for overlay, pattern in RUN["quick"]
            for name, value in (("overhead", overhead), ("delay", delay))
        ),
        Claim(
            "random, 35 entries: delay of Vitis over that of RVR",
            1.0,
            lambda rows: beside_rvr(rows, LARGEST),
            "x",
            "at most",
        ),
        Claim(
            "random, 15 entries: the same",
            1.0,
            lambda rows: beside_rvr(rows, TABLE),
            "x",
            "at least",
            why=BY_CHANCE,
        ),
    ],
    charts=charts,
    tables=(USUAL, Table("sizes", rows)),
)
