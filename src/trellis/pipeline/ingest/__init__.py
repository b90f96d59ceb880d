"""Public traces in, clean tables out. The registry of kinds: one line each.

Promises: the same file and options give the same rows; a file that is not as it must be is one PipelineError, and
          then nothing is written.

A new kind is a file with a `KIND`, a line here, and tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, astuple
from math import isfinite
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from trellis.errors import PipelineError
from trellis.pipeline import tables
from trellis.pipeline.ingest import (
    avt,
    deliveries,
    follows,
    irc,
    mail,
    matrix,
    newsgroups,
    pairs,
    place,
    source,
)
from trellis.pipeline.ingest.columns import ddl, shaped
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sieve import Sieve
from trellis.pipeline.session import in_one_line

KINDS: dict[str, Kind] = {
    "follows": follows.KIND,
    "avt": avt.KIND,
    "irc": irc.KIND,
    "mail": mail.KIND,
    "deliveries": deliveries.KIND,
    "newsgroups": newsgroups.KIND,
    "matrix": matrix.KIND,
    "pairs": pairs.KIND,
}


def ingest(
    kind: str,
    path: Path,
    directory: Path,
    given: Options,
    start: Callable[[], SparkSession],
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Read a trace, write its tables, and return the summary. Spark starts only if the rest is in order."""
    options = chosen(kind, given)
    place.check(directory)
    trace = source.found(path)
    tell("starting Spark")
    sieve = Sieve(start(), trace)
    with in_one_line(f"the ingest of {path}"):
        tell(f"reading {path}")
        clean = KINDS[kind].take(sieve, options)
        return place.written(directory, lambda fresh: write(fresh, kind, options, sieve, clean, tell))


def chosen(kind: str, given: Options) -> Options:
    """The kind's options with what was given in their place. An option of another kind is refused by name."""
    if kind not in KINDS:
        raise PipelineError(f"kind {kind!r}: no such kind of trace; there are {', '.join(KINDS)}")
    for name, value in given.items():
        if name not in KINDS[kind].options:
            owners = [owner for owner, other in KINDS.items() if name in other.options]
            raise PipelineError(
                f"--{name.replace('_', '-')} {value}: kind {kind!r} does not take it; it belongs to "
                f"{' and '.join(owners) or 'no kind'}"
            )
        if isinstance(value, float) and not isfinite(value):
            raise PipelineError(f"--{name.replace('_', '-')} {value}: not a number of seconds; give one")
    return {**KINDS[kind].options, **given}


def write(
    fresh: Path, kind: str, options: Options, sieve: Sieve, clean: Clean, tell: Callable[[str], None]
) -> dict[str, Any]:
    rows = {}
    dropped = sieve.spark.createDataFrame([astuple(drop) for drop in sieve.dropped], ddl("dropped"))
    for name, table in {**clean.tables, "dropped": dropped}.items():
        tell(f"writing {name}")
        rows[name] = tables.write(shaped(table, name), fresh, name).rows
    if clean.extra is not None:
        clean.extra(fresh)
    return {
        "ingest": kind,
        "source": {**sieve.source.about(), "lines": sieve.lines},
        "options": {name: str(value) if isinstance(value, Path) else value for name, value in options.items()},
        "tables": rows,
        "dropped": [asdict(drop) for drop in sieve.dropped],
        "statistics": clean.statistics,
    }
