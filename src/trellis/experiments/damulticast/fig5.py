"""Reliability with processes that appear to be crashed to some and alive to others.

Source:   daMulticast section 6.2, Figure 5.
Departs:  read as packets that do not arrive, drawn one by one: a share p of them beside the 15% that channels lose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trellis.experiments.chart import Chart
from trellis.experiments.claim import Claim
from trellis.experiments.damulticast.failing import CALM, curves, failing, of, root_is_lowest, whole_chart
from trellis.experiments.damulticast.fig4 import TABLE as DEAD
from trellis.experiments.damulticast.setting import APPEARING, GROUPS, STEEP, STILLBORN, chosen, of_all, of_living
from trellis.experiments.experiment import Experiment, Table
from trellis.experiments.rows import Row, Rows, average
from trellis.metrics.summary import Interval

TABLE = Table("appearing", failing(APPEARING))
X = "share of packets whose receiver appears crashed"
AT = 0.5
MUCH = 10.0  # points: our reading of "much better"

LIVING = (
    "of the living, a dead process and one that seems dead take the same packets away; only the links gain, because "
    "all processes may elect themselves, not half of them. The text's difference is that of counting the dead"
)


def charts(rows: Rows) -> list[Chart]:
    some = of(rows, APPEARING)
    return [
        Chart(
            "Of the processes of the group",
            "lines",
            X,
            "share of the group that receives it",
            curves(some, APPEARING, of_all, "share"),
        ),
        whole_chart(some, APPEARING, X),
    ]


def gain(rows: Rows, group: int, value: Callable[[Row, int], float | None]) -> Interval | None:
    """Points above Figure 4 at the same share."""
    both: list[dict[str, Any]] = [{APPEARING: AT}, {STILLBORN: AT}]
    seeming, dead = (average(chosen(rows, STEEP, **options), lambda row: value(row, group)) for options in both)
    if seeming is None or dead is None:
        return None
    return Interval(100 * (seeming.mean - dead.mean), 0.0, None, min(seeming.count, dead.count))


def better(group: int, value: Callable[[Row, int], float | None], whose: str, why: str = "") -> Claim:
    return Claim(
        f"half fail: {GROUPS[group]} is reached much better than in Figure 4 (ten points), {whose}",
        MUCH,
        lambda rows: gain(rows, group, value),
        " points",
        rule="at least",
        why=why,
    )


EXPERIMENT = Experiment(
    id="fig5",
    title="Figure 5: reliability with processes that only appear to be crashed",
    source="daMulticast Fig. 5, section 6.2",
    about="As Figure 4, but everybody lives: a packet to somebody who appears crashed does not arrive, so a share of "
    "1 - 0.85 (1 - p) of all packets is lost. The text says that this is much better than Figure 4.",
    grids=lambda scale: [],
    claims=[
        *root_is_lowest(APPEARING),
        *(better(group, of_all, "of all processes") for group in range(len(GROUPS))),
        *(better(group, of_living, "of the living", LIVING) for group in range(len(GROUPS))),
    ],
    charts=charts,
    tables=(CALM, DEAD, TABLE),
)
