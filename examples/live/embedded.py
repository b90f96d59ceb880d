"""A node inside a program: subscribe, publish, read."""

import asyncio

import trellis


async def main() -> None:
    async with trellis.Node(plaintext=True) as node:  # join="host:port" to be among others
        news = await node.subscribe("news", order="causal")
        await node.publish("news", b"hello")
        async for event in news:
            print(event)
            break


asyncio.run(main())
# Event(payload=b'hello', topic='news', source=0, incarnation=0, seq=1, tags=())
