"""Run the experiments of a paper: their grids as sweeps, their rows to verdicts.

Promises: one sweep directory per grid, so that what was interrupted goes on where it was, and figures that share runs
          share them. A table is kept whole beside them, and made anew by other code or from other data. A run that
          failed is not passed over: it ends the reproduction with its error. A figure whose data was not brought is
          not run, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trellis.errors import PipelineError
from trellis.experiments.data import Brought, digest, missing
from trellis.experiments.experiment import Experiment, Outcome, Scale, Table, needs, outcome, unrun
from trellis.experiments.rows import Rows, plain
from trellis.pipeline import tables
from trellis.pipeline.code import fingerprint
from trellis.pipeline.session import in_one_line
from trellis.pipeline.sweep import sweep
from trellis.scenario.grid import Grid, points
from trellis.sim import AUTO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str, int, int], None]  # figure, runs done, of how many in all
SWEEPS = "sweeps"
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
    done: dict[str, Rows] = {}
    made: dict[str, Rows] = {}

    def rows_for(figure: str, grid: Grid) -> Rows:
        if grid.name not in done:
            before = sum(map(len, done.values())) + len(made)
            place = out / SWEEPS / scale / grid.name
            done[grid.name] = swept(spark, grid, place, lambda now: progress(figure, before + now, total))
        return done[grid.name]

    def rows_of(figure: str, table: Table) -> Rows:
        if table.name not in made:
            progress(figure, sum(map(len, done.values())) + len(made), total)
            made[table.name] = kept(spark, table, scale, out / SWEEPS / scale / f"{table.name}.json", brought, engine)
        return made[table.name]

    found = []
    for experiment in experiments:
        if lacking[experiment.id]:
            found.append(unrun(experiment, lacking[experiment.id]))
            continue
        rows = [row for grid in experiment.grids(scale) for row in rows_for(experiment.id, grid)]
        rows += [row for table in experiment.tables for row in rows_of(experiment.id, table)]
        found.append(outcome(experiment, rows, scale))
    return found


class Made(msgspec.Struct, frozen=True):
    """What the file of a table has."""

    code: str
    rows: Rows
    data: dict[str, str] = {}  # digests of what was brought for it


def kept(
    spark: SparkSession, table: Table, scale: Scale, place: Path, brought: Brought = NOTHING, engine: str = AUTO
) -> Rows:
    """The rows of a table, from its file if this code wrote it from this data, on the engine that was asked for."""
    code = fingerprint("pipeline", "experiments")
    data = {name: digest(brought[name]) for name in table.needs}
    try:
        before = msgspec.json.decode(place.read_bytes(), type=Made)
        made_so = not table.engines or engine == AUTO or {row["engine"] for row in before.rows} == {engine}
        if (before.code, before.data) == (code, data) and made_so:
            return before.rows
    except (OSError, msgspec.MsgspecError, UnicodeError):  # there is none, or not a whole one
        pass
    with in_one_line(f"table {table.name}"):
        chosen = {"engine": engine} if table.engines else {}
        rows = table.rows(spark, scale, *(brought[name] for name in table.needs), **chosen)
        told = msgspec.json.encode(Made(code, rows, data))
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = place.with_name(f".{place.name}")
    aside.write_bytes(told)
    aside.rename(place)
    return msgspec.json.decode(told, type=Made).rows


def swept(spark: SparkSession, grid: Grid, place: Path, progress: Callable[[int], None]) -> Rows:
    """The rows of a grid; a row is small, and a paper has some thousands."""
    progress(0)
    sweep(spark, grid, points(grid), place, lambda now, _: progress(now), retry=True)
    rows = [plain(row) for row in tables.read(spark, place, "runs").toArrow().to_pylist()]
    rows.sort(key=lambda row: int(row["number"]))  # sums of floats depend on their order
    for row in rows:
        if row["error"]:
            at = ", ".join(f"{key} = {value}" for key, value in row["settings"].items())[:200]
            raise PipelineError(f"{place}: a run failed at {at}: {row['error']}; mend the cause and start again")
    return rows
