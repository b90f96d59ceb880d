"""Reach and parasites from traces of any size: trellis.metrics.reach is the plain twin.

Promises: the same numbers, run by run (a test holds them together).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.trace.rows import DELIVERIES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# parts/hierarchy.py: a topic outside the tree stands for itself, and the root includes all of the tree.
INCLUDES = (
    "`group` = topic or (startswith(`group`, '.') and startswith(topic, '.') "
    "and (`group` = '.' or startswith(topic, concat(`group`, '.'))))"
)
DEPTH = "if(`group` = '.', 0, length(`group`) - length(replace(`group`, '.', '')))"


def standing(trace: DataFrame) -> DataFrame:
    """One row per span of a subscription: `group`, node, and the positions `since` and `until` between which it is."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from trellis.pipeline.audit.columns import PLACE, living, membership, starts_of

    said = membership(living(trace, starts_of(trace))).where("kind in ('confirm', 'unsubscribe')")
    in_order = Window.partitionBy(*PLACE).orderBy("position")
    ends = in_order.rowsBetween(1, Window.unboundedFollowing)
    left = F.first(F.when(F.col("kind") == "unsubscribe", F.col("position")), ignorenulls=True).over(ends)
    spans = said.withColumn("until", left).where("kind = 'confirm'")
    return spans.groupBy(*PLACE, "until").agg(F.min("position").alias("since")).withColumnRenamed("topic", "group")


def wanted_by(spans: DataFrame, moments: DataFrame) -> DataFrame:
    """The moments (rows with a topic and a position) with every subscription of theirs that includes the topic."""
    from pyspark.sql import functions as F

    keys = ["run", "node"] if "node" in moments.columns else ["run"]
    there = (F.col("since") < F.col("position")) & (F.col("until").isNull() | (F.col("until") > F.col("position")))
    return moments.join(spans, keys).where(there & F.expr(INCLUDES))


def nearest_root() -> Column:
    from pyspark.sql import functions as F

    return F.min_by("group", F.expr(DEPTH)).alias("group")


def reach(trace: DataFrame) -> DataFrame:
    """One row per (run, message, group): how many `wanted` it, how many it `reached`, and `first` and `last`."""
    from pyspark.sql import functions as F

    from trellis.pipeline.audit.columns import MESSAGE, of_kind

    born = of_kind(trace, "publish").select(*MESSAGE, "position", F.col("at").alias("born"))
    pairs = wanted_by(standing(trace), born).groupBy(*MESSAGE, "born", "node").agg(nearest_root())
    told = of_kind(trace, *DELIVERIES).groupBy(*MESSAGE, "node").agg(F.min("at").alias("told"))
    after = F.col("told") - F.col("born")
    return (
        pairs.join(told, [*MESSAGE, "node"], "left")
        .groupBy(*MESSAGE, "group")
        .agg(
            F.count(F.lit(1)).alias("wanted"),
            F.count("told").alias("reached"),
            F.coalesce(F.min(after), F.lit(-1)).alias("first"),
            F.coalesce(F.max(after), F.lit(-1)).alias("last"),
        )
    )


def parasites(trace: DataFrame) -> DataFrame:
    """One row per run: messages that arrived at nodes that want none of their topic then."""
    from pyspark.sql import functions as F

    received = trace.where("kind = 'receive' and batch > 0").select("run", "node", "topic", "position", "batch")
    wanted = wanted_by(standing(trace), received).select("run", "position").distinct()
    vain = received.join(wanted, ["run", "position"], "left_anti").groupBy("run").agg(F.sum("batch").alias("vain"))
    runs = trace.select("run").distinct()
    return runs.join(vain, "run", "left").select("run", F.coalesce("vain", F.lit(0)).alias("parasites"))
