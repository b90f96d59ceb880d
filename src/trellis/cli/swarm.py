"""trellis swarm: random schedules under audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import example, out, print_json, progress

EPILOG = example(
    "trellis swarm --schedules 300",
    "trellis swarm --faults",
    "trellis swarm --hierarchy",
    "trellis swarm --ordering total",
    "trellis swarm --ordering total --hasty",
    "trellis swarm --overlay vcube-printed --schedules 300",
    "trellis swarm --ordering total-printed --lose 0.01",
)


def command(
    overlay: Annotated[str, typer.Option(help="Which overlay.")] = "vcube",
    ordering: Annotated[str, typer.Option(help="Which ordering over it.")] = "causal",
    faults: Annotated[bool, typer.Option("--faults", help="Let nodes crash and links break.")] = False,
    lose: Annotated[
        float, typer.Option(help="Lose this share of the sequencer's replies (total order).", min=0.0, max=0.9)
    ] = 0.0,
    hasty: Annotated[
        bool, typer.Option("--hasty", help="Subscribers would rather go on than wait (total order).")
    ] = False,
    hierarchy: Annotated[
        bool, typer.Option("--hierarchy", help="Topics that include each other, with readers at all levels.")
    ] = False,
    schedules: Annotated[int, typer.Option(help="How many schedules.", min=1)] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the first; the others follow.", min=0, max=(1 << 62))] = 0,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the last run's trace there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tally as one JSON object.")] = False,
) -> int:
    """Try random schedules of joins, leaves and publications on 8 to 32 nodes, and audit each.

    An order that reaches across topics is tried on 4 to 12 nodes and 2 to 6 topics.

    Each kind of failure comes with the command that replays it. Exit code 1 when there is any.
    """
    from trellis import protocols
    from trellis.swarm import Campaign
    from trellis.swarm.schedule import REPLIES
    from trellis.trace import store

    protocols.check(overlay, ordering, {})
    protocols.check_joins(overlay, "swarm")
    if faults:
        protocols.check_survives(overlay)
    if lose:
        for kind in REPLIES:
            protocols.check_losable(ordering, kind, f"--lose {lose}")
    if hasty:
        protocols.check_hasty(ordering, "--hasty")
    if out_dir is not None:
        store.check(out_dir)
    if hierarchy:
        protocols.check_tree(overlay, ordering, ".")
    campaign = Campaign(overlay, ordering, faults, lose, hasty, hierarchy)
    with progress(f"{ordering} over {overlay}", schedules, quiet=as_json) as bar:
        campaign.go(seed, schedules, lambda done: bar(done, f"{done:,} of {schedules:,}, {campaign.failed} failed"))
    if out_dir is not None:
        last = campaign.try_one(seed + schedules - 1)
        store.write(out_dir, last.run.trace, last.run.about())
    if as_json:
        print_json(campaign.as_dict())
        return 1 if campaign.failed else 0
    out.print(
        f"{ordering} over {overlay}: {campaign.schedules:,} schedules from seed {seed}, "
        f"{campaign.deliveries:,} deliveries, {campaign.failed:,} schedules failed"
        + (f", {campaign.gaps:,} messages announced as gaps" if faults else "")
        + (f", {campaign.late:,} of the deliveries tagged as out of order" if hasty else "")
    )
    out.print("  " + ", ".join(f"{name} {count}" for name, count in campaign.violations.items()))
    for failure in campaign.by_kind():
        out.print(f"\n[bold]{failure.kind}[/] in {failure.schedules:,} schedules: {failure.about}")
        out.print(f"  t={failure.witness.at}: {failure.witness.says}")
        out.print(f"  replay: {failure.replay}")
    if schedules == 1 and campaign.failed and out_dir is None:
        message = next(iter(campaign.failures.values())).witness.message
        out.print(f"\nkeep its trace with --out DIR, then: trellis story DIR {message}")
    return 1 if campaign.failed else 0
