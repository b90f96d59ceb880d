"""Creation, duplicate and uninvited on Spark; the twin is audit/integrity.py."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.audit.columns import (
    AT_PLACE,
    MESSAGE,
    PLACE,
    carried,
    gaps_in,
    in_gaps,
    kept,
    membership,
    name,
    of_kind,
    with_what_is_below,
    witnesses,
)
from trellis.trace.rows import DELIVERIES


def messages(trace: DataFrame) -> DataFrame:
    """One row per message that was published or delivered: where its first publication and its settling stand.

    An aggregate that shrinks before it is shuffled: as many rows as messages, not as deliveries. `crashed` is whether
    its source did, in that life.
    """
    rows = of_kind(trace, "publish", *DELIVERIES).unionByName(carried(trace, "settle"))
    born = F.when(F.col("kind") == "publish", F.col("position"))
    ended = of_kind(trace, "crash").select("run", "source", "incarnation").distinct()
    crashed = F.broadcast(ended.withColumn("crashed", F.lit(True)))
    found = rows.groupBy(*MESSAGE).agg(
        F.min(born).alias("published"),
        F.min_by("at", born).alias("published_at"),
        F.min(F.when(F.col("kind") == "settle", F.col("position"))).alias("settled"),
        F.max(F.col("kind").isin(*DELIVERIES)).alias("heard"),
    )
    return found.join(crashed, ["run", "source", "incarnation"], "left").fillna(False, ["crashed"])


def creation(trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """A delivered message that nobody published. `said` is what `messages` gave."""
    created = kept(said.where("published IS NULL AND heard").select(*MESSAGE), work, "created")
    found = of_kind(trace, *DELIVERIES).join(created, MESSAGE, "left_semi")
    return witnesses("creation", found, "node ", F.col("node"), " delivered ", name(), ", which nobody published")


def duplicate(trace: DataFrame, stepped: DataFrame, work: Path) -> DataFrame:
    """A message delivered twice in a life. `stepped` is what `steps` gave: what comes again does not come next."""
    late = kept(stepped.where("seq <= before").select(*AT_PLACE).distinct(), work, "late_or_again")
    copies = Window.partitionBy(*AT_PLACE).orderBy("position")
    found = (
        of_kind(trace, *DELIVERIES)
        .select(*AT_PLACE, "position", "at")
        .join(late, AT_PLACE, "left_semi")
        .withColumns({"number": F.row_number().over(copies), "first": F.min("position").over(copies)})
        .where("number > 1")
    )
    rows = (" again (rows ", F.col("first"), " and ", F.col("position"), ")")
    return witnesses("duplicate", found, "node ", F.col("node"), " delivered ", name(), *rows)


def uninvited(trace: DataFrame, pairs: DataFrame, work: Path) -> DataFrame:
    """A delivery at a node whose application is not subscribed to the topic or to one that includes it, by its last
    word, or was told of a gap. `pairs` is what `inclusions` gave.
    """
    until = F.lead("position").over(Window.partitionBy(*PLACE).orderBy("position"))
    subscribed = (
        membership(trace)
        .select(*PLACE, "kind", F.col("position").alias("since"), until.alias("until"))
        .where("kind <> 'unsubscribe'")
        .drop("kind")
    )
    inside = kept(with_what_is_below(subscribed, pairs), work, "inside").alias("inside")
    delivered = of_kind(trace, *DELIVERIES).select(*AT_PLACE, "position", "at")

    def by_membership(table: DataFrame, how: str) -> DataFrame:
        same = [F.col(f"d.{cell}") == F.col(f"inside.{cell}") for cell in PLACE]
        after = F.col("d.position") > F.col("inside.since")
        before = F.col("inside.until").isNull() | (F.col("d.position") < F.col("inside.until"))
        return table.alias("d").join(inside, [*same, after, before], how)

    though = (" though it is not subscribed to ", F.col("topic"))
    strangers = by_membership(delivered, "left_anti")
    given_up = in_gaps(delivered, kept(gaps_in(trace), work, "told"), "left_semi", after=True)
    at_node = ("node ", F.col("node"), " delivered ", name())
    return witnesses("uninvited", strangers, *at_node, *though).unionByName(
        witnesses(
            "uninvited", by_membership(given_up, "left_semi"), *at_node, " after it had told of a gap in its place"
        )
    )
