"""A run on disk: `trace.parquet`, and `run.json` with the scenario, the engine and the digest.

Promises: a directory appears whole or not at all (written aside, then renamed), and only a run is ever replaced;
          what is read back is checked against the columns and the digest, and a torn or foreign file is one clear
          TraceError.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trellis.errors import TraceError
from trellis.trace import whole
from trellis.trace.rows import DELIVERIES, KINDS, arrow_schema
from trellis.trace.table import Trace, digest_of

ROWS_AT_ONCE = 1 << 18
TRACE, ABOUT, PAGE = "trace.parquet", "run.json", "index.html"


def check(directory: Path) -> None:
    """Whether a run may be written there: ask before a long run, not after it."""
    whole.check(directory, "a run", lambda found: {TRACE, ABOUT} <= found <= {TRACE, ABOUT, PAGE}, TraceError)


def write(directory: Path, trace: Trace, about: dict[str, Any]) -> None:
    """Write a run. A run that stands there already is replaced; anything else there is refused."""
    check(directory)
    with whole.written(directory, TraceError) as fresh:
        with (fresh / TRACE).open("wb") as file:
            pq.write_table(trace.table, file, compression="zstd")
        (fresh / ABOUT).write_text(json.dumps(about, indent=2, sort_keys=True) + "\n")


def read(directory: Path) -> tuple[Trace, dict[str, Any]]:
    """Read a run back, and hold it to its digest."""
    about = read_about(directory / ABOUT)
    trace = read_table(directory / TRACE)
    hold(directory, about, trace.digest())
    return trace, about


def survey(directory: Path) -> dict[str, Any]:
    """All that `read` checks, without holding the rows; and that positions go up, for readers that sort by them."""
    about = read_about(directory / ABOUT)
    path, wanted = directory / TRACE, arrow_schema()
    before = -1
    with opened(path) as file:
        for batch in batches(path, file, wanted.names):
            positions = conform(path, batch).numbers("position")
            if len(positions) and (positions[0] <= before or any(np.diff(positions) <= 0)):
                raise TraceError(f"{path}: position does not go up from row to row; audit it without --spark")
            before = positions[-1] if len(positions) else before

        def parts(name: str) -> Iterator[Trace]:
            alone = pa.schema([wanted.field(name)])
            return (Trace(batch.cast(alone)) for batch in batches(path, file, [name]))

        hold(directory, about, digest_of(file.metadata.num_rows, parts))
    return {**about, "rows": file.metadata.num_rows}


def hold(directory: Path, about: dict[str, Any], digest: str) -> None:
    if about["digest"] != digest:
        raise TraceError(
            f"{directory / TRACE}: its digest is not the one in {ABOUT}; it was changed after the run, so run again"
        )


def read_about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_bytes())
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror}); give a directory that `trellis run --out` wrote, "
            f"or for an audit that of a cluster"
        ) from None
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: not valid JSON ({error}); run again to write it anew") from None
    if not isinstance(about, dict):
        raise TraceError(f"{path}: holds a {type(about).__name__}, not an object; run again to write it anew")
    for key, kind in (("digest", str), ("ordering", str), ("quiet", bool)):
        if not isinstance(about.get(key), kind):
            raise TraceError(
                f"{path}: {key} = {about.get(key)!r}: expected a {kind.__name__}; run again to write it anew"
            )
    orders = about.get("orders", {})
    if not isinstance(orders, dict) or not all(isinstance(ordering, str) for ordering in orders.values()):
        raise TraceError(f"{path}: orders = {orders!r}: expected an ordering for each topic; write it anew")
    return about


def read_table(path: Path) -> Trace:
    with opened(path) as file:
        try:
            table = file.read()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise not_whole(path, error) from None
    return conform(path, table)


def file_of(path: Path) -> pa.OSFile:
    """For Arrow to read. Not a file of Python's: Arrow's threads may let go of it last, and a process that ends just
    then, while they wait for the interpreter, is aborted (apache/arrow, issue 34314).
    """
    return pa.OSFile(os.fsencode(path))


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        source = file_of(path)
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no trace; give a directory that `trellis run --out` wrote") from None
    except OSError as error:
        raise not_whole(path, error) from None
    with source:
        try:
            file = pq.ParquetFile(source)
            names = set(file.schema_arrow.names)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise not_whole(path, error) from None
        wanted = arrow_schema()
        for field in wanted:
            if field.name not in names:
                raise TraceError(f"{path}: column {field.name!r} is missing; a trace has {', '.join(wanted.names)}")
        yield file


def batches(path: Path, file: pq.ParquetFile, names: list[str]) -> Iterator[pa.Table]:
    """These columns, some rows at a time."""
    try:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=names):
            yield pa.Table.from_batches([batch])
    except (OSError, ValueError, pa.ArrowException) as error:
        raise not_whole(path, error) from None


def not_whole(path: Path, error: Exception) -> TraceError:
    return TraceError(f"{path}: not a whole Parquet file ({brief(error)}); run again to write it anew")


def conform(path: Path, table: pa.Table) -> Trace:
    """Rows that are those of a trace, in their types."""
    wanted = arrow_schema()
    try:
        table = table.select(wanted.names)
        table.validate(full=True)
        for name in wanted.names:
            if table.column(name).null_count:
                raise TraceError(f"{path}: column {name!r} has empty cells, and a trace has none; run again")
        trace = Trace(table.cast(wanted))
    except (ValueError, pa.ArrowException) as error:
        raise TraceError(f"{path}: wrong types ({brief(error)}); run again to write it anew") from None
    strange = sorted(set(trace.words("kind")[1]) - set(KINDS))
    if strange:
        raise TraceError(f"{path}: kind {strange[0]!r} is none of {', '.join(KINDS)}; it is not a trace of ours")
    if any(trace.of_kind("publish", *DELIVERIES).numbers("seq") < 0):
        raise TraceError(f"{path}: seq of a message is negative, but messages count upward; it is not a trace of ours")
    return trace


def brief(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
