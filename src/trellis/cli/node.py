"""trellis node: a member of a cluster, as a process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trellis.cli.command import example

if TYPE_CHECKING:
    from trellis.live.serve import Ready

EPILOG = example(
    "trellis node --listen 127.0.0.1:7000 --plaintext",
    "trellis node --listen 10.0.0.2:7000 --join 10.0.0.1:7000 --keys k --name b",
)


def command(
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where it takes links; port 0 is any free one.")],
    join: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Any member; may be repeated. Without it: back to the cluster in --data, or a new one.",
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="With --join: how long to try again while no member answers.", min=0),
    ] = 0.0,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep place and incarnation there, to come back with them.")
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Certificates, see `trellis keys`.", envvar="TRELLIS_KEYS")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --keys: whose certificate.", envvar="TRELLIS_NAME")
    ] = None,
    plaintext: Annotated[
        bool, typer.Option("--plaintext", help="No keys and no encryption; on loopback only.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write what happens there, for `trellis audit`.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve /metrics for Prometheus there, as plain HTTP.")
    ] = None,
    advertise: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where others reach it, if not at --listen.")
    ] = None,
    hasty_buffer: Annotated[
        int,
        typer.Option(metavar="N", help="Total order: hold back so many messages, then go on.", min=0),
    ] = 0,
    hasty_ttl: Annotated[
        int,
        typer.Option(metavar="MS", help="Total order: hold each back for so long, then go on.", min=0),
    ] = 0,
    overlay: Annotated[
        str,
        typer.Option(
            metavar="OVERLAY", help="Of all members alike: mesh links each to all; an overlay of few links, on demand."
        ),
    ] = "mesh",
    links: Annotated[
        int, typer.Option(metavar="N", help="With an overlay of few links: how many of them this node keeps at most.")
    ] = 30,
    leave: Annotated[
        bool, typer.Option("--leave", help="At the end give the place back, though --data is given.")
    ] = False,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="What is told on standard error.")
    ] = "info",
    as_json: Annotated[bool, typer.Option("--json", help="Say that it is ready in one line of JSON.")] = False,
) -> int:
    """Run a node until Ctrl-C or SIGTERM, which end it in good order; the second one ends it at once.

    With --hasty-buffer or --hasty-ttl it does not wait for ever for what is missing in total order: that is delivered
    when it comes, tagged as out of order. It is this node's own choice; others neither see it nor take part in it.
    """
    import msgspec

    from trellis.errors import LocalProtocolError
    from trellis.live.api import Node
    from trellis.live.links import bound
    from trellis.live.node import haste
    from trellis.live.serve import log_to_stderr, run, serve
    from trellis.protocols import check_linked

    if not plaintext and keys is None:
        raise LocalProtocolError("--keys is missing: give a directory of certificates (`trellis keys`), or --plaintext")
    if not plaintext and name is None:
        raise LocalProtocolError("--name is missing: with --keys, say whose certificate this node shows")
    haste(hasty_buffer, hasty_ttl)  # before anything is set up
    check_linked(overlay)
    bound(links)

    def make() -> Node:
        hasty = (hasty_buffer, hasty_ttl)
        shown = None if plaintext else keys
        return Node(listen, None, data, shown, name, plaintext, trace, advertise, *hasty, overlay, links)

    def tell(ready: Ready) -> None:
        shown = f"; metrics at http://{ready.metrics}/metrics" if ready.metrics else ""
        where = f"place {ready.place}, incarnation {ready.incarnation}, at {ready.address}{shown}"
        line = msgspec.json.encode(ready).decode() if as_json else f"ready: {where}"
        print(line, flush=True)

    log_to_stderr(log_level)
    run(serve(make, metrics, leave, tell, join or (), patience))
    sys.stderr.flush()
    return 0
