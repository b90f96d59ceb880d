"""trellis compose: a scenario with the follows and the comings and goings of public traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import example, print_columns

EPILOG = example(
    "trellis ingest follows follows.tsv.gz --out out/follows --sample 2000",
    "trellis ingest avt SKYPE.avt.gz --out out/skype --merge-gaps 1900 --from 14000",
    "trellis compose part.toml --follows out/follows --out whole.json",
    "trellis compose part.toml --sessions out/skype --round 60 --out whole.json",
    "trellis run whole.json",
)


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file without what the traces say.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the scenario goes, as JSON.")],
    follows: Annotated[
        Path | None, typer.Option(metavar="DIR", help="What `trellis ingest follows` wrote: who subscribes to what.")
    ] = None,
    sessions: Annotated[
        Path | None, typer.Option(metavar="DIR", help="What `trellis ingest avt` wrote: who is up when.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--round", metavar="SECONDS", help="sessions: how long a round is.", min=1e-6, max=1e9),
    ] = None,
    from_: Annotated[
        float | None,
        typer.Option("--from", metavar="SECONDS", help="sessions: when round 0 begins (the first).", min=0, max=1e9),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(metavar="N", help="sessions: only the first N nodes.", min=1, max=1 << 20)
    ] = None,
) -> int:
    """Complete a scenario from public traces.

    Users who follow somebody subscribe to that one's topic. Nodes that are not up have crashed, and restart; sizes that
    differ are refused. Exit code 2: the parts do not fit together, and nothing is written.
    """
    from trellis.errors import ScenarioError
    from trellis.experiments.compose import composed
    from trellis.experiments.traces import read_comings, read_following
    from trellis.scenario.model import Faults

    if out_file.exists():
        raise ScenarioError(f"{out_file}: it is there already; choose another name")
    if (sessions is None) != (seconds is None):
        raise ScenarioError("--sessions and --round: the one needs the other; give both or none")
    if sessions is None and (from_ is not None or nodes is not None):
        raise ScenarioError("--from and --nodes: they are for --sessions; leave them out")
    graph = None if follows is None else read_following(follows)
    comings = None
    if sessions is not None and seconds is not None:
        comings = read_comings(sessions, seconds, from_, nodes)
    scenario = composed(file, graph, comings)
    try:
        out_file.write_bytes(scenario.to_json() + b"\n")
    except OSError as error:
        raise ScenarioError(f"{out_file}: cannot be written ({error.strerror}); choose another place") from None
    told: list[tuple[str, object]] = [("nodes", scenario.nodes.count), ("topics", len(scenario.topic_names()))]
    if graph is not None:
        told.append(("follows", sum(map(len, graph.subscriptions.members.values()))))
    if comings is not None:
        names = ("rounds", "present", "never", "too_short", "bridged")
        told += [(name.replace("_", " "), getattr(comings, name)) for name in names]
    if isinstance(scenario.faults, Faults):
        told.append(("faults until the end", len(scenario.faults.events)))
    print_columns(("what", "how many"), told)
    return 0
