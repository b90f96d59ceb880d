"""Many messages at the price of one: publish and read in batches."""

import asyncio

import trellis


async def main() -> None:
    async with trellis.Node(plaintext=True) as node:
        numbers = await node.subscribe("numbers", order="fifo")
        await node.publish_many("numbers", (b"%d" % n for n in range(1, 5001)))
        count = total = 0
        while count < 5000:
            batch = await numbers.next()
            if isinstance(batch, trellis.Batch):
                count += len(batch.payloads)
                total += sum(map(int, batch.payloads))
        print(f"{count} messages, their sum is {total}")


asyncio.run(main())
# 5000 messages, their sum is 12502500
