"""What Trellis is measured beside: one module each, all with the same four names.

    title                     what the table calls it
    versions()                the libraries and servers used; raises ImportError or Missing if one is not there
    server()                  a context that runs the server and gives (address, process id), or None without one
    publisher(address, feed)  open; `feed.opened(address)`; then `drive` the feed into the library's fastest send
    subscriber(address, tally)  open; `tally.ready()`; then hand over all that comes, until killed

The two last ones run in processes of their own. Libraries are imported inside the functions only: one that is missing
takes nobody else out of the race.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Protocol, cast

from race.load import Feed, Tally

NAMES = ("trellis_nodes", "tcp", "zmq_frame", "zmq_multipart", "zenoh_peers", "nats_server", "redis_server")


class Contestant(Protocol):
    title: str

    def versions(self) -> str: ...
    def server(self) -> AbstractContextManager[tuple[str, int]] | None: ...
    def publisher(self, address: str, feed: Feed) -> None: ...
    def subscriber(self, address: str, tally: Tally) -> None: ...


def contestant(name: str) -> Contestant:
    return cast(Contestant, import_module(f"contestants.{name}"))
