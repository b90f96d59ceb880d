"""Two nodes that know each other by certificates (mTLS). In life `trellis keys` makes them, once."""

import asyncio
import tempfile
from pathlib import Path

import trellis
from trellis.live import keys


async def main(directory: Path) -> None:
    keys.init(directory)
    for name in ("alice", "bob"):
        keys.issue(directory, name)
    async with (
        trellis.Node(keys=directory, name="alice") as alice,
        trellis.Node(keys=directory, name="bob", join=alice.address) as bob,
    ):
        news = await bob.subscribe("news")
        await alice.publish("news", b"for your eyes only")
        print(await news.next())


with tempfile.TemporaryDirectory() as made:
    asyncio.run(main(Path(made) / "keys"))
# Batch(payloads=[b'for your eyes only'], topic='news', source=0, incarnation=0, seq=1, tags=())
