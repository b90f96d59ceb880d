"""redis-py through one redis-server.

Used:    PUBLISH in a pipeline without a transaction, and `PubSub.parse_response`, which `get_message` calls: redis-py
         advises the latter, but the former takes 14% less CPU time. redis-py takes its C parser, hiredis, where it is
         installed; the versions say whether it did.
No loss: redis-server drops a client whose output buffer is over its limit: the limit is lifted, and a window.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from race.load import Feed, Tally, drive
from race.servers import free_port, running, server_version

title = "redis-py, redis-server"
TOPIC = "news"
BATCH = 256
WINDOW = 8192


def versions() -> str:
    import redis.utils

    parser = f"hiredis {version('hiredis')}" if redis.utils.HIREDIS_AVAILABLE else "without hiredis"
    return f"redis-py {version('redis')} ({parser}), {server_version('redis-server').partition(' sha')[0]}"


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    port = free_port()
    settings = {"bind": "127.0.0.1", "port": port, "save": "", "client-output-buffer-limit": "pubsub 0 0 0"}
    arguments = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    with running("redis-server", port, *arguments) as process:
        yield f"redis://127.0.0.1:{port}", process


def publisher(address: str, feed: Feed) -> None:
    import redis

    pipeline = redis.Redis.from_url(address).pipeline(transaction=False)
    feed.opened(address)

    def send(payloads: list[bytes]) -> None:
        for payload in payloads:
            pipeline.publish(TOPIC, payload)
        pipeline.execute()

    drive(feed, send, BATCH, WINDOW)


def subscriber(address: str, tally: Tally) -> None:
    import redis

    channel = redis.Redis.from_url(address).pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
    channel.subscribe(TOPIC)
    while channel.get_message(timeout=None) is not None:  # None: the word that the subscription stands
        pass
    tally.ready()
    receive, take = channel.parse_response, tally.take
    while True:
        take(receive()[2])  # the kind, the channel, the payload
