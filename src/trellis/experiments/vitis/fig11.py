"""How many links an overlay per topic needs if there is no bound.

Source:   Vitis section IV-E, Figure 11.
"""

from __future__ import annotations

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment
from trellis.experiments.rows import Row, Rows
from trellis.experiments.vitis.fig10 import COVERED, FEWER, FOLLOWED, LARGEST, UNBOUNDED, at
from trellis.experiments.vitis.setting import OPT, VITIS, hit, links_above, links_most
from trellis.metrics.summary import Interval

HUBS = (
    f"{FEWER}, but a few topics have very many subscribers (the largest 5,160 of 9,989): whoever takes most of those "
    "covers something for nearly everybody, and links gather there"
)
PAIRS = (
    "among 9,989 users six of 39,381 receptions were missed, each on a topic with two subscribers who had not met yet: "
    "an overlay of a topic alone has nobody else to pass by"
)
STEPS = (0, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 700)


def by_links(rows: Rows, name: str, overlay: str, table: int, color: int) -> Series:
    points = {}
    for many in STEPS:
        found = at(rows, lambda row, many=many: links_above(row, many), overlay, table)  # type: ignore[misc]
        if found is not None and found.mean:
            points[many] = found
    return Series(name, points, False, color)


def charts(rows: Rows) -> list[Chart]:
    series = [
        by_links(rows, "OPT without a bound", OPT, UNBOUNDED, 2),
        by_links(rows, "Vitis, 35 entries", VITIS, LARGEST, 0),
    ]
    return [Chart("Nodes with more links", "lines", "links", "% of the nodes with more", series)]


def of_opt(rows: Rows, many: int) -> Interval | None:
    return at(rows, lambda row: links_above(row, many), OPT, UNBOUNDED)


def most(row: Row) -> float:
    return links_most(row)


EXPERIMENT = Experiment(
    id="fig11",
    title="Figure 11: links of OPT without a bound",
    source="Vitis Fig. 11, section IV-E",
    about="`topic-overlay` with `table = 0` and the subscriptions of Figure 10. A link is counted at both ends: those "
    "that a node chose and those who chose it, in the machines when the run is over. The same count for Vitis with 35 "
    "entries is shown beside it: up to 70.",
    grids=lambda scale: [],
    claims=[
        Claim("nodes with more than 15 links", 200 / 3, lambda rows: of_opt(rows, 15), "%", "at least", why=COVERED),
        Claim("nodes with more than 200 links", 0.3, lambda rows: of_opt(rows, 200), "%", why=HUBS),
        Claim("the most links of a node", 708.0, lambda rows: at(rows, most, OPT, UNBOUNDED), why=HUBS),
        Claim("hit ratio", 100.0, lambda rows: at(rows, hit, OPT, UNBOUNDED), "%", "at least", why=PAIRS),
    ],
    charts=charts,
    tables=(FOLLOWED,),
)
