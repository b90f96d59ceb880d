"""Topics that include each other: readers at every level get what is theirs, once, wherever they read from."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from links import run
from stage import Actor, Failed, Stage, all_of

import trellis
from trellis.errors import LocalProtocolError
from trellis.live import subscription

BUSES = ["other", "node", "client"]


def told(story: Coroutine[Any, Any, None]) -> None:
    run("asyncio", story, limit=20)


@contextlib.asynccontextmanager
async def buses() -> AsyncIterator[dict[str, Any]]:
    """Two nodes, and a client of the second."""
    async with (
        trellis.Node(plaintext=True) as other,
        trellis.Node(plaintext=True, join=other.address) as node,
        trellis.connect(node.address, plaintext=True) as client,
    ):
        yield {"other": other, "node": node, "client": client}


async def take(reader: trellis.Subscription, count: int) -> list[tuple[str, bytes]]:
    got: list[tuple[str, bytes]] = []
    async for event in reader:
        assert isinstance(event, trellis.Event)
        got.append((event.topic, event.payload))
        if len(got) == count:
            break
    return got


def waits(reader: trellis.Subscription) -> bool:
    return bool(reader.waiting or reader.events or reader.gaps)


EVERY_WAY = [(reads, writes, order) for reads in BUSES for writes in BUSES for order in ("unordered", "fifo", "causal")]
BY_ROUNDS = [("node", "other", "damulticast/fifo"), ("client", "node", "damulticast/unordered")]


@pytest.mark.parametrize(("reads", "writes", "order"), EVERY_WAY + BY_ROUNDS)
def test_whoever_subscribes_to_a_topic_gets_what_is_published_below_it(reads: str, writes: str, order: str) -> None:
    async def story() -> None:
        async with buses() as all_of_them:
            reader = await all_of_them[reads].subscribe(".news", order=order)
            writer = all_of_them[writes]
            for topic in (".news.science.space", ".news", ".newspaper", ".", "news", ".news.x"):
                await writer.publish(topic, topic.encode(), confirm=True, order=order)
            expected = [".news.science.space", ".news", ".news.x"]
            assert sorted(await take(reader, 3)) == sorted((topic, topic.encode()) for topic in expected)
            assert not waits(reader)

    told(story())


@pytest.mark.parametrize("reads", ["node", "client"])
def test_readers_at_different_levels_each_get_what_is_theirs_once(reads: str) -> None:
    async def story() -> None:
        async with buses() as all_of_them:
            bus = all_of_them[reads]
            root = await bus.subscribe(".")
            middle = await bus.subscribe([".a", ".a.b"])  # both are for it
            leaf = await bus.subscribe(".a.b")
            beside = await bus.subscribe(".c")
            for topic in (".a.b", ".a", ".a.b.c", ".c", ".d"):
                await all_of_them["other"].publish(topic, b"", confirm=True)
            assert [t for t, _ in await take(root, 5)] == [".a.b", ".a", ".a.b.c", ".c", ".d"]
            assert [t for t, _ in await take(middle, 3)] == [".a.b", ".a", ".a.b.c"]
            assert [t for t, _ in await take(leaf, 2)] == [".a.b", ".a.b.c"]
            assert [t for t, _ in await take(beside, 1)] == [".c"]
            assert not any(map(waits, (root, middle, leaf, beside)))

            await leaf.unsubscribe()  # the others read on
            await root.unsubscribe()
            for topic in (".a.b", ".d"):
                await all_of_them["other"].publish(topic, b"", confirm=True)
            assert await take(middle, 1) == [(".a.b", b"")]
            assert not any(map(waits, (root, middle, leaf)))

    told(story())


def test_a_slow_reader_is_told_of_gaps_below_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "BYTES_MAX", 1000)

    async def story() -> None:
        async with buses() as all_of_them:
            reader = await all_of_them["node"].subscribe(".a")
            await all_of_them["other"].publish(".a.b", b"x" * 5000, confirm=True)
            async for item in reader:
                assert isinstance(item, trellis.Gap)
                assert (item.topic, item.count) == (".a.b", 1)
                break

    told(story())


@pytest.mark.parametrize("bus", ["node", "client"])
def test_topics_that_include_each_other_share_one_order(bus: str) -> None:
    async def story() -> None:
        async with buses() as all_of_them:
            here = all_of_them[bus]
            await here.subscribe(".a.b", order="fifo")
            for topic in (".a", ".a.b.c", "."):
                with pytest.raises(LocalProtocolError, match=r"'\.a\.b' has fifo order, not causal; topics that incl"):
                    await here.subscribe(topic)
            await here.subscribe(".a.c")  # beside it
            with pytest.raises(LocalProtocolError, match=r"topic '\.a': its order is fifo, not unordered"):
                await all_of_them["other"].subscribe(".a", order="unordered")  # told so by the others
            with pytest.raises(LocalProtocolError, match="has fifo order"):
                await here.publish(".a.b.d", b"", order="unordered")

    told(story())


@pytest.mark.parametrize("order", ["total", "total-causal"])
@pytest.mark.parametrize("bus", BUSES)
def test_an_order_that_includes_no_subtopics_is_refused_by_name(bus: str, order: str) -> None:
    async def story() -> None:
        async with buses() as all_of_them:
            with pytest.raises(LocalProtocolError, match=rf"topic '\.a': in {order} order a subscription includes no"):
                await all_of_them[bus].subscribe(".a", order=order)
            with pytest.raises(LocalProtocolError, match="includes no subtopics; use unordered, fifo, causal"):
                await all_of_them[bus].publish(".a", b"", order=order)

    told(story())


@pytest.mark.parametrize("topic", ["..", ".a.", ".a..b"])
def test_a_name_with_an_empty_part_is_refused(topic: str) -> None:
    async def story() -> None:
        async with buses() as all_of_them:
            for bus in all_of_them.values():
                with pytest.raises(LocalProtocolError, match=r"a part of it is empty; write \.news\.science"):
                    await bus.subscribe(topic)
                with pytest.raises(LocalProtocolError, match="a part of it is empty"):
                    await bus.publish(topic, b"")

    told(story())


def test_scripts_read_trees_too() -> None:
    with (
        trellis.sync.Node(plaintext=True) as node,
        trellis.sync.connect(node.address, plaintext=True) as client,
        client.subscribe(".") as reader,
    ):
        node.publish(".a.b", b"1", confirm=True)
        event = next(iter(reader))
        assert (event.topic, event.payload) == (".a.b", b"1")


# Twelve processes on three levels

SAID = {".news": 40, ".news.science": 40, ".news.science.space": 40, ".news.sport": 40, ".jobs": 40}


def below(topic: str, said: dict[str, int]) -> dict[str, int]:
    return {t: n for t, n in said.items() if topic == "." or t == topic or t.startswith(f"{topic}.")}


async def hears(actor: Actor, topic: str, expected: dict[str, int]) -> None:
    for _ in range(300):
        heard = await actor.do("heard_on", topic=topic)
        if heard == expected:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{actor.name} on {topic}: {heard}, not {expected}")


@pytest.mark.parametrize("order", ["causal", "damulticast/causal"])
def test_twelve_processes_get_exactly_what_is_below_their_topics(tmp_path: Path, order: str) -> None:
    levels = [".", ".news", ".news", ".news.science", ".news.science.space", ".news.sport", ".jobs"]

    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            actors = await stage.start(12)
            readers, writers = list(zip(actors, levels, strict=False)), actors[len(levels) :]
            await all_of(actor.do("subscribe", topic=topic, order=order) for actor, topic in readers)

            async def speak(said: dict[str, int]) -> None:
                """Everybody else speaks: each on some topics, that all are spoken on by two."""
                topics = list(said)
                await all_of(
                    writer.do(
                        "publish",
                        topics=[topics[n % len(topics)]],
                        count=said[topics[n % len(topics)]] // 2,
                        rate=200,
                        order=order,
                    )
                    for n, writer in enumerate(writers * 2)
                    if n < 2 * len(topics)
                )

            await speak(SAID)
            await all_of(hears(actor, topic, below(topic, SAID)) for actor, topic in readers)

            # One comes later, and gets nothing older; one leaves; and somebody begins a topic of which nobody knew.
            late, gone = writers[0], readers[1][0]
            await late.do("subscribe", topic=".news.science", order=order)
            await gone.do("unsubscribe", topic=".news")
            space = [".news.science.space.mars"]
            await writers[1].do("publish", topics=space, count=30, rate=300, order=order, confirm=True)
            mars = {".news.science.space.mars": 30}
            both = {**SAID, **mars}
            stayed = [(actor, topic) for actor, topic in readers if actor is not gone]
            await all_of(hears(actor, topic, below(topic, both)) for actor, topic in stayed)
            await hears(late, ".news.science", mars)
            if order == "causal":  # there every node hears of every topic that begins
                with pytest.raises(Failed, match=r"(has|is) causal( order)?, not fifo"):
                    await gone.do("subscribe", topic=".news.science.space.mars.rovers", order="fifo")

            found = await stage.hold_clean()
            assert found.pairs_checked > 12 * 40
            assert found.gaps == 0

    asyncio.run(story())
