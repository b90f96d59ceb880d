"""Whether the number of subscriptions matters: Figures 13 and 14.

Source:   TNO section 5.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Rows, average, pick, ratio
from trellis.experiments.tno.fig9 import TABLE, curves, latency, length, throughput
from trellis.experiments.tno.stamping import EACH, PATIENT, RATE, SHAPE, SHAPES, THOUSANDS, on_spark, point
from trellis.metrics.summary import Interval
from trellis.sim import AUTO

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop


def rows(shop: Workshop, scale: Scale, engine: str = AUTO) -> Rows:
    sizes = (20, 50, 100, 200) if scale == "paper" else (20, 40)
    return on_spark(shop, [point(shape, 5000, each) for shape in SHAPES for each in sizes], *length(scale), engine)


def grows(rows: Rows, shape: float, value: str) -> Interval | None:
    """The most subscriptions over the fewest."""
    chosen = pick(rows, {SHAPE: shape, RATE: 5000, PATIENT: True})
    sizes = sorted({row["settings"][EACH] for row in chosen})
    if len(sizes) < 2:
        return None
    few, many = (average(pick(chosen, {EACH: each}), lambda row: row[value]) for each in (sizes[0], sizes[-1]))
    return ratio(many, few)


def charts(rows: Rows) -> list[Chart]:
    fixed = pick(rows, {RATE: 5000})
    x = "subscribed topics (thousands), 1,000 clients"
    return [
        Chart("Figure 13: latency", "lines", x, "mean, ms", curves(fixed, THOUSANDS, latency)),
        Chart("Figure 14: throughput", "lines", x, "timestamps a second", curves(fixed, THOUSANDS, throughput)),
    ]


TAIL = (
    "with more different topics a client needs more of other sites, whatever the law: at 40 topics each, two clients "
    "of a site share one of another site nearly always, and groups reach over sites. From 50 on every timestamp climbs "
    "to site 1, whose server makes 1,000 a second"
)

EXPERIMENT = Experiment(
    id="fig13",
    title="Figures 13 and 14: latency and throughput by subscriptions",
    source="TNO Fig. 13-14, section 5.4",
    about="5,000 requests a second, and more topics for each of the 1,000 clients; the rest as in Figures 9 and 10.",
    grids=lambda scale: [],
    claims=[
        Claim(
            "0.901: latency does not depend on the number of subscriptions: the most over the fewest",
            1.0,
            lambda rows: grows(rows, 0.901, "latency"),
            "x",
            why=TAIL,
        ),
        Claim("0.901: throughput does not either", 1.0, lambda rows: grows(rows, 0.901, "throughput"), "x", why=TAIL),
        Claim("0.349: latency grows", 1.0, lambda rows: grows(rows, 0.349, "latency"), "x", rule="at least"),
        Claim("0.349: throughput falls", 1.0, lambda rows: grows(rows, 0.349, "throughput"), "x", rule="at most"),
    ],
    charts=charts,
    tables=(TABLE, Table("by-subscriptions", rows, engines=True)),
)
