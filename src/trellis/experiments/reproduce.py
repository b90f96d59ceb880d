"""Run the experiments of a paper: their grids as sweeps, their rows to verdicts.

Promises: one sweep directory per grid, so that what was interrupted goes on where it was, and figures that share runs
          share them. A table is kept whole beside them, until it is whole by its finished runs, and made anew by other
          code or from other data. A run that failed is not passed over: it ends the reproduction with its error. A
          figure whose data was not brought is not run, and says so.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from trellis.errors import PipelineError
from trellis.experiments.data import Brought, digest, missing
from trellis.experiments.experiment import Experiment, Outcome, Scale, Table, Took, needs, outcome, unrun
from trellis.experiments.rows import Rows, plain
from trellis.experiments.tasks import Workshop, spent
from trellis.pipeline import tables
from trellis.pipeline.code import fingerprint
from trellis.pipeline.session import in_one_line
from trellis.pipeline.sweep import sweep
from trellis.scenario.grid import Grid, points
from trellis.sim import AUTO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str, int, int, str], None]  # figure, runs and tables done, of how many in all; of a table, runs
SWEEPS, PIECES = "sweeps", "pieces"
NOTHING: Brought = {}


def reproduce(
    spark: SparkSession,
    experiments: Sequence[Experiment],
    scale: Scale,
    out: Path,
    progress: Progress,
    brought: Brought = NOTHING,
    engine: str = AUTO,
) -> list[Outcome]:
    """Every experiment, in order. The engine is for tables that both can make."""
    lacking = {experiment.id: missing(needs(experiment), brought) for experiment in experiments}
    possible = [experiment for experiment in experiments if not lacking[experiment.id]]
    grids = {grid.name: grid for experiment in possible for grid in experiment.grids(scale)}
    total = sum(len(points(grid)) for grid in grids.values())
    computed = {table.name for experiment in possible for table in experiment.tables}
    total += len(computed)
    done: dict[str, Ran] = {}
    made: dict[str, Ran] = {}

    def rows_for(figure: str, grid: Grid) -> Ran:
        if grid.name not in done:
            before = sum(len(ran.rows) for ran in done.values()) + len(made)
            place = out / SWEEPS / scale / grid.name
            rows, seconds = swept(spark, grid, place, lambda now: progress(figure, before + now, total, ""))
            done[grid.name] = Ran(rows, seconds, figure)
        return done[grid.name]

    def rows_of(figure: str, table: Table) -> Ran:
        if table.name not in made:
            before = sum(len(ran.rows) for ran in done.values()) + len(made)
            progress(figure, before, total, "")
            place = out / SWEEPS / scale / f"{table.name}.json"

            def tell(now: int, many: int) -> None:
                progress(figure, before, total, f"{now:,} of {many:,} runs of {table.name}")

            rows, seconds = kept(spark, table, scale, place, brought, engine, tell)
            made[table.name] = Ran(rows, seconds, figure)
        return made[table.name]

    found = []
    for experiment in experiments:
        if lacking[experiment.id]:
            found.append(unrun(experiment, lacking[experiment.id]))
            continue
        parts = [rows_for(experiment.id, grid) for grid in experiment.grids(scale)]
        parts += [rows_of(experiment.id, table) for table in experiment.tables]
        others = [ran.figure for ran in parts if ran.figure != experiment.id]
        took = Took(sum(ran.seconds for ran in parts), ", ".join(dict.fromkeys(others)))
        found.append(outcome(experiment, [row for ran in parts for row in ran.rows], scale, took))
    return found


class Ran(NamedTuple):
    """A grid or a table."""

    rows: Rows
    seconds: float
    figure: str  # for which it was run


class Made(msgspec.Struct, frozen=True):
    """What the file of a table has."""

    code: str
    rows: Rows
    data: dict[str, str] = {}  # digests of what was brought for it
    seconds: float = 0.0


def kept(
    spark: SparkSession,
    table: Table,
    scale: Scale,
    place: Path,
    brought: Brought = NOTHING,
    engine: str = AUTO,
    tell: Callable[[int, int], None] = lambda now, many: None,
) -> tuple[Rows, float]:
    """The rows of a table and the seconds it took, from its file if this code wrote it from this data, on the engine
    that was asked for.
    """
    code = fingerprint("pipeline", "experiments")
    data = {name: digest(brought[name]) for name in table.needs}
    try:
        before = msgspec.json.decode(place.read_bytes(), type=Made)
        made_so = not table.engines or engine == AUTO or {row["engine"] for row in before.rows} == {engine}
        if (before.code, before.data) == (code, data) and made_so:
            return before.rows, before.seconds
    except (OSError, msgspec.MsgspecError, UnicodeError):  # there is none, or not a whole one
        pass
    pieces = place.with_suffix(f".{PIECES}")
    chosen = {"engine": engine} if table.engines else {}
    shelf = pieces / state_of(code, data, chosen)
    began = time.perf_counter()
    with in_one_line(f"table {table.name}"):
        shop = Workshop(spark, shelf, tell)
        rows = table.rows(shop, scale, *(brought[name] for name in table.needs), **chosen)
        told = msgspec.json.encode(Made(code, rows, data, spent(shelf) or time.perf_counter() - began))
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = place.with_name(f".{place.name}")
    aside.write_bytes(told)
    aside.rename(place)
    shutil.rmtree(pieces, ignore_errors=True)
    made = msgspec.json.decode(told, type=Made)
    return made.rows, made.seconds


def state_of(code: str, data: Mapping[str, str], chosen: Mapping[str, str]) -> str:
    """A name for what a table is made by and from: of another one nothing is taken over."""
    told = msgspec.json.encode([code, dict(data), dict(chosen)], order="deterministic")
    return hashlib.sha256(told).hexdigest()[:16]


def swept(spark: SparkSession, grid: Grid, place: Path, progress: Callable[[int], None]) -> tuple[Rows, float]:
    """The rows of a grid, and the seconds of its runs; a row is small, and a paper has some thousands."""
    progress(0)
    sweep(spark, grid, points(grid), place, lambda now, _: progress(now), retry=True)
    rows = [plain(row) for row in tables.read(spark, place, "runs").toArrow().to_pylist()]
    rows.sort(key=lambda row: int(row["number"]))  # sums of floats depend on their order
    for row in rows:
        if row["error"]:
            at = ", ".join(f"{key} = {value}" for key, value in row["settings"].items())[:200]
            raise PipelineError(f"{place}: a run failed at {at}: {row['error']}; mend the cause and start again")
    timings = tables.read(spark, place, "timings").toArrow()
    return rows, sum(timings["seconds"].to_pylist())
