"""What the abstract promises: how much overhead Vitis saves beside RVR.

Source:   Vitis, abstract and sections I and V: "between 40% to 75% less", 75% with synthetic subscriptions and 40% with
          real ones. The real ones are Figure 10.
"""

from __future__ import annotations

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment
from trellis.experiments.rows import Rows
from trellis.experiments.vitis.setting import (
    BY_CHANCE,
    PATTERNS,
    RANDOM,
    RVR,
    SMALLER,
    USUAL,
    VITIS,
    below,
    mean,
    overhead,
)
from trellis.metrics.summary import Interval


def saving(rows: Rows, pattern: str) -> Interval | None:
    return below(mean(rows, overhead, VITIS, pattern), mean(rows, overhead, RVR, RANDOM))


def extreme(rows: Rows, largest: bool) -> Interval | None:
    found = [one for pattern in PATTERNS if (one := saving(rows, pattern)) is not None]
    return (max if largest else min)(found, key=lambda one: one.mean) if found else None


def charts(rows: Rows) -> list[Chart]:
    points = {pattern: found for pattern in PATTERNS if (found := saving(rows, pattern)) is not None}
    series = [Series("overhead below RVR's", points, False, 0)]
    return [Chart("Overhead saved, table of 15", "bars", "subscriptions", "% of RVR's overhead", series)]


EXPERIMENT = Experiment(
    id="savings",
    title="Abstract: overhead saved beside RVR",
    source="Vitis, abstract, sections I and V",
    about='The runs of Figure 4 with 12 friends, beside RVR with the same table of 15. "Between 40% to 75% less" is '
    "read as: never less than 40%, and 75% where it is best." + SMALLER,
    grids=lambda scale: [],
    claims=[
        Claim("the smallest saving of the three patterns", 40.0, lambda rows: extreme(rows, False), "%", "at least"),
        Claim(
            "the largest saving of the three patterns",
            75.0,
            lambda rows: extreme(rows, True),
            "%",
            "at least",
            why=BY_CHANCE,
        ),
    ],
    charts=charts,
    tables=(USUAL,),
)
