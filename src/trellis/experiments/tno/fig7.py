"""How many entries a timestamp has: Figures 7 and 8, and what they leave out.

Source:   TNO section 5.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trellis.experiments.chart import Chart, Series, line, published
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick, ratio
from trellis.experiments.tno.stamping import EACH, RULE, SHAPE, SHAPES, THOUSANDS, TOPICS
from trellis.metrics.summary import Interval
from trellis.pipeline.shared import Law, group_sizes, shared, subscriptions
from trellis.protocols.parts.groups import SHARED, WIDE

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

CLIENTS = 10_000
SIZES = (1, 2, 5, 10, 20, 50, 100, 200)
RULES = (SHARED, WIDE)


def laws(scale: Scale) -> list[Law]:
    """The whole curve with the first seed, and its published point with some more; all of it with each of ten."""
    whole, some = (10, 10) if scale == "paper" else (1, 5)
    return [
        Law(1 + shape, TOPICS, CLIENTS, SIZES if seed < whole else (10,), seed)
        for shape in SHAPES
        for seed in range(some)
    ]


def rows(shop: Workshop, scale: Scale) -> Rows:
    asked = laws(scale)
    clients = subscriptions(shop.spark, asked).repartition(shop.spark.sparkContext.defaultParallelism, "client")
    found = group_sizes(shared(clients, asked)).toArrow().to_pandas()
    entries = dict(iter(found.groupby(["law", "size"])))
    return [
        row_of(law, size, rule, entries.get((number, size)))
        for number, law in enumerate(asked)
        for size in law.sizes
        for rule in RULES
    ]


def row_of(law: Law, size: int, rule: str, found: object) -> Row:
    """Over all topics; a topic that shares no subscription has one entry, its own."""
    entries = np.ones(law.topics)
    if found is not None:
        entries[found["topic"].to_numpy()] = found[rule].to_numpy()  # type: ignore[index]
    weights = np.array(law.weights(), float)
    shape = round(law.exponent - 1, 3)
    return {
        "run": f"{shape} {law.seed} {size} {rule}",
        "settings": {SHAPE: shape, EACH: size, THOUSANDS: law.clients * size // 1000, RULE: rule, "seed": law.seed},
        "sent": {},
        "topics": float(entries.mean()),
        "spread": float(entries.std()),
        "events": float((entries * weights).sum() / weights.sum()),
    }


TABLE = Table("timestamp-sizes", rows)


def at(rows: Rows, shape: float, rule: str = SHARED, value: str = "topics", each: int = 10) -> Interval | None:
    return average(pick(rows, {SHAPE: shape, EACH: each, RULE: rule}), lambda row: row[value])


def curves(rows: Rows, value: str) -> list[Series]:
    return [
        line(f"{shape}{name}", rows, THOUSANDS, lambda row: row[value], number + color, {SHAPE: shape, RULE: rule})
        for number, rule, name in ((0, SHARED, ""), (2, WIDE, ", wide"))
        for color, shape in enumerate(SHAPES)
    ]


def charts(rows: Rows) -> list[Chart]:
    x, y = "subscribed topics (thousands), 10,000 clients", "entries of a timestamp"
    text = [published("0.901", {100: 17.0}, 0), published("0.349", {100: 46.0}, 1)]
    note = "Wide is the group that causal order across topics needs: what any one subscription shares."
    return [
        Chart("Figure 7: mean over topics", "lines", x, y, [*curves(rows, "topics"), *text], log_x=True, note=note),
        Chart("Figure 8: standard deviation over topics", "lines", x, y, curves(rows, "spread"), log_x=True),
        Chart("Not in the paper: mean over events", "lines", x, y, curves(rows, "events"), log_x=True),
    ]


MOST = "the popular topics carry most events and share subscribers with nearly everything"

EXPERIMENT = Experiment(
    id="fig7",
    title="Figures 7 and 8: the size of a timestamp",
    source="TNO Fig. 7-8, section 5.3",
    about="10,000 clients, 1,000 topics; the pairs of topics that subscriptions share are counted on Spark in full. "
    "The popularity law is read as a power law with density exponent 1 + shape over ranks 1 to 1,000, each client with "
    "so many different topics, the mean taken over all topics, the own entry counted: it was chosen because it gives "
    "the two printed numbers (it puts 80% on 0.4% of the topics for 0.901, and on 2.8%, not 40%, for 0.349). The mean "
    "over events weighs each topic by what is published on it, by the same law.",
    grids=lambda scale: [],
    claims=[
        Claim(
            "0.901, 10 topics a client: mean entries over topics",
            17.0,
            lambda rows: at(rows, 0.901),
            by_fit=True,
            why="close to the 3%; which power law the paper drew from is not said, and a bounded Pareto gives 19",
        ),
        Claim("0.349, 10 topics a client: mean entries over topics", 46.0, lambda rows: at(rows, 0.349), by_fit=True),
        Claim(
            "10 topics a client: entries with 0.901 over those with 0.349",
            1.0,
            lambda rows: ratio(at(rows, 0.901), at(rows, 0.349)),
            "x",
            rule="at most",
        ),
        Claim(
            "0.901, 10 topics a client: mean over events, against the printed size",
            17.0,
            lambda rows: at(rows, 0.901, value="events"),
            why=MOST,
        ),
        Claim(
            "0.349, 10 topics a client: mean over events, against the printed size",
            46.0,
            lambda rows: at(rows, 0.349, value="events"),
            why=MOST,
        ),
    ],
    charts=charts,
    tables=(TABLE,),
)
