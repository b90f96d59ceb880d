"""A part of a follow graph, by breadth-first searches.

Source:   Rahimian et al., Vitis, section IV-E: "randomly selected a number of nodes", "all the subscriptions of these
          nodes", then "all the relations between these nodes"; what leads outside is removed.
Promises: exactly N users if the graph has that many; each user's luck is its own, so the sample does not depend on
          the order of the file or the number of tasks.
Departs:  the paper does not say how many users it started from. Here searches start from the users in the order of
          their luck, one after the other, and each goes `depth` steps (1, as in the paper), until N are found.

All searches go on at once. A user belongs to the luckiest start that reaches it within `depth` steps, at its distance
from it; `depth` joins find that, because on the way from the luckiest start nobody belongs to a luckier one. Who comes
first by (start, distance, own luck) is who the searches, one after the other, would have found first.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trellis.draw import FOLLOW_SAMPLE, draw


def breadth_first(edges: DataFrame, count: int, seed: int, depth: int) -> DataFrame:
    """(user): `count` users of the graph of (follower, followee)."""
    users = (
        edges.select(F.col("follower").alias("user")).union(edges.select(F.col("followee").alias("user"))).distinct()
    )
    lucky = users.withColumn("luck", luck(seed, F.col("user"))).persist()
    best = lucky.select(
        "user", F.struct("luck", F.col("user").alias("start"), F.lit(0).alias("steps")).alias("reached")
    )
    for _ in range(depth):
        best = nearer(edges, best)
    order = ("reached.luck", "reached.start", "reached.steps", "luck", "user")
    return best.join(lucky, "user").orderBy(*order).limit(count).select("user")


def nearer(edges: DataFrame, best: DataFrame) -> DataFrame:
    """One step of all searches: from each user to those that it follows."""
    ahead = edges.join(best, edges.follower == best.user).select(
        F.col("followee").alias("user"),
        F.struct("reached.luck", "reached.start", (F.col("reached.steps") + 1).alias("steps")).alias("reached"),
    )
    return best.union(ahead).groupBy("user").agg(F.min("reached").alias("reached"))


def within(edges: DataFrame, users: DataFrame) -> DataFrame:
    """The follows between these users."""
    return edges.join(users.withColumnRenamed("user", "follower"), "follower", "leftsemi").join(
        users.withColumnRenamed("user", "followee"), "followee", "leftsemi"
    )


def luck(seed: int, user: Column) -> Column:
    """63 bits of luck: Spark's numbers have a sign."""
    drawn = F.udf(lambda user: draw(seed, FOLLOW_SAMPLE, user) >> 1, "bigint", useArrow=False)
    return drawn(user)
