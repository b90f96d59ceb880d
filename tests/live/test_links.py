"""Links on loopback sockets, in plaintext and in TLS, under both loops, and in memory."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from links import HELLO, LOOPS, Ear, Gate, identities, run

from trellis.errors import NetworkError
from trellis.live import closings, transport
from trellis.live.codec import Bundle
from trellis.live.frames import QUEUE_MAX, STRANGER_MAX, Bye, Carry, Done, Status
from trellis.live.memory import Memory
from trellis.live.transport import Link, dial, listen
from trellis.protocols.overlays.vcube_packets import Pub
from trellis.words import Message, MessageId


class Way(NamedTuple):
    """How two ends meet."""

    loop: str
    network: Any  # the module `transport`, or a Memory
    address: str
    here: Any  # identities
    there: Any


WAYS = [(loop, kind) for loop in LOOPS for kind in ("plain", "tls", "memory")]


@pytest.fixture(params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Way:
    loop, kind = request.param
    if kind == "plain":
        return Way(loop, transport, "127.0.0.1:0", None, None)
    here, there = identities(tmp_path / "keys", "here", "there")
    if kind == "tls":
        return Way(loop, transport, "127.0.0.1:0", here, there)
    return Way(loop, Memory(), "m:1", here, there)


@pytest.fixture
def fresh_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The log with no lines of other tests in its count."""
    monkeypatch.setattr(closings, "OF_STRANGERS", closings.Closings())
    monkeypatch.setattr(closings, "OF_ACCEPTED", closings.Closings())
    with caplog.at_level(logging.INFO, "trellis.live"):
        yield caplog


async def meet(way: Way, ear: Ear, other: Ear) -> tuple[Any, Link, Link]:
    """A server, our end and their end."""
    server = await way.network.listen(way.address, ear, way.here)
    there = await way.network.dial(server.address, other, way.there, 5)
    here = (await ear.until(lambda e: e.links))[0]
    return server, here, there


def test_frames_that_can_wait_go_with_the_next_one_that_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        monkeypatch.setattr(transport, "GATHER", 3600.0)
        ear, other = Ear(), Ear()
        _, _, there = await meet(Way("asyncio", Memory(), "m:1", None, None), ear, other)
        written: list[int] = []
        monkeypatch.setattr(there, "write", lambda batch: written.append(len(batch)))
        there.send(Done(1), can_wait=True)
        there.send(Done(2), can_wait=True)
        await asyncio.sleep(0.05)
        assert written == []
        there.send(Done(3))
        await asyncio.sleep(0)
        assert written == [3]
        for n in range(transport.GATHER_MAX):
            there.send(Done(n), can_wait=True)
        await asyncio.sleep(0)
        assert written == [3, transport.GATHER_MAX]

    run("asyncio", story())


def test_frames_that_can_wait_go_soon_also_when_nothing_follows(way: Way) -> None:
    async def story() -> None:
        ear, other = Ear(), Ear()
        server, _, there = await meet(way, ear, other)
        for n in range(3):
            there.send(Done(n), can_wait=True)
        await ear.until(lambda e: len(e.frames) == 3)
        assert ear.frames == [Done(n) for n in range(3)]
        server.close()

    run(way.loop, story())


def test_frames_go_both_ways_in_order_and_the_owner_hears_of_the_end_once(way: Way) -> None:
    async def story() -> None:
        ear, other = Ear(), Ear()
        server, here, there = await meet(way, ear, other)
        assert (here.dialled, there.dialled) == (False, True)
        names = (way.here.name, way.there.name) if way.here else ("", "")
        assert (there.peer, here.peer) == names
        told = [Done(n) for n in range(500)]
        for frame in told:
            there.send(frame)
        await ear.until(lambda e: len(e.frames) == 500)
        here.send(Bye("thanks"))
        here.close("enough")
        await other.until(lambda e: e.ends)
        await ear.until(lambda e: e.ends)
        there.close("again")
        there.send(Done(1))  # to nobody
        server.close()
        await asyncio.sleep(0)
        assert ear.frames == told
        assert other.frames == [Bye("thanks")]
        assert ear.ends == [(here, "enough")]
        assert other.ends == [(there, "the peer closed it")]
        assert ear.heard[0] == other.heard[0] == "opened"

    run(way.loop, story())


def test_frames_of_one_turn_of_the_loop_arrive_together(way: Way) -> None:
    async def story() -> None:
        ear = Ear()
        server, _, there = await meet(way, ear, Ear())
        for n in range(100):
            there.send(Done(n))
        assert there.queued > 0
        await ear.until(lambda e: len(e.frames) == 100)
        assert ear.heard == ["opened", [Done(n) for n in range(100)]]
        assert there.queued == 0
        there.close("")
        server.close()

    run(way.loop, story())


def test_a_bundle_arrives_with_its_payloads(way: Way) -> None:
    async def story() -> None:
        ear = Ear()
        server, _, there = await meet(way, ear, Ear())
        id = MessageId((1, 0), "news", 1)
        items = [bytes([n]) * 128 for n in range(256)]
        frame = Carry("vcube/causal", 1, Pub(id, 4, (Message(id, Bundle.of(items), count=256),)))
        for _ in range(100):  # 3 MiB: in many reads, cut anywhere
            there.send(frame)
        await ear.until(lambda e: len(e.frames) == 100)
        assert ear.frames == [frame] * 100
        assert ear.frames[99].packet.messages[0].payload.items == items  # type: ignore[attr-defined]
        there.close("")
        server.close()

    run(way.loop, story())


def test_what_was_sent_before_closing_arrives(way: Way) -> None:
    async def story() -> None:
        ear = Ear()
        server, _, there = await meet(way, ear, Ear())
        for n in range(40):
            there.send(Status(n, bytes(100_000)))
        there.close("all said")
        await ear.until(lambda e: e.ends)
        assert len(ear.frames) == 40
        server.close()

    run(way.loop, story())


def test_a_stranger_may_not_send_what_a_member_may(way: Way) -> None:
    async def story() -> None:
        gate, other = Gate(), Ear()
        server, here, there = await meet(way, gate, other)
        there.send(HELLO)
        there.send(Status(1, bytes(2 * STRANGER_MAX)))  # in the same read: by then it is accepted
        await other.until(lambda e: len(e.frames) == 2)
        other = Ear()
        there = await way.network.dial(server.address, other, way.there, 5)
        there.send(Status(1, bytes(2 * STRANGER_MAX)))
        await other.until(lambda e: e.ends)
        await gate.until(lambda e: e.ends)
        assert f"the limit is {STRANGER_MAX}" in gate.ends[0][1]
        assert here.reason is None
        here.close("")
        server.close()

    run(way.loop, story())


def test_an_owner_that_finds_a_frame_out_of_place_ends_the_link_with_its_reason(way: Way) -> None:
    async def story() -> None:
        gate, other = Gate(), Ear()
        server, here, there = await meet(way, gate, other)
        there.send(Done(1))
        await other.until(lambda e: e.ends)
        await gate.until(lambda e: e.ends)
        assert gate.ends == [(here, "Done before Hello")]
        server.close()

    run(way.loop, story())


def test_a_link_that_nobody_accepts_is_closed(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "ACCEPT_MAX", 0.05)

    async def story() -> None:
        ear, other = Ear(accepts=False), Ear()
        server, here, _ = await meet(way, ear, other)
        await other.until(lambda e: e.ends)
        await ear.until(lambda e: e.ends)
        assert ear.ends == [(here, "no accept within 0.05 s")]
        assert server.strangers == {}
        server.close()

    run(way.loop, story())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("secret", [False, True], ids=["plain", "tls"])
def test_a_peer_that_does_not_read_is_left_when_its_queue_is_full(loop: str, secret: bool, tmp_path: Path) -> None:
    async def story() -> None:
        ear, other = Ear(), Ear()
        here, there = identities(tmp_path / "keys", "here", "there") if secret else (None, None)
        server = await listen("127.0.0.1:0", ear, here)
        link = await dial(server.address, other, there, 5)
        ours = (await ear.until(lambda e: e.links))[0]
        link.transport.pause_reading()
        frame, most = Status(1, bytes(1_000_000)), 0
        while ours.reason is None:
            ours.send(frame)
            most = max(most, ours.queued)
            await asyncio.sleep(0)
        await ear.until(lambda e: e.ends)
        assert f"the limit is {QUEUE_MAX}" in ear.ends[0][1]
        assert QUEUE_MAX - 2_000_000 < most < QUEUE_MAX + 4_000_000
        assert ours.queued == 0
        link.end("")
        server.close()

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_peer_that_reads_again_gets_everything(loop: str) -> None:
    async def story() -> None:
        ear, other = Ear(), Ear()
        server = await listen("127.0.0.1:0", ear, None)
        link = await dial(server.address, other, None, 5)
        ours = (await ear.until(lambda e: e.links))[0]
        link.transport.pause_reading()
        for n in range(40):
            ours.send(Status(n, bytes(1_000_000)))
            await asyncio.sleep(0)
        assert ours.queued > 20_000_000
        link.transport.resume_reading()
        await other.until(lambda e: len(e.frames) == 40)
        assert [frame.ref for frame in other.frames] == list(range(40))  # type: ignore[attr-defined]
        link.close("")
        server.close()

    run(loop, story())


def test_every_close_is_one_line_of_the_log(way: Way, fresh_log: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        ear, other = Ear(), Ear()
        server, here, there = await meet(way, ear, other)
        there.close("I go")
        await ear.until(lambda e: e.ends)
        server.close()
        to = f" ({there.peer})" if there.peer else ""
        from_ = f" ({here.peer})" if here.peer else ""
        assert fresh_log.messages == [
            f"link to {there.address}{to} closed: I go",
            f"link from {here.address}{from_} closed: the peer closed it",
        ]

    run(way.loop, story())


def test_garbage_cannot_flood_the_log_and_what_was_left_out_is_counted(fresh_log: pytest.LogCaptureFixture) -> None:
    said = closings.Closings()
    for n in range(1000):
        said.say(f"closed {n}", now=5.0 + n / 1000)
    said.say("later", now=5.0 + closings.PERIOD)
    expected = [f"closed {n}" for n in range(closings.LINES_MAX)]
    assert fresh_log.messages == [
        *expected,
        f"{1000 - closings.LINES_MAX} more closings were left out of this log",
        "later",
    ]


# Addresses.


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("0.0.0.0:0", "without keys only loopback"),
        ("[::]:0", "without keys only loopback"),
        ("192.0.2.1:80", "without keys only loopback"),
        ("[::ffff:192.0.2.1]:80", "without keys only loopback"),
        ("127.0.0.1", "it must be host:port"),
        (":80", "it must be host:port"),
        ("127.0.0.1:", "it must be host:port"),
        ("127.0.0.1:-1", "it must be host:port"),
        ("127.0.0.1:65536", "it must be host:port"),
        ("127.0.0.1:٣", "it must be host:port"),
        ("no host:80", "no such host"),
        ("x" * 300 + ":80", "no such host"),
    ],
)
@pytest.mark.parametrize("loop", LOOPS)
def test_an_address_that_may_not_be_served_in_plaintext_is_refused(loop: str, address: str, rule: str) -> None:
    async def story() -> None:
        with pytest.raises(NetworkError, match=rule):
            await listen(address, Ear(), None)
        with pytest.raises(NetworkError, match=rule):
            await dial(address, Ear(), None, 5)

    run(loop, story())


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0", "[::1]:0"])
def test_loopback_is_served_in_plaintext(address: str) -> None:
    if ":" in address.rpartition(":")[0] and not has_ipv6():
        pytest.skip("no IPv6 here")

    async def story() -> None:
        ear = Ear()
        server = await listen(address, ear, None)
        link = await dial(server.address, Ear(), None, 5)
        assert link.address == server.address
        link.close("")
        server.close()

    run("asyncio", story())


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_an_address_that_is_taken_or_where_nobody_listens_is_refused(way: Way) -> None:
    async def story() -> None:
        server = await way.network.listen(way.address, Ear(), way.here)
        with pytest.raises(NetworkError, match="cannot be listened at"):
            await way.network.listen(server.address, Ear(), way.here)
        server.close()
        await asyncio.sleep(0)
        ear = Ear()
        with pytest.raises(NetworkError, match="cannot be reached"):
            await way.network.dial(server.address, ear, way.there, 5)
        assert ear.heard == []

    run(way.loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_dialler_waits_no_longer_than_it_said(loop: str, tmp_path: Path) -> None:
    """The port takes the connection and says nothing: no handshake comes about."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())

        async def story() -> None:
            ear = Ear()
            [identity] = identities(tmp_path / "keys", "a")
            with pytest.raises(NetworkError, match=r"no link within 0\.05 s"):
                await dial(address, ear, identity, 0.05)
            assert ear.heard == []

        run(loop, story())
