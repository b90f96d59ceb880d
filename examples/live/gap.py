"""A reader that is too slow is told what it missed: nothing is left out without a gap in its place."""

import asyncio

import trellis


async def main() -> None:
    async with trellis.Node(plaintext=True) as node:
        ticks = await node.subscribe("ticks", order="fifo")
        for _ in range(100):  # and nobody reads meanwhile: 65,536 messages may wait
            await node.publish_many("ticks", [b"tick"] * 1024, confirm=True)
        read = 0
        async for item in ticks:
            if isinstance(item, trellis.Gap):
                print(f"read {read}, missed {item.count} from number {item.seq} on: {item.why}")
                break
            read += 1


asyncio.run(main())
# read 65536, missed 36864 from number 65537 on: the reader was too slow
