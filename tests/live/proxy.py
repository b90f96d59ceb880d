"""A seeded TCP proxy between two plaintext nodes on loopback: it delays, holds back, swallows and cuts.

Promises: the bytes of one connection and direction come out in the order they went in, or not at all.
          The nth chunk of the nth connection waits a time that depends on the seed only.
Assumes:  nothing about what is carried; where one chunk ends is the kernel's choice, so a run is not repeated to the
          byte by its seed.
Departs:  from a lossy network, where TCP would repeat what was lost: a black hole looks to its sender like a peer that
          reads on, and what it swallowed is gone. So such a connection is cut when the black hole closes.

Messages of one pair cannot overtake each other on TCP. Those that take different paths can: delay or pause the link of
one pair, and what goes over a third node arrives first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from enum import IntEnum
from typing import Any, Self

from trellis.draw import LATENCY, draw, unit

CHUNK = 64 << 10
QUEUE_MAX = 256  # chunks on their way in one direction; then the sender has to wait


class Direction(IntEnum):
    THERE = 0  # from the one that dials to the target
    BACK = 1


BOTH = (Direction.THERE, Direction.BACK)


class Proxy:
    """`address` stands for `target`, until `async with` is left."""

    def __init__(self, target: str, seed: int, delay: tuple[float, float] = (0.0, 0.0)) -> None:
        self.target = target
        self.seed = seed
        self.delay = delay  # seconds, least and most; may be changed at any time
        self.address = ""
        self.accepted = 0  # connections so far
        self.swallowed = 0  # bytes
        self.links: set[ProxiedLink] = set()
        self.flowing = {direction: asyncio.Event() for direction in BOTH}
        self.holes: set[Direction] = set()
        for direction in BOTH:
            self.flowing[direction].set()

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.address = "127.0.0.1:{1}".format(*self.server.sockets[0].getsockname())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        await self.cut()

    def pause(self, *directions: Direction) -> None:
        """Hold back what comes, in these directions or both. Nothing is lost; connections stay open."""
        for direction in directions or BOTH:
            self.flowing[direction].clear()

    def resume(self) -> None:
        for direction in BOTH:
            self.flowing[direction].set()

    def black_hole(self, direction: Direction) -> None:
        """Swallow what goes this way from now on, the end of a connection too."""
        self.holes.add(direction)

    async def heal(self) -> None:
        """No more black holes. Connections that lost something by one are cut."""
        self.holes.clear()
        await self.end([link for link in self.links if link.spoilt])

    async def cut(self) -> None:
        """Reset all connections, with what is on its way. New ones are accepted."""
        await self.end(list(self.links))

    async def end(self, links: list[ProxiedLink]) -> None:
        for link in links:
            link.task.cancel()
        await asyncio.gather(*(link.task for link in links), return_exceptions=True)

    def wait_seconds(self, link: int, direction: Direction, chunk: int) -> float:
        least, most = self.delay
        return least + (most - least) * unit(draw(self.seed, LATENCY, link, direction, chunk))

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = ProxiedLink(self, self.accepted)
        self.accepted += 1
        link.task = asyncio.create_task(link.carry(reader, writer))
        self.links.add(link)
        link.task.add_done_callback(lambda _: self.links.discard(link))


class ProxiedLink:
    """One connection through the proxy: two directions, each a queue of chunks with the time when they are due."""

    task: asyncio.Task[None]

    def __init__(self, proxy: Proxy, number: int) -> None:
        self.proxy = proxy
        self.number = number
        self.spoilt = False  # a black hole has taken something

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            host, port = self.proxy.target.rsplit(":", 1)
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            ends.append(far_writer)
            there, back = asyncio.Queue[tuple[float, bytes]](QUEUE_MAX), asyncio.Queue[tuple[float, bytes]](QUEUE_MAX)
            await all_of(
                self.take_in(reader, there, Direction.THERE),
                self.give_out(far_writer, there, Direction.THERE),
                self.take_in(far_reader, back, Direction.BACK),
                self.give_out(writer, back, Direction.BACK),
            )
        except (OSError, RuntimeError):  # uvloop says the latter of a connection that was closed meanwhile
            pass  # one side has gone: the other one must see that too
        finally:
            for end in ends:
                end.transport.abort()

    async def take_in(
        self, reader: asyncio.StreamReader, queue: asyncio.Queue[tuple[float, bytes]], direction: Direction
    ) -> None:
        chunk, count = b"first", 0
        while chunk:
            chunk = await reader.read(CHUNK)
            wait = self.proxy.wait_seconds(self.number, direction, count)
            await queue.put((asyncio.get_running_loop().time() + wait, chunk))
            count += 1

    async def give_out(
        self, writer: asyncio.StreamWriter, queue: asyncio.Queue[tuple[float, bytes]], direction: Direction
    ) -> None:
        chunk = b"first"
        while chunk:
            due, chunk = await queue.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            await self.proxy.flowing[direction].wait()
            if direction in self.proxy.holes:
                self.spoilt = True
                self.proxy.swallowed += len(chunk)
            elif chunk:
                writer.write(chunk)
                await writer.drain()
            else:
                with suppress(OSError):  # the other side may have closed already
                    writer.write_eof()


async def all_of(*parts: Coroutine[Any, Any, None]) -> None:
    """Until all have ended; the first error ends them all and comes out bare."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
