"""Causal order by true happened-before on Spark; the twin is audit/causal.py.

Promises: the same witnesses, on traces whose rows do not fit in memory.
Assumes:  a work directory that driver and workers share (on one machine: any).

Three passes. The messages of each topic are numbered and written to a file. The lives of those who publish, sorted
per topic by position, give the past of each message: one row of numbers, one per origin, in a file that is
mapped into memory. Then the deliveries of each node are streamed, many nodes at once: what a node owes is the running
maximum of the pasts of what it has delivered, and a message at or below it comes too late.

What must fit in memory: the pasts of the topics that are being worked on (messages x origins x 4 bytes; the file is
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

CELLS = ["source", "incarnation", "seq"]
ID = (pa.int32(), pa.int32(), pa.int64())
LATE = pa.schema(
    [
        ("number", pa.int32()),
        ("node", pa.int32()),
        ("at", pa.int64()),
        *zip(CELLS, ID, strict=True),
        *((f"other_{cell}", kind) for cell, kind in zip(CELLS, ID, strict=True)),
    ]
)


def causal(trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """A message delivered after another one that it happened before. `said` is what `messages` gave."""
    in_a_row = F.row_number().over(Window.orderBy("run", "topic")).cast("int")
    topics = kept(said.select("run", "topic").distinct().withColumn("number", in_a_row), work, "topics")

    def numbered(table: DataFrame) -> DataFrame:
        return table.join(F.broadcast(topics), ["run", "topic"])

    listed = numbered(said).select("number", *CELLS, F.coalesce("published", F.lit(int(NEVER))).alias("published"))
    through_tasks(listed, ["number"], CELLS, work, "catalogue", partial(catalogue_topics, work))
    who = (F.col("node") + F.col("life") * (1 << 32)).alias("who")  # one life of one node
    lives = numbered(lives_of_publishers(trace, work)).select(
        "number", who, (F.col("kind") == "publish").cast("int").alias("publishes"), *CELLS, "position"
    )
    through_tasks(lives, ["number"], ["position"], work, "lives", partial(follow_topics, work))
    delivered = numbered(of_kind(trace, "deliver")).select("number", "node", who, *CELLS, "position", "at")
    through_tasks(delivered, ["number", "who"], ["position"], work, "delivered", partial(check_nodes, work))
    found = findings(trace, work, "late", LATE).join(F.broadcast(topics), "number")
    before = (" delivered ", name("other_"), " before ", name(), ", which happened before it")
    return witnesses("causal", found.withColumn("other_topic", F.col("topic")), "node ", F.col("node"), *before)


def lives_of_publishers(trace: DataFrame, work: Path) -> DataFrame:
    """What nodes published and delivered up to their last publication on a topic: nothing else is in any past."""
    place = ["run", "topic", "node", "life"]
    last = of_kind(trace, "publish").groupBy(*place).agg(F.max("position").alias("last"))
    publishers = kept(last, work, "publishers")
    return of_kind(trace, "publish", "deliver").join(publishers, place).where("position <= last")


def catalogue_topics(work: Path, file: Path) -> None:
    for (number,), parts in by_key(file, "number"):
        write_catalogue(work / f"{number}.messages.npy", parts)


def follow_topics(work: Path, file: Path) -> None:
    for (number,), parts in by_key(file, "number"):
        write_pasts(work / f"{number}.pasts.npy", Catalogue(work / f"{number}.messages.npy"), parts)


def check_nodes(work: Path, file: Path) -> None:
    late = Findings(work / "late" / file.name, LATE)
    at_hand = 0
    for (number, _), parts in by_key(file, "number", "who"):
        if number != at_hand:
            at_hand, catalogue = number, Catalogue(work / f"{number}.messages.npy")
            path = work / f"{number}.pasts.npy"
            pasts = np.load(path, mmap_mode="r") if path.exists() else None
        if pasts is None:  # nobody published on this topic, so nothing happened before anything
            continue
        debts = Debts(catalogue, pasts)
        for rows in parts:
            which, causes = debts.deliver(catalogue.numbers(rows), rows["position"])
            if len(which):
                cells = [rows[cell][which] for cell in ("number", "node", "at", *CELLS)]
                late.add([*cells, catalogue.source[causes], catalogue.incarnation[causes], catalogue.seq[causes]])
    late.write()
