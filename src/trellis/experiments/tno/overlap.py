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
from trellis.experiments.rows import Row, Rows, pick
from trellis.experiments.tno.stamping import EACH, RULE, TOPICS
from trellis.metrics.summary import Interval
from trellis.protocols.parts.groups import SHARED, WIDE, Groups

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

HOW, COUNT = "how", "subscriptions"
DISJOINT, TWINS, POPULAR = "disjoint", "twins", "popular"
SIZES = (3, 10)  # topics of each
RULES = (SHARED, WIDE)
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
        "most": max(entries),
        "bytes": sum(sizes) / len(sizes),
    }


def rows(shop: Workshop, scale: Scale) -> Rows:
    counts = (10, 100, 1000, 10_000) if scale == "paper" else (10, 100, 1000)
    return [
        row_of(how, count, each, rule)
        for how in (DISJOINT, TWINS, POPULAR)
        for count in counts
        for each in SIZES
        for rule in RULES
    ]


def most(rows: Rows, how: str, each: int) -> Interval | None:
    """Entries of the largest timestamp, over all topics and all numbers of subscriptions."""
    chosen = pick(rows, {HOW: how, EACH: each, RULE: SHARED})
    return Interval(max(row["most"] for row in chosen), 0.0, None, len(chosen)) if chosen else None


def charts(rows: Rows) -> list[Chart]:
    def curves(each: int) -> list[object]:
        names = ((DISJOINT, "nothing in common"), (TWINS, "two and two the same"), (POPULAR, "by the law, 0.349"))
        return [
            line(f"{name}{', wide' if rule == WIDE else ''}", rows, COUNT, lambda row: row["bytes"],
                 2 * n + (rule == WIDE), {HOW: how, EACH: each, RULE: rule})
            for n, (how, name) in enumerate(names)
            for rule in RULES
        ]  # fmt: skip

    return [
        Chart(f"{each} topics each: bytes of a timestamp", "lines", "subscriptions", "bytes as msgpack, over topics",
              curves(each), log_x=True, log_y=True)  # type: ignore[arg-type]
        for each in SIZES
    ]  # fmt: skip


EXPERIMENT = Experiment(
    id="overlap",
    title="Overlap pays, not size",
    source="TNO section 5.3, its remark on subscriptions without intersections",
    about="Subscriptions with nothing in common, two and two the same, and by the law of Figure 7. The header is the "
    "timestamp as msgpack, with 1,000 messages on every topic so far. `wide` is the group that causal order across "
    "topics needs: there a subscription puts its topics together, whether or not anybody shares them.",
    grids=lambda scale: [],
    claims=[
        Claim(
            f"nothing in common, {each} topics each: entries of the largest timestamp",
            1.0,
            lambda rows, each=each: most(rows, DISJOINT, each),  # type: ignore[misc]
        )
        for each in SIZES
    ],
    charts=charts,
    tables=(Table("overlap", rows),),
)
