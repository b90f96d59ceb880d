"""Columns that the audits on Spark share: what names a message, what a witness consists of, which rows count."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from trellis.audit import NEEDED_KINDS, Witness
from trellis.pipeline.tables import address, pattern
from trellis.protocols.parts.hierarchy import ROOT
from trellis.trace.rows import DELIVERIES, OF_NODE
from trellis.words import TOPIC_MAX, MessageId

ORIGIN = ["run", "topic", "source", "incarnation"]  # one life of one publisher on one topic of one run
MESSAGE = [*ORIGIN, "seq"]
OTHER = ["other_topic", "other_source", "other_incarnation", "other_seq"]
PLACE = ["run", "node", "topic"]
AT_PLACE = ["node", "life", *MESSAGE]  # a message in one life of one node
WITNESS = ["audit", "run", "at", "node", *MESSAGE[1:], *OTHER, "says"]
IN_ORDER = ["at", "node", "source", "incarnation", "topic", "seq", "says"]  # as audit.witness.in_order has it
TYPES = dict(zip(OTHER, ("string", "int", "int", "bigint"), strict=True))


def needed(trace: DataFrame) -> DataFrame:
    """Acknowledgements and membership packets tell the audits nothing."""
    return trace.where(F.col("kind").isin(*NEEDED_KINDS) & ((F.col("kind") != "receive") | (F.col("batch") > 0)))


def of_kind(trace: DataFrame, *kinds: str) -> DataFrame:
    return trace.where(F.col("kind").isin(*kinds))


def carried(trace: DataFrame, *kinds: str) -> DataFrame:
    """One row per message that a row of these kinds concerns: numbered one after the other from the first."""
    numbers = F.sequence(F.col("seq"), F.col("seq") + F.col("batch") - 1)
    return of_kind(trace, *kinds).where("batch > 0").withColumn("seq", F.explode(numbers))


def starts_of(trace: DataFrame) -> DataFrame:
    """One row per node that was ever started: the positions at which it was."""
    return of_kind(trace, "start").groupBy("run", "node").agg(F.collect_list("position").alias("starts"))


def living(trace: DataFrame, starts: DataFrame) -> DataFrame:
    """The trace with the `life` of its node in which each row lies, as audit/lives.py has it. `starts` is small."""
    so_far = F.size(F.filter("starts", lambda start: start <= F.col("position")))
    life = F.when(F.col("starts").isNull(), 0).otherwise(so_far)
    return trace.join(F.broadcast(starts), ["run", "node"], "left").withColumn("life", life).drop("starts")


def membership(trace: DataFrame) -> DataFrame:
    """What was said of each subscription; the end of a node's life is a last word on each of its own."""
    cells = ["run", "node", "life", "position", "at", "source", "incarnation", "seq"]
    said = of_kind(trace, "subscribe", "confirm", "unsubscribe").select(*cells, "topic", "kind")
    over = of_kind(trace, *OF_NODE).select(*cells, F.lit("unsubscribe").alias("kind"))
    return said.unionByName(over.join(said.select(*PLACE).distinct(), ["run", "node"]))


def in_tree(topic: str = "topic") -> Column:
    """As parts/hierarchy.py has it."""
    return F.col(topic).startswith(ROOT)


def inclusions(trace: DataFrame) -> DataFrame:
    """One row per topic of which there are messages and per topic that includes it (`of`). Few; none without a tree."""
    said = of_kind(trace, "publish", *DELIVERIES, "receive", "fill").where(in_tree() & (F.col("topic") != ROOT))
    parts = F.split(F.substring("topic", 2, TOPIC_MAX), r"\.")

    def above(n: Column) -> Column:
        return F.concat(F.lit(ROOT), F.array_join(F.slice(parts, F.lit(1), n), "."))

    names = F.transform(F.sequence(F.lit(0), F.size(parts) - 1), above)
    return said.select("run", "topic").distinct().withColumn("of", F.explode(names))


def with_what_is_below(table: DataFrame, pairs: DataFrame) -> DataFrame:
    """Rows about topics, and the same about each topic that those include. `pairs` is what `inclusions` gave; `of` is
    the topic that the row was about.
    """
    below = pairs.groupBy("run", "of").agg(F.collect_list("topic").alias("below"))
    own = table.withColumn("of", F.col("topic"))
    topics = F.concat(F.array("of"), F.coalesce("below", F.array().cast("array<string>")))
    found = own.join(F.broadcast(below), ["run", "of"], "left").withColumn("topic", F.explode(topics))
    return found.select(*own.columns)


def gaps_in(trace: DataFrame) -> DataFrame:
    """What applications were told not to wait for: numbers from `low` up to, but not, `high`; told at a position."""
    numbers = (F.col("seq").alias("low"), (F.col("seq") + F.col("batch")).alias("high"))
    return of_kind(trace, "gap").select("node", "life", *ORIGIN, *numbers, F.col("position").alias("told"))


def in_gaps(table: DataFrame, gaps: DataFrame, how: str, after: bool = False) -> DataFrame:
    """Messages at nodes by whether they were told as gaps (`left_semi`) or not (`left_anti`); or told before."""
    one, other = table.alias("one"), gaps.alias("gap")
    same = [F.col(f"one.{cell}") == F.col(f"gap.{cell}") for cell in ("node", "life", *ORIGIN)]
    within = (F.col("one.seq") >= F.col("gap.low")) & (F.col("one.seq") < F.col("gap.high"))
    told = [F.col("one.position") > F.col("gap.told")] if after else []
    return one.join(other, [*same, within, *told], how)


def name(prefix: str = "") -> Column:
    """A message as `3:7@news`, or `3.1:7@news` for the second life of node 3."""
    topic, source, incarnation, seq = (F.col(f"{prefix}{cell}") for cell in MESSAGE[1:])
    life = F.when(incarnation == 0, "").otherwise(F.concat(F.lit("."), incarnation))
    return F.concat(source, life, F.lit(":"), seq, F.lit("@"), topic)


def witnesses(audit: str, found: DataFrame, *says: Column | str) -> DataFrame:
    """Rows about a violation as witnesses; `says` is put together from text and columns."""
    text = F.concat(*(F.lit(part) if isinstance(part, str) else part.cast("string") for part in says))
    others = {cell: F.lit(None).cast(kind) for cell, kind in TYPES.items() if cell not in found.columns}
    return found.withColumns({"audit": F.lit(audit), "says": text, **others}).select(*WITNESS)


def witness_of(row: Row) -> Witness:
    """A row as the plain audits would have told it."""
    id = MessageId((row.source, row.incarnation), row.topic, row.seq)
    other = None
    if row.other_seq is not None:
        other = MessageId((row.other_source, row.other_incarnation), row.other_topic, row.other_seq)
    return Witness(row.audit, row.at, row.node, id, other, row.says)


def kept(table: DataFrame, work: Path, name: str) -> DataFrame:
    """The table, computed once into the work directory. Spark then knows its size, and sends a small one around."""
    table.write.parquet(address(work / name))
    return table.sparkSession.read.schema(table.schema).parquet(pattern(work / name))


def partitions(table: DataFrame) -> int:
    return int(table.sparkSession.conf.get("spark.sql.shuffle.partitions") or 8)
