"""Two terminals: after subscriber.py in the other. A node that joins it, and publishes."""

import asyncio
import sys

import trellis

ADDRESS = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7400"


async def main() -> None:
    async with trellis.Node(plaintext=True, join=ADDRESS) as node:
        for text in ("hello", "goodbye"):
            await node.publish("news", text.encode(), confirm=True)
            print(f"every subscriber has {text}", flush=True)


asyncio.run(main())
# every subscriber has hello
# every subscriber has goodbye
