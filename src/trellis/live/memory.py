"""The transport in memory: the same links, the same bytes, no sockets. For tests of what lives on links.

Promises: what `transport` promises, encoding and decoding included; bytes arrive in a later turn of the loop. A peer's
          name is the one that its side gave, as if a certificate said so.
Departs:  nothing is encrypted, and a peer always reads.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from trellis.errors import NetworkError
from trellis.live.transport import Link, Owner, Server


class Named(Protocol):
    """An identity, as far as it matters here."""

    @property
    def name(self) -> str: ...


class Memory:
    """Addresses that nobody else can reach. Listens and dials as the module `transport` does."""

    def __init__(self) -> None:
        self.servers: dict[str, tuple[Server, str]] = {}  # each with the name that it shows

    async def listen(self, address: str, owner: Owner, tls: Named | None) -> Server:
        if address in self.servers:
            raise NetworkError(f"{address}: cannot be listened at (Address already in use); give another")
        server = MemoryServer(owner, self)
        server.address = address
        self.servers[address] = server, name_of(tls)
        return server

    async def dial(self, address: str, owner: Owner, tls: Named | None, timeout: float) -> Link:
        if address not in self.servers:
            raise NetworkError(f"{address}: cannot be reached (Connection refused)")
        server, name = self.servers[address]
        here, there = Link(owner, None), server.link()
        here.peer, there.peer = name, name_of(tls)
        ours, theirs = Pipe(here, address), Pipe(there, f"{address}/{name_of(tls)}")
        ours.other, theirs.other = theirs, ours
        there.connection_made(theirs)
        here.connection_made(ours)
        if here.reason is not None:
            raise NetworkError(f"{address}: {here.reason}")
        return here


class MemoryServer(Server):
    """A listener of that address."""

    def __init__(self, owner: Owner, network: Memory) -> None:
        super().__init__(owner, None)
        self.network = network

    def close(self) -> None:
        super().close()
        self.network.servers.pop(self.address, None)


class Pipe(asyncio.Transport):
    """One end: what is written here is received at the other."""

    other: Pipe

    def __init__(self, link: Link, address: str) -> None:
        super().__init__({"peername": (address, "memory")})
        self.link = link
        self.loop = link.loop
        self.closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def write(self, data: Any) -> None:
        if not self.closed:
            self.loop.call_soon(self.other.arrive, bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def arrive(self, data: bytes) -> None:
        if not self.closed:
            self.link.data_received(data)

    def close(self) -> None:
        """Both ends learn of it, after what was written before."""
        if not self.closed:
            self.closed = True
            self.loop.call_soon(self.link.connection_lost, None)
            self.loop.call_soon(self.other.close)

    def abort(self) -> None:
        self.close()


def name_of(tls: Named | None) -> str:
    return "" if tls is None else tls.name
