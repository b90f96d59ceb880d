"""An edge list of who follows whom: every user is a node, and a topic that others subscribe to.

Source:   the Higgs Twitter graph and its like: two whole numbers per line, follower then followee, by tab or blanks.
Promises: `subscriptions` (node, topic) and `nodes`; node and topic of one user have one number, by the user's own.
          `degrees`: how many users follow and are followed by how many, of the whole graph and of the sample.
Dropped:  comment lines (#), self-follows, repeats.
Refused:  any other line; a first line `follower followee` is a header.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.ingest.ids import numbered
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sample import breadth_first, within
from trellis.pipeline.ingest.sieve import Rule, Sieve, number, whole
from trellis.pipeline.ingest.statistics import degree_figures, degrees, frequencies, rounded

HEADER = ("follower", "followee")
WAYS = {"in": "followee", "out": "follower"}


def take(sieve: Sieve, options: Options) -> Clean:
    edges = read(sieve)
    sieve.not_empty(edges, "follow")
    users = sieve.keep(everybody(edges))
    counted = sieve.keep(degree_table(edges, users, "whole"))
    shown: dict[str, Any] = {"whole": figures(edges, users, counted, options["xmin"])}
    if options["sample"] is not None:
        users = breadth_first(edges, options["sample"], options["seed"], options["depth"])
        users = sieve.keep(users)
        edges = sieve.keep(within(edges, users))
        some = sieve.keep(degree_table(edges, users, "sample"))
        shown["sample"] = figures(edges, users, some, options["xmin"])
        counted = counted.unionByName(some)
    nodes = sieve.keep(numbered(users, "node", "user").withColumnRenamed("user", "name"))
    follower = nodes.select("node", F.col("name").alias("follower"))
    followee = nodes.select(F.col("node").alias("topic"), F.col("name").alias("followee"))
    subscriptions = edges.join(follower, "follower").join(followee, "followee")
    return Clean({"nodes": nodes, "subscriptions": subscriptions, "degrees": counted}, shown)


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


def degree_table(edges: DataFrame, users: DataFrame, view: str) -> DataFrame:
    """How many users follow how many (out), and are followed by how many (in): Figure 8 of Vitis."""
    ways = [frequencies(edges, of, users).withColumn("way", F.lit(way)) for way, of in WAYS.items()]
    return ways[0].unionByName(ways[1]).withColumn("view", F.lit(view))


def figures(edges: DataFrame, users: DataFrame, counted: DataFrame, xmin: int | None) -> dict[str, Any]:
    follows = edges.count()
    back = edges.select(F.col("followee").alias("follower"), F.col("follower").alias("followee"))
    per_topic = degrees(edges, "followee", xmin)
    top = edges.groupBy("followee").count().orderBy(F.desc("count")).limit(max(1, per_topic["count"] // 100))
    taken = top.agg(F.sum("count")).first()
    assert taken is not None
    return {
        "nodes": users.count(),
        "follows": follows,
        "reciprocity": rounded(edges.join(back, list(HEADER)).count() / max(1, follows)),
        "top_percent_share": rounded((taken[0] or 0) / max(1, follows)),
        "subscriptions_per_node": degrees(edges, "follower", xmin),
        "subscribers_per_topic": per_topic,
        **of_all(counted, xmin),
    }


def of_all(counted: DataFrame, xmin: int | None) -> dict[str, Any]:
    """Over all users, also those who follow nobody or are followed by nobody. There are few degrees."""
    rows = counted.orderBy("degree").collect()
    found = {}
    for way in WAYS:
        mine = [(row.degree, row.nodes) for row in rows if row.way == way]
        values, counts = np.array(mine, np.int64).reshape(-1, 2).T
        found[f"{way}_degree"] = degree_figures(values, counts, xmin)
    return found


KIND = Kind(
    about="who follows whom, as an edge list",
    options={"sample": None, "seed": 0, "depth": 1, "xmin": None},
    take=take,
)
