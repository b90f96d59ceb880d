"""An edge list of who follows whom: every user is a node, and a topic that others subscribe to.

Source:   the Higgs Twitter graph and its like: two whole numbers per line, follower then followee, by tab or blanks.
Promises: `subscriptions` (node, topic) and `nodes`; node and topic of one user have one number, by the user's own.
Dropped:  comment lines (#), self-follows, repeats.
Refused:  any other line; a first line `follower followee` is a header.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.ingest.ids import numbered
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sample import breadth_first, within
from trellis.pipeline.ingest.sieve import Rule, Sieve, number, whole
from trellis.pipeline.ingest.statistics import degrees, rounded

HEADER = ("follower", "followee")


def take(sieve: Sieve, options: Options) -> Clean:
    edges = read(sieve)
    sieve.not_empty(edges, "follow")
    shown: dict[str, Any] = {"whole": figures(edges, options["xmin"])}
    if options["sample"] is not None:
        users = breadth_first(edges, options["sample"], options["seed"], options["depth"])
        users = sieve.keep(users)
        edges = sieve.keep(within(edges, users))
        shown["sample"] = figures(edges, options["xmin"], users)
    else:
        users = everybody(edges)
    nodes = sieve.keep(numbered(users, "node", "user").withColumnRenamed("user", "name"))
    follower = nodes.select("node", F.col("name").alias("follower"))
    followee = nodes.select(F.col("node").alias("topic"), F.col("name").alias("followee"))
    subscriptions = edges.join(follower, "follower").join(followee, "followee")
    return Clean({"nodes": nodes, "subscriptions": subscriptions}, shown)


def read(sieve: Sieve) -> DataFrame:
    """The follows that count, as the users' own numbers."""
    cut = F.split(F.trim("text"), r"\s+")
    read = sieve.read().select(
        "line",
        "text",
        "wrong",
        F.size(cut).alias("columns"),
        *[F.get(cut, F.lit(i)).alias(n) for i, n in enumerate(HEADER)],
    )
    comment = F.col("text").startswith("#")
    header = (F.col("line") == 1) & (F.col("follower") == HEADER[0]) & (F.col("followee") == HEADER[1])
    two = Rule(
        F.col("columns") == 2,
        F.concat(F.lit("it has "), F.col("columns"), F.lit(" columns; expected follower followee")),
    )
    rules = [Rule(comment | header | rule.holds, rule.says) for rule in (two, *map(whole, HEADER))]
    checked = sieve.refuse(read, *rules).where(~header)
    noted = sieve.drop(checked, "row", {"comment": comment})
    again = F.row_number().over(Window.partitionBy(*HEADER).orderBy("line")) > 1
    edges = noted.select("line", *map(number, HEADER)).withColumn("again", again)
    kept = sieve.drop(
        edges, "row", {"follows itself": F.col("follower") == F.col("followee"), "repeat": F.col("again")}
    )
    return kept.select(*HEADER)


def everybody(edges: DataFrame) -> DataFrame:
    return edges.select(F.col("follower").alias("user")).union(edges.select(F.col("followee").alias("user"))).distinct()


def figures(edges: DataFrame, xmin: int | None, users: DataFrame | None = None) -> dict[str, Any]:
    follows = edges.count()
    back = edges.select(F.col("followee").alias("follower"), F.col("follower").alias("followee"))
    per_topic = degrees(edges, "followee", xmin)
    top = edges.groupBy("followee").count().orderBy(F.desc("count")).limit(max(1, per_topic["count"] // 100))
    taken = top.agg(F.sum("count")).first()
    assert taken is not None
    return {
        "nodes": (users if users is not None else everybody(edges)).count(),
        "follows": follows,
        "reciprocity": rounded(edges.join(back, list(HEADER)).count() / max(1, follows)),
        "top_percent_share": rounded((taken[0] or 0) / max(1, follows)),
        "subscriptions_per_node": degrees(edges, "follower", xmin),
        "subscribers_per_topic": per_topic,
    }


KIND = Kind(
    about="who follows whom, as an edge list",
    options={"sample": None, "seed": 0, "depth": 1, "xmin": None},
    take=take,
)
