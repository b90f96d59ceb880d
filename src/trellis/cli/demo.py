"""trellis demo: a discussion, its audit, the story of one reply, a page; a sweep on Spark; and all that live."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from trellis.cli import discussion as discussion_live
from trellis.cli.command import err, example, out, progress

EPILOG = example("trellis demo --out out/demo")


def command(
    out_dir: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the run and its page go.")] = Path(
        "out/demo"
    ),
    seed: Annotated[int, typer.Option(help="Another seed, another discussion.", min=0, max=(1 << 63) - 1)] = 7,
    on_spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Also sweep a small grid on Spark into DIR-sweep, and audit it.")
    ] = True,
    live: Annotated[
        bool, typer.Option("--live/--no-live", help="Also let 16 processes discuss, kill one, and audit: DIR-live.")
    ] = True,
) -> int:
    """Let 64 nodes hold a discussion in causal order, audit it, tell the story of one reply, and draw a page.

    Then the same kind of discussion at other sizes and over another overlay, as a sweep and an audit on Spark; and then
    among real processes, one of which is killed.
    """
    from trellis.audit import SAYS
    from trellis.report.demo import discussion, question_and_reply
    from trellis.report.figures import figures
    from trellis.report.page import page
    from trellis.sim import run
    from trellis.trace import store
    from trellis.trace.story import story, tell

    store.check(out_dir)
    if out_dir.name in ("", ".."):
        out_dir = Path(os.path.realpath(out_dir))  # `.` has a name too, and a neighbour
    sweep_dir = out_dir.with_name(f"{out_dir.name}-sweep")
    if on_spark:
        prepare(sweep_dir)
    live_dir = out_dir.with_name(f"{out_dir.name}-live")
    if live:
        discussion_live.check(live_dir)
    out.print("[bold]1. Run[/]: 64 nodes, one question, 63 replies, causal order over vcube")
    result = run(discussion(seed))
    found = figures(result)
    latency = found["delivery_latency"]
    out.print(
        f"   {found['deliveries']:,} deliveries, mean {latency['mean']:.0f} u.t., "
        f"{sum(found['sent'].values()):,} packets"
    )
    store.write(out_dir, result.trace, result.about())
    out.print("[bold]2. Audit[/]: by what really happened before what, not by what the protocol believed")
    for name, count in found["violations"].items():
        out.print(f"   {'kept  ' if not count else f'BROKEN {count} times:'} {SAYS[name]}")
    question, reply = question_and_reply(result)
    told = [tell(row) for row in story(result.trace.rows(), reply)]
    out.print(f"[bold]3. Story[/] of {reply}, which follows the most others ({len(told)} rows; the first 12):")
    for line in told[:12]:
        out.print(f"   {line}")
    target = out_dir / store.PAGE
    target.write_text(page(result, found, question, reply), encoding="utf-8")
    out.print(f"[bold]4. Page[/]: open {escape(str(target))} in a browser")
    out.print(f"   go on with: trellis audit {out_dir}  |  trellis story {out_dir} {question}", markup=False)
    kept = not any(found["violations"].values())
    if on_spark:
        kept = sweep_and_audit(sweep_dir) and kept
    if live:
        kept = discussion_live.hold(live_dir, on_spark, first=7 if on_spark else 5) and kept
    return 0 if kept else 1


def prepare(directory: Path) -> None:
    """Before anything is run: can Spark start, and may the sweep be written there?"""
    from trellis.pipeline.session import chosen_master
    from trellis.pipeline.sweep import GRID, open_directory
    from trellis.report.demo import small_grid

    chosen_master(None)
    if (directory / GRID).is_file():  # an earlier demonstration's, perhaps of other code
        shutil.rmtree(directory)
    open_directory(directory, small_grid())


def sweep_and_audit(directory: Path) -> bool:
    from trellis.pipeline import tables
    from trellis.pipeline.audit.runs import verdicts_on
    from trellis.pipeline.metrics import over_repetitions
    from trellis.pipeline.session import session
    from trellis.pipeline.sweep import sweep
    from trellis.report.demo import small_grid
    from trellis.scenario import points

    grid = small_grid()
    laid_out = points(grid)
    out.print(f"[bold]5. Sweep[/] on Spark: {len(laid_out)} more discussions, two sizes, two overlays, the same luck")
    with err.status("starting Spark"):
        spark = session()
    with progress(grid.name, len(laid_out)) as bar:
        sweep(spark, grid, laid_out, directory, lambda done, of: bar(done, f"{done} of {of}"), traces=True)
    shown = over_repetitions(tables.read(spark, directory, "runs"), delivery="delivery.mean").orderBy("point")
    for row in shown.toArrow().to_pylist():
        settings = ", ".join(f"{key} {value}" for key, value in row["settings"])
        out.print(f"   {row['mean']:6.1f} u.t. to delivery  ({settings})", markup=False)
    with err.status("auditing on Spark"):
        verdicts = verdicts_on(directory, every=False, shown_max=1, master=None)
    broken = [verdict for verdict in verdicts if verdict.broken]
    deliveries = sum(verdict.deliveries for verdict in verdicts)
    judged = "all kept their promises" if not broken else f"{len(broken)} BROKEN"
    out.print(f"[bold]6. Audit[/] on Spark: {len(verdicts)} runs, {deliveries:,} deliveries: {judged}")
    out.print(f"   go on with: trellis audit {directory} --spark  |  trellis reproduce vcube-ps", markup=False)
    return not broken
