"""A hierarchy of topics from their dotted names.

Source:   a newsgroups file: `name TAB description` per line; files of creation and removal dates beside it,
          `name TAB yyyymmddhhmmss` (in UTC).
Promises: `topics` and `names` in the order of the names: every group, every group that was removed, and every prefix
          above one; dates in microseconds since 1970. Figures are of the groups in the list.
Dropped:  removal dates of groups that are in the list (removed and made again), creation dates of groups that are
          neither in the list nor removed; the line is the one in the file of dates.
Refused:  an empty name or an empty part of one, blanks in a name, a name twice in a file, what is no date.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.ingest import source
from trellis.pipeline.ingest.ids import numbered
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sieve import Sieve, cells, must
from trellis.pipeline.ingest.statistics import histogram, rounded, spread

NAME = r"^[^\s.]+(\.[^\s.]+)*$"
STAMP = "yyyyMMddHHmmss"


def take(sieve: Sieve, options: Options) -> Clean:
    groups = sieve.keep(read_names(sieve))
    sieve.not_empty(groups, "group")
    created, removed = (read_dates(sieve, options[which]) for which in ("created", "removed"))
    removed = sieve.drop(
        removed.join(groups.select("name", F.lit(True).alias("listed")), "name", "left"),
        "removal date",
        {"of a group that is in the list": F.coalesce("listed", F.lit(False))},
    ).select("name", "at")
    known = sieve.keep(
        groups.select("name", F.lit("group").alias("state")).union(removed.select("name", F.lit("removed")))
    )
    created = sieve.drop(
        created.join(known, "name", "left"),
        "creation date",
        {"of a group that is neither in the list nor removed": F.isnull("state")},
    ).select("name", "at")
    above = prefixes(known).join(known, "name", "left_anti").select("name", F.lit("prefix"))
    everything = known.union(above)
    numbers = sieve.keep(numbered(everything.select("name"), "topic", "name"))
    parent = numbers.select(F.col("name").alias("parent_name"), F.col("topic").alias("parent"))
    topics = (
        everything.join(numbers, "name")
        .withColumn("depth", F.size(F.split("name", r"\.")))
        .withColumn("parent_name", F.regexp_extract("name", r"^(.*)\.[^.]+$", 1))
        .join(parent, "parent_name", "left")
        .join(created.withColumnRenamed("at", "created"), "name", "left")
        .join(removed.withColumnRenamed("at", "removed"), "name", "left")
    )
    topics = sieve.keep(topics)
    return Clean({"topics": topics, "names": numbers}, figures(groups, topics))


def read_names(sieve: Sieve) -> DataFrame:
    raw = sieve.read().select("line", "wrong", F.split_part("text", F.lit("\t"), F.lit(1)).alias("name"))
    again = F.row_number().over(Window.partitionBy("name").orderBy("line"))
    return sieve.refuse(raw.withColumn("again", again), *names_rules()).select("line", "name")


def names_rules() -> list[Any]:
    return [
        must(F.col("name").rlike(NAME), "name", "expected parts without blanks and dots, joined by dots"),
        must(F.col("again") == 1, "name", "there is a line with it already"),
    ]


def read_dates(sieve: Sieve, path: Path | None) -> DataFrame:
    """(line, name, at) of a file of dates; no rows where there is no file."""
    if path is None:
        return sieve.spark.createDataFrame([], "line bigint, name string, at bigint")
    beside = Sieve(sieve.spark, source.found(path))
    again = F.row_number().over(Window.partitionBy("name").orderBy("line"))
    at = F.unix_micros(F.try_to_timestamp("date", F.lit(STAMP)))
    rows = cells(beside.read(), ("name", "date"), header=False).withColumns({"again": again, "at": at})
    good = F.col("date").rlike("^[0-9]{14}$") & F.col("at").isNotNull()
    return beside.refuse(rows, *names_rules(), must(good, "date", "expected yyyymmddhhmmss")).select(
        "line", "name", "at"
    )


def prefixes(names: DataFrame) -> DataFrame:
    """(name): everything that stands above one of these names."""
    parts = F.split("name", r"\.")
    lengths = F.sequence(F.lit(1), F.size(parts) - 1)
    longer = names.where(F.contains("name", F.lit("."))).select(
        F.explode(lengths).alias("length"), parts.alias("parts")
    )
    return longer.select(F.concat_ws(".", F.slice("parts", F.lit(1), F.col("length"))).alias("name")).distinct()


def figures(groups: DataFrame, topics: DataFrame) -> dict[str, Any]:
    """Of the groups in the list; dates are of all topics."""
    inner = prefixes(groups).persist()
    live = groups.select("name").union(inner).distinct().where(F.contains("name", F.lit(".")))
    children = live.groupBy(F.regexp_extract("name", r"^(.*)\.[^.]+$", 1).alias("above")).agg(
        F.count("*").alias("children")
    )
    tops = groups.groupBy(F.split_part("name", F.lit("."), F.lit(1)).alias("top")).agg(F.count("*").alias("groups"))
    largest = tops.orderBy(F.desc("groups"), "top").limit(6).collect()
    dates = topics.agg(F.count("created").alias("created"), F.count("removed").alias("removed")).first()
    assert dates is not None
    try:
        return {
            "groups": groups.count(),
            "hierarchies": tops.count(),
            "largest": {row.top: row.groups for row in largest},
            "depth": histogram(groups.select(F.size(F.split("name", r"\.")).alias("depth")), "depth"),
            "inner": inner.count(),
            "inner_that_are_groups": inner.join(groups, "name", "leftsemi").count(),
            "branching": {k: rounded(v) for k, v in spread(children, "children").items()},
            "with_creation_date": dates.created,
            "with_removal_date": dates.removed,
        }
    finally:
        inner.unpersist()


KIND = Kind(about="topics in a hierarchy, from dotted names", options={"created": None, "removed": None}, take=take)
