"""Scripts without asyncio: blocking calls, timeouts, Ctrl-C, threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import trellis
from trellis.errors import LocalProtocolError, NetworkError


@pytest.fixture
def node() -> Iterator[trellis.sync.Node]:
    with trellis.sync.Node(plaintext=True) as node:
        yield node


@pytest.fixture
def client(node: trellis.sync.Node) -> Iterator[trellis.sync.Client]:
    with trellis.sync.connect(f"trellis://{node.address}", plaintext=True) as client:
        yield client


def test_a_script_reads_events_batches_and_gaps_one_after_the_other(
    node: trellis.sync.Node, client: trellis.sync.Client
) -> None:
    for reading, writing in ((node, client), (client, node)):
        with reading.subscribe("t", order="fifo") as reader:
            writing.publish_many("t", [b"1", b"2", b"3"], order="fifo")
            first = reader.next(timeout=5)
            assert isinstance(first, trellis.Event)
            rest = reader.next_batch(timeout=5)  # what is left of the batch
            assert isinstance(rest, trellis.Batch)
            assert [first.payload, *rest.payloads] == [b"1", b"2", b"3"]
            writing.publish("t", b"4", confirm=True)
            assert next(reader).payload == b"4"  # type: ignore[union-attr]
        assert list(reader) == []
        assert list(reader.batches()) == []
    assert client.status() == node.status()
    assert client.place == node.place == 0


def test_a_timeout_while_reading_loses_nothing(node: trellis.sync.Node) -> None:
    reader = node.subscribe("t")
    for n in range(20):
        with pytest.raises(TimeoutError):
            reader.next(timeout=0.001)
        node.publish("t", b"%d" % n, confirm=True)
        assert reader.next(timeout=5).payload == b"%d" % n  # type: ignore[union-attr]


def test_many_threads_may_publish_and_each_keeps_its_order(node: trellis.sync.Node) -> None:
    reader = node.subscribe("t")

    def publish(thread: int) -> None:
        for n in range(50):
            node.publish("t", b"%d %d" % (thread, n))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(publish, range(4)))
    got = [tuple(map(int, reader.next(timeout=5).payload.split())) for _ in range(200)]  # type: ignore[union-attr]
    for thread in range(4):
        assert [n for who, n in got if who == thread] == list(range(50))


def test_errors_of_the_loop_are_raised_where_the_call_was_made(node: trellis.sync.Node) -> None:
    node.subscribe("t", order="fifo")
    with pytest.raises(LocalProtocolError, match="its order is fifo, not causal"):
        node.subscribe("t")
    with pytest.raises(LocalProtocolError, match="no subscription to end"):
        node.unsubscribe("u")
    with pytest.raises(NetworkError, match="cannot be reached"), trellis.sync.connect("127.0.0.1:1", plaintext=True):
        pass
    stopped = trellis.sync.Node(plaintext=True)
    with pytest.raises(LocalProtocolError, match="use it within `with`"):
        stopped.publish("t", b"")


def test_no_thread_stays_behind_even_with_a_read_under_way() -> None:
    with trellis.sync.Node(plaintext=True) as node:
        reader = node.subscribe("t")
        with pytest.raises(TimeoutError):
            reader.next(timeout=0.01)
        with pytest.raises(LocalProtocolError), trellis.sync.Node(plaintext=True, join=node.address) as other:
            other.publish("a\nb", b"")
    assert [thread for thread in threading.enumerate() if thread.name == "trellis"] == []


SCRIPT = """
import sys, trellis
with trellis.sync.Node(plaintext=True, join=sys.argv[1]) as node:
    news = node.subscribe("news")
    print("reading", flush=True)
    try:
        for event in news:
            print(event.payload.decode(), flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
print("left", flush=True)
"""


def test_ctrl_c_ends_a_read_that_waits_and_the_node_leaves_cleanly(node: trellis.sync.Node) -> None:
    source = str(Path(trellis.__file__).parents[1])
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, node.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    try:
        assert script.stdout is not None
        assert script.stdout.readline() == "reading\n"
        node.publish("news", b"hello", confirm=True)
        assert script.stdout.readline() == "hello\n"
        script.send_signal(signal.SIGINT)
        out, err = script.communicate(timeout=20)
    finally:
        script.kill()
    assert (out, err, script.returncode) == ("interrupted\nleft\n", "", 0)
    assert [member["place"] for member in node.status()["members"]] == [0]  # it gave its place back
