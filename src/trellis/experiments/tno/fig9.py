"""How long a timestamp takes, and how many are made: Figures 9 and 10, by the rate of requests.

Source:   TNO section 5.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series, line
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick, ratio, setting
from trellis.experiments.tno.stamping import PATIENT, RATE, SERVICE, SHAPE, SHAPES, SITES, on_spark, point
from trellis.metrics.summary import Interval
from trellis.protocols.parts.groups import SHARED
from trellis.sim import AUTO

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop


def rates(scale: Scale) -> tuple[int, ...]:
    return tuple(range(1000, 10_001, 1000)) if scale == "paper" else (1000, 2500, 5000, 10_000)


def length(scale: Scale) -> tuple[float, range]:
    """Seconds of a run, and seeds."""
    return (10.0, range(10)) if scale == "paper" else (2.0, range(3))


def rows(shop: Workshop, scale: Scale, engine: str = AUTO) -> Rows:
    points = [point(shape, rate) for shape in SHAPES for rate in rates(scale)]
    points += [point(shape, rate, patient=False) for shape in SHAPES for rate in rates(scale) if rate >= 5000]
    return on_spark(shop, points, *length(scale), engine)


TABLE = Table("by-rate", rows, engines=True)


def at(rows: Rows, shape: float, rate: int, value: str, rule: str = SHARED, desks: int = SITES) -> Interval | None:
    return average(pick(rows, point(shape, rate, rule=rule, desks=desks)), lambda row: row[value])


def worst(rows: Rows, shape: float) -> Interval | None:
    """The longest mean latency over the rates."""
    found = [at(rows, shape, rate, "latency") for rate in setting(rows, RATE)]
    return max((one for one in found if one is not None), key=lambda one: one.mean, default=None)


def latency(row: Row) -> float | None:
    found: float | None = row["latency"]
    return found


def throughput(row: Row) -> float:
    return float(row["throughput"])


def curves(rows: Rows, x: str, value: Callable[[Row], float | None], patient: bool = True) -> list[Series]:
    name = "" if patient else ", not waiting"
    return [
        line(f"{shape}{name}", rows, x, value, color + 4 * (not patient), {SHAPE: shape, PATIENT: patient})
        for color, shape in enumerate(SHAPES)
    ]


def charts(rows: Rows) -> list[Chart]:
    x = "requests a second"
    both = [*curves(rows, RATE, latency), *curves(rows, RATE, latency, patient=False)]
    note = "Clients that do not wait: the servers' queues grow as long as the run lasts."
    return [
        Chart("Figure 9: latency", "lines", x, "mean, ms", both, note=note),
        Chart("Figure 10: throughput", "lines", x, "timestamps a second", curves(rows, RATE, throughput)),
    ]


WAY = (
    "a timestamp stops at every server between its home and the highest of its group (decision 0015), and the next "
    "topics of site 5 are those of site 1: what site 5 makes passes all others, 100 ms and one turn in a queue each. "
    "At the paper's size it is up to the seed: six of ten stay below 300 ms, and the one in which nearly all that "
    "sites 4 and 5 handle goes on to others takes 492"
)
PLATEAU = (
    "nothing in the described model makes a saturated server slower: at the paper's size both make the same from 5,000 "
    "requests on, within 0.2%, and which side of 1 the ratio is on is luck"
)
CAPACITY = (
    "the servers' capacity is the model's, one packet per ms each, and what site 5 makes passes all other servers on "
    "its way to site 1, besides their own work"
)

EXPERIMENT = Experiment(
    id="fig9",
    title="Figures 9 and 10: latency and throughput by rate",
    source="TNO Fig. 9-10, section 5.4",
    about=f"The real desks and publishers in the simulator: 5 sites, a server each with 200 topic managers, 1,000 "
    f"clients with 10 topics, links of 10 ± 2 ms within a site and 100 ± 10 ms between two. A server takes "
    f"{SERVICE / 1000:g} ms for a packet: five servers that make at most some 4,000 timestamps a second when asked for "
    f"5,000 handle about one per ms each. A client waits for its timestamp before it asks again: without that, the "
    f"printed latency and the printed peak exclude each other. Each site ranks the topics from its own on, around the "
    f"ring of all. Latency runs from the request to the answer, over the second half of a run.",
    grids=lambda scale: [],
    claims=[
        Claim(
            "0.901: mean latency, the worst rate up to 10,000 a second",
            300.0,
            lambda rows: worst(rows, 0.901),
            " ms",
            rule="at most",
            by_fit=True,
            why=WAY,
        ),
        Claim(
            "0.901: timestamps a second at 5,000 requests",
            4000.0,
            lambda rows: at(rows, 0.901, 5000, "throughput"),
            "/s",
            rule="at least",
            by_fit=True,
            why=CAPACITY,
        ),
        Claim(
            "0.901: the peak is at 5,000: at 10,000 over at 5,000",
            1.0,
            lambda rows: ratio(at(rows, 0.901, 10_000, "throughput"), at(rows, 0.901, 5000, "throughput")),
            "x",
            rule="at most",
            why=PLATEAU,
        ),
        Claim(
            "0.349: the peak is at 5,000: at 10,000 over at 5,000",
            1.0,
            lambda rows: ratio(at(rows, 0.349, 10_000, "throughput"), at(rows, 0.349, 5000, "throughput")),
            "x",
            rule="at most",
            why=PLATEAU,
        ),
        Claim(
            "0.349 is slower than 0.901, at 5,000 a second",
            1.0,
            lambda rows: ratio(at(rows, 0.349, 5000, "latency"), at(rows, 0.901, 5000, "latency")),
            "x",
            rule="at least",
        ),
        Claim(
            "0.349 makes fewer than 0.901, at 5,000 a second",
            1.0,
            lambda rows: ratio(at(rows, 0.349, 5000, "throughput"), at(rows, 0.901, 5000, "throughput")),
            "x",
            rule="at most",
        ),
    ],
    charts=charts,
    tables=(TABLE,),
)
