"""Who follows whom: degrees of the graph that Figures 10 and 11 are run with.

Source:   Vitis section IV-E, Figures 8 and 9: 2.4 million users, degrees by a power law "with an estimated parameter of
          1.65". The figures of its table (9) are missing from the text we have.
Departs:  the paper's crawl is not public. What is brought is another sample of another crawl.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from trellis.errors import PipelineError
from trellis.experiments.chart import Chart, Series, published
from trellis.experiments.claim import Claim
from trellis.experiments.data import FOLLOWS, summary_of
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, pick
from trellis.metrics.summary import Interval

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

WHOLE, SAMPLE = "whole", "sample"
WAYS = {"in": "followers", "out": "follows"}
STEPS = [m * 10**e for e in range(6) for m in (1, 2, 5)]
USERS, SUBSCRIPTIONS = 2_400_000, 80.0
OTHER = (
    "another sample of another crawl: 9,989 users of the Higgs graph if that is what was brought, against 2.4 million."
    " The paper does not say how it estimated its parameter; our tail begins where it fits best"
)


def rows(shop: Workshop, scale: Scale, follows: Path) -> Rows:
    """One for the whole graph, one for the sample if there is one: as the ingest counted them on Spark."""
    statistics: Any = summary_of(follows, FOLLOWS).get("statistics")
    counted = pq.read_table(follows / "degrees").to_pylist()
    found = []
    for view in (WHOLE, SAMPLE):
        if not isinstance(statistics, dict) or view not in statistics:
            continue
        degrees = {
            way: sorted([row["degree"], row["nodes"]] for row in counted if (row["view"], row["way"]) == (view, way))
            for way in WAYS
        }
        found.append(
            {
                "run": f"degrees, {view}",
                "settings": {"view": view},
                "sent": {},
                "statistics": statistics[view],
                "degrees": degrees,
            }
        )
    if not found:
        raise PipelineError(f"--{FOLLOWS} {follows}: its summary has no statistics; ingest it again")
    return found


def at_least(degrees: list[list[int]]) -> dict[int, Interval]:
    """How many users have so many or more."""
    most = max((degree for degree, nodes in degrees if nodes), default=0)
    counts = {step: sum(nodes for degree, nodes in degrees if degree >= step) for step in STEPS if step <= most}
    return {step: Interval(float(count), 0.0, None, 1) for step, count in counts.items()}


def charts(rows: Rows) -> list[Chart]:
    series = [
        Series(f"{name}, {row['settings']['view']}", at_least(row["degrees"][way]), False, 2 * n + 4 * m)
        for m, row in enumerate(rows)
        for n, (way, name) in enumerate(WAYS.items())
    ]
    x, y = "follows or followers", "users with at least so many"
    return [
        Chart("Figure 8: degrees", "lines", x, y, series, log_x=True, log_y=True),
        Chart(
            "Figure 9: summary", "bars", "", "", summaries(rows), log_y=True, note="The paper's: what its text says."
        ),
    ]


def summaries(rows: Rows) -> list[Series]:
    found = []
    for n, row in enumerate(rows):
        told = row["statistics"]
        numbers = {
            "users": told["nodes"],
            "follows": told["follows"],
            "mean follows": told["out_degree"]["mean"],
            "most follows": told["out_degree"]["max"],
            "most followers": told["in_degree"]["max"],
        }
        points = {name: Interval(float(value), 0.0, None, 1) for name, value in numbers.items()}
        found.append(Series(f"ours, {row['settings']['view']}", points, False, n))
    return [*found, published("Vitis", {"users": USERS, "mean follows": SUBSCRIPTIONS}, 6)]


def exponent(rows: Rows, way: str, *names: str) -> Interval | None:
    for row in pick(rows, {"view": WHOLE}):
        told = row["statistics"][f"{way}_degree"]
        for name in names:
            told = (told or {}).get(name)
        return None if told is None else Interval(float(told), 0.0, None, 1)
    return None


def subscriptions(rows: Rows) -> Interval | None:
    """Of the sample that is run, else of the whole."""
    chosen: list[Row] = pick(rows, {"view": SAMPLE}) or pick(rows, {"view": WHOLE})
    return Interval(float(chosen[0]["statistics"]["out_degree"]["mean"]), 0.0, None, 1) if chosen else None


EXPERIMENT = Experiment(
    id="fig8",
    title="Figures 8 and 9: degrees of the follow graph",
    source="Vitis Figs. 8 and 9, section IV-E",
    about="What `trellis ingest follows` counted. It is not the paper's graph: no public copy of that is known to us, "
    "and of its table (Figure 9) only what the text repeats. A power law may be estimated from its tail (Clauset, "
    "Shalizi, Newman; from where it fits best) or over the whole range, by a straight line through a log-log plot; "
    "the paper does not say how. The line was looked at before it was judged, so it counts as chosen by fit.",
    grids=lambda scale: [],
    claims=[
        *(
            Claim(
                f"exponent of the tail, {name}",
                1.65,
                lambda rows, way=way: exponent(rows, way, "exponent_tail", "exponent"),  # type: ignore[misc]
                why=OTHER,
            )
            for way, name in WAYS.items()
        ),
        *(
            Claim(
                f"slope of a line through all points, {name}",
                1.65,
                lambda rows, way=way: exponent(rows, way, "exponent_whole", "line"),  # type: ignore[misc]
                why=OTHER,
                by_fit=True,
            )
            for way, name in WAYS.items()
        ),
        Claim("subscriptions of a node in the sample, mean", SUBSCRIPTIONS, subscriptions, why=OTHER),
    ],
    charts=charts,
    tables=(Table("degrees", rows, (FOLLOWS,)),),
)
