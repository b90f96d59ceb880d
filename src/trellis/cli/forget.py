"""trellis forget: a member is gone for good."""

from __future__ import annotations

from typing import Annotated

import typer

from trellis.cli.attach import AtOption, DirOption, Door, KeysOption, NameOption, NodeOption, PlaintextOption, door
from trellis.cli.command import example, out

EPILOG = example("trellis forget 3 --dir out/cluster", "trellis forget 3 --node trellis://127.0.0.1:7000 --plaintext")


def command(
    place: Annotated[
        int, typer.Argument(metavar="PLACE", min=0, max=(1 << 30) - 1, help="Where it stood: see `trellis status`.")
    ],
    node: NodeOption = None,
    directory: DirOption = None,
    at: AtOption = None,
    keys: KeysOption = None,
    name: NameOption = None,
    plaintext: PlaintextOption = False,
) -> int:
    """Tell a cluster that a member is gone for good: nobody looks for it any more.

    Refused while anybody reaches it. Its place is never given out again: should it come back with its data directory,
    it is refused, and must start with an empty one.
    """
    import asyncio

    asyncio.run(say(door(node, directory, at, keys, name, plaintext), place))
    out.print(f"place {place} is forgotten", markup=False)
    return 0


async def say(to: Door, place: int) -> None:
    async with to.connect() as client:
        await client.forget(place)
