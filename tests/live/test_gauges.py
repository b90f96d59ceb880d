"""The Prometheus endpoint: read over HTTP while messages flow."""

from __future__ import annotations

import asyncio
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families

import trellis
from trellis.errors import NetworkError
from trellis.live import gauges
from trellis.live.gauges import Endpoint, show
from trellis.live.subscription import Gap

Numbers = dict[str, float]
WAIT_MAX = 20.0  # seconds


def fetch(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return answer.read().decode()


async def scrape(endpoint: Endpoint) -> Numbers:
    """From another thread, as a stranger would."""
    text = await asyncio.to_thread(fetch, endpoint.address)
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {f"{s.name}{list(s.labels.values())}" if s.labels else s.name: s.value for s in samples}


def test_counters_and_gauges_follow_what_flows() -> None:
    async def main() -> None:
        async with trellis.Node(plaintext=True) as a, trellis.Node(join=a.address, plaintext=True) as b:
            at_a, at_b = await show(a, "127.0.0.1:0"), await show(b, "127.0.0.1:0")
            at_a.begin()
            at_b.begin()
            reader = await b.subscribe("news")
            flowing = asyncio.Event()

            async def publish() -> None:
                for n in range(200):
                    await a.publish_many("news", [b"%d" % n] * 5, confirm=True)
                    flowing.set()

            publishing = asyncio.create_task(publish())
            await flowing.wait()
            during = await scrape(at_a)
            await publishing
            after, there = await scrape(at_a), await scrape(at_b)
            assert 5 <= during["trellis_published_total"] <= 1000
            assert after["trellis_published_total"] == after["trellis_settled_total"] == 1000
            assert there["trellis_delivered_total"] == 1000
            assert there["trellis_reader_backlog"] == 1000
            assert after["trellis_members"] == there["trellis_members"] == 2
            assert after["trellis_members_reached"] == there["trellis_members_reached"] == 1
            assert after["trellis_restores_total"] == 1
            assert after["trellis_waves_under_way"] == after["trellis_messages_unsettled"] == 0
            assert after["trellis_queued_bytes['1']"] == 0
            assert after["trellis_topics"] == 1
            seen = 0
            async for batch in reader.batches():
                assert not isinstance(batch, Gap)
                seen += len(batch.payloads)
                if seen == 1000:
                    break
            assert (await scrape(at_b))["trellis_reader_backlog"] == 0
            await at_a.close()
            await at_b.close()

    asyncio.run(main())


def test_timestamps_show_as_they_are_and_as_they_were_sent() -> None:
    async def main() -> None:
        async with trellis.Node(plaintext=True) as a, trellis.Node(join=a.address, plaintext=True) as b:
            endpoint = await show(a, "127.0.0.1:0")
            endpoint.begin()
            topics = [f"t{n:02}" for n in range(12)]
            await a.subscribe(topics, order="total")
            await b.subscribe(topics, order="total")
            await a.publish("news", b"x", confirm=True)
            before = await scrape(endpoint)
            for _ in range(10):
                for topic in topics:
                    await a.publish(topic, b"x", confirm=True)
            after = await scrape(endpoint)
            plain, sent = (
                after[f"trellis_stamp_bytes_total['{form}']"] - before[f"trellis_stamp_bytes_total['{form}']"]
                for form in ("plain", "sent")
            )
            assert plain > 120 * 12 * 6  # each has twelve entries
            assert 0 < sent < plain / 4
            await endpoint.close()

    asyncio.run(main())


def test_a_slow_reader_shows_as_gaps_and_a_lost_link_as_a_suspicion() -> None:
    async def main() -> None:
        async with trellis.Node(plaintext=True) as a:
            b = trellis.Node(join=a.address, plaintext=True)
            await b.start()
            endpoint = await show(a, "127.0.0.1:0")
            endpoint.begin()
            reader = await a.subscribe("news")
            reader.messages_max = 10
            for _ in range(5):
                await b.publish_many("news", [b"x"] * 10, confirm=True)
            before = await scrape(endpoint)
            assert before["trellis_gaps_total['slow reader']"] == 40
            assert before["trellis_suspicions_total"] == 0
            peer = a.members.peers.wanted[b.place]
            assert peer.link is not None
            peer.link.transport.abort()
            while (await scrape(endpoint))["trellis_restores_total"] < 2:
                await asyncio.sleep(0.01)
            assert (await scrape(endpoint))["trellis_suspicions_total"] == 1
            await b.stop()
            while (await scrape(endpoint))["trellis_members"] > 1:
                await asyncio.sleep(0.01)
            assert (await scrape(endpoint))["trellis_suspicions_total"] == 1  # it said goodbye
            await endpoint.close()

    asyncio.run(main())


def test_garbage_on_the_listener_is_counted() -> None:
    async def main() -> None:
        async with trellis.Node(plaintext=True) as node:
            endpoint = await show(node, "127.0.0.1:0")
            endpoint.begin()
            before = await scrape(endpoint)
            reading, writing = await asyncio.open_connection(*node.address.split(":"))
            writing.write(b"\xff" * 100)
            assert await reading.read() == b""
            writing.close()
            after = await scrape(endpoint)
            assert after["trellis_frames_refused_total"] == before["trellis_frames_refused_total"] + 1
            grown = "trellis_links_closed_total['stranger']"
            assert after[grown] == before[grown] + 1
            await endpoint.close()

    asyncio.run(main())


def test_an_asker_that_says_nothing_holds_up_neither_the_node_nor_the_next_asker_for_long() -> None:
    async def main() -> None:
        async with trellis.Node(plaintext=True) as node:
            endpoint = await show(node, "127.0.0.1:0")
            endpoint.begin()
            host, port = endpoint.address.split(":")
            with socket.create_connection((host, int(port))):
                await node.publish("news", b"x", confirm=True)
                assert (await scrape(endpoint))["trellis_published_total"] == 1
            await endpoint.close()

    asyncio.run(main())


@asynccontextmanager
async def trickling(endpoint: Endpoint) -> AsyncIterator[asyncio.Task[None]]:
    """An asker of one byte after the other, until it is hung up on; far within the patience for a single read."""
    _, writing = await asyncio.open_connection(*endpoint.address.split(":"))
    writing.write(b"GET /metrics HTTP/1.0\r\nX: ")

    async def trickle() -> None:
        with suppress(OSError):
            while True:
                writing.write(b"x")
                await writing.drain()
                await asyncio.sleep(0.05)

    task = asyncio.create_task(trickle())
    try:
        await asyncio.sleep(0.5)  # so that it is its turn
        yield task
    finally:
        task.cancel()
        writing.close()


def test_an_asker_that_trickles_is_left_and_the_next_one_is_answered() -> None:
    async def main() -> None:
        async with trellis.Node(plaintext=True) as node:
            endpoint = await show(node, "127.0.0.1:0")
            endpoint.begin()
            async with trickling(endpoint) as asker:
                assert (await scrape(endpoint))["trellis_members"] == 1
                await asyncio.wait_for(asker, WAIT_MAX)
            await endpoint.close()

    asyncio.run(main())


def test_an_asker_that_trickles_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauges, "REQUEST_MAX", 3600.0)

    async def main() -> None:
        async with trellis.Node(plaintext=True) as node:
            endpoint = await show(node, "127.0.0.1:0")
            endpoint.begin()
            async with trickling(endpoint):
                closing = asyncio.create_task(endpoint.close())
                done, _ = await asyncio.wait([closing], timeout=WAIT_MAX)
                assert done

    asyncio.run(main())


def test_an_address_in_use_is_refused_and_a_closed_endpoint_lets_go_of_it() -> None:
    async def main() -> None:
        async with trellis.Node(plaintext=True) as node:
            endpoint = await show(node, "127.0.0.1:0")
            endpoint.begin()
            with pytest.raises(NetworkError, match=r"metrics at .*: cannot be listened at"):
                await show(node, endpoint.address)
            with pytest.raises(NetworkError, match="it must be host:port"):
                await show(node, "9100")
            await endpoint.close()
            with pytest.raises(urllib.error.URLError):
                await asyncio.to_thread(fetch, endpoint.address)

    asyncio.run(main())
