"""trellis twins: the compiled engine beside the reference, row by row and measure by measure."""

from __future__ import annotations

from typing import Annotated

import typer

from trellis.cli.command import example, out, print_json, progress

EPILOG = example("trellis twins --scenarios 2000", "trellis twins --overlay vcube-printed --ordering unordered")


def command(
    overlay: Annotated[str, typer.Option(help="Which overlay.")] = "vcube-printed",
    ordering: Annotated[str, typer.Option(help="Which ordering over it.")] = "causal",
    scenarios: Annotated[int, typer.Option(help="How many scenarios.", min=1)] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the first; the others follow.", min=0, max=(1 << 62))] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")] = False,
) -> int:
    """Run random scenarios on both engines and compare every row, and every measure with the trace on and off.

    Each difference comes with the first row or the measures that are not the same, and the command that replays it.
    Exit code 1 when there is any.
    """
    from trellis import protocols
    from trellis.sim import fast
    from trellis.swarm.twins import Comparison, scenario_of

    protocols.check(overlay, ordering, {})
    fast.covers(scenario_of(seed, overlay, ordering))
    tried = Comparison(overlay, ordering)
    with progress(f"{ordering} over {overlay}", scenarios, quiet=as_json) as bar:
        tried.go(seed, scenarios, lambda n: bar(n, f"{n:,} of {scenarios:,}, {len(tried.differences)} differ"))
    if as_json:
        told = [one._asdict() for one in tried.differences]
        print_json({"scenarios": tried.scenarios, "rows": tried.rows, "refused": tried.refused, "differences": told})
        return 1 if tried.differences else 0
    out.print(
        f"{ordering} over {overlay}: {tried.scenarios:,} scenarios from seed {seed}, {tried.rows:,} rows, "
        f"{len(tried.differences):,} differ" + (f", {tried.refused:,} refused on the way" if tried.refused else "")
    )
    for one in tried.differences[:5]:
        out.print(f"\nseed {one.seed}: {one.says}", markup=False)
        out.print(f"  replay: {one.replay}", markup=False)
    return 1 if tried.differences else 0
