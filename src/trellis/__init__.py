"""Trellis: topic-based publish/subscribe with a chosen order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trellis.errors import TrellisError

if TYPE_CHECKING:
    from trellis.live import sync
    from trellis.live.api import Node
    from trellis.live.bus import Bus
    from trellis.live.client import Client, connect
    from trellis.live.subscription import Batch, Event, Gap, Subscription

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "Bus",
    "Client",
    "Event",
    "Gap",
    "Node",
    "Subscription",
    "TrellisError",
    "__version__",
    "connect",
    "sync",
]

# Loaded when first used: a simulation needs no sockets.
HOMES = {
    "Batch": "trellis.live.subscription",
    "Bus": "trellis.live.bus",
    "Client": "trellis.live.client",
    "Event": "trellis.live.subscription",
    "Gap": "trellis.live.subscription",
    "Node": "trellis.live.api",
    "Subscription": "trellis.live.subscription",
    "connect": "trellis.live.client",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "sync":
        return import_module("trellis.live.sync")
    if name not in HOMES:
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
