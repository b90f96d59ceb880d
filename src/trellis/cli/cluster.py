"""trellis cluster: a cluster of processes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trellis.cli.command import err, example, out, print_columns, print_json, progress

if TYPE_CHECKING:
    from trellis.live.cluster import Cluster

NODES = 4  # of a new one

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
    nodes: Annotated[
        int | None,
        typer.Option(help="How many processes: 4, or as many as there are; more let it grow.", min=1, max=1000),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Certificates of node-00, node-01 ...; without it they are made in DIR/keys."),
    ] = None,
    plaintext: Annotated[bool, typer.Option("--plaintext", help="No keys and no encryption.")] = False,
    trace: Annotated[bool, typer.Option("--trace/--no-trace", help="Write DIR/node-XX/trace, for the audit.")] = True,
    overlay: Annotated[
        str | None,
        typer.Option(
            metavar="OVERLAY", help="Of a new one: mesh (unless said) links each to all; an overlay, on demand."
        ),
    ] = None,
    links: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of a new one with an overlay: how many links a node keeps at most (30)."),
    ] = None,
) -> int:
    """Start nodes on loopback, and wait until all see all. Those that run are left alone.

    A cluster that was stopped, and a node that died, go on with their data.
    """
    from trellis.errors import ClusterError
    from trellis.live.cluster import FILE, Cluster
    from trellis.live.links import LINKS
    from trellis.protocols import MESH

    if (directory / FILE).exists():
        cluster = Cluster.open(directory)
        check_same(cluster, nodes, keys, plaintext, overlay)
        if links is not None and links != cluster.known.links:
            raise ClusterError(
                f"--links {links}: {directory} holds a cluster with {cluster.known.links}; leave it out, or give a "
                f"new --dir"
            )
        cluster.grow(nodes or len(cluster.nodes))
    else:
        cluster = Cluster.create(
            directory, nodes or NODES, plaintext, keys, trace, overlay or MESH, LINKS if links is None else links
        )
    before = {node.name: cluster.told(node) for node in cluster.nodes}
    missing = sum(told not in ("running", "paused") for told in before.values())
    with progress("starting", missing) as bar:
        started = cluster.up(lambda done: bar(done, f"{done} of {missing}"))
    if len(started) < len(cluster.nodes):
        for node in started:
            out.print(f"{node.name} was {before[node.name]} and runs now, at {node.address}", markup=False)
    running = cluster.running
    secured = "in plaintext" if cluster.keys is None else "over mTLS"
    seen = "1 node runs" if len(running) == 1 else f"{len(running)} nodes see each other"
    if cluster.known.overlay != MESH and len(running) > 1:
        seen = f"{len(running)} nodes know each other, with links on demand (overlay {cluster.known.overlay})"
    out.print(f"{seen} {secured}; the first is at {running[0].address}", markup=False)
    out.print(
        f"go on with: trellis sub news --dir {directory}  |  trellis cluster down --dir {directory}", markup=False
    )
    return 0


def check_same(
    cluster: Cluster, nodes: int | None, keys: Path | None, plaintext: bool, overlay: str | None = None
) -> None:
    """What was decided when the cluster was made stays so."""
    from trellis.errors import ClusterError

    there, size = cluster.directory, len(cluster.nodes)
    if nodes is not None and nodes < size:
        raise ClusterError(f"--nodes {nodes}: {there} holds a cluster of {size}, which can only grow; give a new --dir")
    if overlay is not None and overlay != (used := cluster.known.overlay):
        raise ClusterError(f"--overlay {overlay}: {there} holds a cluster of {used}; leave it out, or give a new --dir")
    if plaintext and cluster.keys is not None:
        raise ClusterError(f"--plaintext: {there} holds a cluster over mTLS; leave it out, or give a new --dir")
    if keys is not None and (cluster.keys is None or keys.absolute() != cluster.keys.absolute()):
        used = "no keys" if cluster.keys is None else f"the keys in {cluster.keys}"
        raise ClusterError(f"--keys {keys}: {there} holds a cluster with {used}; leave it out, or give a new --dir")


@app.command("down", epilog=EPILOG)
def down(
    directory: Directory,
    patience: Annotated[float, typer.Option(help="Seconds to end in good order; then it is killed.", min=0)] = 15.0,
) -> int:
    """Stop all nodes in good order. Exit code 1 when some had to be killed."""
    from trellis.live.cluster import LOG, Cluster

    cluster = Cluster.open(directory)
    before = {node.name: cluster.told(node) for node in cluster.nodes}
    there = sum(told in ("running", "paused") for told in before.values())
    with err.status("stopping"):
        late = cluster.down(patience)
    for node in cluster.nodes:
        if before[node.name] == "dead":
            log = directory / node.directory / LOG
            out.print(f"{node.name} was dead already: killed, or it failed; see {log}", markup=False)
    for node in late:
        out.print(f"{node.name} had not ended after {patience:g} s and was killed", markup=False)
    said = f"{there - len(late)} of {len(cluster.nodes)} nodes ended in good order" if there else "none was running"
    out.print(said, markup=False)
    if cluster.known.trace:
        out.print(f"go on with: trellis audit {directory}", markup=False)
    return 1 if late else 0


@app.command("status", epilog=EPILOG)
def status(
    directory: Directory,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; it also has metrics.")] = False,
) -> int:
    """Show which processes run and whom they see. Exit code 1 unless all run and answer.

    running; paused: stopped by a signal; stopped: ended in good order; dead: killed, or it failed; new: never started.
    """
    from trellis.live.cluster import Cluster, measured

    cluster = Cluster.open(directory)
    rows = []
    for node in cluster.nodes:
        found = measured(node) if node.state == "running" else {}
        reached, links, delivered = (
            int(found[n]) if n in found else None
            for n in ("trellis_members_reached", "trellis_links", "trellis_delivered_total")
        )
        lives = node.state != "dead"
        rows.append(
            {
                "name": node.name,
                "state": cluster.told(node),
                "pid": node.pid if lives else None,
                "place": node.place if node.place >= 0 else None,
                "incarnation": node.incarnation if node.place >= 0 else None,
                "reached": reached,
                "links": links,
                "delivered": delivered,
                "address": node.address if lives else None,
                "metrics": node.metrics if lives else None,
            }
        )
    if as_json:
        print_json({"directory": str(directory), "nodes": rows})
    else:
        shown = [name for name in rows[0] if name not in ("incarnation", "metrics")]
        print_columns(shown, [["-" if row[name] in (None, "") else row[name] for name in shown] for row in rows])
    return 0 if all(row["reached"] is not None for row in rows) else 1
