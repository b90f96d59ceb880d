"""trellis run: a scenario in, a trace and its figures out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import err, example, out, print_json, progress

EPILOG = example("trellis run examples/all-publish.toml --out out/run", "trellis audit out/run")


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (TOML or JSON).")],
    seed: Annotated[int | None, typer.Option(help="Another seed than the file's.", min=0, max=(1 << 63) - 1)] = None,
    engine: Annotated[
        str, typer.Option(help="reference, fast (compiled), or auto: fast for large runs that it has a twin for.")
    ] = "auto",
    trace: Annotated[bool, typer.Option(help="Whether to keep the trace; without it nothing is audited.")] = True,
    out_dir: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write the trace there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object.")] = False,
) -> int:
    """Run a scenario, judge it by what its ordering promises, and print the figures.

    Without a trace a large run takes less time and memory, and is measured but not judged.

    Exit code 0: all promises kept. 1: a promise was broken (see `trellis audit`). 2: the scenario cannot be run.
    """
    from trellis.errors import ScenarioError, TraceError
    from trellis.report.figures import figures
    from trellis.scenario import load
    from trellis.sim import run
    from trellis.trace import store

    if out_dir is not None:
        if not trace:
            raise TraceError(f"--out {out_dir} with --no-trace: there would be nothing to write; leave one of them out")
        store.check(out_dir)
    scenario = load(file)
    if seed is not None:
        scenario = scenario.with_seed(seed)
    try:
        with progress(scenario.name, scenario.end, quiet=as_json) as bar:
            result = run(scenario, engine, lambda now, events: bar(now, f"t={now}  {events:,} events"), trace=trace)
    except ScenarioError as error:
        raise ScenarioError(f"{file}: {error}") from None
    with err.status("measuring and auditing"):
        found = figures(result)
    if out_dir is not None:
        store.write(out_dir, result.trace, result.about())
    if as_json:
        print_json(found)
    else:
        show(scenario.name, found)
        if out_dir is not None:
            out.print(f"trace written to {out_dir}; try: trellis audit {out_dir}", markup=False)
    return 1 if any(found["violations"].values()) else 0


def show(name: str, found: dict) -> None:  # type: ignore[type-arg]
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(name), show_header=False, title_justify="left")
    for key, value in found.items():
        told = ", ".join(f"{k} {brief(v)}" for k, v in value.items()) if isinstance(value, dict) else brief(value)
        table.add_row(key, Text(told))
    out.print(table)


def brief(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
