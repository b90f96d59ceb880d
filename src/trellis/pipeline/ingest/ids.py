"""Dense numbers for names, in a canonical order."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def numbered(names: DataFrame, id: str, *order: Column | str) -> DataFrame:
    """The distinct rows with a number from 0 in this order.

    One task counts them all: there are as many as names, not as rows of a trace.
    """
    return names.distinct().withColumn(id, F.row_number().over(Window.orderBy(*order)).cast("bigint") - 1)


def in_topics(messages: DataFrame, *order: str) -> DataFrame:
    """`seq` counts within a topic, `id` over all: the messages of the topics before it come first.

    Only the topics' sizes meet in one task.
    """
    ordered = Window.partitionBy("topic").orderBy(*order)
    sizes = messages.groupBy("topic").agg(F.count("*").alias("size"))
    before = Window.orderBy("topic").rowsBetween(Window.unboundedPreceding, -1)
    offsets = sizes.select("topic", F.coalesce(F.sum("size").over(before), F.lit(0)).alias("offset"))
    counted = messages.withColumn("seq", F.row_number().over(ordered).cast("bigint") - 1)
    return counted.join(F.broadcast(offsets), "topic").withColumn("id", F.col("offset") + F.col("seq")).drop("offset")
