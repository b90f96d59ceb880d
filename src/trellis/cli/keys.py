"""trellis keys: a small certificate authority for the nodes and clients of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import example, out

EPILOG = example("trellis keys init keys", "trellis keys issue keys node-1", "trellis keys issue keys reader --client")

app = typer.Typer(
    help="Make the keys by which nodes and clients know each other.",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode="rich",
)
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Where the authority and its certificates are kept.")]


@app.command("init", epilog=EPILOG)
def init(directory: Directory) -> int:
    """Make a new authority in a new directory. Whoever can read its ca.key can make members."""
    from trellis.live import keys

    keys.init(directory)
    out.print(f"an authority stands in {directory}; try: trellis keys issue {directory} node-1", markup=False)
    return 0


@app.command("issue", epilog=EPILOG)
def issue(
    directory: Directory,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of a node or a client: 1 to 63 of a-z, 0-9 and -.")],
    client: Annotated[bool, typer.Option("--client", help="For a client: it may attach, but not be a member.")] = False,
) -> int:
    """Make a key and a certificate for one node, or one client. Nothing is overwritten."""
    from trellis.live import keys

    keys.issue(directory, name, client)
    files = f"{name}.key and {name}.crt stand in {directory}; give them and ca.crt to the "
    out.print(f"{files}{'client' if client else 'node'}, for {keys.DAYS} days", markup=False)
    return 0
