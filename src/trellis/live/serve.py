"""A node as a process: it runs until it is told to end.

Promises: the first SIGINT or SIGTERM ends it in good order, the second at once. If that comes before it is ready,
          nothing but the data directory is left behind. While no member answers it tries again, as long as it was told.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from trellis.errors import AddressError, NetworkError
from trellis.live.api import Node
from trellis.live.gauges import show
from trellis.live.joining import NotLetIn

INTERRUPTED = 130  # exit code
AGAIN = 0.5  # seconds before it asks again where nobody answers
ENDED_WELL = "it has ended in good order"  # the last line of the log, then

log = logging.getLogger("trellis.live")


class Ready(msgspec.Struct, frozen=True):
    """What a node says of itself once it is a member."""

    name: str
    place: int
    incarnation: int
    address: str
    cluster: str
    metrics: str  # host:port, or nothing
    pid: int


async def serve(
    make: Callable[[], Node],
    metrics: str | None,
    leave: bool,
    tell: Callable[[Ready], None],
    doors: Sequence[str] = (),
    patience: float = 0.0,
) -> None:
    """Run the node until a signal comes. `leave`: give the place back, though there is a data directory."""
    asked = heed_signals()
    node = make()
    endpoint = await show(node, metrics) if metrics is not None else None
    starting = asyncio.create_task(begin(node, doors, patience))
    await first_of(starting, asked)
    if not starting.done():
        starting.cancel()
        await asyncio.wait([starting])
        return
    starting.result()
    spare_the_collector()
    try:
        if endpoint is not None:
            endpoint.begin()
        at = endpoint.address if endpoint is not None else ""
        cluster = node.members.roster.cluster
        tell(Ready(node.name, node.place, node.incarnation, node.address, cluster, at, os.getpid()))
        await first_of(asyncio.create_task(node.stopped.wait()), asked)
        if node.trouble is not None:
            raise node.trouble
        log.info("it is told to end")
    finally:
        try:
            await node.stop(leave or None)
        finally:  # no asker may hold up the goodbye of a node
            if endpoint is not None:
                await endpoint.close()
    log.info(ENDED_WELL)


def spare_the_collector() -> None:
    """What stands now (modules, types, tables) stands to the end of this process, which is a node's and nobody else's.

    A full collection would look through all of it each time, and stop the loop for tens of milliseconds.
    """
    gc.collect()
    gc.freeze()


async def begin(node: Node, doors: Sequence[str], patience: float) -> None:
    """Become a member through one door or another, and for so many seconds again while none of them answers."""
    loop = asyncio.get_running_loop()
    limit = loop.time() + patience
    while True:
        for door in doors or (None,):
            node.join = door
            try:
                return await node.start()
            except (AddressError, NotLetIn):  # it would be no different the next time
                raise
            except NetworkError as error:
                trouble = error
        if loop.time() >= limit:
            raise trouble
        log.info("no member answers (%s): it tries again for %.0f s", trouble, limit - loop.time())
        await asyncio.sleep(AGAIN)


def heed_signals() -> asyncio.Event:
    """Set by the first signal; the second one does not come back."""
    asked = asyncio.Event()

    def hear() -> None:
        if asked.is_set():
            os._exit(INTERRUPTED)
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, hear)
    return asked


async def first_of(task: asyncio.Task[Any], asked: asyncio.Event) -> None:
    waiting = asyncio.create_task(asked.wait())
    await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def run(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


def log_to_stderr(level: str) -> None:
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    ours = logging.getLogger("trellis")
    ours.handlers[:] = [lines]
    ours.setLevel(level.upper())
