"""Run the experiments of a paper: their grids as sweeps, their rows to verdicts.

Promises: one sweep directory per grid, so that what was interrupted goes on where it was, and figures that share runs
          share them. A run that failed is not passed over: it ends the reproduction with its error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trellis.errors import PipelineError
from trellis.experiments.experiment import Experiment, Outcome, Scale, outcome
from trellis.experiments.rows import Rows, plain
from trellis.pipeline import tables
from trellis.pipeline.sweep import sweep
from trellis.scenario.grid import Grid, points

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str, int, int], None]  # figure, runs done, of how many in all
SWEEPS = "sweeps"


def reproduce(
    spark: SparkSession, experiments: Sequence[Experiment], scale: Scale, out: Path, progress: Progress
) -> list[Outcome]:
    """Every experiment, in order."""
    grids = {grid.name: grid for experiment in experiments for grid in experiment.grids(scale)}
    total = sum(len(points(grid)) for grid in grids.values())
    done: dict[str, Rows] = {}

    def rows_for(figure: str, grid: Grid) -> Rows:
        if grid.name not in done:
            before = sum(map(len, done.values()))
            place = out / SWEEPS / scale / grid.name
            done[grid.name] = swept(spark, grid, place, lambda now: progress(figure, before + now, total))
        return done[grid.name]

    found = []
    for experiment in experiments:
        rows = [row for grid in experiment.grids(scale) for row in rows_for(experiment.id, grid)]
        found.append(outcome(experiment, rows, scale))
    return found


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
