"""FIFO on Spark; the twin is audit/fifo.py."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.audit.columns import MESSAGE, ORIGIN, name, of_kind, witnesses


def fifo(trace: DataFrame) -> DataFrame:
    """A message delivered after a later one of the same origin and topic: its number is below the highest so far."""
    earlier = Window.partitionBy("node", *ORIGIN).orderBy("position").rowsBetween(Window.unboundedPreceding, -1)
    found = (
        of_kind(trace, "deliver")
        .select("node", *MESSAGE, "position", "at")
        .withColumn("other_seq", F.max("seq").over(earlier))
        .where("seq < other_seq")
        .withColumns({f"other_{cell}": F.col(cell) for cell in ("topic", "source", "incarnation")})
    )
    later = (" after ", name("other_"), ", which was published later")
    return witnesses("fifo", found, "node ", F.col("node"), " delivered ", name(), *later)
