"""Friends against shortcuts: what a table of 15 links is best used for.

Source:   Vitis section IV-B, Figure 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Rows, ratio
from trellis.experiments.vitis.setting import (
    BY_CHANCE,
    HIGH,
    LOW,
    PATTERNS,
    RANDOM,
    RING,
    RVR,
    SIZES,
    SMALLER,
    TABLE,
    USUAL,
    VITIS,
    below,
    delay,
    hit,
    mean,
    of,
    on_spark,
    overhead,
    point,
    task,
    worst,
)  # fmt: skip
from trellis.metrics.summary import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from trellis.experiments.rows import Row
    from trellis.experiments.tasks import Workshop

FREE = TABLE - RING  # links that may be friends or shortcuts
MOST = FREE - 1  # friends, with k = 1 as in all later experiments
ALL = (0, 3, 6, 9, FREE)  # besides MOST
QUICK = {RANDOM: (0, 6), LOW: (0,), HIGH: (0, 6)}


def rows(shop: Workshop, scale: Scale) -> Rows:
    size, asked = SIZES[scale], QUICK if scale == "quick" else dict.fromkeys(PATTERNS, ALL)
    points = [point(size, VITIS, pattern, k=FREE - friends) for pattern, some in asked.items() for friends in some]
    return on_spark(shop, map(task, points))


def by_friends(rows: Rows, value: Callable[[Row], float | None]) -> list[Series]:
    series = []
    for color, pattern in enumerate(PATTERNS):
        points = {n: mean(rows, value, VITIS, pattern, k=FREE - n) for n in range(FREE + 1)}
        series.append(Series(f"Vitis, {pattern}", {n: x for n, x in points.items() if x is not None}, False, color))
    flat = mean(rows, value, RVR)
    xs = sorted({n for one in series for n in one.points})
    return [*series, Series("RVR", dict.fromkeys(xs, flat) if flat is not None else {}, False, 6)]


def charts(rows: Rows) -> list[Chart]:
    x = f"friends among {FREE} links"
    return [
        Chart("4(a): traffic overhead", "lines", x, "% of what nodes receive", by_friends(rows, overhead)),
        Chart("4(b): propagation delay", "lines", x, "hops", by_friends(rows, delay)),
        Chart("hit ratio", "lines", x, "% of what is owed", by_friends(rows, hit)),
    ]


def fall(rows: Rows, pattern: str) -> Interval | None:
    return below(mean(rows, overhead, VITIS, pattern, k=1), mean(rows, overhead, VITIS, pattern, k=FREE))


def slowing(rows: Rows, pattern: str) -> Interval | None:
    return ratio(mean(rows, delay, VITIS, pattern, k=1), mean(rows, delay, VITIS, pattern, k=FREE))


EXPERIMENT = Experiment(
    id="fig4",
    title="Figure 4: friends against shortcuts",
    source="Vitis Fig. 4, section IV-B",
    about="`vitis` with a table of 15: two links of the ring, the others friends or shortcuts (k = 13 - friends; 12 "
    "friends and k = 1 are what the later experiments have). `rendezvous` with the same table is RVR, drawn once: it "
    'does not know of friends. All topics are equally hot. "With correlated subscriptions" is read as high correlation.'
    + SMALLER,
    grids=lambda scale: [],
    claims=[
        Claim("Vitis: hit ratio, the worst setting", 100.0, lambda rows: worst(of(rows, VITIS), hit), "%", "at least"),
        Claim("RVR: hit ratio, the worst run", 100.0, lambda rows: worst(of(rows, RVR), hit), "%", "at least"),
        Claim(
            "high correlation: overhead with 12 friends below that with none",
            88.0,
            lambda rows: fall(rows, HIGH),
            "%",
            why=BY_CHANCE,
        ),
        Claim("low correlation: the same", 88.0, lambda rows: fall(rows, LOW), "%", why=BY_CHANCE),
        Claim(
            "random: overhead of Vitis with 12 friends over that of RVR",
            1 / 3,
            lambda rows: ratio(mean(rows, overhead, VITIS), mean(rows, overhead, RVR)),
            "x",
            "at most",
            why=BY_CHANCE,
        ),
        Claim(
            "high correlation: delay with 12 friends over that with none",
            1.0,
            lambda rows: slowing(rows, HIGH),
            "x",
            "at most",
        ),
        Claim(
            "random: the same (a higher delay is the price)",
            1.0,
            lambda rows: slowing(rows, RANDOM),
            "x",
            "at least",
            why=BY_CHANCE,
        ),
    ],
    charts=charts,
    tables=(USUAL, Table("friends", rows)),
)
