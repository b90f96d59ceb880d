"""Runs that no sweep of scenarios makes, on Spark: each whole in one task, with a seed from what it is.

Promises: what is finished is kept, so an interrupted table goes on where it was; its rows do not depend on that.
Assumes:  driver and workers share the directory, as for a sweep.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from trellis.errors import PipelineError
from trellis.experiments.rows import Rows
from trellis.pipeline.job import carry_out
from trellis.scenario.section import SEED_MAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = TypeVar("Work")
SLICES_MAX = 256


class Workshop(NamedTuple):
    """Where the rows of a table are made."""

    spark: SparkSession
    shelf: Path  # a directory for what is finished, of this table, this code and this data alone
    tell: Callable[[int, int], object] = lambda done, total: None  # runs that are finished, of how many


class Piece(msgspec.Struct, frozen=True):
    """What is finished."""

    seconds: float
    rows: Rows


def seed_of(content: Mapping[str, Any], number: int) -> int:
    """Of a repetition. The content is all that two stacks that are compared have in common (decision 0007)."""
    told = msgspec.json.encode([dict(content), number], order="deterministic")
    return int.from_bytes(hashlib.sha256(told).digest()[:8]) & SEED_MAX


def on_spark(
    shop: Workshop, work: Sequence[Work], measured: Callable[[Work], Rows], cost: Callable[[Work], float]
) -> Rows:
    """The rows of each piece of work, the dearest first."""
    ranked = sorted(work, key=lambda each: -cost(each))
    slices = max(1, min(len(ranked), SLICES_MAX))
    dealt = [ranked[n::slices] for n in range(slices)]  # large and small ones in each, so that all take as long
    places = [shop.shelf / f"{name_of(some)}.json" for some in dealt]

    def make(piece: tuple[Path, Sequence[Work]]) -> None:
        place, some = piece
        began = time.perf_counter()
        rows = [row for each in some for row in measured(each)]
        keep(place, Piece(time.perf_counter() - began, rows))

    def look() -> None:
        shop.tell(sum(len(some) for place, some in zip(places, dealt, strict=True) if place.exists()), len(work))

    shop.shelf.mkdir(parents=True, exist_ok=True)
    todo = [(place, some) for place, some in zip(places, dealt, strict=True) if not place.exists()]
    if todo:
        carry_out(shop.spark, todo, make, look, "table")
    return [row for place in places for row in kept(place).rows]


def name_of(some: Sequence[Any]) -> str:
    """Of pieces of work, by what they are."""
    return hashlib.sha256(msgspec.json.encode(some, order="deterministic")).hexdigest()[:24]


def keep(place: Path, piece: Piece) -> None:
    """Whole or not at all."""
    aside = place.with_name(f".{place.name}-{socket.gethostname()}-{os.getpid()}")
    try:
        aside.write_bytes(msgspec.json.encode(piece))
        aside.rename(place)
    finally:
        aside.unlink(missing_ok=True)


def kept(place: Path) -> Piece:
    try:
        return msgspec.json.decode(place.read_bytes(), type=Piece)
    except (OSError, msgspec.MsgspecError, UnicodeError) as error:
        raise PipelineError(f"{place}: not as it was written ({error}); remove it and start again to go on") from None


def spent(shelf: Path) -> float:
    """Seconds of all runs that stand there, one after the other."""
    return sum(kept(place).seconds for place in shelf.glob("[!.]*.json"))
