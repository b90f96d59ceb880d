"""Trellis: topic-based publish/subscribe with a chosen order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trellis.errors import TrellisError

if TYPE_CHECKING:
    from trellis.live.api import Node
    from trellis.live.subscription import Batch, Event, Gap, Subscription

__version__ = "0.1.0"

__all__ = ["Batch", "Event", "Gap", "Node", "Subscription", "TrellisError", "__version__"]

# Loaded when first used: a simulation needs no sockets.
HOMES = {
    "Node": "trellis.live.api",
    "Batch": "trellis.live.subscription",
    "Event": "trellis.live.subscription",
    "Gap": "trellis.live.subscription",
    "Subscription": "trellis.live.subscription",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(HOMES[name]), name)
