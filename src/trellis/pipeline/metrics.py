"""Every metric as a function from table to table: from traces of any size, and from the runs of a sweep.

Source:   VCube-PS section 4; hit ratio from Vitis section IV.
Promises: on one trace the same numbers as `trellis.metrics`, its plain twin (a test holds them together). A trace table
          has the columns of trace/rows.py and a column `run`; metrics never mix runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from trellis.metrics.summary import interval
from trellis.trace.rows import DELIVERIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INTERVALS = (
    "point bigint, measure string, settings map<string,string>, mean double, std double, half double, count bigint"
)


def latencies(trace: DataFrame) -> DataFrame:
    """One row per (run, message, subscriber but its source): `reception`, `delivery`, and `delay` between."""
    from pyspark.sql import functions as F

    from trellis.pipeline.audit.columns import MESSAGE, carried, of_kind

    published = of_kind(trace, "publish").groupBy(MESSAGE).agg(F.min("at").alias("published"))
    received = carried(trace, "receive").groupBy([*MESSAGE, "node"]).agg(F.min("at").alias("received"))
    delivered = of_kind(trace, *DELIVERIES).where("node != source").select(*MESSAGE, "node", "at")
    return (
        delivered.join(received, [*MESSAGE, "node"])
        .join(published, MESSAGE)
        .select(
            *MESSAGE,
            "node",
            (F.col("received") - F.col("published")).alias("reception"),
            (F.col("at") - F.col("published")).alias("delivery"),
            (F.col("at") - F.col("received")).alias("delay"),
        )
    )


def summaries(values: DataFrame, *columns: str) -> DataFrame:
    """One row per (run, measure): mean, standard deviation, minimum, maximum and count."""
    from pyspark.sql import functions as F

    long = values.select("run", F.expr(unpivot(columns)).alias("measure", "value"))
    return long.groupBy("run", "measure").agg(
        F.avg("value").alias("mean"),
        F.stddev_pop("value").alias("std"),
        F.min("value").alias("min"),
        F.max("value").alias("max"),
        F.count("value").alias("count"),
    )


def unpivot(columns: Sequence[str]) -> str:
    return f"stack({len(columns)}, " + ", ".join(f"'{name}', `{name}`" for name in columns) + ")"


def histogram(values: DataFrame, column: str) -> DataFrame:
    """One row per (run, value): how often it is there."""
    return values.groupBy("run", column).count()


def sent(trace: DataFrame) -> DataFrame:
    """One row per (run, kind of packet): how many were sent."""
    return trace.where("kind = 'send'").groupBy("run", "packet").count()


def queues(trace: DataFrame) -> DataFrame:
    """One row per (run, node that sent something): the mean length of its queue over the run, and the longest."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    until = trace.groupBy("run").agg(F.max("at").alias("until"))
    packets = trace.where("kind = 'send'").select("run", "node", "at", "wait")
    # At one time the packets that leave go before those that enter.
    entering = packets.select("run", "node", "at", F.lit(1).alias("change"))
    leaving = packets.select("run", "node", (F.col("at") + F.col("wait")).alias("at"), F.lit(-1).alias("change"))
    in_time = Window.partitionBy("run", "node").orderBy("at", "change").rowsBetween(Window.unboundedPreceding, 0)
    lengths = entering.union(leaving).withColumn("length", F.sum("change").over(in_time))
    longest = lengths.groupBy("run", "node").agg(F.max("length").alias("longest"))
    waited = packets.groupBy("run", "node").agg(F.sum("wait").alias("waited"))
    mean = (F.col("waited") / F.greatest(F.lit(1), F.col("until"))).alias("mean")
    return waited.join(longest, ["run", "node"]).join(until, "run").select("run", "node", mean, "longest")


def barriers(trace: DataFrame) -> DataFrame:
    """One row per (run, size): how many messages name that many direct predecessors."""
    return histogram(trace.where("kind = 'spread'"), "barrier")


def false_positives(trace: DataFrame) -> DataFrame:
    """One row per run: messages received by nodes that are not subscribed then, by their application's last word.

    To the topic, or to one that includes it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from trellis.pipeline.audit.columns import in_tree

    rows = trace.where("kind in ('subscribe', 'confirm', 'unsubscribe', 'receive')")
    before = Window.partitionBy("run", "node", "topic").orderBy("position").rowsBetween(Window.unboundedPreceding, 0)
    word = F.when(F.col("kind") != "receive", F.col("kind") != "unsubscribe")
    inside = F.coalesce(F.last(word, ignorenulls=True).over(before), F.lit(False))
    wrong = (F.col("kind") == "receive") & (F.col("packet") == "PUB") & ~F.col("inside") & ~in_tree()
    counted = rows.withColumn("inside", inside).groupBy("run")
    flat = counted.agg(F.sum(F.when(wrong, F.col("batch")).otherwise(0)).alias("flat"))
    total = F.col("flat") + F.coalesce("stray", F.lit(0))
    return flat.join(strays(rows.where(in_tree())), "run", "left").select("run", total.alias("false_positives"))


def strays(rows: DataFrame) -> DataFrame:
    """The same where topics include each other: messages between no word that one is subscribed and the next word."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from trellis.pipeline.audit.columns import inclusions, with_what_is_below

    place = ["run", "node", "topic"]
    until = F.lead("position").over(Window.partitionBy(*place).orderBy("position"))
    words = rows.where("kind <> 'receive'").withColumn("until", until).where("kind <> 'unsubscribe'")
    inside = with_what_is_below(words.select(*place, F.col("position").alias("since"), "until"), inclusions(rows))
    same = [F.col(f"came.{cell}") == F.col(f"inside.{cell}") for cell in place]
    within = (F.col("came.position") > F.col("since")) & (
        F.col("until").isNull() | (F.col("came.position") < F.col("until"))
    )
    came = rows.where("kind = 'receive' AND packet = 'PUB'").alias("came")
    outside = came.join(inside.alias("inside"), [*same, within], "left_anti")
    return outside.groupBy("run").agg(F.sum("batch").alias("stray"))


def hits(trace: DataFrame, quiet: bool = True) -> DataFrame:
    """One row per run: deliveries `owed` to steady subscribers, `made`, and their `hit_ratio`."""
    from pyspark.sql import functions as F

    from trellis.pipeline.audit.columns import AT_PLACE, in_tree, inclusions, living, of_kind, starts_of
    from trellis.pipeline.audit.columns import with_what_is_below as below
    from trellis.pipeline.audit.delivery import owed_to, subscriptions
    from trellis.pipeline.audit.integrity import messages

    trace = living(trace, starts_of(trace))
    subscribers = below(subscriptions(trace), inclusions(trace))
    born, steady = owed_to(subscribers, messages(trace), quiet)
    times = F.when(in_tree(), 1).otherwise(F.count(F.lit(1)))  # in a tree once, on however many levels
    due = born.join(subscribers, ["run", "topic"]).where(steady).groupBy(*AT_PLACE).agg(times.alias("times"))
    got = of_kind(trace, *DELIVERIES).select(*AT_PLACE).distinct().withColumn("got", F.lit(1))
    owed = due.join(got, AT_PLACE, "left").groupBy("run")
    found = owed.agg(F.sum("times").alias("owed"), F.sum(F.col("got") * F.col("times")).alias("made"))
    found = found.fillna(0, ["made"])
    return found.withColumn("hit_ratio", F.col("made") / F.col("owed"))


def over_repetitions(runs: DataFrame, **measures: str) -> DataFrame:
    """One row per (point, measure): mean, standard deviation and half of the 95% interval over the repetitions.

    `measures` are expressions over the columns of `runs`, by name: `latency="reception.mean"`. Failed runs are out.
    """
    from pyspark.sql import functions as F

    cells = [F.expr(f"cast({expression} as double)").alias(name) for name, expression in measures.items()]
    values = runs.where("error = ''").select("point", "settings", *cells)
    long = values.select("point", "settings", F.expr(unpivot(list(measures))).alias("measure", "value"))
    grouped = long.where("value is not null").groupBy("point", "measure")
    found = grouped.agg(F.first("settings").alias("settings"), F.collect_list("value").alias("values"))
    return found.mapInArrow(with_intervals, INTERVALS)


def with_intervals(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [interval(sorted(values)) for values in batch.column("values").to_pylist()]
        yield pa.RecordBatch.from_arrays(
            [
                batch.column("point"),
                batch.column("measure"),
                batch.column("settings"),
                pa.array([each.mean for each in found], pa.float64()),
                pa.array([each.std for each in found], pa.float64()),
                pa.array([each.half for each in found], pa.float64()),
                pa.array([each.count for each in found], pa.int64()),
            ],
            names=["point", "measure", "settings", "mean", "std", "half", "count"],
        )
