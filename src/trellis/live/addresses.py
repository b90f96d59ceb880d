"""Addresses: `host:port`, or `[host]:port`, as people write them, as sockets know them and as members tell them.

Promises: what makes no sense is one `NetworkError` with the way out, before anything is opened. Without keys an address
          is this machine's.
Assumes:  whoever looks a name up takes its first number.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from trellis.errors import AddressError, NetworkError

if TYPE_CHECKING:
    from trellis.live.tls import Identity

TELLABLE = r"\A[!-~]{0,262}\Z"
Address = Annotated[str, Meta(pattern=TELLABLE)]  # as members tell it; empty: takes no connections


async def resolved(address: str, tls: Identity | None) -> tuple[str, int]:
    """The number behind a name, and the port. In plaintext it must be this machine."""
    number, port = await looked_up(address)
    if tls is None and not ipaddress.ip_address(number.partition("%")[0]).is_loopback:
        raise AddressError(f"address {address!r}: without keys only loopback (127.0.0.1 or ::1) is served; give keys")
    return number, port


async def looked_up(address: str) -> tuple[str, int]:
    host, port = cut(address)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NetworkError(f"address {address!r}: no such host ({error})") from None
    return str(found[0][4][0]), port


def cut(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not port.isascii() or len(port) > 5 or int(port) > 65_535:
        raise AddressError(f"address {address!r}: it must be host:port, with a port up to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def check_reachable(address: str) -> str:
    """An address that others can be told."""
    host, port = cut(address)
    if not re.match(TELLABLE, address):
        raise AddressError(f"address {address!r}: it must be ASCII, at most 262 characters; advertise another")
    if host in ("0.0.0.0", "::") or not port:
        raise AddressError(
            f"address {address!r}: nobody reaches a node by that; say `--advertise HOST:PORT`, as others know it"
        )
    return address


def written(name: Any) -> str:
    """A socket's address as `host:port`."""
    if not name:
        return "?"
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
