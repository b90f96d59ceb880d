"""How long a timestamp takes, and how many are made: Figures 9 and 10, by the rate of requests.

Source:   TNO section 5.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series, line
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick, ratio
from trellis.experiments.tno.stamping import EACH, PATIENT, RATE, RULE, SERVICE, SHAPE, SHAPES, on_spark
from trellis.metrics.summary import Interval
from trellis.protocols.parts.groups import PRINTED, RINGS, SAFE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = (PRINTED, SAFE, RINGS)


def rates(scale: Scale) -> tuple[int, ...]:
    return tuple(range(1000, 10_001, 1000)) if scale == "paper" else (1000, 2500, 5000, 10_000)


def length(scale: Scale) -> tuple[float, range]:
    """Seconds of a run, and seeds."""
    return (10.0, range(10)) if scale == "paper" else (2.0, range(1))


def rows(spark: SparkSession, scale: Scale) -> Rows:
    points = [
        {SHAPE: shape, RULE: rule, RATE: rate, EACH: 10, PATIENT: True}
        for shape in SHAPES
        for rule in RULES
        for rate in rates(scale)
    ]
    points += [
        {SHAPE: shape, RULE: PRINTED, RATE: rate, EACH: 10, PATIENT: False}
        for shape in SHAPES
        for rate in rates(scale)
        if rate >= 5000
    ]
    return on_spark(spark, points, *length(scale))


TABLE = Table("by-rate", rows)


def at(rows: Rows, shape: float, rate: int, value: str, rule: str = PRINTED, patient: bool = True) -> Interval | None:
    chosen = pick(rows, {SHAPE: shape, RATE: rate, RULE: rule, PATIENT: patient, EACH: 10})
    return average(chosen, lambda row: row[value])


def worst(rows: Rows, shape: float, rule: str = PRINTED) -> Interval | None:
    """The longest mean latency over the rates."""
    found = [at(rows, shape, rate, "latency", rule) for rate in {row["settings"][RATE] for row in rows}]
    return max((one for one in found if one is not None), key=lambda one: one.mean, default=None)


def latency(row: Row) -> float | None:
    found: float | None = row["latency"]
    return found


def throughput(row: Row) -> float:
    return float(row["throughput"])


def curves(rows: Rows, x: str, value: object, **more: object) -> list[Series]:
    colors = {PRINTED: 0, SAFE: 2, RINGS: 4}
    return [
        line(f"{shape}, {rule}", rows, x, value, colors[rule] + (shape == 0.349), {SHAPE: shape, RULE: rule} | more)  # type: ignore[arg-type]
        for rule in RULES
        for shape in SHAPES
    ]


def charts(rows: Rows) -> list[Chart]:
    x = "requests a second"
    open_loop = [
        line(f"{shape}, printed, not waiting", rows, RATE, latency, 6 + (shape == 0.349),
             {SHAPE: shape, RULE: PRINTED, PATIENT: False})
        for shape in SHAPES
    ]  # fmt: skip
    note = "Clients that do not wait: the servers' queues grow as long as the run lasts."
    return [
        Chart(
            "Figure 9: latency",
            "lines",
            x,
            "mean, ms",
            [*curves(rows, RATE, latency, patient=True), *open_loop],
            note=note,
        ),
        Chart("Figure 10: throughput", "lines", x, "timestamps a second", curves(rows, RATE, throughput, patient=True)),
    ]


CAPACITY = (
    "the servers' capacity is the model's, one packet per ms each, and what site 5 makes passes the server of site 1 "
    "too, which so has twice the work"
)
TOP = (
    "as shipped, nearly every group reaches all sites, so every timestamp passes the server of site 1, which handles "
    "1,000 packets a second"
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
    f"ring of all. Latency runs from the request to the answer, over the second half of a run. `printed` is "
    f"Definition 1, `safe` what we ship, `rings` a smaller rule that our desks could use.",
    grids=lambda scale: [],
    claims=[
        Claim(
            "0.901: mean latency, the worst rate up to 10,000 a second",
            300.0,
            lambda rows: worst(rows, 0.901),
            " ms",
            rule="at most",
            by_fit=True,
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
            why="nothing in the described model makes a saturated server slower",
        ),
        Claim(
            "0.349: the peak is at 5,000: at 10,000 over at 5,000",
            1.0,
            lambda rows: ratio(at(rows, 0.349, 10_000, "throughput"), at(rows, 0.349, 5000, "throughput")),
            "x",
            rule="at most",
            why="nothing in the described model makes a saturated server slower",
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
        Claim(
            "as shipped (`safe`), 0.901: mean latency, the worst rate",
            300.0,
            lambda rows: worst(rows, 0.901, SAFE),
            " ms",
            rule="at most",
            why=TOP,
        ),
        Claim(
            "as shipped (`safe`), 0.901: timestamps a second at 5,000 requests",
            4000.0,
            lambda rows: at(rows, 0.901, 5000, "throughput", SAFE),
            "/s",
            rule="at least",
            why=TOP,
        ),
        Claim(
            "`rings`, 0.901: mean latency, the worst rate",
            300.0,
            lambda rows: worst(rows, 0.901, RINGS),
            " ms",
            rule="at most",
        ),
        Claim(
            "`rings`, 0.901: timestamps a second at 5,000 requests",
            4000.0,
            lambda rows: at(rows, 0.901, 5000, "throughput", RINGS),
            "/s",
            rule="at least",
            why=CAPACITY,
        ),
    ],
    charts=charts,
    tables=(TABLE,),
)
