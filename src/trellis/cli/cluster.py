"""trellis cluster: a cluster of processes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import err, example, out, print_json, progress

EPILOG = example(
    "trellis cluster up --nodes 4 --dir out/cluster",
    "trellis cluster status --dir out/cluster",
    "trellis cluster down --dir out/cluster",
)

app = typer.Typer(
    help="Start, look at and stop a cluster of processes on this machine.",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode="rich",
)
Directory = Annotated[
    Path, typer.Option("--dir", metavar="DIR", help="Its logs, data, traces and keys, and cluster.json.")
]


@app.command("up", epilog=EPILOG)
def up(
    directory: Directory,
    nodes: Annotated[int, typer.Option(help="How many processes.", min=1, max=1000)] = 4,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Certificates of node-00, node-01 ...; without it they are made in DIR/keys."),
    ] = None,
    plaintext: Annotated[bool, typer.Option("--plaintext", help="No keys and no encryption.")] = False,
    trace: Annotated[bool, typer.Option("--trace/--no-trace", help="Write DIR/node-XX/trace, for the audit.")] = True,
) -> int:
    """Start nodes on loopback, and wait until all see all. A cluster that was stopped goes on with its data."""
    from trellis.errors import ClusterError
    from trellis.live.cluster import FILE, Cluster

    if (directory / FILE).exists():
        cluster = Cluster.open(directory)
        if len(cluster.nodes) != nodes:
            raise ClusterError(
                f"--nodes {nodes}: {directory} holds a cluster of {len(cluster.nodes)}; give that, or a new --dir"
            )
    else:
        cluster = Cluster.create(directory, nodes, plaintext, keys, trace)
    with progress("starting", nodes) as bar:
        cluster.up(lambda done: bar(done, f"{done} of {nodes}"))
    secured = "in plaintext" if cluster.keys is None else "over mTLS"
    out.print(f"{nodes} nodes see each other {secured}; the first is at {cluster.nodes[0].address}", markup=False)
    out.print(
        f"go on with: trellis sub news --dir {directory}  |  trellis cluster down --dir {directory}", markup=False
    )
    return 0


@app.command("down", epilog=EPILOG)
def down(
    directory: Directory,
    patience: Annotated[float, typer.Option(help="Seconds to end in good order; then it is killed.", min=0)] = 15.0,
) -> int:
    """Stop all nodes in good order. Exit code 1 when some had to be killed."""
    from trellis.live.cluster import Cluster

    cluster = Cluster.open(directory)
    there = sum(node.state != "dead" for node in cluster.nodes)
    with err.status("stopping"):
        late = cluster.down(patience)
    for node in late:
        out.print(f"{node.name} had not ended after {patience:g} s and was killed", markup=False)
    out.print(f"{there - len(late)} of {len(cluster.nodes)} nodes ended in good order", markup=False)
    if cluster.known.trace:
        out.print(f"go on with: trellis audit {directory}", markup=False)
    return 1 if late else 0


@app.command("status", epilog=EPILOG)
def status(
    directory: Directory,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show which processes run and whom they see. Exit code 1 unless all run and answer."""
    from rich.table import Table

    from trellis.live.cluster import Cluster, measured

    cluster = Cluster.open(directory)
    columns = ("name", "state", "pid", "place", "incarnation", "address", "metrics", "reached", "delivered")
    rows = []
    for node in cluster.nodes:
        found = measured(node) if node.state == "running" else {}
        numbers = [
            int(found[n]) if n in found else None for n in ("trellis_members_reached", "trellis_delivered_total")
        ]
        life = (node.pid, node.place, node.incarnation, node.address, node.metrics)
        rows.append(dict(zip(columns, (node.name, node.state, *life, *numbers), strict=True)))
    if as_json:
        print_json({"directory": str(directory), "nodes": rows})
    else:
        table = Table(*columns, box=None)
        for row in rows:
            table.add_row(*("-" if value in (None, "") else str(value) for value in row.values()))
        out.print(table)
    return 0 if all(row["reached"] is not None for row in rows) else 1
