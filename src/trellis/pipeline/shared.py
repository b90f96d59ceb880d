"""Who subscribes to what by a power law, and which topics they share, at the size of the papers, on Spark.

Source:   TNO section 5.3.
Promises: the same subscriptions as `draw.interests` gives, and of them the same groups as `sequencing_groups` of
          protocols/parts/groups.py, their plain twins (a test holds them together, row by row).
Assumes:  all clients of a law have the same number of topics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trellis import draw
from trellis.protocols.parts.groups import SHARED, WIDE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
CLIENTS_AT_ONCE = 1000


class Law(NamedTuple):
    """A population and how it chooses."""

    exponent: float  # of the density: rank r has the weight r ** -exponent
    topics: int
    clients: int
    sizes: tuple[int, ...]  # topics of each client, ascending: the first so many of its draws
    seed: int

    def weights(self) -> list[int]:
        return draw.zipf_weights(self.topics, self.exponent)


def subscriptions(spark: SparkSession, laws: Sequence[Law]) -> DataFrame:
    """One row per (number of the law, client): the ranks of its topics, from 0, in the order of the draws."""
    pieces = [
        (number, first, min(first + CLIENTS_AT_ONCE, law.clients))
        for number, law in enumerate(laws)
        for first in range(0, law.clients, CLIENTS_AT_ONCE)
    ]

    def choose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for piece in batch.to_pylist():
                law, clients = laws[piece["law"]], range(piece["first"], piece["last"])
                found = interests(law.seed, clients, law.weights(), law.sizes[-1])
                topics = pa.ListArray.from_arrays(
                    np.arange(len(clients) + 1, dtype=np.int32) * found.shape[1], found.astype(np.int32).ravel()
                )
                yield pa.RecordBatch.from_arrays(
                    [same(piece["law"], len(clients)), pa.array(clients, pa.int32()), topics],
                    ["law", "client", "topics"],
                )

    table = spark.createDataFrame(pieces, "law int, first int, last int").repartitionByRange(
        len(pieces), "law", "first"
    )
    return table.mapInArrow(choose, "law int, client int, topics array<int>")


def shared(subscribed: DataFrame, laws: Sequence[Law]) -> DataFrame:
    """One row per (law, size, one, two): how many subscriptions of that size hold both topics, one < two.

    Each task counts the pairs of its own clients, as a product of matrices; Spark adds up.
    """
    from pyspark.sql import functions as F

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here: dict[int, list[Numbers]] = {}
        for batch in batches:
            for number, topics in zip(batch.column("law").to_pylist(), batch.column("topics"), strict=True):
                here.setdefault(number, []).append(topics.values.to_numpy())
        for number, clients in sorted(here.items()):
            for size in laws[number].sizes:
                found = pairs(np.array(clients)[:, :size], laws[number].topics)
                columns = [same(number, len(found[0])), same(size, len(found[0])), *map(pa.array, found)]
                yield pa.RecordBatch.from_arrays(columns, ["law", "size", "one", "two", "both"])

    counted = subscribed.mapInArrow(count, "law int, size int, one int, two int, both int")
    return counted.groupBy("law", "size", "one", "two").agg(F.sum("both").alias("both"))


def same(value: int, times: int) -> pa.Array:
    return pa.array(np.full(times, value, np.int32))


def group_sizes(counted: DataFrame) -> DataFrame:
    """One row per (law, size, topic) of topics that share a subscription: entries of a timestamp, by rule."""
    from pyspark.sql import functions as F

    other = counted.select("law", "size", F.col("two").alias("topic"), "both")
    each = counted.select("law", "size", F.col("one").alias("topic"), "both").unionAll(other)
    two = F.sum(F.when(F.col("both") >= 2, 1).otherwise(0)) + 1
    any_one = F.count(F.lit(1)) + 1
    return each.groupBy("law", "size", "topic").agg(two.alias(SHARED), any_one.alias(WIDE))


def pairs(clients: Numbers, topics: int) -> tuple[Numbers, Numbers, Numbers]:
    """Of some subscriptions: each two topics that one of them holds, and how many do."""
    holds = np.zeros((len(clients), topics), np.float32)
    np.put_along_axis(holds, clients, 1.0, axis=1)
    both = np.triu(holds.T @ holds, 1)  # exact: below 2 ** 24
    one, two = np.nonzero(both)
    return one.astype(np.int32), two.astype(np.int32), both[one, two].astype(np.int32)


def interests(seed: int, clients: Sequence[int], weights: Sequence[int], count: int) -> Numbers:
    """`draw.interests` of many clients at once, one row each. Ranks stand on shelves, so that a draw looks at two short
    sums (which shelf, and where on it) instead of a long one.
    """
    side = math.isqrt(len(weights) - 1) + 1
    standing = np.zeros(side * side, np.int64)
    standing[: len(weights)] = weights
    left = np.tile(standing.reshape(side, side), (len(clients), 1, 1))
    shelves = left.sum(axis=2)
    found = np.empty((len(clients), count), np.int64)
    rows, keys = np.arange(len(clients)), np.array(clients, np.uint64)
    for turn in range(count):
        upto = np.cumsum(shelves, axis=1)
        at = (drawn(seed, draw.INTEREST, keys, turn) % upto[:, -1].astype(np.uint64)).astype(np.int64)
        shelf = (upto > at[:, None]).argmax(axis=1)
        at -= (upto - shelves)[rows, shelf]
        place = (np.cumsum(left[rows, shelf], axis=1) > at[:, None]).argmax(axis=1)
        shelves[rows, shelf] -= left[rows, shelf, place]
        left[rows, shelf, place] = 0
        found[:, turn] = shelf * side + place
    return found


def drawn(seed: int, purpose: int, keys: Words, turn: int) -> Words:
    """`draw.draw(seed, purpose, key, turn)` for each key."""
    start = np.uint64(draw.mix((seed + purpose * draw.GOLDEN) & draw.MASK))
    with np.errstate(over="ignore"):
        word: Words = mix((start ^ keys) + np.uint64(draw.GOLDEN))
        return mix((word ^ np.uint64(turn)) + np.uint64(draw.GOLDEN))


def mix(x: Words) -> Words:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
