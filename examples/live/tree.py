"""Topics that include each other: one reader of all news, one of science only, and a topic that nobody knew before."""

import asyncio

import trellis


async def main() -> None:
    async with trellis.Node(plaintext=True) as node, trellis.Node(plaintext=True, join=node.address) as other:
        news = await node.subscribe(".news")
        science = await node.subscribe(".news.science")
        for topic in (".news.sport", ".news.science.space", ".jobs", ".news"):
            await other.publish(topic, f"said on {topic}".encode(), confirm=True)
        for name, reader in (("news", news), ("science", science)):
            await reader.unsubscribe()
            async for event in reader:
                if isinstance(event, trellis.Event):  # else it is a gap
                    print(f"{name}: {event.payload.decode()}")


asyncio.run(main())

# news: said on .news.sport
# news: said on .news.science.space
# news: said on .news
# science: said on .news.science.space
