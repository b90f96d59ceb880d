"""One scenario, run whole in one task, as one row of the table `runs`.

Promises: the row of a scenario depends on the scenario alone, not on where or when it ran. A finished scenario is one
          small Parquet file, put in its place by a rename: it is there whole or not at all, and nobody runs it again. A
          scenario that fails is a row that says why.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from trellis.errors import PipelineError
from trellis.metrics.measures import Measures, measures
from trellis.pipeline.session import brief
from trellis.scenario.grid import Point
from trellis.scenario.model import Scenario
from trellis.sim import run
from trellis.trace import store

PARTS, TRACES, RUN = "parts", "traces", "run="

SUMMARY = pa.struct(
    [("mean", pa.float64()), ("std", pa.float64()), ("min", pa.int64()), ("max", pa.int64()), ("count", pa.int64())]
)
COUNTS = pa.map_(pa.string(), pa.int64())
HISTOGRAM = pa.map_(pa.int64(), pa.int64())

IDENTITY = [
    ("run", pa.string()),
    ("number", pa.int64()),
    ("point", pa.int64()),
    ("repetition", pa.int64()),
    ("settings", pa.map_(pa.string(), pa.string())),  # dotted key -> JSON of its value
    ("overlay", pa.string()),
    ("ordering", pa.string()),
    ("nodes", pa.int64()),
    ("seed", pa.int64()),
    ("scenario", pa.string()),  # JSON: `trellis run` takes it
    ("error", pa.string()),  # empty when it went well; then everything below is there
]
ARROW: dict[Any, pa.DataType] = {"str": pa.string(), "int": pa.int64(), "bool": pa.bool_(), "float": pa.float64()} | {
    "Summary": SUMMARY,
    "dict[str, int]": COUNTS,
    "dict[int, int]": HISTOGRAM,
    "list[float]": pa.list_(pa.float64()),
    "float | None": pa.float64(),
    "str | None": pa.string(),
}
MEASURED = [(name, ARROW[Measures.__annotations__[name]]) for name in Measures.__struct_fields__]
RUNS = pa.schema(IDENTITY + MEASURED)
# Of the machine, not of the scenario: kept in a table of their own.
TIMING = [("seconds", pa.float64()), ("worker", pa.string())]
PART = pa.schema(IDENTITY + MEASURED + TIMING)


class Work(msgspec.Struct, frozen=True):
    """What a task needs to know: it travels to the workers as JSON."""

    point: Point
    out: str
    traces: bool
    judge: bool
    trace: bool = True


def part_of(out: Path, run_id: str) -> Path:
    return out / PARTS / f"{run_id}.parquet"


def trace_of(out: Path, run_id: str) -> Path:
    return out / TRACES / f"{RUN}{run_id}"


def finished(out: Path) -> set[str]:
    """The runs that are done, by the names of their files."""
    try:
        with os.scandir(out / PARTS) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".")]
            return {name.removesuffix(".parquet") for name in names if name.endswith(".parquet")}
    except FileNotFoundError:
        return set()


def part_in(out: Path, run_id: str) -> pa.Table:
    """The row of a finished run. A file that is torn, or of another run, is not taken for it."""
    place = part_of(out, run_id)
    try:
        with store.file_of(place) as file:
            part = pq.ParquetFile(file).read()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise PipelineError(
            f"{place}: not a whole Parquet file ({brief(error)}); remove it and start the sweep again"
        ) from None
    if not part.schema.equals(PART) or part["run"].to_pylist() != [run_id]:
        raise PipelineError(f"{place}: not the row of that run; remove it and start the sweep again")
    return part


def work_off(several: Iterable[bytes]) -> None:
    """The body of a task: run what is not done yet."""
    for each in several:
        work = msgspec.json.decode(each, type=Work)
        if not part_of(Path(work.out), work.point.run).exists():
            keep(Path(work.out), row_of(work))


def row_of(work: Work) -> dict[str, Any]:
    point = work.point
    scenario = point.scenario
    began = time.perf_counter()
    try:
        result = run(scenario, trace=work.trace)
        found = columns(measures(result, work.judge))
        error = ""
    except Exception as reason:  # whatever it is: the other scenarios of the sweep are not to blame
        found, error = {}, f"{type(reason).__name__}: {reason}"
    if work.traces and not error:
        store.write(trace_of(Path(work.out), point.run), result.trace, result.about())
    return {
        **identity(point, scenario),
        "error": error,
        **found,
        "seconds": time.perf_counter() - began,
        "worker": f"{socket.gethostname()}:{os.getpid()}",
    }


def identity(point: Point, scenario: Scenario) -> dict[str, Any]:
    return {
        "run": point.run,
        "number": point.number,
        "point": point.point,
        "repetition": point.repetition,
        "settings": [(key, msgspec.json.encode(value).decode()) for key, value in point.settings.items()],
        "overlay": scenario.stack.overlay,
        "ordering": scenario.stack.ordering,
        "nodes": scenario.nodes.count,
        "seed": scenario.seed,
        "scenario": scenario.to_json().decode(),
    }


def columns(found: Measures) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.structs.asdict(found)
    return {name: cell(value) for name, value in told.items()}


def cell(value: Any) -> Any:
    """As Arrow wants it: a map as pairs, a struct as a mapping."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    return list(value.items()) if isinstance(value, Mapping) else value


def keep(out: Path, row: dict[str, Any]) -> None:
    """One row as one whole file."""
    place = part_of(out, row["run"])
    aside = place.with_name(f".{place.name}-{socket.gethostname()}-{os.getpid()}")
    try:
        pq.write_table(pa.Table.from_pylist([row], PART), aside)
        os.rename(aside, place)
    finally:
        aside.unlink(missing_ok=True)
