"""Total order, pair by pair, on Spark; the twin is audit/total.py.

Promises: the same witnesses. Each node's order is written once to the work directory; pairs of nodes are then compared
          in parallel, each in the memory of two nodes' deliveries.
Assumes:  a work directory that driver and workers share (on one machine: any).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.audit.columns import MESSAGE, kept, name, of_kind, witnesses
from trellis.pipeline.audit.pasts import Numbers
from trellis.pipeline.audit.streams import Findings, by_key, findings, through_tasks

INVERTED = pa.schema(
    [
        ("one", pa.int32()),
        ("two", pa.int32()),
        ("at", pa.int64()),
        ("first", pa.int64()),
        ("then", pa.int64()),
    ]
)


def total(trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """Two messages that two nodes delivered in different orders. `said` is what `messages` gave."""
    in_run = F.row_number().over(Window.partitionBy("run").orderBy(*MESSAGE[1:])).cast("long")
    numbers = kept(said.where("heard").select(*MESSAGE, in_run.alias("number")), work, "numbers")
    delivered = of_kind(trace, "deliver")
    in_all = F.row_number().over(Window.orderBy("run", "node", "life")).cast("int")
    lives = kept(delivered.select("run", "node", "life").distinct().withColumn("who", in_all), work, "subscribers")
    orders = (
        delivered.join(numbers, MESSAGE)
        .join(F.broadcast(lives), ["run", "node", "life"])
        .select("who", "number", "at", "position")
    )
    through_tasks(orders, ["who"], ["position"], work, "orders", partial(write_orders, work))
    one = lives.select("run", F.col("node").alias("node_one"), F.col("who").alias("one"))
    two = lives.select("run", "node", F.col("who").alias("two"))
    pairs = kept(one.join(two, "run").where("node_one < node"), work, "pairs")
    through_tasks(pairs.select("one", "two"), ["one", "two"], [], work, "compared", partial(compare, work))
    found = findings(trace, work, "inverted", INVERTED).join(pairs, ["one", "two"])
    first = numbers.withColumnRenamed("number", "first")
    then = numbers.select("run", F.col("number").alias("then"), *(F.col(c).alias(f"other_{c}") for c in MESSAGE[1:]))
    named = found.join(first, ["run", "first"]).join(then, ["run", "then"])
    here = ("node ", F.col("node"), " delivered ", name("other_"), " before ", name())
    there = (", but node ", F.col("node_one"), " delivered ", name(), " before ", name("other_"))
    return witnesses("total", named, *here, *there)


def write_orders(work: Path, file: Path) -> None:
    for (who,), parts in by_key(file, "who"):
        cells = np.concatenate([np.stack([rows["number"], rows["at"]]) for rows in parts], axis=1)
        first = np.sort(np.unique(cells[0], return_index=True)[1])  # the first delivery of a message counts
        np.save(work / f"{who}.order.npy", cells[:, first])


def compare(work: Path, file: Path) -> None:
    inverted = Findings(work / "inverted" / file.name, INVERTED)
    at_hand, order = -1, np.zeros((2, 0), np.int64)
    for (one, two), _ in by_key(file, "one", "two"):
        if one != at_hand:
            at_hand, order = one, np.load(work / f"{one}.order.npy")
        found = inversions(order[0], np.load(work / f"{two}.order.npy", mmap_mode="r"))
        if len(found[0]):
            inverted.add([np.full(len(found[0]), one), np.full(len(found[0]), two), *found])
    inverted.write()


def inversions(one: Numbers, order: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Neighbours among the common messages in the order of one that the other has the other way round."""
    two, at = order
    place = np.full(max(one.max(initial=0), two.max(initial=0)) + 1, -1)
    place[two] = np.arange(len(two))
    common = one[place[one] >= 0]
    there = place[common]
    wrong = np.flatnonzero(there[:-1] > there[1:])
    return at[there[wrong]], common[wrong], common[wrong + 1]
