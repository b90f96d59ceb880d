"""trellis status: what a running node says of itself and of the others."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trellis.cli.attach import AtOption, DirOption, Door, KeysOption, NameOption, NodeOption, PlaintextOption, door
from trellis.cli.command import example, out, print_columns, print_json

EPILOG = example(
    "trellis status --dir out/cluster", "trellis status --node trellis://127.0.0.1:7000 --plaintext --json"
)


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    node: NodeOption = None,
    directory: DirOption = None,
    at: AtOption = None,
    keys: KeysOption = None,
    name: NameOption = None,
    plaintext: PlaintextOption = False,
) -> int:
    """Show members, topics, windows and queues, as one node sees them."""
    import asyncio

    found = asyncio.run(ask(door(node, directory, at, keys, name, plaintext)))
    if as_json:
        print_json(found)
    else:
        show(found)
    return 0


async def ask(at: Door) -> dict[str, Any]:
    async with at.connect() as client:
        return await client.status()


def show(found: dict[str, Any]) -> None:
    out.print(
        f"place {found['place']}, incarnation {found['incarnation']}, at {found['address']}, "
        f"of cluster {found['cluster']}",
        markup=False,
    )
    if found["overlay"] != "mesh":
        out.print(
            f"links on demand (overlay {found['overlay']}): {found['links']}, at most {found['links_most']} at one "
            f"time; {found['waiting_dropped']} packets dropped that waited for one",
            markup=False,
        )
    if found["stamps"]["plain_bytes"]:
        plain, sent = found["stamps"]["plain_bytes"], found["stamps"]["sent_bytes"]
        out.print(f"timestamps of total order: {plain:,} bytes, sent as {sent:,}", markup=False)
    print_table("members", found["members"])
    print_table("topics", [{**topic, "subscribers": len(topic["subscribers"])} for topic in found["topics"]])


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    out.print(f"\n{title}" if rows else f"\nno {title}")
    if rows:
        print_columns([name.replace("_", " ") for name in rows[0]], [[*map(shown, row.values())] for row in rows])


def shown(value: Any) -> str:
    return {True: "yes", False: "NO"}[value] if isinstance(value, bool) else str(value)
