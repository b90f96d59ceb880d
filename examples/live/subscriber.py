"""Two terminals: this first, then publisher.py in the other. A node that prints what comes, until it hears goodbye."""

import asyncio
import sys

import trellis

ADDRESS = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7400"


async def main() -> None:
    async with trellis.Node(ADDRESS, plaintext=True) as node, await node.subscribe("news") as news:
        print(f"node {node.place} reads", flush=True)
        async for event in news:
            if isinstance(event, trellis.Gap):
                print(f"missed {event.count}: {event.why}", flush=True)
                continue
            print(f"node {event.source} says {event.payload.decode()}", flush=True)
            if event.payload == b"goodbye":
                break


asyncio.run(main())
# node 0 reads
# node 1 says hello
# node 1 says goodbye
