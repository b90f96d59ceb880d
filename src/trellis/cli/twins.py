"""trellis twins: the compiled engine beside the reference, row by row and measure by measure."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Annotated

import typer

from trellis.cli.command import example, out, print_json, progress

if TYPE_CHECKING:
    from trellis.swarm.twins import Comparison

EPILOG = example(
    "trellis twins --scenarios 2000", "trellis twins --overlay vitis --ordering unordered", "trellis twins --sequencer"
)


def command(
    overlay: Annotated[str, typer.Option(help="Which overlay.")] = "vcube-printed",
    ordering: Annotated[str, typer.Option(help="Which ordering over it.")] = "causal",
    sequencer: Annotated[
        bool, typer.Option("--sequencer", help="The timestamps of `total` that `reproduce tno` makes, not an overlay.")
    ] = False,
    scenarios: Annotated[int, typer.Option(help="How many scenarios.", min=1)] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the first; the others follow.", min=0, max=(1 << 62))] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")] = False,
) -> int:
    """Run random scenarios on both engines and compare every row, and every measure with the trace on and off.

    Each difference comes with the first row or the measures that are not the same, and the command that replays it.
    Exit code 1 when there is any.
    """
    tried = timestamps() if sequencer else stack(overlay, ordering, seed)
    what = "timestamps of total" if sequencer else f"{ordering} over {overlay}"
    with progress(what, scenarios, quiet=as_json) as bar:
        tried.go(seed, scenarios, lambda n: bar(n, f"{n:,} of {scenarios:,}, {len(tried.differences)} differ"))
    if as_json:
        told = [one._asdict() for one in tried.differences]
        print_json({"scenarios": tried.scenarios, "rows": tried.rows, "refused": tried.refused, "differences": told})
        return 1 if tried.differences else 0
    out.print(
        f"{what}: {tried.scenarios:,} scenarios from seed {seed}, {tried.rows:,} rows, "
        f"{len(tried.differences):,} differ" + (f", {tried.refused:,} refused on the way" if tried.refused else "")
    )
    for one in tried.differences[:5]:
        out.print(f"\nseed {one.seed}: {one.says}", markup=False)
        out.print(f"  replay: {one.replay}", markup=False)
    return 1 if tried.differences else 0


def stack(overlay: str, ordering: str, seed: int) -> Comparison:
    from trellis import protocols
    from trellis.sim import fast
    from trellis.swarm.twins import of_stack, scenario_of

    protocols.check(overlay, ordering, {})
    fast.covers(scenario_of(seed, overlay, ordering))
    return of_stack(overlay, ordering)


def timestamps() -> Comparison:
    from trellis.errors import UnsupportedByEngine

    if importlib.util.find_spec("numba") is None:
        raise UnsupportedByEngine("Numba is not installed: pip install 'trellis[fast]'")
    from trellis.experiments.tno.compared import of_sequencer

    return of_sequencer()
