"""trellis audit: judge a trace by what its ordering promised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trellis.cli.command import err, example, out, print_json

if TYPE_CHECKING:
    from trellis.audit.verdict import Verdict

EPILOG = example("trellis audit out/run", "trellis audit out/run --json", "trellis audit out/sweep --spark")
SHOWN_MAX = 10


def command(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="What `trellis run --out` or a cluster wrote; with --spark also many runs."),
    ],
    every: Annotated[bool, typer.Option("--all", help="Check every promise, also those that were not made.")] = False,
    on_spark: Annotated[
        bool, typer.Option("--spark", help="For traces that do not fit in memory, and for DIR/traces/run=<id>.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(help="With --spark: where it runs; else $TRELLIS_SPARK_MASTER, else local[*].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print verdict and witnesses as one JSON object.")] = False,
) -> int:
    """Check every promise of the run's ordering and show a witness for each violation.

    Exit code 0: all promises kept, or there was nothing to judge. 1: violations. 2: the trace cannot be read.
    """
    from trellis.errors import PipelineError, TraceError
    from trellis.live.cluster import FILE
    from trellis.live.collect import collect_cluster, is_cluster
    from trellis.pipeline.session import check_installed

    if master is not None and not on_spark:
        raise PipelineError(f"--master {master}: the plain audit runs in this process; add --spark")
    if on_spark:
        check_installed()
    if is_cluster(directory):
        with err.status("collecting the traces of the nodes"):
            directory = collect_cluster(directory)
    elif (directory / FILE).exists():
        raise TraceError(f"{directory}: a cluster whose nodes left no traces; start it, and without --no-trace")
    if not on_spark:
        from trellis.audit.verdict import verdict_on

        with err.status("auditing"):
            verdicts = [verdict_on(directory, every)]
    else:
        from trellis.pipeline.audit.runs import verdicts_on

        with err.status("auditing") as status:
            verdicts = verdicts_on(directory, every, None if as_json else SHOWN_MAX, master, status.update)
    broken = [verdict for verdict in verdicts if verdict.broken]
    if as_json:
        single = len(verdicts) == 1 and verdicts[0].directory == directory
        told = [verdict.as_dict() for verdict in verdicts]
        print_json(told[0] if single else {"directory": str(directory), "runs": told})
        return 1 if broken else 0
    for verdict in verdicts if len(verdicts) == 1 else broken[:SHOWN_MAX]:
        show(verdict)
    if len(verdicts) > 1:
        if len(broken) > SHOWN_MAX:
            out.print(f"... and {len(broken) - SHOWN_MAX:,} more runs with broken promises (--json shows all)")
        deliveries = sum(verdict.deliveries for verdict in verdicts)
        empty = sum(verdict.empty for verdict in verdicts)
        out.print(
            f"{len(verdicts):,} runs, {deliveries:,} deliveries: "
            f"{len(verdicts) - len(broken) - empty:,} kept all promises, {len(broken):,} did not"
            + (f", in {empty:,} nothing was delivered: there was nothing to judge" if empty else "")
        )
    return 1 if broken else 0


def show(verdict: Verdict) -> None:
    from trellis.audit import SAYS

    about = verdict.about
    out.print(
        f"{verdict.deliveries:,} deliveries under {about['ordering']!r}, digest {about['digest'][:16]}", markup=False
    )
    if verdict.empty:
        out.print("nothing to judge: no message was delivered, so no promise was put to the test")
        return
    for name, count in verdict.violations.items():
        state = "kept  " if not count else f"[bold red]BROKEN[/] {count} times:"
        checked = f" ({verdict.pairs_checked:,} pairs of message and subscriber)" if name == "lost" else ""
        out.print(f"  {name:<10} {state} {SAYS[name]}{checked}")
        for witness in verdict.witnesses[name][:SHOWN_MAX]:
            out.print(f"    t={witness.at}: {witness.says}", markup=False)
        if count > SHOWN_MAX:
            out.print(f"    ... and {count - SHOWN_MAX} more (--json shows all)")
    if verdict.late:
        out.print(f"  {'late':<10} {verdict.late:,} of them were tagged as out of order: no order is judged by them")
    if verdict.gaps:
        out.print(f"  {'gaps':<10} {verdict.gaps:,} times an application was told that a message will not come to it")
    killed = [named(life) for life in about.get("killed", ())]
    for name in verdict.not_judged:
        why = "nobody has said that the others came to rest" if killed else "the run was cut short by its end"
        out.print(f"  {name:<10} not judged: {why}")
    if killed:
        out.print(
            f"  {'killed':<10} {', '.join(killed)}: what it had not settled by then is owed to nobody", markup=False
        )
    if verdict.broken:
        first = next(iter(verdict.broken.values()))[0]
        out.print(f"read more with: trellis story {verdict.directory} {first.message}", markup=False)


def named(life: dict[str, Any]) -> str:
    again = f", life {life['incarnation']}" if life["incarnation"] else ""
    return f"{life['name']} (node {life['node']}{again})"
