"""Know that it is there: with confirm=True a publish returns when every confirmed subscriber has the message."""

import asyncio

import trellis


async def main() -> None:
    async with trellis.Node(plaintext=True) as one, trellis.Node(plaintext=True, join=one.address) as two:
        orders = await two.subscribe("orders")
        await one.publish("orders", b"3 apples", confirm=True)
        print(f"{orders.messages} waits at node {two.place}")
        event = await anext(aiter(orders))
        print(event)


asyncio.run(main())
# 1 waits at node 1
# Event(payload=b'3 apples', topic='orders', source=0, incarnation=0, seq=1, tags=())
