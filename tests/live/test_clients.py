"""Clients of a real node, over TCP on loopback, in plaintext and in TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from links import Ear, key_directory, run

import trellis
from trellis.errors import KeysError, LocalProtocolError, NetworkError, NotSubscribed
from trellis.live import sessions, subscription
from trellis.live.codec import Bundle
from trellis.live.frames import (
    ASKED_MAX,
    VERSION,
    Attach,
    Attached,
    Done,
    Failed,
    Frame,
    Hello,
    Publish,
    Refused,
    Subscribe,
    Unsubscribe,
)
from trellis.live.subscription import TOO_SLOW
from trellis.live.tls import Identity
from trellis.live.transport import BUFFER_MAX, dial


@pytest.fixture(params=["plain", "tls"])
def ways(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """How a node and how a client prove themselves."""
    if request.param == "plain":
        return {"plaintext": True}, {"plaintext": True}
    keys = key_directory(tmp_path / "keys", "a", client="reader")
    return {"keys": keys, "name": "a"}, {"keys": keys, "name": "reader"}


PLAIN = {"plaintext": True}


def told(story: Coroutine[Any, Any, None]) -> None:
    run("asyncio", story, limit=20)


async def until(test: Any) -> None:
    """Until the node has got so far; it says nothing to a test."""
    async with asyncio.timeout(5):
        while not test():
            await asyncio.sleep(0.002)


async def take(subscription: trellis.Subscription, count: int) -> list[trellis.Event | trellis.Gap]:
    """So many messages, whether they come or are left out."""
    got: list[trellis.Event | trellis.Gap] = []
    async for item in subscription:
        got.append(item)
        count -= item.count if isinstance(item, trellis.Gap) else 1
        if count <= 0:
            break
    return got


@contextlib.asynccontextmanager
async def pair() -> AsyncIterator[tuple[trellis.Node, trellis.Client]]:
    async with trellis.Node(plaintext=True) as node, trellis.connect(node.address, plaintext=True) as client:
        yield node, client


def test_a_client_publishes_and_reads_with_the_same_verbs_and_types_as_a_node(ways: Any) -> None:
    async def talk(one: trellis.Bus, other: trellis.Bus) -> list[Any]:
        async with await one.subscribe("news", order="fifo") as reader:
            await other.publish("news", b"1", order="fifo")
            await other.publish_many("news", [b"%d" % n for n in range(2, 3001)], confirm=True)
            if isinstance(one, trellis.Node):
                assert reader.messages == 3000  # confirmed: they are there; those of a client are on their way to it
            return await take(reader, 3000)

    async def story() -> None:
        node_way, client_way = ways
        async with trellis.Node(**node_way) as node:
            async with trellis.connect(f"trellis://{node.address}", **client_way) as client:
                assert (client.place, client.incarnation) == (node.place, node.incarnation)
                expected = [trellis.Event(b"%d" % n, "news", 0, 0, n) for n in range(1, 3001)]
                assert await talk(node, node) == expected
                for seq, (one, other) in enumerate([(client, node), (node, client), (client, client)], 1):
                    assert [e.seq - 3000 * seq for e in await talk(one, other)] == list(range(1, 3001))
                report = await client.status()
                assert report == node.status()
                assert [t["topic"] for t in report["topics"]] == ["news"]  # node and client have published
            await until(lambda: not node.sessions.open)
            await node.unsubscribe("news")
            assert node.courses == {}

    told(story())


def test_publishes_of_one_turn_of_the_loop_travel_in_one_frame_and_in_order() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            reader = await node.subscribe("t")
            sent: list[Frame] = []
            assert client.link is not None
            send = client.link.send
            client.link.send = lambda frame: (sent.append(frame), send(frame))[1]  # type: ignore[method-assign]
            await asyncio.gather(*(client.publish("t", b"%d" % n, confirm=n == 7) for n in range(500)))
            assert [(type(f), f.count, f.confirm) for f in sent] == [(Publish, 500, True)]  # type: ignore[attr-defined]
            assert [e.payload for e in await take(reader, 500)] == [b"%d" % n for n in range(500)]  # type: ignore[union-attr]

    told(story())


def test_more_than_a_client_may_have_unanswered_goes_out_in_order_all_the_same() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            reader = await node.subscribe("t")
            big = [b"%d" % n + b"x" * 100_000 for n in range(200)]  # 20 MB in 200 portions
            calls = [asyncio.create_task(client.publish_many("t", big[n : n + 20])) for n in range(0, 200, 20)]
            got = await take(reader, 200)
            assert [e.payload for e in got] == big  # type: ignore[union-attr]
            await asyncio.gather(*calls)
            assert client.calls.bytes == 0

    told(story())


def test_a_confirmation_waits_for_every_subscriber() -> None:
    """The only subscriber is a process that has stopped: first nothing, then it is held to be dead."""

    async def story() -> None:
        async with trellis.Node(plaintext=True) as a, trellis.Node(plaintext=True, join=a.address) as b:
            await b.subscribe("t")
            async with trellis.connect(a.address, plaintext=True) as client:
                await client.publish("t", b"warm", confirm=True)
                [link] = list(b.members.peers.known)
                link.transport.pause_reading()
                await client.publish("t", b"accepted")
                waiting = asyncio.create_task(client.publish("t", b"confirmed", confirm=True))
                await client.publish("t", b"accepted too")
                assert not waiting.done()
                link.transport.resume_reading()
                await waiting

    told(story())


async def slow(node: trellis.Node, reader: trellis.Subscription, bound: int, count: int = 0, link: Any = None) -> None:
    """Publish far more than may wait, after `count` others; every number is delivered or in a gap, once, in order."""
    before = count
    while count < before + 4 * bound:
        await node.publish_many("t", [b"%d" % n for n in range(count + 1, count + 1001)], confirm=True)
        count += 1000
    if link is not None:
        link.transport.resume_reading()
    got = await take(reader, count)
    gaps = [item for item in got if isinstance(item, trellis.Gap)]
    assert gaps
    assert {gap.why for gap in gaps} == {TOO_SLOW}
    numbers = []
    for item in got:
        if isinstance(item, trellis.Gap):
            numbers += range(item.seq, item.seq + item.count)
        else:
            assert item.payload == b"%d" % item.seq or item.seq <= before
            numbers.append(item.seq)
    assert numbers == list(range(1, count + 1))
    await node.publish("t", b"after", confirm=True)  # it has caught up: everything comes again
    assert await take(reader, 1) == [trellis.Event(b"after", "t", 0, 0, count + 1)]


def test_a_slow_reader_in_the_node_is_told_exactly_what_it_missed() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            reader = await node.subscribe("t")
            reader.messages_max = 5000
            await slow(node, reader, 5000)

    told(story())


def test_a_slow_reader_in_a_client_is_told_exactly_what_it_missed() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            reader = await client.subscribe("t")
            reader.messages_max = 5000
            await slow(node, reader, 5000)

    told(story())


def test_a_client_that_does_not_read_its_link_gets_gaps_from_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "QUEUED_MAX", 1 << 16)

    async def story() -> None:
        async with pair() as (node, client):
            reader = await client.subscribe("t")
            assert client.link is not None
            client.link.transport.pause_reading()
            [there] = node.courses["t"].readers
            [theirs] = node.sessions.open
            there.messages_max = 5000
            filled = 0
            while theirs.queued <= sessions.QUEUED_MAX:  # fill what the system holds for both ends
                await node.publish_many("t", [b"x" * 100_000] * 10, confirm=True)
                await asyncio.sleep(0)
                filled += 10
            await slow(node, reader, 5000, filled, client.link)
            assert client.link.reason is None

    told(story())


def test_a_client_that_does_not_read_its_link_costs_the_same_on_many_topics_as_on_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "QUEUED_MAX", 2 * BUFFER_MAX)
    monkeypatch.setattr(subscription, "BYTES_MAX", 1 << 20)
    topics = [f"t{n}" for n in range(40)]

    async def story() -> None:
        async with pair() as (node, client):
            readers = [await client.subscribe(topic) for topic in topics]
            assert client.link is not None
            client.link.transport.pause_reading()
            [theirs] = node.sessions.open
            [session] = node.sessions.open.values()
            sent = 0
            while theirs.queued <= sessions.QUEUED_MAX or not node.host.tally.left_out:
                sent += 1
                for topic in topics:
                    await node.publish(topic, b"x" * 100_000, confirm=True)
                held = sum(r.bytes for r in {r for course in node.courses.values() for r in course.readers})
                assert held == session.budget.used <= subscription.BYTES_MAX
                assert theirs.queued <= sessions.QUEUED_MAX + 200_000
            client.link.transport.resume_reading()
            missed = 0
            for reader in readers:
                got = await take(reader, sent)
                gaps = [item for item in got if isinstance(item, trellis.Gap)]
                assert sum(gap.count for gap in gaps) + len(got) - len(gaps) == sent
                missed += sum(gap.count for gap in gaps)
            assert missed
            assert session.budget.used == 0
            assert client.link.reason is None

    told(story())


def test_wrong_orders_topics_and_payloads_are_refused_and_the_link_stays() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            await node.subscribe("news", order="fifo")
            for bus in (node, client):
                with pytest.raises(LocalProtocolError, match="topic 'news': its order is fifo, not causal"):
                    await bus.subscribe("news")
                with pytest.raises(LocalProtocolError, match="topic 'news': its order is fifo, not unordered"):
                    await bus.publish("news", b"", order="unordered")
                with pytest.raises(LocalProtocolError, match="order 'best': no such order; there are unordered, fifo"):
                    await bus.subscribe("other", order="best")
                with pytest.raises(LocalProtocolError, match="order 'total-printed': no such order"):
                    await bus.subscribe("other", order="total-printed")
                for topic in ("", "a\nb", "x" * 257, "é" * 129, ".".join("a" * 33), "\ud800", "a\u202eb", 5):
                    with pytest.raises(LocalProtocolError, match="without control characters"):
                        await bus.subscribe(topic)  # type: ignore[arg-type]
                    with pytest.raises(LocalProtocolError, match="without control characters"):
                        await bus.publish(topic, b"")  # type: ignore[arg-type]
                with pytest.raises(LocalProtocolError, match="of type str: it must be bytes"):
                    await bus.publish("news", "text")  # type: ignore[arg-type]
                with pytest.raises(LocalProtocolError, match="the limit is 524272; cut it into parts"):
                    await bus.publish("news", b"x" * 600_000)
                with pytest.raises(LocalProtocolError, match="topic 'never': there is no subscription to end"):
                    await bus.unsubscribe("never")
                await bus.publish("news", b"fine", confirm=True)

    told(story())


def test_a_client_that_goes_takes_its_subscriptions_along_but_not_those_of_others() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            async with trellis.connect(node.address, plaintext=True) as other:
                await other.subscribe("both")
                await other.subscribe("its own")
                await other.publish("written", b"x")
                reader = await client.subscribe("both")
            await until(lambda: set(node.courses) == {"both"})
            await client.publish("both", b"still", confirm=True)
            assert [e.payload for e in await take(reader, 1)] == [b"still"]  # type: ignore[union-attr]

    told(story())


def test_who_has_published_keeps_the_topic_and_its_order_when_the_readers_go() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            reader = await node.subscribe("t", order="fifo")
            await client.publish("t", b"1")
            await reader.unsubscribe()
            await client.publish("t", b"2")  # without a word about the order
            assert node.courses["t"].order == "fifo"
            mine = await client.subscribe("t", order="fifo")
            await mine.unsubscribe()
            assert set(node.courses) == {"t"}
            await client.unsubscribe("t")
            assert node.courses == {}
            with pytest.raises(LocalProtocolError, match="no subscription to end"):
                await client.unsubscribe("t")

    told(story())


def test_a_new_subscription_gets_nothing_of_the_one_before() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            keeper = await node.subscribe("t")
            del keeper
            for round in range(20):
                reader = await client.subscribe("t")
                await node.publish_many("t", [b"old %d" % round] * 50)
                ending = asyncio.create_task(reader.unsubscribe())
                await asyncio.sleep(0)
                again = await client.subscribe("t")
                await node.publish("t", b"new %d" % round, confirm=True)
                [event] = await take(again, 1)
                assert isinstance(event, trellis.Event)
                assert event.payload == b"new %d" % round
                await ending
                await again.unsubscribe()

    told(story())


def test_several_readers_in_one_client_share_a_subscription_and_each_gets_all() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            readers = await asyncio.gather(*(client.subscribe("t") for _ in range(3)))
            assert len(node.courses["t"].readers) == 1
            await readers[0].unsubscribe()
            await node.publish_many("t", [b"1", b"2"])
            for reader in readers[1:]:
                assert [e.payload for e in await take(reader, 2)] == [b"1", b"2"]  # type: ignore[union-attr]
            await client.unsubscribe("t")
            assert [item async for item in readers[1]] == []

    told(story())


def test_a_subscription_that_is_given_up_while_it_is_made_leaves_nothing_behind() -> None:
    async def story() -> None:
        async with contextlib.AsyncExitStack() as stack:
            other = await stack.enter_async_context(trellis.Node(plaintext=True))
            node = await stack.enter_async_context(trellis.Node(plaintext=True, join=other.address))
            client = await stack.enter_async_context(trellis.connect(node.address, plaintext=True))
            for bus in (node, client):
                for turns in range(6):  # the other node must be asked: it is given up at every stage of that
                    trying = asyncio.create_task(bus.subscribe("t"))
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    trying.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await (await trying).unsubscribe()
                    await until(lambda: not node.courses)
                await (await bus.subscribe("t")).unsubscribe()
                assert node.courses == {}

    told(story())


def test_when_the_node_goes_readers_get_what_has_come_and_then_the_reason() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            client = trellis.connect(node.address, plaintext=True)
            await client.start()
            reader = await client.subscribe("t")
            await node.publish_many("t", [b"1", b"2"], confirm=True)
            await until(lambda: reader.messages == 2)
        assert [e.payload for e in await take(reader, 2)] == [b"1", b"2"]  # type: ignore[union-attr]
        with pytest.raises(NetworkError, match=r"the connection was lost \(the node says: this node stops\)"):
            await reader.next()
        for call in (client.publish("t", b""), client.subscribe("t"), client.status(), client.unsubscribe("t")):
            with pytest.raises(NetworkError, match="connect again"):
                await call
        await client.stop()

    told(story())


def test_a_connection_that_breaks_ends_calls_that_wait() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as a, trellis.Node(plaintext=True, join=a.address) as b:
            await b.subscribe("t")
            client = trellis.connect(a.address, plaintext=True)
            await client.start()
            await client.publish("t", b"warm", confirm=True)
            [link] = list(b.members.peers.known)
            link.transport.pause_reading()
            waiting = asyncio.create_task(client.publish("t", b"x", confirm=True))
            await client.publish("t", b"y")
            [(theirs, session)] = a.sessions.open.items()
            theirs.transport.abort()
            with pytest.raises(NetworkError, match="the connection was lost"):
                await waiting
            link.transport.resume_reading()
            await until(lambda: not a.courses)  # what was accepted is settled first
            assert session.tasks == set()

    told(story())


def test_a_client_outside_its_block_says_so() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            client = trellis.connect(node.address, plaintext=True)
            with pytest.raises(LocalProtocolError, match="not connected; use it within"):
                await client.publish("t", b"")
            async with client:
                reader = await client.subscribe("t")
            assert [item async for item in reader] == []
            with pytest.raises(LocalProtocolError, match="closed; connect again"):
                await client.publish("t", b"")

    told(story())


@pytest.mark.parametrize(
    ("address", "given", "said"),
    [
        ("trellis://127.0.0.1:1", PLAIN, "127.0.0.1:1: cannot be reached"),
        ("http://127.0.0.1:1", PLAIN, "no such host|must be host:port"),
        ("trellis://nowhere", PLAIN, "it must be host:port"),
        ("trellis://192.0.2.1:1", PLAIN, "without keys only loopback"),
        ("trellis://127.0.0.1:1", {}, "give a directory of keys"),
        ("trellis://127.0.0.1:1", {"keys": "k"}, "say whose certificate"),
        ("trellis://127.0.0.1:1", {"keys": "/nowhere", "name": "a"}, "No such file"),
    ],
)
def test_an_address_or_keys_that_cannot_be_used_are_refused_in_one_line(address: str, given: Any, said: str) -> None:
    async def story() -> None:
        async with trellis.connect(address, **given):
            pass

    with pytest.raises((NetworkError, LocalProtocolError, KeysError), match=said):
        told(story())


def test_a_client_without_a_certificate_of_the_authority_is_not_attached(tmp_path: Path) -> None:
    keys = key_directory(tmp_path / "keys", "a", client="reader")
    others = key_directory(tmp_path / "others", "a", client="reader")

    async def story() -> None:
        async with trellis.Node(keys=keys, name="a") as node:
            for given in ({"keys": others, "name": "reader"}, PLAIN):
                with pytest.raises(NetworkError, match=node.address):
                    await trellis.connect(node.address, **given).start()  # type: ignore[arg-type]
            assert node.sessions.open == {}
            with pytest.raises(KeysError, match="a client's certificate, and a node needs a node's"):
                trellis.Node(keys=keys, name="reader", join=node.address)
            comer = trellis.Node(keys=keys, name="a", join=node.address)
            comer.tls, comer.name = Identity(keys, "reader"), "reader"
            with pytest.raises(NetworkError, match="not let in: a client's certificate"):
                await comer.start()
            async with trellis.connect(node.address, keys=keys, name="a") as client:  # a node's will do
                await client.publish("t", b"x", confirm=True)

    told(story())


def test_a_client_of_another_version_is_told_so() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            ear = Ear()
            link = await dial(node.address, ear, None, 5)
            link.send(Attach(9))
            await ear.until(lambda e: e.ends)
            assert ear.frames == [Refused(f"version 9: this node speaks {VERSION}; run the same release")]

    told(story())


async def attached(node: trellis.Node) -> tuple[Any, Ear]:
    """A client by hand."""
    ear = Ear()
    link = await dial(node.address, ear, None, 5)
    link.send(Attach(VERSION))
    await ear.until(lambda e: e.frames)
    assert isinstance(ear.frames.pop(), Attached)
    return link, ear


def test_requests_that_cannot_be_are_answered_and_the_link_stays() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            link, ear = await attached(node)
            link.send(Subscribe(1, "t", "fifo"))
            link.send(Subscribe(2, "t", "fifo"))
            link.send(Subscribe(3, "u", "best"))
            link.send(Unsubscribe(4, "v"))
            link.send(Publish(5, "t", Bundle.of([b"x"]), 1, True, "causal"))
            await ear.until(lambda e: len(e.frames) == 5)
            failed = {f.ref: f.error for f in ear.frames if isinstance(f, Failed)}
            assert Done(1) in ear.frames
            assert sorted(failed) == [2, 3, 4, 5]
            assert "subscribed already" in failed[2]
            assert "no such order" in failed[3]
            assert "no subscription to end" in failed[4]
            assert "its order is fifo" in failed[5]
            assert link.reason is None
            link.close("")

    told(story())


def test_a_client_that_does_not_wait_for_answers_is_left_and_costs_nobody_else() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as a, trellis.Node(plaintext=True, join=a.address) as b:
            reader = await a.subscribe("t")
            link, ear = await attached(a)
            for n in range(2 * ASKED_MAX + 1):
                link.send(Subscribe(n, f"t{n}", "fifo"))
            await ear.until(lambda e: e.ends)
            await until(lambda: not a.sessions.open)
            await b.publish("t", b"fine", confirm=True)
            assert [e.payload for e in await take(reader, 1)] == [b"fine"]  # type: ignore[union-attr]
            await until(lambda: set(a.courses) == {"t"})

    told(story())


def test_what_clients_do_not_say_ends_their_link_and_nothing_else() -> None:
    async def story() -> None:
        strange = [
            Hello(VERSION, "c", 5, 0, "127.0.0.1:1", 9),
            Attach(VERSION),
            Attached(0, 0, "c"),
            Done(1),
            Refused("no"),
        ]
        async with pair() as (node, client):
            for frame in strange:
                link, ear = await attached(node)
                link.send(frame)
                await ear.until(lambda e: e.ends)
            link, ear = await attached(node)
            link.transport.write(b"\x00\x00\x00\x05\x00\x00\x00\x00nonse")
            await ear.until(lambda e: e.ends)
            await until(lambda: len(node.sessions.open) == 1)
            await client.publish("t", b"x", confirm=True)

    told(story())


def test_a_node_that_talks_nonsense_to_a_client_loses_it() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            reader = await client.subscribe("t")
            [theirs] = node.sessions.open
            theirs.send(Done(999))
            with pytest.raises(NetworkError, match="an answer to 999: nothing was asked"):
                await reader.next()

    told(story())


def test_both_ends_let_the_system_look_for_a_peer_that_went_without_a_word() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            assert client.link is not None
            for link in (client.link, *node.sessions.open):
                found = link.transport.get_extra_info("socket")
                assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == sessions.SILENCE[0]

    told(story())


def test_unsubscribing_waits_for_what_was_published_and_a_confirmation_comes_all_the_same() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as a, trellis.Node(plaintext=True, join=a.address) as b:
            reader = await b.subscribe("t")
            mine = await a.subscribe("t")
            confirming = asyncio.create_task(a.publish_many("t", [b"x"] * 3000, confirm=True))
            await asyncio.sleep(0)
            await mine.unsubscribe()
            await a.unsubscribe("t")
            await confirming
            assert len(await take(reader, 3000)) == 3000
            assert a.courses == {}
            with pytest.raises(NotSubscribed):
                await a.unsubscribe("t")

    told(story())


class Slowly:
    """A node whose messages are settled when the test says so, and not before."""

    def __init__(self, node: trellis.Node) -> None:
        self.node = node
        self.held: list[Any] = []
        node.courses.settled = lambda *what: self.held.append(what)  # type: ignore[method-assign]

    def settle(self) -> None:
        del self.node.courses.settled
        for what in self.held:
            self.node.courses.settled(*what)


def test_who_gives_up_waiting_for_an_unsubscribe_has_left_all_the_same_once_all_is_settled() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            slowly = Slowly(node)
            await node.publish("t", b"late")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(node.unsubscribe("t"), 0.02)
            assert list(node.courses) == ["t"]
            slowly.settle()
            await until(lambda: not node.courses and not node.busy())

    told(story())


@pytest.mark.parametrize("pause", [0, 0.02], ids=["at once", "a little later"])
def test_a_topic_that_nobody_uses_is_left_though_the_unsubscribing_client_is_gone_before_all_is_settled(
    pause: float,
) -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            slowly = Slowly(node)
            link, ear = await attached(node)
            link.send(Subscribe(1, "t", "causal"))
            link.send(Publish(2, "t", Bundle.of([b"late"]), 1, False))
            await ear.until(lambda e: {Done(1), Done(2)} <= set(e.frames))
            link.send(Unsubscribe(3, "t"))
            await asyncio.sleep(pause)
            link.close("it breaks")
            await until(lambda: not node.sessions.open)
            assert list(node.courses) == ["t"]
            slowly.settle()
            await until(lambda: not node.courses and not node.busy())

    told(story())


def test_requests_that_failed_do_not_count_against_the_topics_that_a_client_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "TOPICS_MAX", 3)

    async def story() -> None:
        async with pair() as (node, client):
            await node.publish("taken", b"x", order="fifo")
            for n in range(5):
                with pytest.raises(LocalProtocolError, match="no such order"):
                    await client.ask(Subscribe(1000 + n, f"s{n}", "best"))
                with pytest.raises(LocalProtocolError, match="no such order"):
                    await client.ask(Publish(2000 + n, f"p{n}", Bundle.of([b"x"]), 1, False, "best"))  # type: ignore[arg-type]
                with pytest.raises(LocalProtocolError, match="its order is fifo"):
                    await client.subscribe("taken")
                with pytest.raises(LocalProtocolError, match="no subscription to end"):
                    await client.unsubscribe(f"u{n}")
            await client.subscribe("a")
            await client.publish("b", b"x")
            await client.subscribe("c")
            with pytest.raises(LocalProtocolError, match="a client has at most 3"):
                await client.subscribe("d")
            [session] = node.sessions.open.values()
            assert sorted(session.topics) == ["a", "b", "c"]

    told(story())


def test_a_client_that_gives_up_waiting_for_an_unsubscribe_has_said_it_all_the_same() -> None:
    async def story() -> None:
        async with pair() as (node, client):
            await client.subscribe("t")
            client.asking = asyncio.Semaphore(0)  # as if it had asked for too much already
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.unsubscribe("t"), 0.02)
            client.asking.release()
            await until(lambda: not node.courses)

    told(story())
