"""One job of Spark, watched from the driver."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from trellis.errors import PipelineError
from trellis.pipeline.session import brief

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Piece = TypeVar("Piece")
CANCEL_SECONDS = 5
TRACEBACK = "Traceback (most recent call last)"
LOOK_SECONDS = 0.25  # between two looks at how far it is


def carry_out(
    spark: SparkSession, pieces: Sequence[Piece], body: Callable[[Piece], None], look: Callable[[], object], what: str
) -> None:
    """Every piece of work, each in a task of its own. Progress is what stands on the disk, not what Spark believes."""
    context = spark.sparkContext
    group = f"{what}-{os.getpid()}-{time.monotonic_ns()}"
    failure: list[Exception] = []

    def job() -> None:
        context.setJobGroup(group, what, interruptOnCancel=True)
        try:
            context.parallelize(pieces, len(pieces)).foreach(body)
        except Exception as error:  # told in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
            look()
    except BaseException:
        context.cancelJobGroup(group)
        thread.join(CANCEL_SECONDS)  # Spark complains at length if it is stopped while a task still reports
        raise
    if failure:
        raise PipelineError(f"Spark gave up the {what} ({cause(failure[0])}); start it again to go on") from failure[0]


def cause(error: Exception) -> str:
    """What a task said when it broke, out of the pages that Spark makes of it; else the beginning of those."""
    lines = iter(str(error).splitlines())
    for line in lines:
        if TRACEBACK in line:
            return next((told[:200] for told in lines if told and not told[0].isspace()), brief(error))
    return brief(error)
