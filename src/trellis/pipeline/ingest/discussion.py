"""A discussion: messages on topics, and links from replies to what they reply to.

Promises: `publications` in which every parent is published before its child, by the discussion's own order and by its
          clocks; `nodes` and `names` in the order of their names.
Dropped:  messages for the kind's own reasons; links to or from such a message, links whose parent is not there, links
          of a message to itself, links to a later message, links that run backwards by the clocks. The message stays.
Stated:   figures `as_read` are of all links, before any is dropped; so are the lags, as the clocks have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trellis.pipeline.ingest.ids import in_topics, numbered
from trellis.pipeline.ingest.kind import Clean
from trellis.pipeline.ingest.sieve import Sieve
from trellis.pipeline.ingest.statistics import SECOND, histogram, spread

# What a kind brings: one row per message. `group` holds what may be linked with each other, `key` names a message in
# it, `turn` is its place in the discussion's order, `parents` are keys, `at` is in microseconds.
MESSAGE = ("line", "group", "key", "turn", "name", "user", "at", "bytes", "parents")


def published(sieve: Sieve, read: DataFrame, reasons: dict[str, Column], sources: Sequence[str]) -> Clean:
    """The clean tables of a discussion. `reasons` drop messages; `sources` order the users."""
    why = F.coalesce(*[F.when(holds, F.lit(reason)) for reason, holds in reasons.items()])
    judged = sieve.keep(read.withColumn("why", why))
    sieve.count_drops(judged, "message", list(reasons))
    kept = judged.where("why is null")
    sieve.not_empty(kept, "message")
    nodes = sieve.keep(numbered(kept.select("user", *sources), "node", *sources))
    topics = sieve.keep(numbered(kept.select("name"), "topic", "name"))
    messages = kept.join(F.broadcast(topics), "name").join(
        F.broadcast(nodes.select("user", F.col("node").alias("source"))), "user"
    )
    messages = sieve.keep(in_topics(messages, "turn", "line"))
    links = resolved(sieve, judged)
    read_figures = as_read(links)
    good = kept_links(sieve, links)
    id = messages.select("line", "id")
    family = good.join(id.withColumnsRenamed({"line": "parent_line", "id": "parent"}), "parent_line")
    family = family.groupBy("line").agg(F.array_sort(F.collect_list("parent")).alias("parents"))
    publications = messages.drop("parents").join(family, "line", "left")
    publications = publications.withColumn("parents", F.coalesce("parents", F.array().cast("array<bigint>")))
    tables = {
        "nodes": nodes.select("node", F.col("user").alias("name")),
        "names": topics,
        "publications": publications,
    }
    per_topic = messages.groupBy("topic").agg(
        F.count("*").alias("messages"), F.count_distinct("source").alias("sources")
    )
    statistics = {
        "messages": messages.count(),
        "sources": nodes.count(),
        "topics": topics.count(),
        "links": good.count(),
        "as_read": read_figures,
        "lag_s": spread(links.where("parent_why is null and why is null"), F.col("at") - F.col("parent_at"), SECOND),
        "depth": depths(good),
        "messages_per_topic": spread(per_topic, "messages"),
        "sources_per_topic": spread(per_topic, "sources"),
    }
    return Clean(tables, statistics)


def resolved(sieve: Sieve, judged: DataFrame) -> DataFrame:
    """One row per link, with what is known of its parent; `parent_line` is null where there is none."""
    columns = ("line", "key", "turn", "at", "user", "name", "why")
    parent = judged.select("group", *[F.col(c).alias(f"parent_{c}") for c in columns])
    child = judged.select("group", *columns, F.explode("parents").alias("parent_key"))
    return sieve.keep(child.join(parent, ["group", "parent_key"], "left"))


def kept_links(sieve: Sieve, links: DataFrame) -> DataFrame:
    after = F.struct(F.col("parent_turn"), F.col("parent_line")) > F.struct("turn", "line")
    return sieve.drop(
        links.withColumnRenamed("why", "message_why"),
        "link",
        {
            "its parent is not there": F.isnull("parent_line"),
            "a message to itself": F.col("parent_line") == F.col("line"),
            "of a message that was dropped": F.col("message_why").isNotNull() | F.col("parent_why").isNotNull(),
            "backwards in time": F.col("parent_at") > F.col("at"),
            "to a later message": after,
        },
    )


def as_read(links: DataFrame) -> dict[str, Any]:
    found = links.agg(
        F.count("*").alias("links"),
        F.count_if(F.col("user") != F.col("parent_user")).alias("between_users"),
        F.count_if(F.col("parent_at") > F.col("at")).alias("backwards_in_time"),
        F.count_if(F.col("name") != F.col("parent_name")).alias("across_topics"),
    ).first()
    assert found is not None
    several = links.groupBy("line").count().where("count > 1").count()
    return {**found.asDict(), "messages_with_several_parents": several}


def depths(links: DataFrame) -> dict[str, Any]:
    """How far replies stand from the beginning of their discussion: 1 is a reply to what replies to nothing."""
    link = F.struct("turn", "line", "parent_line")
    groups = links.groupBy("group").agg(F.array_sort(F.collect_list(link)).alias("links"))
    deep = histogram(
        groups.select(F.explode(F.udf(depth_of, "array<int>", useArrow=False)("links")).alias("depth")), "depth"
    )
    return {"deepest": max(map(int, deep), default=0), "replies": deep}


def depth_of(links: list[tuple[int, int, int]]) -> list[int]:
    """Of each message of one group that has a parent. Parents come first in the group's order."""
    depth: dict[int, int] = {}
    for _, line, parent in links:
        depth[line] = max(depth.get(line, 0), depth.get(parent, 0) + 1)
    return list(depth.values())
