"""Dates that cannot be: outside the years that a trace covers."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import Column
from pyspark.sql import functions as F

from trellis.errors import PipelineError
from trellis.pipeline.ingest.kind import Options
from trellis.pipeline.ingest.statistics import SECOND


def not_between(at: str, options: Options) -> dict[str, Column]:
    """Reasons to drop what happened before the year `since` or after the year `until`."""
    since, until = options["since"], options["until"]
    if since > until:
        raise PipelineError(f"--since {since}: after --until {until}; it must not be")
    return {
        f"dated before {since}": F.col(at) < new_year(since),
        f"dated after {until}": F.col(at) >= new_year(until + 1),
    }


def new_year(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * SECOND
