"""Overlap pays, not size: header bytes against subscriptions, with and without anything in common.

Source:   TNO sections 3.1 and 5.3 ("there would be no intersections among subscriptions").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from trellis import draw
from trellis.experiments.chart import Chart, line
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick
from trellis.experiments.tno.stamping import EACH, RULE, TOPICS
from trellis.metrics.summary import Interval
from trellis.protocols.parts.groups import PRINTED, RINGS, SAFE, Groups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOW, COUNT = "how", "subscriptions"
DISJOINT, TWINS, POPULAR = "disjoint", "twins", "popular"
RULES = (PRINTED, SAFE, RINGS)
NUMBERED = 1000  # messages so far, on every topic


def subscribed(how: str, count: int, each: int) -> list[frozenset[str]]:
    """Nothing in common; two and two the same; drawn by the law of Figure 7 (0.349) from 1,000 topics."""
    if how == POPULAR:
        weights = draw.zipf_weights(TOPICS, 1.349)
        return [frozenset(f"t{rank}" for rank in draw.interests(0, n, weights, each)) for n in range(count)]
    share = 2 if how == TWINS else 1
    return [frozenset(f"t{n // share * each + place}" for place in range(each)) for n in range(count)]


def row_of(how: str, count: int, each: int, rule: str) -> Row:
    groups = Groups(rule)
    for n, topics in enumerate(subscribed(how, count, each)):
        groups.change((n, 0), topics)
    entries = [len(groups.of(topic)) for topic in groups.holders]
    sizes = [len(msgspec.msgpack.encode([(name, NUMBERED) for name in groups.of(topic)])) for topic in groups.holders]
    return {
        "run": f"{how} {count} {each} {rule}",
        "settings": {HOW: how, COUNT: count, EACH: each, RULE: rule},
        "sent": {},
        "topics": len(entries),
        "entries": sum(entries) / len(entries),
        "bytes": sum(sizes) / len(sizes),
    }


def rows(spark: SparkSession, scale: Scale) -> Rows:
    counts = (10, 100, 1000, 10_000) if scale == "paper" else (10, 100, 1000)
    return [
        row_of(how, count, each, rule)
        for how in (DISJOINT, TWINS, POPULAR)
        for count in counts
        for each in (3, 10)
        for rule in RULES
    ]


def entries(rows: Rows, how: str, each: int, rule: str) -> Interval | None:
    """At the largest number of subscriptions that was run."""
    chosen = pick(rows, {HOW: how, EACH: each, RULE: rule})
    most = max((row["settings"][COUNT] for row in chosen), default=0)
    return average(pick(chosen, {COUNT: most}), lambda row: row["entries"])


def charts(rows: Rows) -> list[Chart]:
    def curves(each: int) -> list[object]:
        names = ((DISJOINT, "nothing in common"), (TWINS, "two and two the same"), (POPULAR, "by the law, 0.349"))
        return [
            line(f"{name}, {rule}", rows, COUNT, lambda row: row["bytes"], 2 * n + (rule == SAFE),
                 {HOW: how, EACH: each, RULE: rule})
            for n, (how, name) in enumerate(names)
            for rule in (PRINTED, SAFE)
        ]  # fmt: skip

    return [
        Chart(f"{each} topics each: bytes of a timestamp", "lines", "subscriptions", "bytes as msgpack, over topics",
              curves(each), log_x=True, log_y=True)  # type: ignore[arg-type]
        for each in (3, 10)
    ]  # fmt: skip


EXPERIMENT = Experiment(
    id="overlap",
    title="Overlap pays, not size",
    source="TNO section 5.3, its remark on subscriptions without intersections",
    about="Subscriptions with nothing in common, two and two the same, and by the law of Figure 7. The header is the "
    "timestamp as msgpack, with 1,000 messages on every topic so far. `rings` is a rule that needs to know all "
    "subscriptions, as our desks do: what only one subscription shares is ordered only where a ring of pairs that "
    "others share runs through it. It is not what we ship.",
    grids=lambda scale: [],
    claims=[
        Claim(
            f"nothing in common, {each} topics each: entries of a timestamp ({rule})",
            1.0,
            lambda rows, each=each, rule=rule: entries(rows, DISJOINT, each, rule),  # type: ignore[misc]
            why="`safe` takes all topics of a subscription of four or more, whether or not anybody shares them",
        )
        for each in (3, 10)
        for rule in RULES
    ],
    charts=charts,
    tables=(Table("overlap", rows),),
)
