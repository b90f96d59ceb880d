"""What a kind of trace is: what it reads, what it takes, what it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from trellis.pipeline.ingest.sieve import Sieve

Options = Mapping[str, Any]


class Clean(NamedTuple):
    """What came through the sieve."""

    tables: dict[str, DataFrame]
    statistics: dict[str, Any]
    extra: Callable[[Path], None] | None = None  # writes a file beside the tables


class Kind(NamedTuple):
    about: str
    options: Options  # name -> default
    take: Callable[[Sieve, Options], Clean]
