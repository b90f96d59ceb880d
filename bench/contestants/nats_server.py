"""nats-py through one nats-server.

Used:    `Client.publish` (there is no call for many; the client gathers what is published and its flusher writes it in
         one go) and a subscription with a callback (iterating over `messages` takes almost three times the CPU time).
No loss: core NATS cuts off slow consumers, on the server and in the client: a window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from race.load import Feed, Tally, drive_async, loop_version, run
from race.servers import free_port, running, server_version

title = "nats-py, nats-server"
TOPIC = "news"
BATCH = 64
WINDOW = 8192  # payloads; within the client's and the server's limits for slow consumers


def versions() -> str:
    import nats.aio.client  # noqa: F401

    return f"nats-py {version('nats-py')}, {server_version('nats-server')}, {loop_version()}"


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    port = free_port()
    with running("nats-server", port, "-a", "127.0.0.1", "-p", str(port)) as process:
        yield f"nats://127.0.0.1:{port}", process


def publisher(address: str, feed: Feed) -> None:
    import nats

    async def main() -> None:
        client = await nats.connect(address)
        feed.opened(address)
        publish = client.publish

        async def send(payloads: list[bytes]) -> None:
            for payload in payloads:
                await publish(TOPIC, payload)
            await asyncio.sleep(0)  # lets the flusher in: `publish` by itself does not

        await drive_async(feed, send, BATCH, WINDOW)

    run(main())


def subscriber(address: str, tally: Tally) -> None:
    import nats

    async def main() -> None:
        client = await nats.connect(address)
        take = tally.take

        async def upon(message: Any) -> None:
            take(message.data)

        await client.subscribe(TOPIC, cb=upon)
        await client.flush()
        tally.ready()
        await asyncio.Event().wait()

    run(main())
