"""A sweep: every scenario of a grid, each whole in one task of Spark.

Promises: the tables depend on the grid alone: not on the number of cores, the partitioning, the master, or on how often
          it was stopped and started again. What is finished is not run again; what failed is a row with its error.
Assumes:  driver and workers share the directory and have Trellis installed.

    DIR/grid.json     what was asked
    DIR/parts/        one file per finished scenario
    DIR/runs/         the table, once all are finished
    DIR/timings/      how long each took, and where
    DIR/traces/       run=ID/: the whole trace of each, on demand
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from trellis.errors import PipelineError
from trellis.pipeline import tables
from trellis.pipeline.code import fingerprint
from trellis.pipeline.job import carry_out
from trellis.pipeline.runs import RUNS, TRACES, Work, finished, part_in, part_of, trace_of, work_off
from trellis.pipeline.session import cores, in_one_line
from trellis.scenario.grid import Grid, Point
from trellis.scenario.model import (
    AtOnce,
    Buckets,
    Burst,
    Explicit,
    Fraction,
    OnceEach,
    Popular,
    Replies,
    Requests,
    Scenario,
    Sessions,
)
from trellis.trace import store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int], None]  # scenarios done, of how many
GRID = "grid.json"


class Asked(msgspec.Struct, frozen=True):
    """What `grid.json` has."""

    grid: Grid
    code: str  # by which the rows are made: two versions are not mixed in one table


class Swept(msgspec.Struct, frozen=True):
    """How a sweep went."""

    scenarios: int
    ran: int  # in this call; the others were finished before
    failed: int
    wall: float  # seconds from the first task to the last
    busy: float | None  # the share of all cores' time that was spent in scenarios


def sweep(
    spark: SparkSession,
    grid: Grid,
    points: list[Point],
    out: Path,
    progress: Progress | None = None,
    traces: bool = False,
    retry: bool = False,
) -> Swept:
    """Run what of the grid is not finished, then write the tables. `retry` runs failed scenarios again.

    With `traces`, a scenario is finished when its trace is there too.
    """
    open_directory(out, grid)
    wanted = {point.run for point in points}
    done = {run: part_in(out, run) for run in sorted(finished(out) & wanted)}
    forget(out, done, retry, traces)
    todo = [point for point in points if point.run not in done]
    if traces and not grid.trace:
        raise PipelineError(f"{grid.name}: the grid says trace = false; leave that out to keep the traces of its runs")
    if traces:
        for point in todo:
            store.check(trace_of(out, point.run))
    elif todo and (out / TRACES).is_dir():  # an audit of all would pass over those without a trace, without a word
        raise PipelineError(f"{out}: the sweep keeps the traces of its runs; add --traces to go on")
    wall = 0.0
    if todo:
        warm(spark)
        began = time.perf_counter()
        chunks = [
            [msgspec.json.encode(Work(point, str(out.absolute()), traces, grid.judge, grid.trace)) for point in chunk]
            for chunk in guided(todo, cores(spark))
        ]

        def look() -> None:
            if progress:
                progress(len(finished(out) & wanted), len(points))

        carry_out(spark, chunks, work_off, look, "sweep")
        wall = time.perf_counter() - began
    with in_one_line("writing the tables"):
        parts = spark.createDataFrame(read_parts(out, [point.run for point in points], done))
        tables.write(parts.select(*RUNS.names).orderBy("number").coalesce(1), out, "runs")
        tables.write(parts.select("run", "seconds", "worker").orderBy("run").coalesce(1), out, "timings")
        return account(spark, out, todo, len(points), wall)


def open_directory(out: Path, grid: Grid) -> None:
    """A new directory, or one of the same grid and the same code: then the sweep goes on where it was."""
    asked = Asked(grid, fingerprint())
    told = msgspec.json.format(msgspec.json.encode(asked, order="deterministic"))
    place = out / GRID
    try:
        out.mkdir(parents=True, exist_ok=True)
        if place.exists():
            refuse_others(out, place.read_bytes(), asked)
        elif any(not entry.name.startswith(f".{GRID}-") for entry in out.iterdir()):
            raise PipelineError(f"{out}: not empty and not a sweep; give a new directory")
        else:
            aside = out / f".{GRID}-{os.getpid()}"
            try:
                aside.write_bytes(told)
                os.rename(aside, place)
            finally:
                aside.unlink(missing_ok=True)
        (out / "parts").mkdir(exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise PipelineError(f"{out}: a file stands there; give a new directory") from None
    except OSError as error:
        raise PipelineError(f"{out}: cannot be written ({error.strerror}); give another directory") from None


def refuse_others(out: Path, told: bytes, asked: Asked) -> None:
    try:
        before = msgspec.json.decode(told, type=Asked)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise PipelineError(f"{out / GRID}: not as a sweep wrote it ({error}); give another directory") from None
    if before.grid != asked.grid:
        raise PipelineError(f"{out}: holds the sweep of another grid; give another directory")
    if before.code != asked.code:
        raise PipelineError(f"{out}: was made by other code of Trellis; remove it, or give another directory")


def forget(out: Path, done: dict[str, pa.Table], retry: bool, traces: bool) -> None:
    """What was finished, but not as it is wanted now, is run again."""
    for run, part in list(done.items()):
        failed = part["error"][0].as_py() != ""
        if (failed and retry) or (traces and not failed and not trace_of(out, run).is_dir()):
            part_of(out, run).unlink()
            del done[run]


def guided(todo: list[Point], workers: int) -> list[list[Point]]:
    """Work for one task each: the dearest first, in large pieces, single scenarios last, so that all end together."""
    queue = sorted(todo, key=lambda point: (-cost(point.scenario), point.number))
    rest = sum(cost(point.scenario) for point in queue)
    chunks: list[list[Point]] = []
    at = 0
    while at < len(queue):
        chunk, share = [queue[at]], cost(queue[at].scenario)
        while at + len(chunk) < len(queue) and share < rest / (3 * workers):
            chunk.append(queue[at + len(chunk)])
            share += cost(chunk[-1].scenario)
        chunks.append(chunk)
        rest -= share
        at += len(chunk)
    return chunks


def cost(scenario: Scenario) -> float:
    """How much work it is, roughly: deliveries, and for each change of sessions as many as there are nodes, which may
    all have to be told. Only the proportions matter, and those only for an even load.
    """
    nodes, wanted, said = scenario.nodes.count, scenario.subscriptions, scenario.workload
    changes = 0.0
    match wanted:
        case Fraction() | Burst():
            members = wanted.fraction * nodes
        case Sessions():
            members = float(wanted.subscribers)
            changes = 2 * members * (scenario.end or 0) / wanted.session  # one leaves, another one joins
        case Popular():
            members = wanted.each * (nodes - wanted.clients) / wanted.topics
        case Buckets():
            members = wanted.each * nodes / wanted.topics
        case Explicit():
            members = max((len(m) for m in wanted.members.values()), default=1) + len(wanted.changes)
    match said:
        case OnceEach():
            messages = max(1.0, said.publishers * nodes)
        case Replies():
            messages = members
        case Requests():
            messages = said.until / said.interval * nodes
        case AtOnce():
            messages = float(said.messages)
        case _:
            count = getattr(said, "messages", None)
            count = len(count) if isinstance(count, list) else count
            messages = float(count or (scenario.end or 0) / getattr(said, "interval", 1))
    return 100.0 + messages * members + changes * nodes


def warm(spark: SparkSession) -> None:
    """Let every worker load Trellis before the clock starts."""
    many = cores(spark)
    spark.sparkContext.parallelize(range(many), many).foreach(load_everything)


def load_everything(_: int) -> None:
    import trellis.sim  # noqa: F401

    time.sleep(0.1)  # so that no worker gets two of these


def read_parts(out: Path, wanted: list[str], before: dict[str, pa.Table]) -> pa.Table:
    """What is finished, and only of this grid; what was finished before has been read."""
    missing = next((run for run in wanted if run not in before and not part_of(out, run).exists()), None)
    if missing is not None:
        raise PipelineError(f"{part_of(out, missing)}: the scenario was not finished; start the sweep again to go on")
    return pa.concat_tables(before[run] if run in before else part_in(out, run) for run in wanted)


def account(spark: SparkSession, out: Path, todo: list[Point], scenarios: int, wall: float) -> Swept:
    runs, timings = tables.read(spark, out, "runs"), tables.read(spark, out, "timings")
    seconds = {row["run"]: row["seconds"] for row in timings.toArrow().to_pylist()}
    spent = sum(seconds[point.run] for point in todo)
    failed = runs.where("error != ''").count()
    return Swept(scenarios, len(todo), failed, wall, spent / (wall * cores(spark)) if todo else None)
