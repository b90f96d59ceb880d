"""What carries links: sockets (`transport`), or the same in memory (`memory`)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner, Server


class Net(Protocol):
    """Addresses that can be listened at and dialled."""

    def listen(self, address: str, owner: Owner, tls: Identity | None) -> Awaitable[Server]: ...
    def dial(self, address: str, owner: Owner, tls: Identity | None, timeout: float) -> Awaitable[Link]: ...
