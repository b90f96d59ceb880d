"""A client: the same verbs, at a node of another process (here it is in this one, so that the example runs alone)."""

import asyncio

import trellis


async def greet(bus: trellis.Bus) -> None:  # runs with a node and with a client
    news = await bus.subscribe("news")
    await bus.publish("news", b"hello from afar")
    print(await news.next())


async def main() -> None:
    async with (
        trellis.Node(plaintext=True) as node,
        trellis.connect(f"trellis://{node.address}", plaintext=True) as client,
    ):
        await greet(client)


asyncio.run(main())
# Batch(payloads=[b'hello from afar'], topic='news', source=0, incarnation=0, seq=1, tags=())
