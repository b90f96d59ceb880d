"""Round-trip times as one-way times between numbered nodes, and as the matrix that a scenario reads.

Promises: `one_way` is half of the round trip in whole microseconds, and never 0: a packet takes time.
Stated:   `lifted`: how many were below one microsecond and are 1 now.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trellis.pipeline.ingest.place import MATRIX
from trellis.pipeline.ingest.statistics import spread

MILLISECOND = 1_000
RTT_MS_MAX = 3_600_000  # an hour


def half(rtt_ms: Column) -> Column:
    """Half of a round trip, in microseconds."""
    return F.round(rtt_ms * (MILLISECOND / 2)).cast("bigint")


def one_way(rtt_ms: Column) -> Column:
    return F.greatest(half(rtt_ms), F.lit(1))


def figures(pairs: DataFrame, nodes: int) -> dict[str, Any]:
    """Of a table with `rtt_ms`."""
    rtt = spread(pairs, "rtt_ms")
    complete = rtt["count"] == nodes * (nodes - 1)
    lifted = pairs.where(half(F.col("rtt_ms")) < 1).count()
    return {
        "nodes": nodes,
        "complete": complete,
        "missing_pairs": nodes * (nodes - 1) - rtt["count"],
        "lifted": lifted,
        "rtt_ms": rtt,
    }


def matrix_file(latencies: DataFrame, fresh: Path) -> None:
    """`latencies.csv`: row = sender, 0 only on the diagonal. The rows come one by one, not all into memory."""
    cell = F.struct("dst", "one_way")
    own = (
        latencies.select("src")
        .distinct()
        .select("src", F.col("src").alias("dst"), F.lit(0).cast("bigint").alias("one_way"))
    )
    rows = (
        latencies.select("src", "dst", "one_way")
        .union(own)
        .groupBy("src")
        .agg(F.array_sort(F.collect_list(cell)).alias("cells"))
    )
    told = rows.orderBy("src").select(
        F.concat_ws(",", F.transform("cells", lambda c: c.one_way.cast("string"))).alias("row")
    )
    with (fresh / MATRIX).open("w", encoding="utf-8") as file:
        for row in told.toLocalIterator():
            file.write(row.row + "\n")
