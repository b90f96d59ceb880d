"""A burst of churn.

Source:   2017 section IV, "Scenario with dynamics of subscriptions", Table II; the 2018 paper has Figure 8 instead.
"""

from __future__ import annotations

from trellis.experiments.chart import Chart, Series, published
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale
from trellis.experiments.rows import Row, Rows, average, pick
from trellis.experiments.vcube_ps.model import NODES, PRINTED, RUNS, grid, scenario
from trellis.metrics.summary import Interval
from trellis.scenario.grid import Grid

CHURN = "subscriptions.churn"
POINTS = [(0.125, 512), (0.125, 1024), (0.25, 512), (0.25, 1024)]
FALSE: dict[tuple[float, int], float] = dict(zip(POINTS, [2433.1, 10525.7, 3475.9, 14590.4], strict=True))
DELIVERED: dict[tuple[float, int], float] = dict(zip(POINTS, [97445.5, 194506.8, 96193.9, 191706.3], strict=True))


def grids(scale: Scale) -> list[Grid]:
    base = scenario(
        {"kind": "burst", "fraction": 0.75, "churn": 0.25},
        {"kind": "at-once", "messages": 256},
        stack={"overlay": PRINTED, "ordering": "causal"},
    )
    churn = {CHURN: [0.125, 0.25]}
    if scale == "paper":
        return [grid("burst", base, RUNS, axes=churn | {NODES: [512, 1024]})]
    return [
        grid("burst", base, 3, axes=churn | {NODES: [512]}),
        grid("burst-large", base, 1, axes=churn | {NODES: [1024]}),
    ]


def false_positives(row: Row) -> float:
    return float(row["false_positives"])


def delivered(row: Row) -> float:
    """The publisher's own copies count: 256 x 768 = 196,608 is what the paper says should be delivered."""
    return float(row["deliveries"])


def arrived(rows: Rows) -> Interval | None:
    return average(at(rows, 0.25, 1024), lambda row: 100 * row["deliveries"] / (256 * 768))


def at(rows: Rows, churn: float, nodes: int) -> Rows:
    return pick(rows, {CHURN: churn, NODES: nodes})


def worst(rows: Rows) -> Interval | None:
    """False positives against deliveries, in percent; the largest of the four points."""
    found = [average(at(rows, *p), lambda row: 100 * row["false_positives"] / row["deliveries"]) for p in POINTS]
    return max((one for one in found if one is not None), key=lambda one: one.mean, default=None)


WAVES = (
    "the text sends one message after the acknowledgements of the last, a round trip of 1,600 u.t. and more; by then "
    "every UNS has been everywhere, so that only the first of 256 waves can meet a leaver. The published figure is "
    "{each:.0f} messages for each of the {leavers} leavers: that needs a publisher that does not wait"
)


FEW_WAVES = (
    "as with the false positives: only the first waves run while nodes come and go, so few messages pass a joiner or a "
    "leaver; the published loss needs a publisher that does not wait"
)


def false_claim(churn: float, nodes: int) -> Claim:
    leavers = round(churn * 0.75 * nodes)
    why = WAVES.format(each=FALSE[churn, nodes] / leavers, leavers=leavers)
    return Claim(
        f"{churn:.1%} churn, {nodes:,} nodes: false positives",
        FALSE[churn, nodes],
        lambda rows: average(at(rows, churn, nodes), false_positives),
        why=why,
    )


def delivered_claim(churn: float, nodes: int) -> Claim:
    """The effect is what is missing: without any churn the deliveries would be within 3% of the published ones."""
    return Claim(
        f"{churn:.1%} churn, {nodes:,} nodes: deliveries",
        DELIVERED[churn, nodes],
        lambda rows: average(at(rows, churn, nodes), delivered),
        why=FEW_WAVES,
        effect=256 * 0.75 * nodes - DELIVERED[churn, nodes],
    )


def charts(rows: Rows) -> list[Chart]:
    found = []
    for title, value, theirs in (("False positives", false_positives, FALSE), ("Deliveries", delivered, DELIVERED)):
        names = {point: f"{point[0]:.1%}, {point[1]}" for point in POINTS}
        points = {names[point]: average(at(rows, *point), value) for point in POINTS}
        ours = {name: one for name, one in points.items() if one is not None}
        series = [
            Series("VCube-PS", ours, False, 0),
            published("VCube-PS", {names[point]: figure for point, figure in theirs.items()}, 0),
        ]
        found.append(Chart(title, "bars", "churn, nodes", "messages", series))
    return found


EXPERIMENT = Experiment(
    id="table2",
    title="Table II of 2017: a burst of churn",
    source="2017 Table II, section IV",
    about="75% of the nodes subscribe; at time 0 one of them publishes 256 messages, one wave at a time, while 12.5% "
    "or 25% of the subscribers leave and as many others join. VCube-PS is `vcube-printed` with causal order: churn is "
    "where the algorithm itself shows.",
    grids=grids,
    claims=[
        *(false_claim(*point) for point in POINTS),
        *(delivered_claim(*point) for point in POINTS),
        Claim("false positives against deliveries, the worst point", 7.6, worst, "%", why=FEW_WAVES),
        Claim(
            "25% churn, 1,024 nodes: deliveries of the 196,608 that were due",
            97.5,
            arrived,
            "%",
            why=FEW_WAVES,
            effect=2.5,
        ),
    ],
    charts=charts,
)
