"""`trellis audit` on the directory of a cluster: it collects what the nodes wrote, then judges topic by topic."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trellis.cli import discussion
from trellis.live.cluster import Cluster
from trellis.live.record import Journal
from trellis.words import MessageId

SPARK = ("--spark", "--master", "local[2]")


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Three nodes; node 2 is killed and comes back. Topics f and c see the same: only c has promised causal order."""
    journals = {node: Journal(tmp_path / f"node-{node:02}" / "trace", node, 0, 0) for node in range(3)}
    at = 0

    def write(node: int, kind: str, topic: str, source: int, seq: int, batch: int = 0) -> None:
        nonlocal at
        at += 1
        journals[node].happened(kind, at, MessageId((source, 0), topic, seq), batch)
        journals[node].flush()

    for topic, ordering in (("f", "fifo"), ("c", "causal")):
        for node, journal in journals.items():
            journal.ordered(topic, ordering)
            write(node, "confirm", topic, node, 0)
        write(0, "publish", topic, 0, 1, 2)
        write(0, "deliver", topic, 0, 1, 2)
        write(1, "deliver", topic, 0, 1, 2)
        write(1, "publish", topic, 1, 1)
        write(1, "deliver", topic, 1, 1)
        write(0, "deliver", topic, 1, 1)
        write(2, "deliver", topic, 1, 1)
        write(2, "deliver", topic, 0, 1, 2)
    os.close(journals[2].segment)
    os.close(journals[2].lock)
    write(0, "publish", "c", 0, 3)
    write(0, "deliver", "c", 0, 3)
    write(1, "gap", "c", 0, 3, 1)
    journals[2] = Journal(tmp_path / "node-02" / "trace", 2, 1, at)
    write(2, "confirm", "f", 2, 0)
    write(2, "deliver", "f", 0, 2)  # again, as a new life may
    for journal in journals.values():
        journal.close(at)
    return tmp_path


def test_each_topic_is_judged_by_its_own_order_with_and_without_spark(spark, trellis, cluster) -> None:
    plain = trellis("audit", cluster, "--json")
    found = json.loads(plain.out)
    assert plain.code == 1
    assert found["directory"] == str(cluster / "run")
    assert found["violations"] == {
        **dict.fromkeys(("creation", "duplicate", "uninvited", "fifo"), 0),
        "causal": 2,
        "lost": 0,
        "stuck": 0,
    }
    assert [w["message"] for w in found["witnesses"]] == ["0:1@c", "0:2@c"]
    assert found["gaps"] == 1
    assert trellis("audit", cluster, "--json", *SPARK) == plain
    every = trellis("audit", cluster / "run", "--all", "--json")
    assert json.loads(every.out)["violations"]["causal"] == 4
    assert trellis("audit", cluster / "run", "--all", "--json", *SPARK) == every


def test_it_is_told_in_words_and_the_story_goes_on_from_there(trellis, cluster) -> None:
    told = trellis("audit", cluster)
    assert "under 'several'" in told.out
    assert "1 times an application was told that a message will not come to it" in told.out
    assert "before 0:1@c, which happened before it" in told.out
    assert "gap: its application was told" in trellis("story", cluster / "run", "0:3@c").out


def test_what_cannot_be_collected_is_one_line(refused, cluster) -> None:
    (part,) = (cluster / "node-01" / "trace").glob("*.parquet")
    raw = part.read_bytes()
    part.write_bytes(raw[: len(raw) // 2])
    assert "-0-000000.parquet: not a whole Parquet file (" in refused("audit", cluster)
    assert "-0-000000.parquet: not a whole Parquet file (" in refused("audit", cluster, *SPARK)
    part.unlink()
    part.with_suffix(".rows").write_bytes(b"something else")
    assert "it is not ours" in refused("audit", cluster)
    part.with_suffix(".rows").unlink()
    part.write_bytes(raw)
    running = Journal(cluster / "node-01" / "trace", 1, 1, 1000)
    assert "node-01/trace: its node is still running; stop it first" in refused("audit", cluster)
    running.close(1001)
    (cluster / "run").mkdir()
    (cluster / "run" / "notes.txt").write_text("mine")
    assert "not empty and not a run" in refused("audit", cluster)


def test_a_live_run_is_not_drawn_and_its_orders_must_be_known(refused, trellis, cluster) -> None:
    trellis("audit", cluster)
    about = json.loads((cluster / "run" / "run.json").read_text())
    for orders, complaint in ((["c"], "expected an ordering for each topic"), ({"c": "odd"}, "says ordering 'odd'")):
        (cluster / "run" / "run.json").write_text(json.dumps({**about, "orders": orders}))
        assert complaint in refused("audit", cluster / "run")
    (cluster / "run" / "run.json").write_text(json.dumps(about))
    refused("page", cluster / "run")


def test_the_demonstration_says_so_when_a_promise_was_broken(cluster: Path, capsys) -> None:
    assert not discussion.judge(cluster, False, 2, "a discussion")
    said = capsys.readouterr().out
    assert ": BROKEN: causal\n" in said
    assert "all promises kept" not in said


def test_a_run_that_came_to_rest_is_judged_whole_again_by_the_command(trellis, capsys, tmp_path: Path) -> None:
    """As after the demo: one node was killed, all the others had their last words confirmed."""
    assert discussion.hold(tmp_path / "live", on_spark=False, nodes=3, seconds=1.0)
    capsys.readouterr()
    again = trellis("audit", tmp_path / "live", "--json")
    assert (again.code, json.loads(again.out)["not_judged"]) == (0, [])
    told = trellis("audit", tmp_path / "live").out
    assert "not judged" not in told
    (killed,) = (node for node in Cluster.open(tmp_path / "live").nodes if node.name == "node-02")
    assert f"node-02 (node {killed.place}): what it had not settled" in told
    Cluster.open(tmp_path / "live").start([], None)
    assert not Cluster.open(tmp_path / "live").known.at_rest
