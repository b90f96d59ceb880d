"""trellis rehearse: a hierarchy of topics of your own, with many nodes, in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import example, print_columns, print_json, progress

EPILOG = example(
    "trellis ingest newsgroups newsgroups.utf8.txt.gz --created Date-Create.txt.gz --out out/news",
    "trellis rehearse out/news --nodes 20000 --new 50",
)


def command(
    tree: Annotated[
        Path, typer.Argument(metavar="TREE", help="What `trellis ingest newsgroups` wrote, or a text of dotted names.")
    ],
    nodes: Annotated[int, typer.Option(metavar="N", help="How many nodes.", min=2, max=1 << 20)] = 2000,
    each: Annotated[int, typer.Option(metavar="N", help="Topics that each of them subscribes to.", min=1, max=64)] = 2,
    messages: Annotated[
        int, typer.Option(metavar="N", help="Messages, on the most popular topics.", min=1, max=1_000_000)
    ] = 100,
    new: Annotated[
        int, typer.Option(metavar="N", help="Topics, the latest ones, that appear while it runs.", min=0)
    ] = 0,
    rounds: Annotated[int, typer.Option(metavar="N", help="How long it runs.", min=4, max=100_000)] = 80,
    loss: Annotated[float, typer.Option(metavar="SHARE", help="Packets that never arrive.", min=0.0, max=0.9)] = 0.05,
    seed: Annotated[int, typer.Option(help="Another seed, another world.", min=0, max=(1 << 63) - 1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> int:
    """Put a tree of topics under damulticast: who got what was owed, what it took, how much a process must know.

    Interests follow a Zipf law; three of ten subscribe to the topic above instead, and so on up. Exit code 1 if
    something owed did not come, or something came that was not wanted.
    """
    from trellis.experiments.names import read_names
    from trellis.experiments.rehearsal import rehearse
    from trellis.scenario.forest import Wish, forest

    names, late = read_names(tree, new)
    scenario = forest(names, late, Wish(nodes, each, messages, rounds, loss, seed))
    with progress(f"{len(names)} topics, {nodes} nodes", float(rounds), quiet=as_json) as bar:
        found = rehearse(scenario, lambda now, events: bar(float(now), f"round {now}, {events:,} events"))
    if as_json:
        print_json(found._asdict())
    else:
        print_columns(
            ("what", "seen"), [(name.replace("_", " "), shown(value)) for name, value in found._asdict().items()]
        )
    return 0 if found.delivered == found.owed and not found.parasites else 1


def shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
