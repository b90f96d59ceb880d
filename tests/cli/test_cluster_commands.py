"""trellis cluster, pub, sub and status as real processes, and what they refuse."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import COMMAND, ENDED_MAX, call, node, start

from trellis.live import keys
from trellis.live.cluster import Cluster

LINES = [f"line {n}" for n in range(3000)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Four nodes that run, over mTLS."""
    directory = tmp_path_factory.mktemp("up") / "cluster"
    up = call("cluster", "up", "--nodes", 4, "--dir", directory)
    assert up.returncode == 0, up.stderr
    assert "4 nodes see each other over mTLS" in up.stdout
    yield directory
    Cluster.open(directory).down()


class Reader:
    """`trellis sub`, once its subscription stands."""

    def __init__(self, *arguments: object) -> None:
        self.process = start("sub", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line.startswith("subscribed to "), line

    def end(self, number: int | None = None) -> tuple[int, list[str], str]:
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=ENDED_MAX)
        return self.process.returncode, out.splitlines(), err


def test_lines_go_in_at_one_end_and_come_out_at_the_other(cluster: Path) -> None:
    reader = Reader("lines", "--dir", cluster, "--count", len(LINES))
    pub = call("pub", "lines", "--dir", cluster, "--confirm", given="\n".join(LINES))
    assert (pub.returncode, pub.stdout, pub.stderr) == (0, "3,000 messages confirmed on 'lines'\n", "")
    assert reader.end() == (0, LINES, "")


def test_messages_go_from_one_node_of_a_directory_to_another(cluster: Path) -> None:
    reader = Reader("across", "--dir", cluster, "--at", "node-02", "--count", 1, "--json")
    assert call("pub", "across", "--dir", cluster, "--at", "node-01", given="hello").returncode == 0
    code, [line], _ = reader.end()
    assert (code, json.loads(line)["source"]) == (0, Cluster.open(cluster).nodes[1].place)
    unknown = call("pub", "across", "--dir", cluster, "--at", "node-09")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "--at node-09" in unknown.stderr
    assert "has node-00 to node-03" in unknown.stderr


def test_json_has_source_number_and_payload_and_ctrl_c_ends_a_reader_well(cluster: Path) -> None:
    address = Cluster.open(cluster).nodes[1].address
    door = {**os.environ, "TRELLIS_NODE": address, "TRELLIS_KEYS": str(cluster / "keys"), "TRELLIS_NAME": "client"}
    reader = Reader("raw", "--dir", cluster, "--json", "--order", "fifo")
    sent = b"tab\there\n\nend\xff\n"
    pub = subprocess.run(
        [*COMMAND, "pub", "raw", "--order", "fifo"], input=sent, capture_output=True, env=door, timeout=60
    )
    assert (pub.returncode, pub.stdout) == (0, b"3 messages accepted on 'raw'\n"), pub.stderr
    assert reader.process.stdout is not None
    found = [json.loads(reader.process.stdout.readline()) for _ in range(3)]
    assert [event.get("payload") for event in found] == ["tab\there", "", None]
    assert found[2]["payload_base64"] == "ZW5k/w=="
    assert [event["seq"] for event in found] == [1, 2, 3]
    assert {event["topic"] for event in found} == {"raw"}
    assert reader.end(signal.SIGINT) == (0, [], "")


def test_several_topics_come_out_in_one_order_each_line_with_its_topic(cluster: Path) -> None:
    topics = ("orders", "payments", "orders")
    plain = Reader(*topics, "--dir", cluster, "--count", 30, "--order", "fifo")
    as_json = Reader(*topics, "--dir", cluster, "--count", 30, "--order", "fifo", "--json")
    refused = call("sub", "fresh", "orders", "--dir", cluster)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "topic 'orders': its order is fifo, not causal" in refused.stderr
    for topic, count in (("orders", 10), ("payments", 15), ("orders", 5)):
        given = "".join(f"{topic} {n}\n" for n in range(count))
        sent = call("pub", topic, "--dir", cluster, "--order", "fifo", "--confirm", given=given)
        assert sent.returncode == 0, sent.stderr
    code, lines, _ = plain.end()
    assert code == 0
    assert [line.partition("\t")[0] for line in lines] == ["orders"] * 10 + ["payments"] * 15 + ["orders"] * 5
    assert all(line.partition("\t")[2].startswith(line.partition("\t")[0]) for line in lines)
    code, found, _ = as_json.end()
    assert code == 0
    assert [f"{event['topic']}\t{event['payload']}" for event in map(json.loads, found)] == lines


def test_a_topic_of_the_tree_is_read_with_all_below_it(cluster: Path) -> None:
    news, all_of_it = (Reader(topic, "--dir", cluster, "--count", n) for topic, n in ((".wire.news", 2), (".wire", 3)))
    for topic in (".wire.news.sport", ".wire.jobs", ".wire.news", ".elsewhere", "wire"):
        assert call("pub", topic, "--dir", cluster, "--at", "node-01", "--confirm", given=topic).returncode == 0
    lines = [f"{topic}\t{topic}" for topic in (".wire.news.sport", ".wire.jobs", ".wire.news")]
    assert news.end()[:2] == (0, [lines[0], lines[2]])
    assert all_of_it.end()[:2] == (0, lines)


@pytest.mark.parametrize(
    ("topic", "order", "says"),
    [
        (".wire..news", "causal", "a part of it is empty"),
        ("..", "fifo", "a part of it is empty"),
        (".wire", "total", "in total order a subscription includes no subtopics; use unordered, fifo, causal"),
    ],
)
@pytest.mark.parametrize("command", ["sub", "pub"])
def test_what_is_no_topic_of_the_tree_is_one_line(
    command: str, topic: str, order: str, says: str, cluster: Path
) -> None:
    refused = call(command, topic, "--order", order, "--dir", cluster, given="x")
    assert refused.returncode == 2
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_status_shows_members_topics_and_queues(cluster: Path) -> None:
    reader = Reader("shown", "--dir", cluster)
    found = json.loads(call("status", "--dir", cluster, "--json").stdout)
    assert [member["reached"] for member in found["members"]] == [True] * 4
    assert {member["name"] for member in found["members"]} == {f"node-0{n}" for n in range(4)}
    (topic,) = [topic for topic in found["topics"] if topic["topic"] == "shown"]
    assert (topic["order"], topic["subscribers"]) == ("causal", [found["place"]])
    shown = call("status", "--dir", cluster).stdout
    assert "members" in shown
    assert "shown" in shown
    reader.end(signal.SIGTERM)


@pytest.mark.parametrize(
    ("place", "why"),
    [(0, "it is this node's own"), (3, "it is alive; end it with --leave"), (77, "no member stands there")],
)
def test_who_is_there_or_never_was_cannot_be_forgotten(place: int, why: str, cluster: Path) -> None:
    refused = call("forget", place, "--dir", cluster)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"trellis: place {place}: {why}")
    assert refused.stderr.count("\n") == 1


def test_another_order_is_refused_and_a_node_that_dies_ends_its_readers_with_one_line(cluster: Path) -> None:
    reader = Reader("mixed", "--dir", cluster)
    refused = call("sub", "mixed", "--dir", cluster, "--order", "fifo")
    assert refused.returncode == 2
    assert "topic 'mixed': its order is causal, not fifo" in refused.stderr
    opened = Cluster.open(cluster)
    opened.kill(0)
    code, _, err = reader.end()
    assert code == 2
    assert err.startswith("trellis: ")
    assert err.count("\n") == 1
    status = call("cluster", "status", "--dir", cluster, "--json")
    assert status.returncode == 1
    assert [node["state"] for node in json.loads(status.stdout)["nodes"]] == ["dead", "running", "running", "running"]
    assert call("pub", "mixed", "--dir", cluster, "--confirm", given="still here\n").returncode == 0
    opened.restart(0)
    opened.await_seen()
    shown = call("cluster", "status", "--dir", cluster)
    assert shown.returncode == 0
    assert "node-03" in shown.stdout


def test_up_starts_who_is_dead_leaves_who_runs_alone_and_lets_a_cluster_grow(tmp_path: Path) -> None:
    there = ("--plaintext", "--dir", tmp_path / "c")
    assert call("cluster", "up", "--nodes", 2, *there).returncode == 0
    before = Cluster.open(tmp_path / "c")
    try:
        before.kill(0)
        again = call("cluster", "up", *there)  # as many as there are
        assert (again.returncode, again.stderr) == (0, "")
        after = Cluster.open(tmp_path / "c")
        assert again.stdout.splitlines()[0] == f"node-00 was dead and runs now, at {after.nodes[0].address}"
        assert "2 nodes see each other in plaintext" in again.stdout
        assert [node.incarnation for node in after.nodes] == [1, 0]
        assert after.nodes[1].pid == before.nodes[1].pid
        more = call("cluster", "up", "--nodes", 3, *there)
        assert more.stdout.splitlines()[0].startswith("node-02 was new and runs now, at ")
        assert "3 nodes see each other" in more.stdout
        refused = call("cluster", "up", *there)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "it runs already" in refused.stderr
        fewer = call("cluster", "up", "--nodes", 2, *there)
        assert (fewer.returncode, fewer.stdout) == (2, "")
        assert "holds a cluster of 3, which can only grow" in fewer.stderr
    finally:
        Cluster.open(tmp_path / "c").down()


def test_a_cluster_goes_down_in_good_order_and_its_audit_is_clean(cluster: Path) -> None:
    again = call("cluster", "up", "--nodes", 4, "--dir", cluster)
    assert (again.returncode, again.stdout) == (2, "")
    assert "it runs already" in again.stderr
    down = call("cluster", "down", "--dir", cluster)
    assert (down.returncode, down.stderr) == (0, "")
    assert "4 of 4 nodes ended in good order" in down.stdout
    assert call("cluster", "down", "--dir", cluster).stdout.startswith("none was running\n")
    shown = call("cluster", "status", "--dir", cluster)
    assert shown.returncode == 1
    assert shown.stdout.splitlines()[1].split() == ["node-00", "stopped", "-", "0", "-", "-", "-", "-"]
    audit = call("audit", cluster, "--json")
    assert audit.returncode == 0, audit.stdout
    found = json.loads(audit.stdout)
    assert found["deliveries"] >= len(LINES) + 3
    assert (found["not_judged"], found["nothing_to_judge"]) == ([], False)
    told = call("audit", cluster).stdout
    assert "killed     node-00 (node 0): what it had not settled by then is owed to nobody\n" in told


def test_down_and_status_tell_the_dead_from_the_stopped_and_cut_no_address(tmp_path: Path) -> None:
    cluster = Cluster.create(tmp_path, nodes=2, plaintext=True)
    shown = call("cluster", "status", "--dir", tmp_path)
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["name", "state", "pid", "place", "reached", "links", "delivered", "address"],
        ["node-00", "new", "-", "-", "-", "-", "-", "-"],
        ["node-01", "new", "-", "-", "-", "-", "-", "-"],
    ]
    cluster.up()
    try:
        cluster.kill(1)
        narrow = {**os.environ, "COLUMNS": "20"}
        shown = call("cluster", "status", "--dir", tmp_path, env=narrow)
        assert cluster.nodes[0].address in shown.stdout
        assert cluster.nodes[0].address in call("status", "--dir", tmp_path, env=narrow).stdout
        assert shown.stdout.splitlines()[2].split()[:3] == ["node-01", "dead", "-"]
    finally:
        down = call("cluster", "down", "--dir", tmp_path)
    log = tmp_path / "node-01" / "log"
    assert down.stdout.splitlines()[:2] == [
        f"node-01 was dead already: killed, or it failed; see {log}",
        "1 of 2 nodes ended in good order",
    ]
    states = [
        node["state"] for node in json.loads(call("cluster", "status", "--dir", tmp_path, "--json").stdout)["nodes"]
    ]
    assert states == ["stopped", "dead"]
    audit = call("audit", tmp_path)
    assert audit.returncode == 0
    assert "nothing to judge: no message was delivered" in audit.stdout
    assert "kept" not in audit.stdout
    assert json.loads(call("audit", tmp_path, "--json").stdout)["nothing_to_judge"] is True


# What is refused.


def test_who_comes_without_keys_or_with_keys_in_vain_is_told_so(refused, cluster: Path) -> None:
    with node() as plain:
        keys_of_it = ("--keys", cluster / "keys", "--name", "node-00")
        assert "it may run without keys: give --plaintext" in refused("pub", "t", "--node", plain.address, *keys_of_it)
    opened = Cluster.open(cluster)
    if not opened.running:
        opened.up()
    secret = opened.running[0].address
    hint = "it may want keys: give --keys and --name"
    assert hint in refused("pub", "t", "--node", secret, "--plaintext")
    joining = ("node", "--listen", "127.0.0.1:0", "--join", secret, "--plaintext", "--log-level", "error")
    assert hint in refused(*joining)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["cluster", "up"], "Missing option '--dir'"),
        (["cluster", "up", "--dir", "x", "--nodes", "0"], "'--nodes'"),
        (["cluster", "up", "--dir", "x", "--nodes", "1001"], "'--nodes'"),
        (["cluster", "up", "--dir", "/dev/null/x", "--plaintext"], "/dev/null/x: cannot be written ("),
        (["cluster", "up", "--dir", "x", "--plaintext", "--keys", "y"], "keys y and plaintext: one of them"),
        (
            ["cluster", "up", "--dir", "x", "--overlay", "vcube"],
            "overlay 'vcube': no cluster can be linked so; ",
        ),
        (["node", "--listen", "127.0.0.1:0", "--plaintext", "--overlay", "best"], "overlay 'best': no cluster can be"),
        (["cluster", "down", "--dir", "none"], "none/cluster.json: No such file or directory; start one"),
        (["cluster", "down", "--dir", "none", "--patience", "-1"], "'--patience'"),
        (["cluster", "status", "--dir", "none"], "none/cluster.json: No such file or directory; start one"),
        (["pub"], "Missing argument 'TOPIC'"),
        (["pub", "t"], "--node is missing"),
        (["pub", "t", "--dir", "none"], "none/cluster.json: No such file or directory"),
        (["sub", "t", "--node", "127.0.0.1:1"], "--keys and --name are missing"),
        (["sub", "t", "--node", "127.0.0.1:1", "--plaintext"], "127.0.0.1:1: cannot be reached ("),
        (["sub", "t", "--node", "http://127.0.0.1:1", "--plaintext"], "the form is trellis://HOST:PORT"),
        (["pub", "t", "--node", "127.0.0.1:1", "--plaintext"], "is it running? see `trellis cluster status`"),
        (["pub", "t", "--dir", "x", "--node", "127.0.0.1:1"], "--dir and --node: "),
        (["sub", "t", "--dir", "x", "--plaintext"], "--dir and --plaintext: "),
        (["status", "--at", "node-01"], "--at node-01: "),
        (["sub", "t", "--node", "127.0.0.1:1", "--keys", "none", "--name", "a"], "No such file or directory"),
        (["sub", "t", "--count", "0"], "'--count'"),
        (["status", "--node", "nowhere", "--plaintext"], "it must be"),
    ],
)
def test_what_makes_no_sense_is_one_line(refused, monkeypatch, tmp_path: Path, arguments: list[str], rule: str) -> None:
    for name in ("TRELLIS_NODE", "TRELLIS_KEYS", "TRELLIS_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert rule in refused(*arguments)


def test_a_cluster_that_is_down_is_no_door_and_keeps_its_size(refused, tmp_path: Path) -> None:
    Cluster.create(tmp_path, nodes=2, plaintext=True)
    assert "none of its nodes runs" in refused("sub", "t", "--dir", tmp_path)
    assert "node-01 does not run" in refused("sub", "t", "--dir", tmp_path, "--at", "node-01")
    assert "holds a cluster of 2" in refused("cluster", "up", "--nodes", 1, "--dir", tmp_path)
    assert "with no keys" in refused("cluster", "up", "--keys", "keys", "--dir", tmp_path)
    assert "a cluster whose nodes left no traces" in refused("audit", tmp_path)


def test_a_cluster_is_not_made_among_other_files(refused, tmp_path: Path) -> None:
    keys.init(tmp_path / "keys")
    assert "keys: not empty and not a cluster's" in refused("cluster", "up", "--dir", tmp_path / "keys")
    assert {path.name for path in (tmp_path / "keys").iterdir()} == {"ca.crt", "ca.key"}
    Cluster.create(tmp_path / "mine", nodes=1)
    assert "over mTLS; leave it out" in refused("cluster", "up", "--plaintext", "--dir", tmp_path / "mine")
