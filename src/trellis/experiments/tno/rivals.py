"""Beside the multistage sequencer: one for everything, and one per topic that nobody keeps in step.

Source:   TNO sections 1 and 2: what a single sequencer costs, and what sequencers without groups do not give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Rows, average, pick, ratio, setting
from trellis.experiments.tno.fig9 import TABLE as BY_RATE
from trellis.experiments.tno.fig9 import at, length, rates
from trellis.experiments.tno.stamping import LONG, RATE, SHAPES, SHORT, on_spark, point
from trellis.metrics.summary import Interval
from trellis.protocols.parts.groups import ALONE
from trellis.scenario.grid import Grid
from trellis.sim import AUTO

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

ORDERING = "stack.ordering"
RIVALS: dict[str, dict[str, Any]] = {"multistage": {}, "one for all": {"desks": 1}, "one per topic": {"rule": ALONE}}


def grids(scale: Scale) -> list[Grid]:
    """Small enough for real deliveries and their audit: 8 clients a site, 10 topics each of 100, over vcube."""
    base = {
        "name": "TNO, inversions",
        "stack": {"overlay": "vcube", "ordering": "total", "desks": 5, "block": 20},
        "nodes": {"count": 45},
        "subscriptions": {"kind": "popular", "topics": 100, "each": 10, "exponent": 1.349, "clients": 5, "near": True},
        "workload": {"kind": "requests", "interval": 100_000, "until": 1_000_000},
        "network": {"kind": "sites", "sites": [0, 1, 2, 3, 4], "short": SHORT[0], "short_spread": SHORT[1],
                    "long": LONG[0], "long_spread": LONG[1], "servers": 5, "service": 1000},
    }  # fmt: skip
    runs = 20 if scale == "paper" else 3
    return [Grid(name="inversions", scenario=base, axes={ORDERING: ["total", "per-topic"]}, repetitions=runs)]


def rows(shop: Workshop, scale: Scale, engine: str = AUTO) -> Rows:
    """The central one has the same groups: at one desk they cost no way."""
    some = [rate for rate in rates(scale) if scale == "paper" or rate != 2500]
    others = [options for options in RIVALS.values() if options]
    points = [point(shape, rate, **options) for options in others for shape in SHAPES for rate in some]
    return on_spark(shop, points, *length(scale), engine)


def gain(rows: Rows, shape: float) -> Interval | None:
    """Timestamps a second at 5,000 requests, over those of one sequencer for all."""
    ours, central = (at(rows, shape, 5000, "throughput", **RIVALS[name]) for name in ("multistage", "one for all"))
    return ratio(ours, central)


def inversions(rows: Rows, ordering: str) -> Interval | None:
    return average(pick(rows, {ORDERING: ordering}), lambda row: row["violations"]["total"])


def charts(rows: Rows) -> list[Chart]:
    found = []
    for value, y in (("latency", "mean, ms"), ("throughput", "timestamps a second")):
        series = []
        for number, (name, options) in enumerate(RIVALS.items()):
            for color, shape in enumerate(SHAPES):
                means = {rate: at(rows, shape, rate, value, **options) for rate in setting(rows, RATE)}
                points = {rate: mean for rate, mean in means.items() if mean is not None}
                series.append(Series(f"{shape}, {name}", points, False, 2 * number + color))
        found.append(Chart(f"Beside other sequencers: {value}", "lines", "requests a second", y, series))
    return found


EXPERIMENT = Experiment(
    id="rivals",
    title="Beside one sequencer for all, and one per topic",
    source="Not in the paper; its sections 1 and 2 argue about both",
    about="One sequencer for all is `total` with one desk, at site 1; one per topic is the ordering `per-topic`: no "
    "groups, so no order between topics. Inversions are what the audit `total` finds in runs with real deliveries: 40 "
    "clients, 100 topics, 10 each, over `vcube`; both orderings under the same luck.",
    grids=grids,
    claims=[
        Claim(
            "one per topic: inversions in a run (at least one is wanted)",
            1.0,
            lambda rows: inversions(rows, "per-topic"),
            rule="at least",
        ),
        Claim("multistage: inversions in a run", 0.0, lambda rows: inversions(rows, "total"), rule="at most"),
        *(
            Claim(
                f"{shape}, 5,000 a second: multistage over one for all, timestamps a second",
                1.0,
                lambda rows, shape=shape: gain(rows, shape),  # type: ignore[misc]
                "x",
                rule="at least",
            )
            for shape in SHAPES
        ),
    ],
    charts=charts,
    tables=(BY_RATE, Table("rivals", rows, engines=True)),
)
