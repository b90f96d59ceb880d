"""What commands that talk to a running node share: which node, and with whose certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from trellis.live.client import Client

SCHEME = "trellis://"

NodeOption = Annotated[
    str | None,
    typer.Option("--node", metavar="trellis://HOST:PORT", help="A running node.", envvar="TRELLIS_NODE"),
]
DirOption = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIR", help="A cluster's directory (`trellis cluster up`): its first live node."),
]
KeysOption = Annotated[
    Path | None, typer.Option("--keys", metavar="DIR", help="Certificates, see `trellis keys`.", envvar="TRELLIS_KEYS")
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="With --keys: whose certificate.", envvar="TRELLIS_NAME")
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


def door(node: str | None, directory: Path | None, keys: Path | None, name: str | None, plaintext: bool) -> Door:
    """What was said on the command line wins over the cluster's directory, and that over the environment."""
    from trellis.errors import LocalProtocolError

    if directory is not None:
        return door_of(directory)
    if node is None:
        raise LocalProtocolError("--node is missing: say which node, --dir DIR for a local cluster, or TRELLIS_NODE")
    url = node if "://" in node else f"{SCHEME}{node}"
    if plaintext:
        return Door(url, None, None, True)
    if keys is None or name is None:
        raise LocalProtocolError("--keys and --name are missing: say whose certificate to show, or --plaintext")
    return Door(url, keys, name, False)


def door_of(directory: Path) -> Door:
    from trellis.errors import ClusterError
    from trellis.live.cluster import Cluster

    cluster = Cluster.open(directory)
    running = cluster.running
    if not running:
        raise ClusterError(f"{directory}: none of its nodes runs; start them with `trellis cluster up`")
    return Door(f"{SCHEME}{running[0].address}", **cluster.credentials)
