"""trellis sweep: a grid of scenarios on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trellis.cli.command import err, example, out, print_json, progress

EPILOG = example("trellis sweep examples/grids/sizes.toml --out out/sizes --traces", "trellis audit out/sizes --spark")
SHOWN = {"latency": "delivery.mean", "packets": "aggregate(map_values(sent), 0L, (a, b) -> a + b)", "hits": "hit_ratio"}


def command(
    file: Annotated[Path, typer.Argument(metavar="GRID", help="Grid file (TOML or JSON): a base, axes, repetitions.")],
    out_dir: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the tables go.")],
    master: Annotated[
        str | None, typer.Option(help="Spark master; else TRELLIS_SPARK_MASTER, else all cores of this machine.")
    ] = None,
    traces: Annotated[bool, typer.Option("--traces", help="Keep the whole trace of each run too.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Run scenarios again that failed before.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print how it went as one JSON object.")] = False,
) -> int:
    """Run every scenario of a grid on Spark, one task each, and write the tables `runs` and `timings`.

    A sweep that was stopped goes on where it was. Exit code 0: all ran and kept their promises. 1: some failed or
    broke a promise. 2: the grid or the directory cannot be used.
    """
    import msgspec

    from trellis.pipeline import tables
    from trellis.pipeline.metrics import over_repetitions
    from trellis.pipeline.session import chosen_master, session
    from trellis.pipeline.sweep import open_directory, sweep
    from trellis.scenario import load_grid

    grid, points = load_grid(file)
    master = chosen_master(master)
    open_directory(out_dir, grid)
    with err.status("starting Spark"):
        spark = session(master)
    with progress(grid.name, len(points), quiet=as_json) as bar:

        def say(done: int, of: int) -> None:
            bar(done, f"{done:,} of {of:,} scenarios")

        swept = sweep(spark, grid, points, out_dir, say, traces=traces, retry=retry)
    runs = tables.read(spark, out_dir, "runs")
    failures = runs.where("error != ''").select("number", "settings", "error").orderBy("number").toArrow().to_pylist()
    broken = runs.where("exists(map_values(violations), count -> count > 0)").count()
    if as_json:
        print_json({**msgspec.structs.asdict(swept), "broken": broken, "failures": failures[:100]})
        return 1 if failures or broken else 0
    found = over_repetitions(runs, **SHOWN).orderBy("point", "measure").toArrow().to_pylist()
    out.print(table_of(grid.name, found))
    busy = "" if swept.busy is None else f" in {swept.wall:.1f} s, {swept.busy:.0%} of all cores' time in scenarios"
    out.print(
        f"{swept.scenarios} scenarios, {swept.ran} run now{busy}; {swept.failed} failed, {broken} broke a promise"
    )
    for failure in failures[:10]:
        out.print(f"  run {failure['number']} {dict(failure['settings'])}: {failure['error']}", markup=False)
    out.print(f"tables: {out_dir}/runs and {out_dir}/timings", markup=False)
    return 1 if failures or broken else 0


def table_of(name: str, found: list[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    by_point: dict[int, dict[str, dict[str, Any]]] = {}
    for row in found:
        by_point.setdefault(row["point"], {})[row["measure"]] = row
    keys = list(dict.fromkeys(key for row in found for key, _ in row["settings"]))
    table = Table(title=Text(f"{name}: mean and 95% interval"), title_justify="left")
    for title in (*keys, "runs", *SHOWN):
        table.add_column(Text(title))  # names and values are the user's: no markup
    for measures in by_point.values():
        settings = dict(next(iter(measures.values()))["settings"])
        cells = [told(measures[name]) if name in measures else "-" for name in SHOWN]
        table.add_row(
            *(Text(settings.get(key, "")) for key in keys), str(max(m["count"] for m in measures.values())), *cells
        )
    return table


def told(row: dict[str, Any]) -> str:
    return f"{row['mean']:,.6g}" + ("" if row["half"] is None else f" ± {row['half']:,.3g}")
