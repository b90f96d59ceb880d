"""trellis pub: lines of standard input become messages of a topic."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Semaphore, Thread
from typing import Annotated

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

EPILOG = example(
    "echo hello | trellis pub news --dir out/cluster",
    "trellis pub news --node 10.0.0.1:7000 --keys keys --name writer < lines.txt",
    "echo 3 apples | trellis pub orders --order total --dir out/cluster",
)
CHUNK = 1 << 16  # bytes of a read: the lines in them travel together
CHUNKS_MAX = 4  # that wait to be published


def command(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What to publish on.")],
    order: OrderOption = "causal",
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Go on only when every confirmed subscriber has what was read.")
    ] = False,
    node: NodeOption = None,
    directory: DirOption = None,
    at: AtOption = None,
    keys: KeysOption = None,
    name: NameOption = None,
    plaintext: PlaintextOption = False,
) -> int:
    """Publish a message for each line of standard input, and say how many were accepted."""
    from trellis.live.serve import run

    run(publish(door(node, directory, at, keys, name, plaintext), topic, order, confirm))
    return 0


async def publish(at: Door, topic: str, order: str, confirm: bool) -> None:
    accepted = 0
    async with at.connect() as client:
        try:
            async for batch in lines_of(sys.stdin.fileno()):
                await client.publish_many(topic, batch, confirm=confirm, order=order)
                accepted += len(batch)
        finally:  # also when it is cut short: what was accepted stays accepted
            print(f"{accepted:,} messages {'confirmed' if confirm else 'accepted'} on {topic!r}", flush=True)


async def lines_of(source: int) -> AsyncIterator[list[bytes]]:
    """Whole lines, as many as one read brought, without their ends. The last one may have none."""
    from trellis.errors import LocalProtocolError
    from trellis.live.outgoing import PAYLOAD_MAX

    chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    room = Semaphore(CHUNKS_MAX)
    loop = asyncio.get_running_loop()

    def read() -> None:
        """In a thread that nobody waits for: a terminal may never say anything again."""
        chunk: bytes | OSError = b"x"
        while isinstance(chunk, bytes) and chunk:
            room.acquire()
            try:
                chunk = os.read(source, CHUNK)
            except OSError as error:
                chunk = error
            with suppress(RuntimeError):  # the loop has ended: nobody wants it any more
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)

    Thread(target=read, daemon=True).start()
    rest = b""
    while chunk := await chunks.get():
        if isinstance(chunk, OSError):
            raise LocalProtocolError(f"standard input: it cannot be read ({chunk.strerror}); give a file or a pipe")
        room.release()
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > PAYLOAD_MAX:
            raise LocalProtocolError(f"a line of more than {PAYLOAD_MAX} bytes: a message cannot be longer; cut it")
        if lines:
            yield lines
    if rest:
        yield [rest]
