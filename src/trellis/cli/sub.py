"""trellis sub: the messages of one topic or of several, a line each."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trellis.cli.attach import (
    AtOption,
    DirOption,
    Door,
    KeysOption,
    NameOption,
    NodeOption,
    OrderOption,
    PlaintextOption,
    door,
)
from trellis.cli.command import example

if TYPE_CHECKING:
    from trellis.live.subscription import Batch, Event, Gap

EPILOG = example(
    "trellis sub news --dir out/cluster",
    "trellis sub news --json --node trellis://127.0.0.1:7000 --plaintext",
    "trellis sub orders payments --order total --dir out/cluster",
    "trellis sub .news --dir out/cluster",
)


def command(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="What to read.")],
    order: OrderOption = "causal",
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON object per line: topic, source, seq, payload, tags.")
    ] = False,
    count: Annotated[int | None, typer.Option(help="End after so many messages.", min=1)] = None,
    node: NodeOption = None,
    directory: DirOption = None,
    at: AtOption = None,
    keys: KeysOption = None,
    name: NameOption = None,
    plaintext: PlaintextOption = False,
) -> int:
    """Print the messages of topics as they come, until Ctrl-C. A gap is a line of its own on standard error.

    So is, before a message that came too late for its place in the order, that it did (see `trellis node`).

    Those of several topics come in the order in which the node delivers them, each after its topic and a tab.

    A topic whose name begins with a dot includes those below it: .news has what is published on .news.science, and .
    has all of them. Each message comes after its own topic and a tab.

    In total order two readers that share topics read what they share in the same order.

    Into a pipe or a file payloads go as they are; on a terminal, characters that it would obey are written out.
    """
    from trellis.live.serve import run

    run(read(door(node, directory, at, keys, name, plaintext), topics, order, as_json, count))
    return 0


async def read(at: Door, topics: list[str], order: str, as_json: bool, count: int | None) -> None:
    from trellis.live.serve import first_of, heed_signals

    asked = heed_signals()
    reading = asyncio.create_task(show(at, topics, order, as_json, count))
    await first_of(reading, asked)
    if not reading.done():
        reading.cancel()
        await asyncio.wait([reading])
    if not reading.cancelled():
        reading.result()


async def show(at: Door, topics: list[str], order: str, as_json: bool, count: int | None) -> None:
    from trellis.live.subscription import Gap
    from trellis.protocols.parts.hierarchy import in_tree

    async with at.connect() as client, await client.subscribe(topics, order=order) as subscription:
        said = ", ".join(map(repr, subscription.topics))
        print(f"subscribed to {said} in {order} order at {at.url}", file=sys.stderr, flush=True)
        several = len(subscription.topics) > 1 or in_tree(subscription.topics[0])
        left = count
        async for item in subscription.batches():
            if isinstance(item, Gap):
                tell_gap(item, as_json, several)
                continue
            events = item.events()[:left]
            if item.out_of_order and not as_json:
                tell_late(item, len(events), several)
            sys.stdout.buffer.write(b"".join(line(event, as_json, several) for event in events))
            sys.stdout.buffer.flush()
            if left is not None:
                left -= len(events)
                if left == 0:
                    return


def line(event: Event, as_json: bool, several: bool) -> bytes:
    if as_json:
        return written({**of_whom(event), **payload_of(event.payload), "tags": event.tags})
    shown = event.topic.encode() + b"\t" + event.payload if several else event.payload
    if not sys.stdout.isatty():
        return shown + b"\n"
    text = shown.decode(errors="backslashreplace")
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in text).encode() + b"\n"


def payload_of(payload: bytes) -> dict[str, str]:
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode()}


def tell_gap(gap: Gap, as_json: bool, several: bool) -> None:
    if as_json:
        sys.stdout.buffer.write(written({**of_whom(gap), "gap": gap.count, "why": gap.why}))
        sys.stdout.buffer.flush()
        return
    numbers = numbers_of(gap.seq, gap.count)
    whom = f"place {gap.source}, incarnation {gap.incarnation}{f', on {gap.topic!r}' if several else ''}"
    print(f"GAP: {gap.count:,} messages of {whom} do not come ({numbers}): {gap.why}", file=sys.stderr, flush=True)


def tell_late(batch: Batch, count: int, several: bool) -> None:
    whom = f"place {batch.source}, incarnation {batch.incarnation}{f', on {batch.topic!r}' if several else ''}"
    come = f"{count:,} messages of {whom} come" if count > 1 else f"a message of {whom} comes"
    print(f"LATE: now {come} out of order ({numbers_of(batch.seq, count)})", file=sys.stderr, flush=True)


def numbers_of(first: int, count: int) -> str:
    return f"{first} to {first + count - 1}" if count > 1 else f"{first}"


def of_whom(item: Event | Batch | Gap) -> dict[str, Any]:
    return {"topic": item.topic, "source": item.source, "incarnation": item.incarnation, "seq": item.seq}


def written(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
