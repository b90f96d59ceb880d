"""FIFO on Spark; the twin is audit/fifo.py. Its one pass over all deliveries also serves `duplicate` and `lost`."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.audit.columns import AT_PLACE, name, of_kind, witnesses
from trellis.trace.rows import DELIVERIES


def steps(trace: DataFrame) -> DataFrame:
    """Deliveries that are not simply the next number of their origin: `before` is the highest number before them.

    `untagged` is the same without those that were tagged as out of order.

    Above `before` + 1: some were left out. At or below `before`: it comes late, or again. Where little goes wrong this
    is a small table, so that the sort of all deliveries, which is what costs, is done once for three audits.
    """
    lives = Window.partitionBy("node", "life", "source", "incarnation", "topic", "run")
    earlier = lives.orderBy("position").rowsBetween(Window.unboundedPreceding, -1)
    untagged = F.when(F.col("kind") == "deliver", F.col("seq"))
    return (
        of_kind(trace, *DELIVERIES)
        .withColumns({"before": F.max("seq").over(earlier), "untagged": F.max(untagged).over(earlier)})
        .select(*AT_PLACE, "position", "at", "kind", "before", "untagged")
        .where("before IS NULL OR seq <> before + 1")
    )


def fifo(stepped: DataFrame) -> DataFrame:
    """A message delivered after a later one of the same origin and topic. `stepped` is what `steps` gave."""
    others = {f"other_{cell}": F.col(cell) for cell in ("topic", "source", "incarnation")}
    found = stepped.where("kind = 'deliver' AND seq < untagged").withColumns({"other_seq": F.col("untagged"), **others})
    later = (" after ", name("other_"), ", which was published later")
    return witnesses("fifo", found, "node ", F.col("node"), " delivered ", name(), *later)
