"""Processes over mTLS that talk to two neighbours each: few connections, one killed, and everything heals."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import ring
from stage import Actor, Stage, all_of

import trellis
from trellis import protocols
from trellis.errors import ClusterError, LocalProtocolError
from trellis.live import cluster as clusters
from trellis.live import node, processes
from trellis.live.cluster import Cluster, measured

SIZE = 10
PROGRAM = Path(__file__).parents[1] / "ring_command.py"


@pytest.fixture(autouse=True)
def with_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that know the ring, and this process too."""

    def spawn(arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        with log.open("ab") as lines:
            command = [sys.executable, str(PROGRAM), str(SIZE), "node", "--json", *arguments]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=lines, start_new_session=True
            )
        processes.CHILDREN[process.pid] = process
        return process

    monkeypatch.setattr(clusters, "spawn", spawn)
    for table, value in ((protocols.LAYERED, ring.Ring), (node.OPTIONS, {}), (node.WORDS, None)):
        monkeypatch.setitem(table, "ring", value)  # type: ignore[arg-type]


def settled(test: Callable[[], Any], limit: float = 30.0) -> Any:
    until = time.monotonic() + limit
    while not (found := test()) and time.monotonic() < until:
        time.sleep(0.1)
    assert found
    return found


def links_of(cluster: Cluster) -> list[int]:
    return [int(measured(one)["trellis_links"]) for one in cluster.running]


def connections(pid: int) -> int:
    """Of a process, as the system has them: to other members, and to whoever is attached or asks for numbers."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(entry.readlink().name)
        except OSError:
            continue
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[3] == "01" and f"socket:[{row[9]}]" in inodes for row in rows)


def test_ten_processes_have_few_connections_and_heal_when_one_is_killed(tmp_path: Path) -> None:
    async def main() -> None:
        with Cluster.create(tmp_path, nodes=SIZE, overlay="ring", trace=False) as cluster:
            await asyncio.to_thread(cluster.up)
            assert sorted(one.place for one in cluster.nodes) == list(range(SIZE))
            async with AsyncExitStack() as stack:
                clients = [
                    await stack.enter_async_context(trellis.connect(f"trellis://{one.address}", **cluster.credentials))
                    for one in cluster.nodes
                ]
                readers = [await client.subscribe("news", order="unordered") for client in clients]
                await asyncio.to_thread(settled, lambda: all(2 <= n <= 4 for n in links_of(cluster)))
                await clients[3].publish("news", b"hello", order="unordered")
                for reader in readers:
                    assert (await asyncio.wait_for(reader.next(), 20)).payloads == [b"hello"]
                with pytest.raises(LocalProtocolError, match="it needs a link between every two members"):
                    await clients[0].subscribe("sums", order="total")
                for one in cluster.nodes:
                    assert connections(one.pid) <= 4 + 1 + 1  # links, a client, and a hello perhaps
                dead = next(n for n, one in enumerate(cluster.nodes) if one.place == 5)
                before = [measured(one) for one in cluster.nodes]
                cluster.kill(dead)
                sides = [n for n, one in enumerate(cluster.nodes) if one.place in (4, 6)]

                def suspect() -> bool:
                    now = [measured(cluster.nodes[n])["trellis_suspicions_total"] for n in sides]
                    return all(more > before[n]["trellis_suspicions_total"] for n, more in zip(sides, now, strict=True))

                await asyncio.to_thread(settled, suspect)
                await asyncio.to_thread(cluster.restart, dead)
                await asyncio.to_thread(cluster.await_seen)
                back = trellis.connect(f"trellis://{cluster.nodes[dead].address}", **cluster.credentials)
                reader = await (await stack.enter_async_context(back)).subscribe("news", order="unordered")
                await asyncio.to_thread(settled, lambda: all(2 <= n <= 4 for n in links_of(cluster)))
                await clients[dead - 1].publish("news", b"again", order="unordered")
                assert (await asyncio.wait_for(reader.next(), 20)).payloads == [b"again"]
                report = await clients[dead - 1].status()
                assert report["overlay"] == "ring"
                assert report["links"] <= 4
                assert sum(member["linked"] for member in report["members"]) == report["links"] + 1
                most = [int(measured(one)["trellis_links_most"]) for one in cluster.running]
                assert max(most) < SIZE - 1, most
            assert await asyncio.to_thread(cluster.down) == []

    asyncio.run(main())


def test_a_cluster_keeps_the_kind_of_links_that_it_was_made_with(tmp_path: Path) -> None:
    with pytest.raises(LocalProtocolError, match="overlay 'vcube': no cluster can be linked so"):
        Cluster.create(tmp_path / "a", nodes=2, overlay="vcube")
    with Cluster.create(tmp_path / "b", nodes=2, overlay="ring", plaintext=True, trace=False) as cluster:
        cluster.up()
        lives = [(one.place, one.incarnation) for one in cluster.nodes]
        cluster.down()
        again = Cluster.open(tmp_path / "b")
        assert again.known.overlay == "ring"
        again.up()
        assert [(one.place, one.incarnation - 1) for one in again.nodes] == lives
        again.down()
        again.known.overlay = "mesh"  # as if somebody had written it there
        with pytest.raises(ClusterError, match=r"it is of a cluster with links on demand .*; start it with --overlay"):
            again.up()


def test_causal_order_holds_over_links_on_demand_while_nodes_are_killed_and_stopped(tmp_path: Path) -> None:
    """Gossip among seven, each of whom is told of all the others at its start: as many links as rounds make."""
    topic, each = "news", 150

    async def publish(actors: list[Actor]) -> None:
        await all_of(actor.do("publish", topics=[topic], count=each, rate=100, confirm=True) for actor in actors)

    async def story() -> None:
        async with Stage(tmp_path, tls=True, overlay="damulticast", on_demand=True) as stage:
            *others, victim = everybody = await stage.start(7)
            await stage.subscribe(topic, everybody)
            await publish(everybody)
            await all_of(actor.do("heard", topic=topic, count=7 * each) for actor in everybody)
            await victim.kill()
            await publish(others)
            await all_of(actor.do("heard", topic=topic, count=13 * each) for actor in others)
            place = victim.place
            await victim.start()  # it comes back by what it remembers
            assert (victim.place, victim.incarnation) == (place, 1)
            await victim.do("subscribe", topic=topic)
            going = asyncio.gather(publish(everybody))
            others[2].freeze()
            await asyncio.sleep(4)
            others[2].thaw()
            await going
            await all_of(actor.do("heard", topic=topic, count=20 * each) for actor in others)
            await victim.do("heard", topic=topic, count=7 * each)
            found = await stage.hold_clean()
            assert found.gaps == 0

    asyncio.run(story())
