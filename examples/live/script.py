"""A script without asyncio: calls block, and may have a timeout."""

import trellis

with (
    trellis.sync.Node(plaintext=True) as node,
    trellis.sync.connect(f"trellis://{node.address}", plaintext=True) as client,
):
    news = client.subscribe("news")
    node.publish_many("news", [b"one", b"two"])
    print(news.next(timeout=5))
    print(news.next(timeout=5))
    try:
        news.next(timeout=0.1)
    except TimeoutError:
        print("nothing more")
# Event(payload=b'one', topic='news', source=0, incarnation=0, seq=1, tags=())
# Event(payload=b'two', topic='news', source=0, incarnation=0, seq=2, tags=())
# nothing more
