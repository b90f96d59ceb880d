"""Several topics in one subscription: their events come in one order, that in which the node delivers them."""

import asyncio

import trellis


async def main() -> None:
    async with (
        trellis.Node(plaintext=True) as node,
        trellis.connect(f"trellis://{node.address}", plaintext=True) as client,
    ):
        shop = await client.subscribe(["orders", "payments"])  # order="total": the same one for all who read both
        for n in (b"1", b"2"):
            await node.publish("orders", n, confirm=True)
            await node.publish("payments", n, confirm=True)
        async for event in shop:
            print(event)
            if event.topic == "payments" and event.seq == 2:
                break


asyncio.run(main())
# Event(payload=b'1', topic='orders', source=0, incarnation=0, seq=1, tags=())
# Event(payload=b'1', topic='payments', source=0, incarnation=0, seq=1, tags=())
# Event(payload=b'2', topic='orders', source=0, incarnation=0, seq=2, tags=())
# Event(payload=b'2', topic='payments', source=0, incarnation=0, seq=2, tags=())
