"""Reliability with processes that are dead from the beginning.

Source:   daMulticast section 6.2, Figure 4.
Departs:  the figure's curves cannot be read from the text, so no point of it stands here. Its axis counts the processes
          that receive a message, so the dead ones count; the living alone are shown beside it.
"""

from __future__ import annotations

from trellis.experiments.chart import Chart
from trellis.experiments.claim import Claim
from trellis.experiments.damulticast.failing import (
    CALM,
    all_of,
    curves,
    drawn,
    failing,
    of,
    printed,
    root_is_lowest,
    whole_chart,
)  # fmt: skip
from trellis.experiments.damulticast.setting import GROUPS, STILLBORN, of_all, of_living
from trellis.experiments.experiment import Experiment, Table
from trellis.experiments.rows import Rows
from trellis.metrics.summary import Interval

TABLE = Table("stillborn", failing(STILLBORN))
X = "share of processes that are dead"

D1_D2 = (
    "the formula has g a tries on each link, but how many are made is drawn, and may be none (D1: 0.96 instead of "
    "0.9999 for each of two links); and exp(-exp(-c)) holds if all packets arrive, while 15% are lost (D2)"
)
LOSSES = "exp(-exp(-c)) holds if all packets arrive; with 15% lost it is 0.96 for 1,000 processes (D2)"


def charts(rows: Rows) -> list[Chart]:
    some = of(rows, STILLBORN)
    alive = curves(some, STILLBORN, of_living, "share")
    every = curves(some, STILLBORN, of_all, "share")
    counted = [
        series._replace(points={x: scaled(found, 1 - x) for x, found in series.points.items()}) if n % 2 else series
        for n, series in enumerate(every)
    ]
    y = "share of the group that receives it"
    return [
        Chart("Of all processes of the group", "lines", X, y, counted),
        Chart("Of its living processes", "lines", X, y, alive),
        whole_chart(some, STILLBORN, X),
    ]


def scaled(found: Interval, by: float) -> Interval:
    return Interval(found.mean * by, found.std, found.half, found.count)


def beside_formula(group: int, why: str) -> list[Claim]:
    name = GROUPS[group]
    return [
        Claim(
            f"nobody dead: all of {name} get it, beside the formula of 5.3",
            printed(STILLBORN, 0.0, group),
            lambda rows: all_of(rows, group),
            why=why,
        ),
        Claim(
            f"(wanted) nobody dead: all of {name} get it, beside ours with D1, D2",
            drawn(STILLBORN, 0.0)[group].whole,
            lambda rows: all_of(rows, group),
            within=0.1,
        ),
    ]


EXPERIMENT = Experiment(
    id="fig4",
    title="Figure 4: reliability with stillborn processes",
    source="daMulticast Fig. 4, section 6.2",
    about="`damulticast-printed` in rounds: 1,000 processes of T2, 100 of T1, 10 of T0; c = 5, g = 5, a = 1, z = 3; "
    "85% of the packets arrive; one event of T2. A share of all processes, but not the publisher, is dead from the "
    "beginning and stays in the tables of others. The printed figure is not readable in the text we have: what is "
    "claimed is what the text says of it. Computed curves are `metrics/outbreak.py`, ours.",
    grids=lambda scale: [],
    claims=[*root_is_lowest(STILLBORN), *beside_formula(0, LOSSES), *beside_formula(2, D1_D2)],
    charts=charts,
    tables=(CALM, TABLE),
)
