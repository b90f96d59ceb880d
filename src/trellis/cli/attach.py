"""What commands that talk to a running node share: which node, and with whose certificate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from trellis.live.client import Client

SCHEME = "trellis://"
FORM = f"{SCHEME}HOST:PORT"

NodeOption = Annotated[
    str | None, typer.Option("--node", metavar="trellis://HOST:PORT", help="A running node; else $TRELLIS_NODE.")
]
DirOption = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIR", help="Instead: a cluster's directory (`trellis cluster up`), with its keys."),
]
AtOption = Annotated[
    str | None,
    typer.Option("--at", metavar="NAME", help="With --dir: which of its nodes, as node-02; else the first that runs."),
]
KeysOption = Annotated[
    Path | None,
    typer.Option("--keys", metavar="DIR", help="Certificates, see `trellis keys`; else $TRELLIS_KEYS."),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="With --keys: whose certificate; else $TRELLIS_NAME.")
]
OrderOption = Annotated[
    str,
    typer.Option(
        "--order",
        metavar="ORDER",
        help="unordered, fifo, causal, total or total-causal; or over gossip, damulticast/unordered, damulticast/fifo "
        "or damulticast/causal. Of a cluster with links on demand the first three. All who use a topic share one.",
    ),
]
PlaintextOption = Annotated[bool, typer.Option("--plaintext", help="No keys, no encryption; on loopback only.")]


class Door(NamedTuple):
    """A node to attach to."""

    url: str
    keys: Path | None
    name: str | None
    plaintext: bool

    def connect(self) -> Client:
        import trellis

        return trellis.connect(self.url, keys=self.keys, name=self.name, plaintext=self.plaintext)


def door(
    node: str | None, directory: Path | None, at: str | None, keys: Path | None, name: str | None, plaintext: bool
) -> Door:
    """A node, or one of a cluster's directory, which has all else that is needed. The environment counts least."""
    from trellis.errors import LocalProtocolError

    if directory is not None:
        for option, given in (("--node", node), ("--keys", keys), ("--name", name), ("--plaintext", plaintext)):
            if given:
                raise LocalProtocolError(
                    f"--dir and {option}: a cluster's directory has that already; give one of them"
                )
        return door_of(directory, at)
    if at is not None:
        raise LocalProtocolError(f"--at {at}: it names a node of a cluster's directory; add --dir DIR, or give --node")
    node = node or os.environ.get("TRELLIS_NODE")
    if node is None:
        raise LocalProtocolError("--node is missing: say which node, --dir DIR for a local cluster, or TRELLIS_NODE")
    scheme, found, address = node.rpartition("://")
    if found and scheme != "trellis":
        raise LocalProtocolError(f"--node {node}: a node is not reached by {scheme}; the form is {FORM}")
    if plaintext:
        return Door(f"{SCHEME}{address}", None, None, True)
    from_environment = os.environ.get("TRELLIS_KEYS")
    keys, name = keys or (Path(from_environment) if from_environment else None), name or os.environ.get("TRELLIS_NAME")
    if keys is None or name is None:
        raise LocalProtocolError("--keys and --name are missing: say whose certificate to show, or --plaintext")
    return Door(f"{SCHEME}{address}", keys, name, False)


def door_of(directory: Path, at: str | None) -> Door:
    from trellis.errors import ClusterError
    from trellis.live.cluster import Cluster

    cluster = Cluster.open(directory)
    names = [node.name for node in cluster.nodes]
    if at is not None and at not in names:
        raise ClusterError(f"--at {at}: {directory} has {names[0]} to {names[-1]}; give one of them")
    running = [node for node in cluster.running if at in (None, node.name)]
    if not running:
        whom = "none of its nodes runs" if at is None else f"{at} does not run"
        raise ClusterError(f"{directory}: {whom}; start it with `trellis cluster up --dir {directory}`")
    return Door(f"{SCHEME}{running[0].address}", **cluster.credentials)
