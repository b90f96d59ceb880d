"""Live commands in rough hands: closed streams, strange files for keys and clusters, Ctrl-C while they load."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from bad_input import everything_in
from links import key_directory
from node_process import COMMAND, ENDED_MAX, NodeProcess, call, node

from trellis.live import keys
from trellis.live.cluster import FILE, LOCK, Cluster

LISTEN = ("node", "--listen", "127.0.0.1:0", "--log-level", "error", "--join", "127.0.0.1:1")
NOWHERE = ("sub", "t", "--node", "127.0.0.1:1")


@pytest.fixture(scope="module")
def there() -> Iterator[NodeProcess]:
    """A node that runs, in plaintext."""
    with node() as one:
        yield one


def through_shell(redirection: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Bash closes and opens streams as it is told before it becomes the command."""
    script = f'exec "$@" {redirection}'
    command = ["bash", "-c", script, "bash", *COMMAND, *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, timeout=ENDED_MAX)


# Streams


@pytest.mark.parametrize("command", ["status", "sub", "pub"])
def test_a_closed_standard_output_is_one_line_and_no_socket_takes_its_place(there: NodeProcess, command: str) -> None:
    topic = [] if command == "status" else ["t"]
    ran = through_shell(">&-", command, *topic, "--node", there.address, "--plaintext")
    complaint = "trellis: standard output is closed; send it somewhere, if only to /dev/null\n"
    assert (ran.returncode, ran.stderr) == (2, complaint)


def test_a_closed_standard_input_is_an_empty_one_and_a_closed_error_stream_is_not_missed(there: NodeProcess) -> None:
    for redirection in ("<&-", "</dev/null 2>&-", "<&- 2>&-"):
        ran = through_shell(redirection, "pub", "t", "--node", there.address, "--plaintext")
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "0 messages accepted on 't'\n", ""), redirection


def test_a_standard_input_that_cannot_be_read_is_one_line(there: NodeProcess, tmp_path: Path) -> None:
    ran = through_shell(f"0>'{tmp_path / 'only-written'}'", "pub", "t", "--node", there.address, "--plaintext")
    assert (ran.returncode, ran.stdout) == (2, "0 messages accepted on 't'\n")
    assert ran.stderr == "trellis: standard input: it cannot be read (Bad file descriptor); give a file or a pipe\n"


def test_a_line_that_is_too_long_is_one_line_and_what_came_before_it_is_accepted(there: NodeProcess) -> None:
    for size in (3 << 20, 1 << 19):
        ran = call("pub", "t", "--node", there.address, "--plaintext", given="first\n" + "a" * size)
        assert (ran.returncode, ran.stdout) == (2, "1 messages accepted on 't'\n")
        assert "524272" in ran.stderr  # one limit, whoever finds out
        assert ran.stderr.count("\n") == 1, ran.stderr  # no warning of what was read and not wanted any more


def test_zeros_and_bytes_that_are_no_text_are_payloads_like_others(there: NodeProcess) -> None:
    sent = b"\0\xff\xfe\n\n\r\n" + b"a" * 400_000
    door = ("--node", there.address, "--plaintext")
    command = [*COMMAND, "pub", "t", "--confirm", *door]
    pub = subprocess.run(command, input=sent, capture_output=True, timeout=ENDED_MAX)
    assert (pub.returncode, pub.stdout, pub.stderr) == (0, b"4 messages confirmed on 't'\n", b"")


def test_a_reader_whose_output_is_read_no_more_ends_without_complaint(there: NodeProcess) -> None:
    door = ("--node", there.address, "--plaintext")
    script = 'set -o pipefail; "$@" | head -1'
    command = ["bash", "-c", script, "bash", *COMMAND, "sub", "headed", *door]
    reader = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert reader.stderr is not None
    assert reader.stderr.readline().startswith("subscribed to 'headed'")
    while reader.poll() is None:
        assert call("pub", "headed", *door, given="x\n" * 1000).returncode == 0
    assert reader.communicate() == ("x\n", "")
    assert reader.returncode == 0


@pytest.mark.parametrize("topic", ["", "a\nb", "\x01", "x" * 300, ".".join("a" * 33)])
def test_a_topic_that_cannot_be_is_one_line(there: NodeProcess, topic: str) -> None:
    for command in ("pub", "sub"):
        ran = call(command, "--node", there.address, "--plaintext", "--", topic, given="x\n" * 100)
        assert ran.returncode == 2
        assert ran.stderr.startswith("trellis: topic ")
        assert ran.stderr.count("\n") == 1, ran.stderr


def test_ctrl_c_while_the_program_loads_is_one_line() -> None:
    program = """
import runpy, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
runpy.run_module("trellis", run_name="__main__")
"""
    ran = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=ENDED_MAX)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "trellis: interrupted\n")


# Keys


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return key_directory(tmp_path / "keys", "a", "b", client="reader")


def test_a_certificate_that_has_ended_is_refused_by_its_own_program(refused, place: Path) -> None:
    keys.issue(place, "old", lasts=timedelta(seconds=-2))
    for command in (LISTEN, NOWHERE):
        line = refused(*command, "--keys", place, "--name", "old")
        assert "old.crt: it is good from " in line
        assert "issue another" in line


def test_a_certificate_of_another_authority_is_refused_by_its_own_program(refused, place: Path, tmp_path: Path) -> None:
    other = key_directory(tmp_path / "other", "a")
    (place / "ca.crt").write_bytes((other / "ca.crt").read_bytes())
    for command in (LISTEN, NOWHERE):
        assert "a.crt: not of the authority in ca.crt beside it" in refused(*command, "--keys", place, "--name", "a")


def test_the_files_of_another_under_ones_own_name_are_refused(refused, place: Path) -> None:
    for kind in ("crt", "key"):
        (place / f"a.{kind}").write_bytes((place / f"b.{kind}").read_bytes())
    for command in (LISTEN, NOWHERE):
        assert "it is for ['trellis:node:b'], not for 'a'" in refused(*command, "--keys", place, "--name", "a")


def test_a_client_is_no_node(refused, place: Path) -> None:
    assert "a client's certificate, and a node needs a node's" in refused(*LISTEN, "--keys", place, "--name", "reader")


def test_a_pipe_in_the_place_of_a_key_is_not_waited_for(refused, place: Path) -> None:
    (place / "a.crt").unlink()
    os.mkfifo(place / "a.crt")
    assert "a.crt: not a plain file" in refused(*NOWHERE, "--keys", place, "--name", "a")
    (place / "ca.key").unlink()
    os.mkfifo(place / "ca.key")
    assert "ca.key: not a plain file" in refused("keys", "issue", place, "c")


# Clusters


def test_while_one_program_starts_or_stops_a_cluster_another_is_refused(refused, tmp_path: Path) -> None:
    Cluster.create(tmp_path, nodes=2, plaintext=True)
    with (tmp_path / LOCK).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = everything_in(tmp_path)
        for command in (("up", "--nodes", 2), ("down",)):
            assert "another program starts or stops it now" in refused("cluster", *command, "--dir", tmp_path)
        assert everything_in(tmp_path) == before


def test_a_cluster_that_another_program_has_started_meanwhile_is_not_started_again(tmp_path: Path) -> None:
    late = Cluster.create(tmp_path, nodes=1, plaintext=True)
    with Cluster.open(tmp_path) as cluster:
        cluster.up()
        with pytest.raises(Exception, match="it runs already"):
            late.up()
        assert Cluster.open(tmp_path).nodes == cluster.nodes


def test_a_cluster_file_that_is_a_pipe_or_names_no_node_is_refused(refused, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"plaintext": true, "keys": "", "trace": true, "nodes": []}')
    for command in ("up", "down", "status"):
        assert "not a cluster's" in refused("cluster", command, "--dir", tmp_path)
    (tmp_path / FILE).unlink()
    os.mkfifo(tmp_path / FILE)
    for command in ("up", "down", "status"):
        assert "not a plain file" in refused("cluster", command, "--dir", tmp_path)
