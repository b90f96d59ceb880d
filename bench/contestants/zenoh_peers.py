"""eclipse-zenoh, Python peers linked directly over TCP, no router, no multicast.

Used:    a declared publisher's `put` (resolves the key once) and a subscriber with a callback; zenoh batches by itself.
No loss: congestion control BLOCK: `put` waits when a queue is full: zenoh's own flow control, so no window is needed.
"""

from __future__ import annotations

import json
import threading
from importlib.metadata import version
from typing import Any

from race.load import Feed, Tally, drive
from race.servers import free_port

title = "eclipse-zenoh peers"
KEY = "news"
BATCH = 64


def versions() -> str:
    import zenoh  # noqa: F401

    return f"eclipse-zenoh {version('eclipse-zenoh')}"


def server() -> None:
    return None


def config(**endpoints: list[str]) -> Any:
    import zenoh

    settings = {"mode": "peer", "scouting": {"multicast": {"enabled": False}, "gossip": {"enabled": False}}}
    for role in ("listen", "connect"):
        settings[role] = {"endpoints": endpoints.get(role, [])}
    return zenoh.Config.from_json5(json.dumps(settings))


def publisher(address: str, feed: Feed) -> None:
    import zenoh

    address = f"tcp/127.0.0.1:{free_port()}"
    session = zenoh.open(config(listen=[address]))
    declared = session.declare_publisher(KEY, congestion_control=zenoh.CongestionControl.BLOCK)
    feed.opened(address)
    put = declared.put

    def send(payloads: list[bytes]) -> None:
        for payload in payloads:
            put(payload)

    drive(feed, send, BATCH)


def subscriber(address: str, tally: Tally) -> None:
    import zenoh

    take = tally.take
    session = zenoh.open(config(connect=[address]))
    declared = session.declare_subscriber(KEY, lambda sample: take(sample.payload.to_bytes()))
    tally.ready()
    threading.Event().wait()
    assert declared  # held until here: a subscriber that nobody holds is undeclared
