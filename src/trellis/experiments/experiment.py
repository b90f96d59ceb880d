"""One figure or table of a paper: where it stands, what is run for it, what it claims, what it shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

from trellis.experiments.chart import Chart
from trellis.experiments.claim import Claim, Verdict, judge, not_run
from trellis.experiments.rows import Rows
from trellis.scenario.grid import Grid

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "paper")


class Table(NamedTuple):
    """Rows that no sweep of scenarios makes. Figures that share one name the same."""

    name: str
    rows: Callable[..., Rows]  # (workshop, scale, a directory for each kind of data needed); as rows of a sweep
    needs: tuple[str, ...] = ()  # kinds of data: `experiments/data.py`
    engines: bool = False  # whether it is given an `engine`, and each row says which one made it


class Experiment(NamedTuple):
    id: str
    title: str
    source: str  # paper, figure, section
    about: str  # what is run, which overlay stands for which system, and what the text leaves open
    grids: Callable[[Scale], list[Grid]]  # figures that share runs name the same grid
    claims: list[Claim]
    charts: Callable[[Rows], list[Chart]]
    tables: tuple[Table, ...] = ()


class Took(NamedTuple):
    """How long what a figure rests on took, when it was run: now, or before an interruption."""

    seconds: float = 0.0  # of all its runs, one after the other
    figure: str = ""  # for which some of them were made first, if that is another one


UNTOLD = Took()


class Outcome(NamedTuple):
    """An experiment that was run."""

    experiment: Experiment
    verdicts: list[Verdict]
    charts: list[Chart]
    packets: dict[str, int]  # by run; figures may share runs
    sizes: str  # what this scale ran
    took: Took


def needs(experiment: Experiment) -> tuple[str, ...]:
    """Kinds of data, each once."""
    return tuple(dict.fromkeys(name for table in experiment.tables for name in table.needs))


def unrun(experiment: Experiment, missing: str) -> Outcome:
    """What cannot be run, because something is missing: every claim says what."""
    reason = f"not run: {missing}"
    verdicts = [not_run(experiment.id, claim, reason) for claim in experiment.claims]
    return Outcome(experiment, verdicts, [], {}, reason, UNTOLD)


def outcome(experiment: Experiment, rows: Rows, scale: Scale, took: Took = UNTOLD) -> Outcome:
    verdicts = [judge(experiment.id, claim, rows, scale) for claim in experiment.claims]
    packets = {row["run"]: sum(row["sent"].values()) for row in rows}
    return Outcome(experiment, verdicts, experiment.charts(rows), packets, ran(experiment, rows, scale), took)


def ran(experiment: Experiment, rows: Rows, scale: Scale) -> str:
    """How much this scale runs, in one line."""
    grids = [
        f"{math.prod(map(len, grid.axes.values())) * max(1, len(grid.variants))} points x {grid.repetitions}"
        for grid in experiment.grids(scale)
    ]
    engines = sorted({row["engine"] for row in rows if "engine" in row})
    by = f" (engine {' and '.join(engines)})" if engines else ""
    return ", ".join([*grids, f"{len(rows)} rows{by}"] if experiment.tables else grids)
