"""Runs that no sweep of scenarios makes, on Spark: each whole in one task, with a seed from what it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from trellis.experiments.rows import Row, Rows
from trellis.scenario.model import SEED_MAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = TypeVar("Work")
SLICES_MAX = 256


def seed_of(content: Mapping[str, Any], number: int) -> int:
    """Of a repetition. The content is all that two stacks that are compared have in common (decision 0007)."""
    told = msgspec.json.encode([dict(content), number], order="deterministic")
    return int.from_bytes(hashlib.sha256(told).digest()[:8]) & SEED_MAX


def on_spark(
    spark: SparkSession, work: Sequence[Work], measured: Callable[[Work], Row], cost: Callable[[Work], float]
) -> Rows:
    """One row for each piece of work, the dearest first."""
    ranked = sorted(work, key=lambda each: -cost(each))
    slices = max(1, min(len(ranked), SLICES_MAX))
    dealt = [ranked[n::slices] for n in range(slices)]  # large and small ones in each, so that all take as long
    found = spark.sparkContext.parallelize(dealt, slices).map(lambda some: [measured(each) for each in some])
    return [row for rows in found.collect() for row in rows]
