"""Causal order by true happened-before on Spark, on each topic or across all; the twins are audit/causal.py, across.py.

Promises: the same witnesses, on traces whose rows do not fit in memory.
Assumes:  a work directory that driver and workers share (on one machine: any).

Three passes over each circle: the topics among which something can happen before something else, that is one topic, or
all topics of a run. Its messages are numbered and written to a file. The lives of those who publish, sorted by
position, give the past of each message: one row of numbers, one per stream (an origin on a topic), in a file that is
mapped into memory. Then the deliveries of each node are streamed, many nodes at once: what a node owes is the running
maximum of the pasts of what it has delivered, and a message at or below it comes too late.

What must fit in memory: the pasts of the circles that are being worked on (messages x streams x 4 bytes; the file is
shared between tasks, and the system may drop pages of it), and one number per message and per delivery of one node.
The rows need not: Spark sorts them on disk.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.audit.columns import kept, name, of_kind, witnesses
from trellis.pipeline.audit.pasts import NEVER, Catalogue, Debts, write_catalogue, write_pasts
from trellis.pipeline.audit.streams import Findings, by_key, findings, through_tasks
from trellis.trace.rows import DELIVERIES

CELLS = ["part", "source", "incarnation", "seq"]  # of a message in its circle; `part` is its topic there
ID = (pa.int32(), pa.int32(), pa.int32(), pa.int64())
LATE = pa.schema(
    [
        ("circle", pa.int32()),
        ("node", pa.int32()),
        ("at", pa.int64()),
        *zip(CELLS, ID, strict=True),
        *((f"other_{cell}", kind) for cell, kind in zip(CELLS, ID, strict=True)),
    ]
)


def causal(trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """A message delivered after another one on its topic that it happened before. `said` is what `messages` gave."""
    return too_late("causal", ["run", "topic"], trace, said, work / "causal")


def across(trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """The same on whatever topics."""
    return too_late("across", ["run"], trace, said, work / "across")


def too_late(audit: str, circle: list[str], trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """What is delivered after something that it happened before. A circle is all that is alike in these columns."""
    work.mkdir()
    in_a_row = F.dense_rank().over(Window.orderBy(*circle)).cast("int")
    within = F.row_number().over(Window.partitionBy(*circle).orderBy("topic")).cast("int")
    named = said.select("run", "topic").distinct().withColumns({"circle": in_a_row, "part": within})
    topics = F.broadcast(kept(named, work, "topics"))

    def numbered(table: DataFrame) -> DataFrame:
        return table.join(topics, ["run", "topic"])

    listed = numbered(said).select("circle", *CELLS, F.coalesce("published", F.lit(int(NEVER))).alias("published"))
    through_tasks(listed, ["circle"], CELLS, work, "catalogue", partial(catalogue_circles, work))
    who = (F.col("node") + F.col("life") * (1 << 32)).alias("who")  # one life of one node
    lives = numbered(lives_of_publishers(trace, circle, work)).select(
        "circle", who, (F.col("kind") == "publish").cast("int").alias("publishes"), *CELLS, "position"
    )
    through_tasks(lives, ["circle"], ["position"], work, "lives", partial(follow_circles, work))
    delivered = numbered(of_kind(trace, "deliver")).select("circle", "node", who, *CELLS, "position", "at")
    through_tasks(delivered, ["circle", "who"], ["position"], work, "delivered", partial(check_nodes, work))
    others = topics.select("circle", F.col("part").alias("other_part"), F.col("topic").alias("other_topic"))
    found = findings(trace, work, "late", LATE).join(topics, ["circle", "part"]).join(others, ["circle", "other_part"])
    before = (" delivered ", name("other_"), " before ", name(), ", which happened before it")
    return witnesses(audit, found, "node ", F.col("node"), *before)


def lives_of_publishers(trace: DataFrame, circle: list[str], work: Path) -> DataFrame:
    """What nodes published and delivered up to their last publication in a circle: nothing else is in any past."""
    place = [*circle, "node", "life"]
    last = of_kind(trace, "publish").groupBy(*place).agg(F.max("position").alias("last"))
    publishers = kept(last, work, "publishers")
    return of_kind(trace, "publish", *DELIVERIES).join(publishers, place).where("position <= last")


def catalogue_circles(work: Path, file: Path) -> None:
    for (circle,), parts in by_key(file, "circle"):
        write_catalogue(work / f"{circle}.messages.npy", parts)


def follow_circles(work: Path, file: Path) -> None:
    for (circle,), parts in by_key(file, "circle"):
        write_pasts(work / f"{circle}.pasts.npy", Catalogue(work / f"{circle}.messages.npy"), parts)


def check_nodes(work: Path, file: Path) -> None:
    late = Findings(work / "late" / file.name, LATE)
    at_hand = 0
    for (circle, _), parts in by_key(file, "circle", "who"):
        if circle != at_hand:
            at_hand, catalogue = circle, Catalogue(work / f"{circle}.messages.npy")
            path = work / f"{circle}.pasts.npy"
            pasts = np.load(path, mmap_mode="r") if path.exists() else None
        if pasts is None:  # nobody published in this circle, so nothing happened before anything
            continue
        debts = Debts(catalogue, pasts)
        for rows in parts:
            which, causes = debts.deliver(catalogue.numbers(rows), rows["position"])
            if len(which):
                cells = [rows[cell][which] for cell in ("circle", "node", "at", *CELLS)]
                late.add([*cells, *(of_cause[causes] for of_cause in catalogue.cells)])
    late.write()
