"""Some topics hotter than others.

Source:   Vitis section IV-D, Figure 7.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, ratio
from trellis.experiments.vitis.setting import (
    HIGH,
    LOW,
    NAMES,
    RANDOM,
    RVR,
    SIZES,
    SMALLER,
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

EVEN, SKEWED = 0.3, 3.0
ALPHAS = (EVEN, 0.5, 1.0, 1.5, 2.0, SKEWED)
LINES = [(VITIS, RANDOM), (VITIS, LOW), (VITIS, HIGH), (RVR, RANDOM)]
QUICK = {(VITIS, RANDOM): (EVEN, SKEWED), (VITIS, HIGH): (EVEN, SKEWED), (RVR, RANDOM): (SKEWED,)}


def rows(shop: Workshop, scale: Scale) -> Rows:
    asked = QUICK if scale == "quick" else dict.fromkeys(LINES, ALPHAS)
    points = [point(SIZES[scale], *line, alpha) for line, alphas in asked.items() for alpha in alphas]
    return on_spark(shop, map(task, points))


def by_alpha(rows: Rows, value: Callable[[Row], float | None]) -> list[Series]:
    series = []
    for color, (overlay, pattern) in enumerate(LINES):
        points = {alpha: mean(rows, value, overlay, pattern, alpha) for alpha in ALPHAS}
        name = f"Vitis, {pattern}" if overlay == VITIS else NAMES[overlay]
        found = {alpha: x for alpha, x in points.items() if x is not None}
        series.append(Series(name, found, False, 6 if overlay == RVR else color))
    return series


def charts(rows: Rows) -> list[Chart]:
    x = "alpha: 0.3 is nearly even, 3 nearly one topic"
    return [
        Chart("7(a): traffic overhead", "lines", x, "% of what nodes receive", by_alpha(rows, overhead), log_x=True),
        Chart("7(b): propagation delay", "lines", x, "hops", by_alpha(rows, delay), log_x=True),
    ]


def skewing(rows: Rows, value: Callable[[Row], float | None]) -> Interval | None:
    return ratio(mean(rows, value, VITIS, RANDOM, SKEWED), mean(rows, value, VITIS, RANDOM, EVEN))


def apart(rows: Rows, value: Callable[[Row], float | None], alpha: float) -> Interval | None:
    """How far random subscriptions are from highly correlated ones."""
    some, more = mean(rows, value, VITIS, RANDOM, alpha), mean(rows, value, VITIS, HIGH, alpha)
    return None if some is None or more is None else Interval(abs(some.mean - more.mean), 0.0, None, some.count)


EXPERIMENT = Experiment(
    id="fig7",
    title="Figure 7: publication rates",
    source="Vitis Fig. 7, section IV-D",
    about="An event is on the topic of rank r with a chance in proportion to r to the power of -alpha; which topic has "
    "which rank is drawn. Nodes know the rates (formula 1)." + SMALLER,
    grids=lambda scale: [],
    claims=[
        *(
            Claim(
                f"random: {name} at alpha 3 over that at 0.3",
                1.0,
                lambda rows, value=value: skewing(rows, value),  # type: ignore[misc]
                "x",
                "at most",
            )
            for name, value in (("overhead", overhead), ("delay", delay))
        ),
        *(
            Claim(
                f"{name}: distance of random to high correlation, at alpha 3 over that at 0.3",
                1.0,
                lambda rows, value=value: ratio(apart(rows, value, SKEWED), apart(rows, value, EVEN)),  # type: ignore[misc]
                "x",
                "at most",
                why="at quick the two are a third of a hop apart at either alpha, in a single run each",
            )
            for name, value in (("overhead", overhead), ("delay", delay))
        ),
    ],
    charts=charts,
    tables=(Table("rates", rows),),
)
