"""Several topics in one subscription: one order of events, whoever reads it from where."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest
from links import run

import trellis
from trellis.errors import BarrierTooLong, LocalProtocolError, NotSubscribed
from trellis.live import node as host
from trellis.live import sessions, subscription
from trellis.live.gauges import Gauges
from trellis.live.memory import Memory
from trellis.live.transport import BUFFER_MAX
from trellis.words import Message

ORDERS = ["unordered", "fifo", "causal", "total", "total-causal"]
TOPICS = ["a", "b", "c"]


def told(story: Coroutine[Any, Any, None]) -> None:
    run("asyncio", story, limit=20)


async def until(test: Any) -> None:
    async with asyncio.timeout(5):
        while not test():
            await asyncio.sleep(0.002)


@contextlib.asynccontextmanager
async def buses() -> AsyncIterator[tuple[trellis.Node, trellis.Node, trellis.Client]]:
    """Two nodes, and a client of the second."""
    async with (
        trellis.Node(plaintext=True) as other,
        trellis.Node(plaintext=True, join=other.address) as node,
        trellis.connect(node.address, plaintext=True) as client,
    ):
        yield other, node, client


async def take(reader: trellis.Subscription, count: int) -> list[Any]:
    got: list[Any] = []
    async for item in reader:
        got.append(item)
        count -= item.count if isinstance(item, trellis.Gap) else 1
        if count <= 0:
            break
    return got


def watched(node: trellis.Node) -> list[tuple[str, int, int]]:
    """What the machines of a node deliver from now on: topic, source and number of each message."""
    seen: list[tuple[str, int, int]] = []
    deliver = node.courses.delivered

    def delivered(message: Message) -> None:
        id = message.id
        seen.extend((id.topic, id.source, seq) for seq in range(id.seq, id.seq + message.count))
        deliver(message)

    node.courses.delivered = delivered  # type: ignore[method-assign]
    return seen


def names(events: list[Any]) -> list[tuple[str, int, int]]:
    return [(event.topic, event.source, event.seq) for event in events]


@pytest.mark.parametrize("order", ORDERS)
def test_events_of_several_topics_come_in_the_order_in_which_the_node_delivered_them(order: str) -> None:
    async def story() -> None:
        async with buses() as (other, node, client):
            delivered = watched(node)
            here, there = [await bus.subscribe(TOPICS, order=order) for bus in (node, client)]
            in_batches = await client.subscribe(TOPICS, order=order)
            for bus in (other, client):
                for topic in TOPICS:
                    await bus.publish(topic, b"0", confirm=True, order=order)
            [link] = node.members.peers.known
            for n in range(1, 100):
                if n == 20:
                    link.transport.pause_reading()  # then much comes at once
                elif n == 50:
                    link.transport.resume_reading()
                for bus in (other, node, client):
                    for topic in TOPICS if n % 2 else reversed(TOPICS):
                        await bus.publish(topic, b"%d" % n)
            await until(lambda: len(delivered) == 2 * 3 + 9 * 99)
            assert names(await take(here, len(delivered))) == delivered
            assert names(await take(there, len(delivered))) == delivered
            got: list[Any] = []
            async for item in in_batches.batches():
                assert isinstance(item, trellis.Batch)
                got += item.events()
                if len(got) == len(delivered):
                    break
            assert names(got) == delivered

    told(story())


def test_what_a_program_says_in_one_breath_on_several_topics_keeps_its_order_across_topics() -> None:
    """Under `total` each topic by itself does: what was said on one travels together."""

    async def said(order: str) -> list[str]:
        async with buses() as (other, node, client):
            reader = await node.subscribe(TOPICS, order=order)
            for bus in (other, client):
                for topic in TOPICS:
                    await bus.publish(topic, b"", confirm=True, order=order)
            await take(reader, 2 * len(TOPICS))
            for bus in (other, client):
                for _ in range(20):
                    for topic in "acb":
                        await bus.publish(topic, b"")
            return [event.topic for event in await take(reader, 120) if event.source == other.place]

    async def story() -> None:
        assert await said("total-causal") == [*"acb"] * 20
        assert await said("total") != [*"acb"] * 20

    told(story())


def test_a_client_that_was_held_up_gets_what_waited_in_that_order_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "QUEUED_MAX", 2 * BUFFER_MAX)

    async def story() -> None:
        async with buses() as (_, node, client):
            delivered = watched(node)
            reader = await client.subscribe(TOPICS)
            assert client.link is not None
            client.link.transport.pause_reading()
            [session] = node.sessions.open.values()
            while session.reader.messages < 60:
                for topic in TOPICS:
                    await node.publish(topic, b"x" * 100_000, confirm=True)
            report = {found["topic"]: found["reader_messages_waiting"] for found in node.status()["topics"]}
            assert sum(report.values()) == session.reader.messages
            assert min(report.values()) > 10
            [backlog] = [found for found in await Gauges(node).read() if found.name == "trellis_reader_backlog"]
            assert backlog.samples[0].value == session.reader.messages
            client.link.transport.resume_reading()
            assert names(await take(reader, len(delivered))) == delivered
            assert session.reader.messages_of == {}

    told(story())


def test_bounds_are_for_the_whole_of_it_and_gaps_are_told_by_topic_and_in_their_places() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as node:
            reader = await node.subscribe(["a", "b"])
            reader.messages_max = 8
            for _ in range(3):
                await node.publish_many("a", [b"x"] * 4, confirm=True)
                await node.publish_many("b", [b"x"] * 3, confirm=True)
            assert await reader.next() == trellis.Batch([b"x"] * 4, "a", 0, 0, 1)
            await node.publish_many("b", [b"y"] * 2, confirm=True)
            reader.messages_max = 100
            await node.publish("a", b"y", confirm=True)
            await reader.unsubscribe()
            assert [item async for item in reader.batches()] == [
                trellis.Batch([b"x"] * 3, "b", 0, 0, 1),
                trellis.Gap("a", 0, 0, 5, 8, subscription.TOO_SLOW),
                trellis.Gap("b", 0, 0, 4, 6, subscription.TOO_SLOW),
                trellis.Batch([b"y"] * 2, "b", 0, 0, 10),
                trellis.Batch([b"y"], "a", 0, 0, 13),
            ]
            assert node.budget.used == reader.bytes == 0

    told(story())


def test_one_topic_of_it_can_be_ended_and_the_others_go_on() -> None:
    async def story() -> None:
        async with buses() as (other, node, client):
            for bus in (node, client):
                alone = await bus.subscribe("a")
                reader = await bus.subscribe(iter(["a", "b", "a", "c"]))
                assert reader.topics == ("a", "b", "c")
                await other.publish("a", b"1", confirm=True)
                assert len(await take(alone, 1)) == 1
                await reader.unsubscribe("a")  # here, and not for the other subscription of this program
                await other.publish("a", b"2", confirm=True)
                assert len(await take(alone, 1)) == 1
                await bus.unsubscribe("b")  # in all subscriptions of this program
                assert set(node.courses) == {"a", "c"}
                await other.publish("b", b"3", confirm=True)
                await other.publish("c", b"4", confirm=True)
                assert [event.payload for event in await take(reader, 2)] == [b"1", b"4"]
                assert reader.topics == ("c",)
                with pytest.raises(NotSubscribed, match="topic 'a': this subscription has"):
                    await reader.unsubscribe("c", "a")
                assert reader.topics == ("c",)
                await reader.unsubscribe()
                assert [item async for item in reader] == []
                assert set(node.courses) == {"a"}
                await bus.unsubscribe("a")
                assert [item async for item in alone] == []
                assert node.courses == {}
                for topic in TOPICS:
                    await other.unsubscribe(topic)

    told(story())


def test_the_whole_of_it_ends_with_its_block() -> None:
    async def story() -> None:
        async with buses() as (_, node, client):
            for bus in (node, client):
                async with await bus.subscribe(TOPICS) as reader:
                    assert set(node.courses) == set(TOPICS)
                    await node.publish("c", b"last")
                assert reader.topics == ()
                await node.unsubscribe("c")
                assert node.courses == {}

    told(story())


@pytest.mark.parametrize("knows", ["this node", "another node"])
def test_where_one_topic_has_another_order_nothing_is_left_behind(knows: str) -> None:
    async def story() -> None:
        async with buses() as (other, node, client):
            keeper = await (node if knows == "this node" else other).subscribe("b", order="fifo")
            kept = set(node.courses)
            for bus in (node, client):
                before = await bus.subscribe("before")
                trying = asyncio.create_task(bus.subscribe(["before", *TOPICS]))
                await asyncio.sleep(0)
                await node.publish("before", b"early")
                with pytest.raises(LocalProtocolError, match="topic 'b': its order is fifo, not causal"):
                    await trying
                assert set(node.courses) == {*kept, "before"}
                assert len(node.courses["before"].readers) == 1
                assert [event.payload for event in await take(before, 1)] == [b"early"]
                assert bus.budget.used == 0
                again = await bus.subscribe(["c", "a", "b"], order="fifo")  # at once
                await other.publish("before", b"still", confirm=True)
                assert [event.payload for event in await take(before, 1)] == [b"still"]
                await again.unsubscribe()
                await before.unsubscribe()
                await node.unsubscribe("before")
                assert set(node.courses) == kept
            await other.publish("b", b"there", confirm=True, order="fifo")
            assert [event.payload for event in await take(keeper, 1)] == [b"there"]

    told(story())


def test_it_can_be_given_up_while_it_is_made() -> None:
    async def story() -> None:
        async with buses() as (_, node, client):
            for bus in (node, client):
                for turns in range(8):
                    trying = asyncio.create_task(bus.subscribe(TOPICS))
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    trying.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await (await trying).unsubscribe()
                    await until(lambda: not node.courses)
                await (await bus.subscribe(TOPICS)).unsubscribe()
                assert node.courses == {}

    told(story())


def test_a_new_subscription_gets_nothing_of_the_one_before_though_that_still_waits_at_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "QUEUED_MAX", 2 * BUFFER_MAX)

    async def story() -> None:
        async with buses() as (_, node, client):
            came = []
            upon_event = client.upon_event
            client.upon_event = lambda event: (came.append(event.topic), upon_event(event))[1]  # type: ignore[method-assign]
            reader = await client.subscribe(["t", "kept"])
            keeper = await node.subscribe("t")
            assert client.link is not None
            client.link.transport.pause_reading()
            [session] = node.sessions.open.values()
            sent = 0
            while session.reader.messages < 50:
                await node.publish("t", b"old" * 30_000, confirm=True)
                await node.publish("kept", b"%d" % sent, confirm=True)
                sent += 1
            session.reader.messages_max = 0  # what comes now is left out: a gap of the one before
            await node.publish("t", b"old", confirm=True)
            ending = asyncio.create_task(reader.unsubscribe("t"))
            again = asyncio.create_task(client.subscribe("t"))
            await until(lambda: session.asked == 1)
            waits = session.reader.messages_of["t"] - 1  # and the gap
            assert len(node.courses["t"].readers) == 2
            client.link.transport.resume_reading()
            news = await again
            await ending
            await node.publish("t", b"new", confirm=True)
            assert [item.payload for item in await take(news, 1)] == [b"new"]
            assert came.count("t") == sent - waits + 1
            await reader.unsubscribe()
            got = [event.payload async for event in reader if event.topic == "kept"]
            assert got == [b"%d" % n for n in range(sent)]
            del keeper

    told(story())


def test_a_topic_that_fails_ends_the_whole_of_it_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "BARRIER_MAX", 1)

    async def story() -> None:
        net = Memory()
        async with (
            trellis.Node(listen="a:1", plaintext=True, net=net) as a,
            trellis.Node(listen="b:1", join="a:1", plaintext=True, net=net) as b,
            trellis.Node(listen="c:1", join="a:1", plaintext=True, net=net) as c,
        ):
            heard = await c.subscribe(["t", "u"])
            for node in (a, b):
                await node.subscribe("t")
            await asyncio.gather(a.publish("t", b"a"), b.publish("t", b"b"))
            assert {(await heard.next()).source for _ in range(2)} == {a.place, b.place}
            with pytest.raises(BarrierTooLong):
                await c.publish("t", b"c", confirm=True)
            with pytest.raises(BarrierTooLong):
                await heard.next()
            await until(lambda: not c.courses)

    told(story())


def test_topics_are_one_name_or_any_that_can_be_gone_through_and_one_at_least() -> None:
    async def story() -> None:
        async with buses() as (_, node, client):
            for bus in (node, client):
                for topics in ("ab", ["ab"], ("ab", "ab"), {"ab"}, {"ab": 1}, (name for name in ["ab"])):
                    async with await bus.subscribe(topics) as reader:
                        assert reader.topics == ("ab",)
                with pytest.raises(LocalProtocolError, match="no topic: a subscription needs one at least"):
                    await bus.subscribe([])
                for wrong in (["a", ""], ["a", ["b"]], b"ab", None, [None]):
                    with pytest.raises(LocalProtocolError, match="it must be text"):
                        await bus.subscribe(wrong)  # type: ignore[arg-type]
                with pytest.raises(LocalProtocolError, match="no such order"):
                    await bus.subscribe(TOPICS, order="best")
                assert node.courses == {}

    told(story())


def test_a_script_reads_several_topics_in_one_order() -> None:
    with (
        trellis.sync.Node(plaintext=True) as node,
        trellis.sync.connect(f"trellis://{node.address}", plaintext=True) as client,
    ):
        for bus in (node, client):
            with bus.subscribe(["a", "b"], order="fifo", timeout=5) as reader:
                for n in range(3):
                    node.publish("b", b"%d" % n)
                    node.publish("a", b"%d" % n)
                got = [reader.next(timeout=5) for _ in range(6)]
                assert [(e.topic, e.payload) for e in got] == [  # type: ignore[union-attr]
                    (topic, b"%d" % n) for n in range(3) for topic in ("b", "a")
                ]
                reader.unsubscribe("a", timeout=5)
                assert reader.topics == ("b",)
                with pytest.raises(LocalProtocolError, match="no topic"):
                    bus.subscribe(iter(()))
            assert list(reader) == []
