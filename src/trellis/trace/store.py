"""A run on disk: `trace.parquet`, and `run.json` with the scenario, the engine and the digest.

Promises: a directory appears whole or not at all (written aside, then renamed); what is read back is checked against
          the columns and the digest, and a torn or foreign file is one clear TraceError.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trellis.errors import TraceError
from trellis.trace.rows import arrow_schema
from trellis.trace.table import Trace

TRACE, ABOUT = "trace.parquet", "run.json"


def write(directory: Path, trace: Trace, about: dict[str, Any]) -> None:
    """Write a run. A run that stands there already is replaced; anything else there is refused."""
    if directory.exists() and not (directory / ABOUT).exists() and any(directory.iterdir()):
        raise TraceError(f"{directory}: not empty and not a run; give a new directory")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    except OSError as error:
        raise TraceError(f"{directory}: cannot be written ({error.strerror}); give another directory") from None
    try:
        pq.write_table(trace.table, aside / TRACE, compression="zstd")
        (aside / ABOUT).write_text(json.dumps(about, indent=2, sort_keys=True) + "\n")
        aside.chmod(0o755)
        if directory.exists():
            shutil.rmtree(directory)
        os.rename(aside, directory)
    except OSError as error:
        raise TraceError(f"{directory}: cannot be written ({error.strerror}); give another directory") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read(directory: Path) -> tuple[Trace, dict[str, Any]]:
    """Read a run back, and hold it to its digest."""
    try:
        about = json.loads((directory / ABOUT).read_bytes())
    except OSError as error:
        raise TraceError(
            f"{directory / ABOUT}: cannot be read ({error.strerror}); give a directory that `trellis run --out` wrote"
        ) from None
    except ValueError as error:
        raise TraceError(f"{directory / ABOUT}: not valid JSON ({error}); run again to write it anew") from None
    trace = read_table(directory / TRACE)
    digest = about.get("digest") if isinstance(about, dict) else None
    if digest != trace.digest():
        raise TraceError(
            f"{directory / TRACE}: its digest is not the one in {ABOUT}; the file was changed after the run"
        )
    return trace, about


def read_table(path: Path) -> Trace:
    try:
        table = pq.read_table(path, partitioning=None)
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no trace; give a directory that `trellis run --out` wrote") from None
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:120]
        raise TraceError(f"{path}: not a whole Parquet file ({reason}); run again to write it anew") from None
    wanted = arrow_schema()
    for field in wanted:
        if field.name not in table.column_names:
            raise TraceError(f"{path}: column {field.name!r} is missing; a trace has {', '.join(wanted.names)}")
    try:
        table = table.select(wanted.names).cast(wanted)
        if any(table.column(name).null_count for name in wanted.names):
            raise TraceError(f"{path}: has empty cells; a trace has none")
        return Trace(table.combine_chunks())
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())[:120]
        raise TraceError(f"{path}: wrong types ({reason}); run again to write it anew") from None
