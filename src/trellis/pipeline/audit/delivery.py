"""Lost and stuck on Spark, by intervals between positions; the twin is audit/delivery.py."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.audit.columns import (
    AT_PLACE,
    MESSAGE,
    ORIGIN,
    PLACE,
    carried,
    gaps_in,
    in_gaps,
    in_tree,
    kept,
    membership,
    name,
    needed,
    of_kind,
    witnesses,
)
from trellis.trace.rows import DELIVERIES

IN_LIFE = [*PLACE, "life"]
LIFE = ["run", "source", "incarnation"]  # of a source
END = (1 << 63) - 1


def subscriptions(trace: DataFrame) -> DataFrame:
    """One row per subscription of one node to one topic: since when, confirmed when, left when (positions)."""
    by_position = Window.partitionBy(*PLACE).orderBy("position")
    nobody = F.coalesce(F.lag("kind").over(by_position), F.lit("unsubscribe")) == "unsubscribe"
    starts = (F.col("kind") == "subscribe") | ((F.col("kind") == "confirm") & nobody)
    numbered = (
        membership(trace)
        .withColumn("starts", starts)
        .withColumn("number", F.sum(F.col("starts").cast("int")).over(by_position))
    )
    first = {cell: F.min_by(cell, "position").alias(f"since_{cell}") for cell in ("at", "source", "incarnation", "seq")}
    whole = (
        numbered.where("number > 0")
        .groupBy(*PLACE, "number")
        .agg(
            F.min("position").alias("since"),
            *first.values(),
            F.min_by("life", "position").alias("life"),
            F.min(F.when(F.col("kind") == "confirm", F.col("position"))).alias("confirmed"),
            F.min(F.when(F.col("kind") == "unsubscribe", F.col("position"))).alias("left"),
        )
    )
    again = F.lead("since").over(Window.partitionBy(*PLACE).orderBy("number"))
    listed = cuts(trace).groupBy("run", "node").agg(F.collect_list(F.struct("low", "high")).alias("cuts"))
    return whole.withColumn("left", F.coalesce("left", again)).join(F.broadcast(listed), ["run", "node"], "left")


def cuts(trace: DataFrame) -> DataFrame:
    """When a node could not reach somebody or could not be reached: from one position to another. Few rows."""
    met = of_kind(trace, "suspect", "restore").select("run", "node", "life", "peer", "position", "kind")
    over = of_kind(trace, "crash", "stop").groupBy("run", "node", "life").agg(F.min("position").alias("over"))
    following = F.lead("position").over(Window.partitionBy("run", "node", "life", "peer").orderBy("position"))
    until = F.when(F.col("kind") == "restore", F.col("position")).otherwise(F.coalesce("following", "over", F.lit(END)))
    theirs = (
        met.withColumn("following", following)
        .join(over, ["run", "node", "life"], "left")
        .withColumn("until", until)
        .select("run", F.col("peer").alias("node"), F.col("position").alias("low"), F.col("until").alias("high"))
    )
    mine = met.select("run", "node", F.col("position").alias("low"), F.col("position").alias("high"))
    return mine.unionByName(theirs)


def owed_to(subscriber: DataFrame, said: DataFrame, quiet: bool) -> tuple[DataFrame, Column]:
    """The messages that must reach somebody, and when one of them must reach a subscriber beside it."""
    born = said.where(
        "published IS NOT NULL AND " + ("(settled IS NOT NULL OR NOT crashed)" if quiet else "settled IS NOT NULL")
    )
    of_sources = subscriber.select("run", F.col("node").alias("source"), F.col("cuts").alias("source_cuts"))
    born = born.join(F.broadcast(of_sources.dropDuplicates(["run", "source"])), ["run", "source"], "left")
    in_touch = ~(meanwhile("cuts") | meanwhile("source_cuts"))
    stayed = F.col("left").isNull() | (F.coalesce(F.col("left") > F.col("settled"), F.lit(False)) & in_touch)
    return born, (F.col("confirmed") < F.col("published")) & stayed


def meanwhile(cuts: str) -> Column:
    """Whether a node was cut off before a message was settled."""
    overlap = F.exists(cuts, lambda cut: (cut["low"] < F.col("settled")) & (cut["high"] > F.col("published")))
    return F.coalesce(overlap, F.lit(False))


def checked(subscribers: DataFrame, said: DataFrame, quiet: bool) -> DataFrame:
    """Per run, how many (message, steady subscriber) pairs `lost` looks at."""
    born, owed = owed_to(subscribers, said, quiet)
    flat = born.where(~in_tree()).join(subscribers, ["run", "topic"]).where(owed)
    tree = born.where(in_tree()).join(subscribers, ["run", "topic"]).where(owed).select("node", *MESSAGE).distinct()
    counts = flat.groupBy("run").count().unionByName(tree.groupBy("run").count())
    return counts.groupBy("run").agg(F.sum("count").alias("count"))


def lost(
    trace: DataFrame, said: DataFrame, subscribers: DataFrame, stepped: DataFrame, quiet: bool, work: Path
) -> DataFrame:
    """A message that never came to a steady subscriber. `said` and `stepped` are what `messages` and `steps` gave. Of
    several subscriptions of a node that it is for, the one that began first tells of it.

    What a node never got of an origin was left out at some step, or lies above the highest number that it delivered,
    and did not come late. Such holes are few where little is lost.
    """
    born, owed = owed_to(subscribers, said, quiet)
    ends = born.groupBy(*ORIGIN).agg((F.min("seq") - 1).alias("low"), (F.max("seq") + 1).alias("upto"))
    highest = of_kind(trace, *DELIVERIES).groupBy("node", "life", *ORIGIN).agg(F.max("seq").alias("highest"))
    above = (
        subscribers.where("confirmed IS NOT NULL")
        .select(*IN_LIFE)
        .distinct()
        .join(ends, ["run", "topic"])
        .join(highest, ["node", "life", *ORIGIN], "left")
        .select("node", "life", *ORIGIN, F.coalesce("highest", "low").alias("after"), "upto")
    )
    left_out = stepped.where("before IS NULL OR seq > before + 1").select(
        "node", "life", *ORIGIN, F.coalesce("before", F.lit(-1)).alias("after"), F.col("seq").alias("upto")
    )
    holes = above.unionByName(left_out).where("upto > after + 1")
    missing = kept(
        holes.join(born, ORIGIN)
        .where("seq > after AND seq < upto")
        .join(stepped.where("seq < before").select(*AT_PLACE), AT_PLACE, "left_anti")
        .join(subscribers.drop("number"), IN_LIFE)
        .where(owed)
        .withColumn("cut_off", meanwhile("cuts") | meanwhile("source_cuts"))
        .groupBy(*AT_PLACE)
        .agg(F.min_by(F.struct("published_at", "since", "left", "cut_off"), "since").alias("first"))
        .select(*AT_PLACE, "first.*"),
        work,
        "missing",
    )
    copies = (
        copies_of(trace)
        .join(missing.select(*AT_PLACE, "since", "left"), AT_PLACE)
        .where("position > since AND (left IS NULL OR position < left)")
        .groupBy(*AT_PLACE, "since")
        .agg(F.sum("copies").alias("copies"), F.max(F.col("copies") > 0).alias("came"))
    )
    found = (
        in_gaps(missing, gaps_in(trace), "left_anti")
        .join(copies, [*AT_PLACE, "since"], "left")
        .where("coalesce(copies, 0) <= 0")
        .withColumnRenamed("published_at", "at")
    )
    died = died_out(trace, found.where("cut_off")).withColumn("died", F.lit(True))
    found = found.join(died, MESSAGE, "left").where("died IS NULL OR NOT cut_off").drop("died", "cut_off")
    skipped = F.when(F.col("came"), " (it came, and was taken for an old one)").otherwise("")
    never = (" was subscribed all the time and never got ", name(), ", published at ", F.col("at"), skipped)
    return witnesses("lost", found, "node ", F.col("node"), *never)


def of_the_living(waiting: DataFrame, trace: DataFrame, said: DataFrame, work: Path) -> DataFrame:
    """Without what may wait for the dead: of lives that crashed, unsettled or never followed by another life, or after
    they had read what the node lacks of a life that was never followed.
    """
    dead = F.broadcast(kept(crashed(trace), work, "crashed"))
    settled = said.where("settled IS NOT NULL").select(*MESSAGE, F.lit(True).alias("done"))
    known = waiting.join(dead, LIFE, "left").join(settled, MESSAGE, "left").where("dead IS NULL OR (followed AND done)")
    known = kept(known.drop("followed", "done"), work, "waiting")  # few

    of_dead = of_kind(trace, *DELIVERIES).join(dead.where("followed IS NULL"), LIFE, "left_semi").select(*AT_PLACE)
    held = [F.col(cell).alias(f"held_{cell}") for cell in AT_PLACE]
    told = known.where("dead IS NOT NULL").select("run", "topic", *held, F.col("dead.node"), F.col("dead.life"))
    lacked = (
        F.broadcast(told)
        .join(of_dead, [*PLACE, "life"])
        .withColumns({"node": F.col("held_node"), "life": F.col("held_life")})
        .join(of_dead, AT_PLACE, "left_anti")
    )
    held_again = [F.col(f"held_{cell}").alias(cell) for cell in AT_PLACE]
    excused = in_gaps(lacked, gaps_in(trace), "left_anti").select(*held_again)
    return known.drop("dead").join(excused, AT_PLACE, "left_anti")


def crashed(trace: DataFrame) -> DataFrame:
    """One row per life that crashed: which one its node calls it (`dead`), and whether another one followed."""
    dead = of_kind(trace, "crash").groupBy(*LIFE).agg(F.min_by(F.struct("node", "life"), "position").alias("dead"))
    started = of_kind(trace, "start").select("run", F.col("node").alias("source"), F.col("incarnation").alias("newer"))
    followed = dead.join(started, ["run", "source"]).where("newer > incarnation").select(*LIFE).distinct()
    return dead.join(followed.withColumn("followed", F.lit(True)), LIFE, "left")


def died_out(trace: DataFrame, missing: DataFrame) -> DataFrame:
    """Of these messages, which are few, those of crashed sources that no life has which is not over."""
    ids = missing.select(*MESSAGE).distinct()
    over = of_kind(trace, "crash", "stop").select("run", "node", "life").distinct()
    had = of_kind(trace, *DELIVERIES).join(F.broadcast(ids), MESSAGE, "left_semi")
    living = had.join(F.broadcast(over), ["run", "node", "life"], "left_anti").select(*MESSAGE).distinct()
    dead = of_kind(trace, "crash").select("run", "source", "incarnation").distinct()
    return ids.join(F.broadcast(dead), ["run", "source", "incarnation"], "left_semi").join(living, MESSAGE, "left_anti")


def copies_of(trace: DataFrame) -> DataFrame:
    """Copies that came, were brought, or were there from the publication on (+1), and those dropped on purpose (-1)."""
    cells = [*AT_PLACE, "kind", "position", "at"]
    came = (
        carried(trace, "receive")
        .unionByName(of_kind(trace, "publish", "fill"))
        .select(*cells, F.lit(1).alias("copies"))
    )
    return came.unionByName(of_kind(trace, "skip").select(*cells, F.lit(-1).alias("copies")))


def where_copies_are(delivered: DataFrame, held: DataFrame, work: Path) -> DataFrame:
    """Deliveries beside which there may be a copy. A trace need not tell of packets: then only publishers have any."""
    own = F.when(F.col("kind") == "publish", F.col("source"))
    places = kept(held.select(*IN_LIFE, own.alias("own")).distinct(), work, "held").alias("held")
    same = [F.col(f"d.{cell}") == F.col(f"held.{cell}") for cell in IN_LIFE]
    either = F.col("held.own").isNull() | (F.col("held.own") == F.col("d.source"))
    return delivered.alias("d").join(places, [*same, either], "left_semi")


def stuck(trace: DataFrame, said: DataFrame, subscribers: DataFrame, work: Path) -> DataFrame:
    """A message that came and is still held back when nothing is left to happen; or no confirmation ever came.

    Copies and deliveries of a message at a node meet in one aggregate, not in a join.
    """
    standing = subscribers.where("left IS NULL")
    first = standing.groupBy(*PLACE).agg(F.min("since").alias("since"))  # of those that a message is for
    held = copies_of(trace).join(first, PLACE).where("position > since").drop("since")
    delivered = (
        where_copies_are(of_kind(trace, *DELIVERIES), held, work)
        .withColumn("copies", F.lit(None).cast("int"))
        .select(*held.columns)
    )
    came = F.when(F.col("copies") > 0, F.col("position"))
    ends = needed(trace).groupBy("run").agg(F.max_by("at", "position").alias("end"))
    waiting = (
        held.unionByName(delivered)
        .groupBy(*AT_PLACE)
        .agg(
            F.max(F.col("copies").isNull()).alias("delivered"),
            F.sum("copies").alias("copies"),
            F.min_by("at", came).alias("at"),
        )
        .where("NOT delivered AND copies > 0")
        .join(F.broadcast(ends), "run")
    )
    held_back = of_the_living(in_gaps(waiting, gaps_in(trace), "left_anti"), trace, said, work)
    back = (" received ", name(), " at ", F.col("at"), " and still holds it back at the end, ", F.col("end"))
    unconfirmed = standing.where("confirmed IS NULL AND of = topic").select(
        *PLACE, *(F.col(f"since_{cell}").alias(cell) for cell in ("at", "source", "incarnation", "seq"))
    )
    never = (" subscribed to ", F.col("topic"), " at ", F.col("at"), " and was never confirmed")
    return witnesses("stuck", held_back, "node ", F.col("node"), *back).unionByName(
        witnesses("stuck", unconfirmed, "node ", F.col("node"), *never)
    )
