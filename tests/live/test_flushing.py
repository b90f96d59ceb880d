"""When a trace is written: also without links, also when much happens at once; and what a full disk comes to."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from node_process import call, node

import trellis
from trellis.errors import TraceError
from trellis.live import flushing
from trellis.live.collect import collect
from trellis.live.record import Journal
from trellis.trace.rows import Row

WAIT_MAX = 20.0  # seconds
NEVER = 3600.0


def rows_in(directory: Path, kind: str) -> list[Row]:
    trace, _ = collect([directory], at_rest=True)
    return [row for row in trace.rows() if row.kind == kind]


def test_a_node_that_is_alone_writes_its_trace_while_it_lives(tmp_path: Path) -> None:
    with node("--trace", tmp_path) as alone:
        told = call("pub", "news", "--node", alone.address, "--plaintext", "--confirm", given="a\nb\n")
        assert told.returncode == 0, told.stderr
        limit = time.monotonic() + WAIT_MAX
        while not rows_in(tmp_path, "settle"):
            assert time.monotonic() < limit, "nothing was written"
            time.sleep(0.05)
        alone.end(signal.SIGKILL)
    assert [row.seq for row in rows_in(tmp_path, "publish")] == [1, 2]
    assert len(rows_in(tmp_path, "crash")) == 1


def test_when_much_happens_it_is_written_before_the_period_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flushing, "PERIOD", NEVER)
    monkeypatch.setattr(flushing, "LINES_MAX", 2000)

    async def main() -> None:
        async with trellis.Node(plaintext=True, trace=tmp_path) as alone:
            await alone.subscribe("news")
            for n in range(100):
                await alone.publish("news", b"%d" % n, confirm=True)
                assert alone.host.journal is not None
                assert len(alone.host.journal.lines) < 4000
            assert len(rows_in(tmp_path, "deliver")) > 80

    asyncio.run(main())


def test_a_trace_that_cannot_be_written_is_tried_again_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(flushing, "PERIOD", 0.01)
    failures = []

    def full(self: Journal, raw: bytes) -> None:
        failures.append(len(raw))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def main() -> None:
        async with trellis.Node(plaintext=True, trace=tmp_path) as alone:
            with monkeypatch.context() as while_full:
                while_full.setattr(Journal, "append", full)
                await alone.publish("news", b"x", confirm=True)
                while len(failures) < 3:
                    await asyncio.sleep(0.01)
            while not rows_in(tmp_path, "publish"):
                await asyncio.sleep(0.01)

    asyncio.run(main())
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        f"{tmp_path}: the trace cannot be written (No space left on device); make room there"
    ]


def test_a_node_gives_up_before_an_unwritten_trace_takes_all_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flushing, "PERIOD", 0.01)
    monkeypatch.setattr(flushing, "UNWRITTEN_MAX", 1000)

    def full(self: Journal, raw: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def main() -> None:
        alone = trellis.Node(plaintext=True, trace=tmp_path)
        await alone.start()
        monkeypatch.setattr(Journal, "append", full)

        async def publish_on() -> None:
            while True:
                await alone.publish("news", b"x", confirm=True)
                await asyncio.sleep(0.001)

        with pytest.raises(TraceError, match="make room there"):
            await asyncio.wait_for(publish_on(), WAIT_MAX)
        assert isinstance(alone.trouble, TraceError)
        with pytest.raises(TraceError, match="make room there"):  # its last row was not written either
            await alone.stop()
        assert alone.stopped.is_set()

    asyncio.run(main())


def test_the_last_words_of_a_node_leave_before_its_trace_is_laid_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = threading.Event()
    found = []

    def slow(self: Journal) -> None:
        found.append(heard.wait(WAIT_MAX))
        turn_rest(self)

    turn_rest = Journal.turn_rest
    monkeypatch.setattr(Journal, "turn_rest", slow)

    async def main() -> None:
        async with trellis.Node(plaintext=True) as other:
            leaver = trellis.Node(plaintext=True, join=other.address, trace=tmp_path)
            await leaver.start()
            leaving = asyncio.create_task(leaver.stop())
            while not other.members.roster.members[leaver.place].left or other.host.reached:
                await asyncio.sleep(0.01)
            heard.set()
            await leaving
            assert other.host.tally.suspicions == 0

    asyncio.run(main())
    assert found == [True]
    assert len(rows_in(tmp_path, "stop")) == 1
    assert not list(tmp_path.glob("*.rows"))
