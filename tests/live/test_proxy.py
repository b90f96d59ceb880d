"""The proxy that stands between nodes in tests, on a plain echo server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from live.proxy import Direction, Proxy

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """Sends back what it gets, and remembers it in the order of arrival over all connections."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.arrived = asyncio.Condition()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                async with self.arrived:
                    self.got.append(line)
                    self.arrived.notify_all()
                writer.write(line)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def until(self, *lines: bytes) -> None:
        async with self.arrived:
            await self.arrived.wait_for(lambda: self.got == list(lines))


@asynccontextmanager
async def echo() -> AsyncIterator[tuple[Echo, str]]:
    one = Echo()
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    try:
        yield one, "127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    finally:
        server.close()


async def dial(address: str) -> Streams:
    host, port = address.rsplit(":", 1)
    return await asyncio.open_connection(host, int(port))


async def ask(streams: Streams, line: bytes) -> bytes:
    streams[1].write(line)
    return await streams[0].readline()


def story(tell: Callable[[], Awaitable[None]]) -> None:
    """Runs it, with an end to all waiting."""

    async def bounded() -> None:
        await asyncio.wait_for(tell(), 20)

    asyncio.run(bounded())


def test_what_goes_in_comes_out_in_order_and_whole_however_the_chunks_are_delayed() -> None:
    async def tell() -> None:
        sent = b"".join(b"line %d\n" % n for n in range(100_000))
        async with echo() as (_, target), Proxy(target, seed=1, delay=(0.0, 0.02)) as proxy:
            reader, writer = await dial(proxy.address)
            writer.write(sent)
            writer.write_eof()
            assert await reader.read(-1) == sent

    story(tell)


def test_a_message_over_a_delayed_link_is_overtaken_by_a_later_one_over_another() -> None:
    async def tell() -> None:
        async with echo() as (one, target), Proxy(target, seed=1, delay=(0.5, 0.5)) as slow, Proxy(target, 1) as quick:
            (_, late), (_, early) = await dial(slow.address), await dial(quick.address)
            late.write(b"first\n")
            early.write(b"second\n")
            await one.until(b"second\n", b"first\n")

    story(tell)


def test_a_paused_link_holds_back_and_loses_nothing() -> None:
    async def tell() -> None:
        async with echo() as (one, target), Proxy(target, seed=1) as paused, Proxy(target, seed=1) as open_one:
            held, free = await dial(paused.address), await dial(open_one.address)
            assert await ask(held, b"before\n") == b"before\n"
            paused.pause()
            held[1].write(b"held\n")
            assert await ask(free, b"free\n") == b"free\n"
            assert one.got == [b"before\n", b"free\n"]
            paused.resume()
            assert await held[0].readline() == b"held\n"

    story(tell)


def test_a_pause_of_one_direction_leaves_the_other_open() -> None:
    async def tell() -> None:
        async with echo() as (one, target), Proxy(target, seed=1) as proxy:
            reader, writer = await dial(proxy.address)
            proxy.pause(Direction.BACK)
            writer.write(b"question\n")
            await one.until(b"question\n")
            answer = asyncio.ensure_future(reader.readline())
            await asyncio.wait([answer], timeout=0.1)
            assert not answer.done()
            proxy.resume()
            assert await answer == b"question\n"

    story(tell)


def test_a_cut_resets_both_sides_and_the_next_connection_stands() -> None:
    async def tell() -> None:
        async with echo() as (_, target), Proxy(target, seed=1) as proxy:
            old = await dial(proxy.address)
            assert await ask(old, b"before\n") == b"before\n"
            await proxy.cut()
            assert await ends(old)
            assert await ask(await dial(proxy.address), b"after\n") == b"after\n"
            assert proxy.accepted == 2

    story(tell)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_black_hole_swallows_one_direction_only_and_spoilt_connections_are_cut_when_it_closes(
    direction: Direction,
) -> None:
    async def tell() -> None:
        async with echo() as (one, target), Proxy(target, seed=1) as proxy, Proxy(target, seed=1) as other:
            streams = await dial(proxy.address)
            assert await ask(streams, b"before\n") == b"before\n"
            proxy.black_hole(direction)
            streams[1].write(b"question\n")
            while proxy.swallowed < len(b"question\n"):
                await ask_through(other)
            assert (b"question\n" in one.got) == (direction is Direction.BACK)
            await proxy.heal()
            assert await ends(streams)
            assert await ask(await dial(proxy.address), b"after\n") == b"after\n"

    story(tell)


def test_a_connection_that_lost_nothing_outlives_the_black_hole() -> None:
    async def tell() -> None:
        async with echo() as (_, target), Proxy(target, seed=1) as proxy:
            streams = await dial(proxy.address)
            assert await ask(streams, b"before\n") == b"before\n"
            proxy.black_hole(Direction.THERE)
            await proxy.heal()
            assert await ask(streams, b"after\n") == b"after\n"

    story(tell)


def test_a_target_that_is_not_there_ends_the_connection() -> None:
    async def tell() -> None:
        async with echo() as (_, target):
            pass
        async with Proxy(target, seed=1) as proxy:
            assert await ends(await dial(proxy.address))

    story(tell)


def test_the_delays_depend_on_the_seed_and_stay_within_their_bounds() -> None:
    async def tell() -> None:
        def delays(seed: int) -> list[float]:
            proxy = Proxy("127.0.0.1:1", seed, delay=(0.1, 0.3))
            return [
                proxy.wait_seconds(link, way, chunk) for link in range(3) for way in Direction for chunk in range(9)
            ]

        assert delays(1) == delays(1) != delays(2)
        assert len(set(delays(1))) == 54
        assert all(0.1 <= seconds < 0.3 for seconds in delays(1))

    story(tell)


async def ends(streams: Streams) -> bool:
    """The other side is gone: nothing more comes, or a reset does."""
    try:
        return await streams[0].read(1) == b""
    except ConnectionError:
        return True


async def ask_through(proxy: Proxy) -> None:
    """Something that takes a little while and is not a sleep."""
    streams = await dial(proxy.address)
    await ask(streams, b"and so on\n")
    streams[1].close()
