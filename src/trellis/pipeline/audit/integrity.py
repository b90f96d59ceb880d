"""Creation, duplicate and uninvited on Spark; the twin is audit/integrity.py."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.audit.columns import MESSAGE, ORIGIN, carried, kept, name, of_kind, witnesses


def messages(trace: DataFrame) -> DataFrame:
    """One row per message that was published or delivered: where its first publication and its settling stand.

    An aggregate that shrinks before it is shuffled: as many rows as messages, not as deliveries.
    """
    rows = of_kind(trace, "publish", "deliver").unionByName(carried(trace, "settle"))
    born = F.when(F.col("kind") == "publish", F.col("position"))
    return rows.groupBy(*MESSAGE).agg(
        F.min(born).alias("published"),
        F.min_by("at", born).alias("published_at"),
        F.min(F.when(F.col("kind") == "settle", F.col("position"))).alias("settled"),
        F.max(F.col("kind") == "deliver").alias("heard"),
    )


def creation(trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """A delivered message that nobody published. `said` is what `messages` gave."""
    created = kept(said.where("published IS NULL AND heard").select(*MESSAGE), work, "created")
    found = of_kind(trace, "deliver").join(created, MESSAGE, "left_semi")
    return witnesses("creation", found, "node ", F.col("node"), " delivered ", name(), ", which nobody published")


def duplicate(trace: DataFrame, stepped: DataFrame, work: Path) -> DataFrame:
    """A message delivered twice at one node. `stepped` is what `steps` gave: what comes again does not come next."""
    late = kept(stepped.where("seq <= before").select("node", *MESSAGE).distinct(), work, "late_or_again")
    copies = Window.partitionBy("seq", "node", *ORIGIN).orderBy("position")
    found = (
        of_kind(trace, "deliver")
        .select("node", *MESSAGE, "position", "at")
        .join(late, ["node", *MESSAGE], "left_semi")
        .withColumns({"number": F.row_number().over(copies), "first": F.min("position").over(copies)})
        .where("number > 1")
    )
    rows = (" again (rows ", F.col("first"), " and ", F.col("position"), ")")
    return witnesses("duplicate", found, "node ", F.col("node"), " delivered ", name(), *rows)


def uninvited(trace: DataFrame, work: Path) -> DataFrame:
    """A delivery at a node whose application is not subscribed to the topic, by its last word."""
    place = ["run", "node", "topic"]
    words = of_kind(trace, "subscribe", "confirm", "unsubscribe")
    until = F.lead("position").over(Window.partitionBy(*place).orderBy("position"))
    inside = kept(
        words.select(*place, "kind", F.col("position").alias("since"), until.alias("until"))
        .where("kind <> 'unsubscribe'")
        .drop("kind"),
        work,
        "inside",
    ).alias("inside")
    delivered = of_kind(trace, "deliver").alias("d")
    same = [F.col(f"d.{cell}") == F.col(f"inside.{cell}") for cell in place]
    after = F.col("d.position") > F.col("inside.since")
    before = F.col("inside.until").isNull() | (F.col("d.position") < F.col("inside.until"))
    found = delivered.join(inside, [*same, after, before], "left_anti")
    though = (" though it is not subscribed to ", F.col("topic"))
    return witnesses("uninvited", found, "node ", F.col("node"), " delivered ", name(), *though)
