"""A client that connects again when its node is gone for a while. What was published meanwhile it does not get."""

import asyncio

import trellis


async def read(address: str, heard: asyncio.Queue[str]) -> None:
    while True:
        try:
            async with trellis.connect(address, plaintext=True) as client, await client.subscribe("news") as news:
                heard.put_nowait("subscribed")
                async for event in news:
                    heard.put_nowait(str(event))
        except trellis.errors.NetworkError:
            await asyncio.sleep(0.05)  # in life longer each time, and another node of the cluster


async def main() -> None:
    address, heard, reading = "127.0.0.1:0", asyncio.Queue[str](), None
    for text in (b"before", b"after"):
        async with trellis.Node(address, plaintext=True) as node:
            reading = reading or asyncio.create_task(read(address := node.address, heard))
            print(await heard.get())
            await node.publish("news", text)
            print(await heard.get())


asyncio.run(main())
# subscribed
# Event(payload=b'before', topic='news', source=0, incarnation=0, seq=1, tags=())
# subscribed
# Event(payload=b'after', topic='news', source=0, incarnation=0, seq=1, tags=())
