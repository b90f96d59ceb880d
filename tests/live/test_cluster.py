"""A cluster of processes: up, harmed in every way, down, audited."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import trellis
from trellis.audit.verdict import verdict_on
from trellis.errors import ClusterError
from trellis.live import keys
from trellis.live.cluster import FILE, Cluster, Entry
from trellis.live.collect import collect_cluster
from trellis.live.processes import state_of


def life(node: Entry) -> tuple[int, int]:
    return node.place, node.incarnation


def test_nodes_are_killed_stopped_and_paused_and_the_audit_is_clean(tmp_path: Path) -> None:
    async def main() -> None:
        with Cluster.create(tmp_path, nodes=4) as cluster:
            await asyncio.to_thread(cluster.up)
            assert sorted(life(node) for node in cluster.nodes) == [(0, 0), (1, 0), (2, 0), (3, 0)]
            assert cluster.keys is not None
            keys.issue(cluster.keys, "talker")
            mine = tmp_path / "node-talker"
            talker = trellis.Node(join=cluster.nodes[0].address, keys=cluster.keys, name="talker", trace=mine / "trace")
            async with talker:
                await talker.subscribe("news")
                await talker.publish_many("news", [b"one"] * 10, confirm=True)
                before = life(cluster.nodes[2])
                cluster.kill(2)
                await talker.publish_many("news", [b"two"] * 10, confirm=True)
                await asyncio.to_thread(cluster.restart, 2)
                assert life(cluster.nodes[2]) == (before[0], before[1] + 1)
                cluster.pause(1)
                assert [node.state for node in cluster.nodes] == ["running", "stopped", "running", "running"]
                await talker.publish_many("news", [b"three"] * 10, confirm=True)
                cluster.resume(1)
                await asyncio.to_thread(cluster.stop, 3)
                lived = life(cluster.nodes[3])
                await asyncio.to_thread(cluster.restart, 3, False)
                assert cluster.nodes[3].place != lived[0]
                await asyncio.to_thread(cluster.await_seen)
                await talker.publish_many("news", [b"four"] * 10, confirm=True)
            assert await asyncio.to_thread(cluster.down) == []
        verdict = verdict_on(collect_cluster(tmp_path), every=False)
        assert not verdict.broken
        assert verdict.deliveries == 40

    asyncio.run(main())


def test_another_program_finds_the_cluster_and_can_stop_it(tmp_path: Path) -> None:
    with Cluster.create(tmp_path, nodes=2, plaintext=True, trace=False) as cluster:
        cluster.up()
        with pytest.raises(ClusterError, match="it runs already"):
            Cluster.open(tmp_path).up()
        with pytest.raises(ClusterError, match="there is a cluster already"):
            Cluster.create(tmp_path, nodes=2)
        with pytest.raises(ClusterError, match="it is running; stop or kill it first"):
            cluster.restart(0)
        lives = [life(node) for node in cluster.nodes]
        other = Cluster.open(tmp_path)
        assert other.nodes == cluster.nodes
        other.pause(0)
        assert other.down() == []  # who was stopped is woken, and ends in good order
        assert [node.state for node in cluster.nodes] == ["dead", "dead"]
        other.up()
        assert [life(node) for node in other.nodes] == [(place, again + 1) for place, again in lives]
        assert not list(tmp_path.glob("node-*/trace"))
        other.down()


def test_who_does_not_end_in_time_is_killed_and_named(tmp_path: Path) -> None:
    with Cluster.create(tmp_path, nodes=1, plaintext=True) as cluster:
        cluster.up()
        assert os.getsid(cluster.nodes[0].pid) != os.getsid(0)  # what is typed at this terminal does not reach it
        assert [node.name for node in cluster.down(patience=0.0)] == ["node-00"]
        assert cluster.nodes[0].state == "dead"


def test_a_number_that_is_another_processs_now_is_left_alone(tmp_path: Path) -> None:
    cluster = Cluster.create(tmp_path, nodes=1, plaintext=True)
    cluster.nodes[0].pid, cluster.nodes[0].born = os.getpid(), "1"
    assert cluster.nodes[0].state == "dead"
    cluster.kill(0)
    cluster.down()
    assert state_of(-1, "") == state_of(0, "") == "dead"


def test_a_cluster_that_cannot_start_leaves_nothing_running_and_says_why(tmp_path: Path) -> None:
    keys.init(tmp_path / "keys")
    keys.issue(tmp_path / "keys", "node-00")
    cluster = Cluster.create(tmp_path / "cluster", nodes=2, keys=tmp_path / "keys")
    with pytest.raises(ClusterError, match=r"node-01: it did not start: .*node-01.crt: No such file"):
        cluster.up()
    assert [node.state for node in cluster.nodes] == ["dead", "dead"]
    assert "it has ended in good order" in (tmp_path / "cluster" / "node-00" / "log").read_text()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"plaintext": 1, "keys": "", "trace": true, "nodes": []}', "\xff"])
def test_a_file_that_is_no_clusters_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(ClusterError, match=r"cluster.json: not a cluster's"):
        Cluster.open(tmp_path)
