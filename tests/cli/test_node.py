"""trellis node: a process that becomes a member, leaves when told, and refuses what makes no sense."""

from __future__ import annotations

import signal
import socket
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import pytest
from node_process import NodeProcess, node, start
from prometheus_client.parser import text_string_to_metric_families

from trellis.live.places import WHOLE
from trellis.live.state import State

WAIT_MAX = 20.0  # seconds


def number(of: NodeProcess, name: str) -> float:
    with urllib.request.urlopen(f"http://{of.ready['metrics']}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return next(sample.value for family in families for sample in family.samples if sample.name == name)


def await_number(of: NodeProcess, name: str, wanted: float) -> None:
    limit = time.monotonic() + WAIT_MAX
    while (found := number(of, name)) != wanted:
        assert time.monotonic() < limit, f"{name} is {found}, not {wanted}"
        time.sleep(0.01)


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_a_node_without_data_leaves_for_good_and_is_not_suspected(told: signal.Signals) -> None:
    with node() as first, node("--join", first.address) as second:
        assert (first.ready["place"], second.ready["place"]) == (0, 1)
        await_number(first, "trellis_members_reached", 1)
        code, log = second.end(told)
        assert code == 0
        assert "it has ended in good order" in log
        await_number(first, "trellis_members", 1)
        assert number(first, "trellis_suspicions_total") == 0


def test_a_node_with_data_keeps_its_place_unless_it_is_told_to_leave(tmp_path: Path) -> None:
    lives = []
    with node() as first:
        for more in ([], ["--leave"], []):
            with node("--join", first.address, "--data", tmp_path / "data", *more) as second:
                lives.append((second.ready["place"], second.ready["incarnation"]))
                await_number(first, "trellis_members_reached", 1)
                assert second.end(signal.SIGTERM)[0] == 0
            await_number(first, "trellis_members_reached", 0)
            assert number(first, "trellis_members") == (1 if more else 2)
        assert number(first, "trellis_suspicions_total") == 0
    assert lives[:2] == [(1, 0), (1, 1)]
    assert lives[2] not in lives[:2]  # a place that was given back is given out again, but no life is lived twice


def test_a_killed_node_is_suspected_and_comes_back_with_its_data(tmp_path: Path) -> None:
    with node() as first:
        with node("--join", first.address, "--data", tmp_path) as second:
            await_number(first, "trellis_members_reached", 1)
            second.end(signal.SIGKILL)
        await_number(first, "trellis_suspicions_total", 1)
        with node("--data", tmp_path) as again:  # whom to ask is in its data
            assert (again.ready["place"], again.ready["incarnation"]) == (1, 1)
            assert again.ready["cluster"] == first.ready["cluster"]
            await_number(first, "trellis_members_reached", 1)


def test_a_second_ctrl_c_ends_it_at_once() -> None:
    with node() as first, node("--join", first.address) as second:
        await_number(first, "trellis_members_reached", 1)
        readers = [
            start("sub", "t", "--node", one.address, "--plaintext", stdout=PIPE, stderr=PIPE) for one in (first, second)
        ]
        for reader in readers:
            assert reader.stderr is not None
            assert reader.stderr.readline().startswith("subscribed")
        second.process.send_signal(signal.SIGSTOP)  # first cannot take its leave of the topic
        first.process.send_signal(signal.SIGINT)
        assert first.process.stderr is not None
        while "it is told to end" not in first.process.stderr.readline():
            pass
        code, log = first.end(signal.SIGINT)
        assert code == 130
        assert "in good order" not in log
        second.process.send_signal(signal.SIGCONT)
        for reader in readers:
            reader.terminate()
            reader.communicate()


def test_an_asker_that_trickles_does_not_keep_a_node_from_its_end() -> None:
    with node() as first, node("--join", first.address) as second:
        await_number(first, "trellis_members_reached", 1)
        host, port = second.ready["metrics"].split(":")
        with socket.create_connection((host, int(port))) as asker:
            asker.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
            over = threading.Event()

            def trickle() -> None:
                with suppress(OSError):
                    while not over.wait(0.05):
                        asker.sendall(b"x")

            trickling = threading.Thread(target=trickle)
            trickling.start()
            try:
                code, log = second.end(signal.SIGTERM)
            finally:
                over.set()
                trickling.join()
        assert code == 0
        assert "it has ended in good order" in log
        await_number(first, "trellis_members", 1)
        assert number(first, "trellis_suspicions_total") == 0


def test_a_node_asks_at_each_door_and_waits_for_the_first_member_to_come() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody, socket.create_server(("127.0.0.1", 0)) as free:
        doors = [f"127.0.0.1:{one.getsockname()[1]}" for one in (nobody, free)]
    listen = ("node", "--plaintext", "--json", "--listen")
    words = ("--join", doors[0], "--join", doors[1], "--patience", 60)
    early = start(*listen, "127.0.0.1:0", *words, stdout=PIPE, stderr=PIPE)
    assert early.stderr is not None
    assert any("no member answers" in line for line in early.stderr), "it gave up"
    first = start(*listen, doors[1], stdout=PIPE, stderr=PIPE)
    try:
        assert [NodeProcess(first).ready["place"], NodeProcess(early).ready["place"]] == [0, 1]
    finally:
        for process in (early, first):
            process.kill()
            process.communicate()


def test_patience_is_not_for_what_no_time_mends(refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        waiting = ("--plaintext", "--log-level", "error", "--patience", 3600)
        assert "cannot be listened at" in refused("node", "--listen", address, "--join", "127.0.0.1:1", *waiting)
        assert "it must be host:port" in refused("node", "--listen", "127.0.0.1:0", "--join", "there", *waiting)
        assert "only loopback" in refused("node", "--listen", "127.0.0.1:0", "--join", "192.0.2.1:1", *waiting)


# What is refused. The line is the only one.

LISTEN = ("node", "--listen", "127.0.0.1:0")
PLAIN = (*LISTEN, "--plaintext", "--log-level", "error")


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("node",), "Missing option '--listen'"),
        (("node", "--listen", "here", "--plaintext"), "'here': it must be host:port"),
        (("node", "--listen", "127.0.0.1:70000", "--plaintext"), "with a port up to 65535"),
        (("node", "--listen", "127.0.0.1:" + "9" * 5000, "--plaintext"), "with a port up to 65535"),
        (("node", "--listen", "127.0.0.1:-1", "--plaintext"), "it must be host:port"),
        (("node", "--listen", "no.such.host.invalid:1", "--plaintext"), "no such host"),
        (("node", "--listen", "0.0.0.0:0", "--plaintext"), "without keys only loopback"),
        (LISTEN, "--keys is missing"),
        ((*LISTEN, "--keys", "keys"), "--name is missing"),
        ((*LISTEN, "--keys", "no-such-directory", "--name", "a"), "No such file or directory"),
        ((*LISTEN, "--keys", "no-such-directory", "--name", "../a"), "1 to 63 of a-z, 0-9 and -"),
        ((*PLAIN, "--join", "there"), "'there': it must be host:port"),
        ((*PLAIN, "--advertise", "there"), "'there': it must be host:port"),
        ((*PLAIN, "--advertise", "0.0.0.0:7000"), "nobody reaches a node by that; say `--advertise HOST:PORT`"),
        ((*PLAIN, "--advertise", "h" * 300 + ":7000"), "it must be ASCII, at most 262 characters"),
        ((*PLAIN, "--metrics", "9100"), "'9100': it must be host:port"),
        ((*LISTEN, "--plaintext", "--log-level", "loud"), "'--log-level'"),
        ((*PLAIN, "--data", "/dev/null/data"), "it cannot be used"),
        ((*PLAIN, "--trace", "/dev/null/trace"), "the trace cannot be written"),
    ],
)
def test_what_makes_no_sense_is_one_line(refused, monkeypatch, arguments: tuple[str, ...], rule: str) -> None:
    for name in ("TRELLIS_KEYS", "TRELLIS_NAME"):
        monkeypatch.delenv(name, raising=False)
    assert rule in refused(*arguments)


def test_a_port_that_is_in_use_is_refused(refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "{}:{}".format(*taken.getsockname())
        line = refused("node", "--listen", address, "--plaintext")
        assert f"{address}: cannot be listened at (" in line
        assert f"metrics at {address}: cannot be listened at (" in refused(*PLAIN, "--metrics", address)
    assert "is it running? see `trellis cluster status`" in refused(*PLAIN, "--join", address)


def test_a_data_directory_in_use_is_refused(refused, tmp_path: Path) -> None:
    state = State(tmp_path, "")
    assert "another process uses it" in refused(*PLAIN, "--data", tmp_path)
    state.close()


def test_a_cluster_refuses_who_belongs_to_another(refused, tmp_path: Path) -> None:
    state = State(tmp_path, "")
    state.settle("another", 3, 0, WHOLE)
    state.close()
    with node() as first:
        line = refused(*PLAIN, "--join", first.address, "--data", tmp_path)
        assert f"not let in: this is cluster {first.ready['cluster']!r}, not 'another'" in line
