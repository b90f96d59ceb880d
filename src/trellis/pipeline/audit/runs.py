"""Runs on disk, judged on Spark: one run, or the runs of a sweep under `traces/run=<id>/`.

Promises: what is not a whole run of ours is refused before Spark starts, by the same words as without Spark.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from trellis.audit import Excused
from trellis.audit.verdict import Verdict, asked_of, excused_of
from trellis.errors import PipelineError, TraceError
from trellis.pipeline import tables
from trellis.pipeline.audit import Case
from trellis.pipeline.audit.columns import IN_ORDER, of_kind, witness_of
from trellis.pipeline.runs import PARTS, RUN, TRACES, trace_of
from trellis.pipeline.session import brief, cores, in_one_line, scratch, session
from trellis.pipeline.sweep import GRID
from trellis.trace import store
from trellis.trace.rows import DELIVERIES, spark_ddl

ROWS_PER_TASK = 1_000_000
SETTINGS = {"spark.driver.memory": "4g"}

Said = Callable[[str], None]


def runs_in(directory: Path) -> dict[str, Path]:
    """The run of a directory, under an empty name; or the runs of a sweep, by name."""
    if (directory / GRID).is_file():
        hold_whole(directory)
    if not (directory / TRACES).is_dir():
        if (directory / PARTS).is_dir():
            raise TraceError(f"{directory}: a sweep that kept no traces; sweep into a new directory with --traces")
        return {"": directory}
    found = sorted((directory / TRACES).glob(f"{RUN}*"))
    if not found:
        raise TraceError(f"{directory / TRACES}: there is no {RUN}<id> in it; give a directory with runs")
    named = {unquote(place.name.removeprefix(RUN)): place for place in found}
    if len(named) < len(found):
        twin = next(place for place in found if place not in named.values())
        raise TraceError(f"{twin}: Spark takes it for the name of another run; rename it without %")
    refuse_strays(directory / TRACES, found)
    return named


def refuse_strays(traces: Path, runs: list[Path]) -> None:
    """Spark would read a trace that lies deeper, or beside the runs, as rows of theirs. It passes over hidden ones."""
    wanted = {place / store.TRACE for place in runs}
    for place in sorted(traces.rglob(store.TRACE)):
        hidden = any(part.startswith((".", "_")) for part in place.relative_to(traces).parts)
        if place not in wanted and not hidden:
            raise TraceError(f"{place}: not of a run {RUN}<id> of this sweep; move it elsewhere")


def hold_whole(directory: Path) -> None:
    """A verdict on a sweep is on all of its runs: one that was stopped, or kept no traces, is not judged by halves."""
    if not (directory / "runs").is_dir():
        raise PipelineError(f"{directory}: the sweep is not finished; start it again with --traces to go on")
    tables.manifest_of(directory, "runs")
    try:
        swept = pq.read_table(directory / "runs", columns=["run", "error"]).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise PipelineError(f"{directory / 'runs'}: cannot be read ({brief(error)}); start the sweep again") from None
    missing = [row["run"] for row in swept if not row["error"] and not trace_of(directory, row["run"]).is_dir()]
    if missing:
        raise PipelineError(
            f"{directory}: {len(missing)} of {len(swept)} runs have no trace; start the sweep again with --traces"
        )


def verdicts_on(
    directory: Path, every: bool, shown_max: int | None, master: str | None, say: Said = lambda text: None
) -> list[Verdict]:
    """Judge every run there. At most `shown_max` witnesses of each kind are kept per run, all of them are counted."""
    runs = runs_in(directory)
    abouts = {}
    for number, (run, place) in enumerate(runs.items()):
        say(f"checking run {number + 1:,} of {len(runs):,}")
        abouts[run] = store.survey(place)
    asked = {run: asked_of(place, abouts[run], every) for run, place in runs.items()}
    say("starting Spark")
    spark = session(master, SETTINGS, heavy=True)
    alike: list[tuple[tuple[tuple[str, ...], bool, Excused], list[str]]] = []  # runs that are judged alike
    for run, about in abouts.items():
        terms = (asked[run], about["quiet"], excused_of(about, every))
        names = next((names for known, names in alike if known == terms), None)
        if names is None:
            alike.append((terms, names := []))
        names.append(run)
    found: dict[str, Verdict] = {}
    work = Path(tempfile.mkdtemp(prefix="audit-", dir=scratch()))
    with in_one_line("the audit"):
        trace = read(spark, directory, work, sum(about["rows"] for about in abouts.values()))
        for number, ((audits, quiet, excused), names) in enumerate(alike):
            room = work / f"{number}"
            room.mkdir()
            say("auditing: gathering the messages")
            chosen = trace if len(alike) == 1 else only(trace, names)
            judged = judge_runs(Case(chosen, quiet, room, excused), audits, shown_max, say)
            for run in names:
                found[run] = judged(Verdict(runs[run], abouts[run], audits, 0, 0, {}, 0, 0, {}), run)
    return [found[run] for run in runs]


def read(spark: SparkSession, directory: Path, work: Path, rows: int) -> DataFrame:
    """All rows, with the name of their run. Read through a link: Spark takes some characters of a path for patterns."""
    spark.conf.set("spark.sql.shuffle.partitions", str(max(cores(spark), rows // ROWS_PER_TASK)))
    sweep = (directory / TRACES).is_dir()
    link = work / "runs"
    link.symlink_to((directory / TRACES if sweep else directory).absolute())
    reader = spark.read.option("pathGlobFilter", store.TRACE)
    if sweep:
        return reader.schema(f"{spark_ddl()}, run STRING").parquet(tables.pattern(link))
    return reader.schema(spark_ddl()).parquet(tables.pattern(link / store.TRACE)).withColumn("run", F.lit(""))


def only(trace: DataFrame, runs: list[str]) -> DataFrame:
    wanted = trace.sparkSession.createDataFrame([(run,) for run in runs], "run STRING")
    return trace.join(F.broadcast(wanted), "run", "left_semi")


def judge_runs(
    case: Case, audits: tuple[str, ...], shown_max: int | None, say: Said
) -> Callable[[Verdict, str], Verdict]:
    """Judge runs that promised the same; what comes back fills in the verdict on one of them."""
    pairs = {row.run: row["count"] for row in case.pairs_checked().collect()}
    told = {row.run: row for row in tallies(case.trace).collect()}
    violations: dict[str, dict[str, int]] = {}
    witnesses: dict[str, dict[str, list[Any]]] = {}
    by_run = Window.partitionBy("run")
    for audit in audits:
        if audit == "stuck" and not case.quiet:
            continue
        say(f"auditing: {audit}")
        violations[audit], witnesses[audit] = {}, {}
        found = case.witnesses(audit).withColumns(
            {"number": F.row_number().over(by_run.orderBy(*IN_ORDER)), "in_all": F.count("*").over(by_run)}
        )
        for row in found.where(F.lit(True) if shown_max is None else F.col("number") <= shown_max).collect():
            violations[audit][row.run] = row.in_all
            witnesses[audit].setdefault(row.run, []).append((row.number, witness_of(row)))

    def fill(verdict: Verdict, run: str) -> Verdict:
        tally = told.get(run)
        return verdict._replace(
            deliveries=tally.deliveries if tally else 0,
            pairs_checked=pairs.get(run, 0),
            gaps=tally.gaps if tally else 0,
            late=tally.late if tally else 0,
            violations={audit: listed.get(run, 0) for audit, listed in violations.items()},
            witnesses={audit: [w for _, w in sorted(listed.get(run, []))] for audit, listed in witnesses.items()},
        )

    return fill


def tallies(trace: DataFrame) -> DataFrame:
    """One row per run in which anything was told: deliveries, those that were late, and messages told as gaps."""

    def number(what: Column, kinds: tuple[str, ...], name: str) -> Column:
        return F.sum(F.when(F.col("kind").isin(*kinds), what).otherwise(0)).alias(name)

    one, batch = F.lit(1), F.col("batch")
    cells = (number(one, DELIVERIES, "deliveries"), number(one, ("late",), "late"), number(batch, ("gap",), "gaps"))
    return of_kind(trace, *DELIVERIES, "gap").groupBy("run").agg(*cells)
