"""Outsiders send any bytes to a listener, or none: it goes on serving an honest link, and does not grow."""

from __future__ import annotations

import asyncio
import gc
import random
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, find, settings
from links import HELLO, LOOPS, Ear, Gate, identities, run
from wire import frames_of, sent

from trellis.live import transport
from trellis.live.codec import PREFIX
from trellis.live.frames import FRAMES, Done, Frame, Hello
from trellis.live.tls import Channel, Identity
from trellis.live.transport import STRANGERS_MAX, Link, Server, dial, listen

HUNDREDS = 600
plainly = settings(phases=[Phase.generate], database=None)  # the first that is found
MEMORY_MAX = 64 << 20  # what strangers may cost


class Town(NamedTuple):
    """A listener, an honest link to it, and who lives there."""

    server: Server
    gate: Gate
    link: Link
    ear: Ear
    honest: Identity | None

    async def serves(self) -> None:
        """The honest link still gets its answers, and another is let in."""
        for link, ear in ((self.link, self.ear), await self.newcomer()):
            before = len(ear.frames)
            link.send(Done(before))
            await ear.until(lambda e, b=before: len(e.frames) > b)
            assert ear.frames[-1] == Done(before)

    async def newcomer(self) -> tuple[Link, Ear]:
        ear = Ear()
        link = await dial(self.server.address, ear, self.honest, 5)
        link.send(HELLO)
        await ear.until(lambda e: e.frames)
        return link, ear

    async def strangers_ended(self, count: int) -> None:
        """Of all that were opened, these many are over."""
        await self.gate.until(lambda e: len(e.ends) >= count)

    @property
    def port(self) -> tuple[str, int]:
        host, _, port = self.server.address.partition(":")
        return host, int(port)


async def town(keys: list[Identity] | None) -> Town:
    here, there = keys or (None, None)
    gate, ear = Gate(), Ear()
    server = await listen("127.0.0.1:0", gate, here)
    link = await dial(server.address, ear, there, 5)
    link.send(HELLO)
    await ear.until(lambda e: e.frames)
    return Town(server, gate, link, ear, there)


@pytest.fixture(params=["plain", "tls"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> list[Identity] | None:
    return identities(tmp_path / "keys", "here", "there") if request.param == "tls" else None


async def throw(port: tuple[str, int], data: bytes) -> None:
    """Connect, send, and wait until the other side has had enough."""
    with suppress(ConnectionError):
        reader, writer = await asyncio.open_connection(*port)
        try:
            writer.write(data)
            writer.write_eof()
            await reader.read()
        finally:
            writer.close()


@contextmanager
def crowd(port: tuple[str, int]) -> Iterator[Any]:
    """Connections that are made one by one and stay."""
    with ExitStack() as stack:

        async def join(data: bytes) -> None:
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(one, port)
            if data:
                with suppress(ConnectionError):
                    await loop.sock_sendall(one, data)

        yield join


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("loop", LOOPS)
def test_random_bytes_end_only_the_connection_that_they_came_on(loop: str, keys: list[Identity] | None) -> None:
    dice = random.Random(7)

    async def story() -> None:
        place = await town(keys)
        for _ in range(100):
            await throw(place.port, dice.randbytes(dice.choice((0, 1, 7, 8, 9, 100, 5000))))
        for _ in range(100):  # like a frame, then anything
            await throw(place.port, PREFIX.pack(dice.randrange(60), dice.randrange(60)) + dice.randbytes(200))
        await place.serves()
        place.server.close()

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_frame_announcing_two_gigabytes_is_refused_at_once(loop: str, keys: list[Identity] | None) -> None:
    """From a stranger, and from one whose certificate is good."""

    async def story() -> None:
        place = await town(keys)
        liar, ear = await place.newcomer()
        liar.chunks, liar.waiting = [PREFIX.pack(1 << 31, 1 << 31)], 8
        liar.flush()
        await ear.until(lambda e: e.ends)
        await place.strangers_ended(1)
        assert "the limit is 1048576" in place.gate.ends[0][1]
        await throw(place.port, PREFIX.pack(1 << 31, 0))
        await place.serves()
        place.server.close()

    run(loop, story())


@pytest.mark.parametrize("kind", FRAMES, ids=lambda kind: kind.__name__)
def test_any_frame_may_come_first_and_is_refused_unless_it_opens(kind: type[Frame], tmp_path: Path) -> None:
    frame: Frame = find(frames_of(kind), lambda _: True, settings=plainly)

    async def story() -> None:
        place = await town(identities(tmp_path / "keys", "here", "there"))
        ear = Ear()
        link = await dial(place.server.address, ear, place.honest, 5)
        link.send(frame)
        if kind is Hello:
            await ear.until(lambda e: e.frames == [frame])
        else:
            await ear.until(lambda e: e.ends)
            await place.strangers_ended(1)
            assert place.gate.ends[0][1] == f"{kind.__name__} before Hello"
        await place.serves()
        place.server.close()

    run("asyncio", story())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("words", ["nothing", "half a beginning"])
def test_hundreds_of_half_open_connections_take_few_places_and_little_memory(
    loop: str, words: str, keys: list[Identity] | None
) -> None:
    """They say nothing, or begin a handshake or a frame and leave it there. The oldest gives way to the newest."""

    async def story() -> None:
        place = await town(keys)
        beginning = b""
        if words != "nothing":
            beginning = client_hello(keys[1]) if keys else PREFIX.pack(4000, 0) + b"\x94"
        gc.collect()
        before, most = resident(), 0
        with crowd(place.port) as join:
            for n in range(HUNDREDS):
                await join(beginning)
                most = max(most, len(place.server.strangers))
                if n % 100 == 99:
                    await place.serves()
            assert most <= STRANGERS_MAX
            assert resident() - before < MEMORY_MAX
        await place.serves()
        place.server.close()
        assert place.server.strangers == {}

    run(loop, story())


def client_hello(identity: Identity) -> bytes:
    channel = Channel(identity, dialled=True)
    channel.shake()
    return channel.outgoing.read()


def test_a_handshake_that_is_never_finished_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        here, there = identities(tmp_path / "keys", "here", "there")
        place = await town([here, there])
        monkeypatch.setattr(transport, "SHAKE_MAX", 0.05)
        reader, writer = await asyncio.open_connection(*place.port)
        writer.write(client_hello(there))
        with suppress(ConnectionError):
            await reader.read()  # its half of the handshake, and then the end
        monkeypatch.undo()
        assert len(place.gate.links) == 1  # nobody but the honest one
        await place.serves()
        writer.close()
        place.server.close()

    run("asyncio", story())


def test_bytes_that_come_one_by_one_are_read_as_well() -> None:
    async def story() -> None:
        place = await town(None)
        _, writer = await asyncio.open_connection(*place.port)
        for byte in sent(HELLO):
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        await place.gate.until(lambda e: e.frames.count(HELLO) == 2)
        writer.close()
        await place.serves()
        place.server.close()

    run("asyncio", story())
