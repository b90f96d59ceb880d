"""Trellis: nine nodes, plaintext on loopback, one topic in causal order.

Used:    `publish_many`, `publish` for a single payload, and `subscription.batches()`.
No loss: the node's own flow control; no window is given.

Only subscribers publish, so the publisher's node has a subscription too; what it delivers to itself is not counted,
but the time that it takes is.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from race.load import Feed, Tally, drive_async, loop_version, run
from race.servers import Missing

title = "trellis"
TOPIC = "news"
ORDER = "causal"


def versions() -> str:
    trellis: Any = import_module("trellis")
    if not hasattr(trellis, "Node"):
        raise Missing("this trellis has no Node")
    return f"trellis {trellis.__version__}, {loop_version()}"


def server() -> None:
    return None


def publisher(address: str, feed: Feed) -> None:
    trellis: Any = import_module("trellis")

    async def main() -> None:
        async with trellis.Node(listen="127.0.0.1:0", plaintext=True) as node:
            subscription = await node.subscribe(TOPIC, order=ORDER)
            own = asyncio.create_task(discard(subscription))

            async def send(payloads: list[bytes]) -> None:
                if len(payloads) == 1:
                    await node.publish(TOPIC, payloads[0])
                else:
                    await node.publish_many(TOPIC, payloads)

            feed.opened(node.address)
            await drive_async(feed, send, feed.load.in_one_frame())
            own.cancel()

    run(main())


async def discard(subscription: Any) -> None:
    async for _ in subscription.batches():
        pass


def subscriber(address: str, tally: Tally) -> None:
    trellis: Any = import_module("trellis")

    async def main() -> None:
        async with trellis.Node(listen="127.0.0.1:0", join=address, plaintext=True) as node:
            subscription = await node.subscribe(TOPIC, order=ORDER)
            tally.ready()
            async for batch in subscription.batches():
                tally.take_many(batch.payloads)

    run(main())
