"""The journal on real files: nothing that was flushed is lost, and what is torn, foreign or missing is told."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trellis.errors import TraceError
from trellis.live.collect import collect, collect_cluster
from trellis.live.record import Journal, last_time
from trellis.live.segments import PART, ROWS, pieces_in, read
from trellis.trace import store
from trellis.trace.rows import Row
from trellis.trace.table import Trace
from trellis.words import Message, MessageId, Packet


class Parcel(Packet, frozen=True):
    messages: tuple[Message, ...]  # type: ignore[misc]
    kind: Any = "PUB"


def a(seq: int, source: int = 4, incarnation: int = 1, topic: str = "x") -> MessageId:
    return MessageId((source, incarnation), topic, seq)


def trace_in(*directories: Path, at_rest: bool = False) -> list[Row]:
    return list(collect(directories, at_rest)[0].rows())


def killed(journal: Journal) -> None:
    """What a kill does to the files: they are let go of, and nothing more is written."""
    os.close(journal.segment)
    os.close(journal.lock)


def node_row(position: int, at: int, kind: str, node: int = 4, incarnation: int = 1) -> Row:
    return Row(position, at, node, kind, "", node, incarnation, 0, "", -1, 0, 0, 0)


def test_what_was_written_comes_back_row_by_row(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 4, 1, 10)
    journal.ordered("x", "causal")
    journal.happened("publish", 11, a(1), batch=3)
    journal.sent(11, Parcel(a(1), (Message(a(1), b"", count=3),)), 7)
    journal.received(12, Packet(a(-2)), 7)
    journal.flush()
    journal.happened("gap", 13, a(5, source=9), batch=2)
    journal.happened("restore", 14, MessageId((7, 3), "", 0), peer=7)
    journal.close(15)
    trace, about = collect([tmp_path])
    assert list(trace.rows()) == [
        node_row(0, 10, "start"),
        Row(1, 11, 4, "publish", "x", 4, 1, 1, "", -1, 0, 0, 0),
        Row(2, 11, 4, "publish", "x", 4, 1, 2, "", -1, 0, 0, 0),
        Row(3, 11, 4, "publish", "x", 4, 1, 3, "", -1, 0, 0, 0),
        Row(4, 11, 4, "send", "x", 4, 1, 1, "PUB", 7, 0, 3, 0),
        Row(5, 12, 4, "receive", "x", 4, 1, -2, "?", 7, 0, 0, 0),
        Row(6, 13, 4, "gap", "x", 9, 1, 5, "", -1, 0, 2, 0),
        Row(7, 14, 4, "restore", "", 7, 3, 0, "", 7, 0, 0, 0),
        node_row(8, 15, "stop"),
    ]
    assert about == {
        "digest": trace.digest(),
        "engine": "live",
        "killed": [],
        "lives": 1,
        "nodes": 1,
        "ordering": "causal",
        "orders": {"x": "causal"},
        "quiet": True,
    }


def test_a_tail_torn_anywhere_costs_only_what_was_in_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "whole", 4, 1, 10)
    journal.ordered("x", "fifo")
    for seq in range(1, 9):
        journal.happened("publish", 10 + seq, a(seq))
        journal.flush()
    killed(journal)
    whole = trace_in(tmp_path / "whole")
    assert [row.kind for row in whole] == ["start", *["publish"] * 8, "crash"]
    (segment,) = (tmp_path / "whole").glob(f"*{ROWS}")
    raw = segment.read_bytes()
    (tmp_path / "torn").mkdir()
    lengths = set()
    for length in range(len(raw)):
        for tail in (b"", bytes(7)):  # some file systems leave zeros
            (tmp_path / "torn" / segment.name).write_bytes(raw[:length] + tail[: len(raw) - length])
            found = read(pieces_in(tmp_path / "torn")[0])
            if found is None:
                assert length < 40
                continue
            rows = list(Trace(found.table).rows())
            assert rows == whole[: len(rows)]
            lengths.add(len(rows))
    assert set(range(9)) <= lengths  # the last bytes of the last line are zeros, so it may come back whole


def test_damage_before_the_tail_is_told_and_never_read_over(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 4, 1, 10)
    for seq in range(1, 5):
        journal.happened("confirm", 10 + seq, a(seq))
        journal.flush()
    killed(journal)
    (segment,) = tmp_path.glob(f"*{ROWS}")
    raw, whole = segment.read_bytes(), trace_in(tmp_path)
    told: list[str] = []
    for n in range(len(raw) - 120):
        segment.write_bytes(raw[:n] + bytes([raw[n] ^ 1 << n % 8]) + raw[n + 1 :])
        try:
            rows = trace_in(tmp_path)
        except TraceError as error:
            told.append(str(error))
        else:  # a length that points beyond the end cannot be told from a torn tail
            assert rows[:-1] == whole[: len(rows) - 1]
            assert rows[-1].kind == "crash"
    assert all(str(segment) in text or "no trace" in text for text in told)
    assert len(told) > len(raw) // 2


CHILD = """
import sys
from pathlib import Path
from trellis.live.record import Journal
from trellis.words import MessageId

journal = Journal(Path(sys.argv[1]), 4, 1, 1, rows_max=500)
journal.ordered("x", "fifo")
for seq in range(1, 10**9):
    journal.happened("publish", 1 + seq, MessageId((4, 1), "x", seq))
    journal.flush()
    sys.stdout.write(f"{seq}\\n")  # what others see comes after the flush
    sys.stdout.flush()
"""


@pytest.mark.parametrize("seen", [1, 700, 5000])
def test_nothing_flushed_is_lost_when_the_process_is_killed(tmp_path: Path, seen: int) -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == seen:
                with pytest.raises(TraceError, match="still running"):
                    collect([tmp_path])
                child.send_signal(signal.SIGKILL)
                break
        told = [seen, *(int(line) for line in child.stdout if line.endswith("\n"))][-1]
    rows = trace_in(tmp_path)
    published = [row.seq for row in rows if row.kind == "publish"]
    assert published == list(range(1, len(published) + 1))
    assert len(published) >= told
    assert rows[0] == node_row(0, 1, "start")
    assert rows[-1] == node_row(len(rows) - 1, rows[-2].at, "crash")


def test_full_segments_become_parts_and_are_read_like_segments(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 4, 1, 0, rows_max=10)
    journal.ordered("x", "fifo")
    for seq in range(1, 96):
        journal.happened("publish", seq, a(seq))
        if seq % 3 == 0:
            journal.flush()
    journal.close(96)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [*(f"life-4-1-{n:06}{PART}" for n in range(9)), "lock"]
    assert [row.seq for row in trace_in(tmp_path)] == [0, *range(1, 96), 0]


def test_a_part_that_is_whole_stands_for_its_segment(tmp_path: Path) -> None:
    """Killed between the rename and the removal: both are there."""
    journal = Journal(tmp_path, 4, 1, 0)
    journal.happened("confirm", 1, a(0))
    journal.flush()
    (segment,) = tmp_path.glob(f"*{ROWS}")
    raw = segment.read_bytes()
    journal.close(2)
    before = trace_in(tmp_path)
    segment.write_bytes(raw)
    (tmp_path / f".life-4-1-000001{PART}").write_bytes(b"half of one")
    assert trace_in(tmp_path) == before


def test_a_second_life_follows_the_first_also_where_its_clock_fell_back(tmp_path: Path) -> None:
    first = Journal(tmp_path, 4, 0, 100)
    first.happened("confirm", 150, a(0, incarnation=0))
    first.flush()
    killed(first)
    assert last_time(tmp_path) == 150
    second = Journal(tmp_path, 4, 1, 60)
    second.happened("confirm", 170, a(0))
    second.close(180)
    assert [(row.at, row.kind, row.incarnation) for row in trace_in(tmp_path)] == [
        (100, "start", 0),
        (150, "confirm", 0),
        (150, "crash", 0),
        (150, "start", 1),
        (170, "confirm", 1),
        (180, "stop", 1),
    ]
    assert last_time(tmp_path) == 180
    assert last_time(tmp_path / "nowhere") == 0


def test_a_node_that_lost_its_state_writes_on_in_its_directory_on_another_place(tmp_path: Path) -> None:
    first = Journal(tmp_path, 7, 0, 100)
    killed(first)
    second = Journal(tmp_path, 3, 0, last_time(tmp_path))
    second.happened("confirm", 170, a(0, source=3, incarnation=0))
    second.flush()
    assert last_time(tmp_path) == 170
    kinds = [(row.node, row.kind) for row in trace_in(tmp_path, at_rest=True)]
    assert kinds == [(3, "start"), (7, "start"), (7, "crash"), (3, "confirm")]  # the one on place 3 goes on
    second.close(180)


def test_lives_of_one_place_in_two_directories_are_one_node(tmp_path: Path) -> None:
    """A node left, and its place was given to another one."""
    for name, incarnation in (("b", 0), ("a", 1)):
        Journal(tmp_path / name, 4, incarnation, 10 * incarnation).close(10 * incarnation + 5)
    rows = trace_in(tmp_path / "a", tmp_path / "b")
    assert [(row.kind, row.incarnation) for row in rows] == [("start", 0), ("stop", 0), ("start", 1), ("stop", 1)]


def test_three_nodes_are_merged_by_time_node_and_order_of_writing(tmp_path: Path) -> None:
    random, written = Random(5), []
    for node in (7, 0, 3):
        journal = Journal(tmp_path / f"node-{node}" / "trace", node, 0, 0, rows_max=40)
        journal.ordered("x", "fifo")
        journal.ordered("y", "causal")
        at, mine = 0, [(0, node, "start", "", 0)]
        for number in range(300):
            at += random.randint(0, 2)
            kind, topic = random.choice(["publish", "settle"]), random.choice("xy")
            count = random.randint(1, 3)
            journal.happened(kind, at, MessageId((node, 0), topic, 10 * number), count)
            each = range(count) if kind == "publish" else range(1)
            mine += [(at, node, kind, topic, 10 * number + n) for n in each]
            if random.random() < 0.2:
                journal.flush()
        journal.close(at)
        written += [*mine, (at, node, "stop", "", 0)]
    place = collect_cluster(tmp_path)
    assert place == tmp_path / "run"
    trace, about = store.read(place)
    plain = sorted(written, key=lambda row: row[:2])  # stable: the order of writing is kept
    assert [(r.at, r.node, r.kind, r.topic, r.seq) for r in trace.rows()] == plain
    assert [r.position for r in trace.rows()] == list(range(len(plain)))
    assert (about["nodes"], about["ordering"], about["orders"]) == (3, "several", {"x": "fifo", "y": "causal"})
    assert collect_cluster(tmp_path) == place, "a run that stands there is written anew"


def test_a_node_that_runs_on_has_not_crashed_if_the_cluster_is_at_rest(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 4, 1, 10)
    assert [row.kind for row in trace_in(tmp_path, at_rest=True)] == ["start"]
    assert collect([tmp_path], at_rest=True)[1]["quiet"]
    killed(journal)
    assert [row.kind for row in trace_in(tmp_path, at_rest=True)] == ["start", "crash"]
    assert not collect([tmp_path])[1]["quiet"]


def test_a_full_disk_is_told_and_the_next_flush_tries_again(tmp_path: Path) -> None:
    """Where files may not grow beyond a size, writes are cut off or fail, as on a full disk."""
    journal = Journal(tmp_path, 4, 1, 0, rows_max=150)
    journal.ordered("x", "fifo")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        failures = []
        for seq in range(1, 200):
            journal.happened("publish", seq, a(seq))
            try:
                journal.flush()
            except TraceError as error:
                failures.append(str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(failures) > 100
    assert set(failures) == {f"{tmp_path}: the trace cannot be written (File too large); make room there"}
    journal.flush()
    journal.close(200)
    assert [row.seq for row in trace_in(tmp_path)] == [0, *range(1, 200), 0]


def test_a_life_is_written_once_and_by_one_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 4, 1, 0)
    with pytest.raises(TraceError, match="another process is writing"):
        Journal(tmp_path, 4, 2, 0)
    killed(journal)
    with pytest.raises(TraceError, match="life 1 was lived already"):
        Journal(tmp_path, 4, 1, 0)
    Journal(tmp_path, 4, 2, 0).close(1)
    with pytest.raises(TraceError, match="life 2 was lived already"):
        Journal(tmp_path, 4, 2, 0)


def test_what_is_missing_or_foreign_or_told_twice_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a", 4, 1, 0, rows_max=2)
    for n in range(8):
        journal.happened("confirm", n, a(0))
        journal.flush()
    journal.close(9)
    with pytest.raises(TraceError, match="life 1 of node 4 is also in"):
        collect([tmp_path / "a", tmp_path / "a"])
    middle = tmp_path / "a" / f"life-4-1-000002{PART}"
    raw = middle.read_bytes()
    for length in (0, 4, len(raw) // 2, len(raw) - 1):
        middle.write_bytes(raw[:length])
        with pytest.raises(TraceError, match=f"000002{PART}: not a whole Parquet file"):
            collect([tmp_path / "a"])
    middle.unlink()
    with pytest.raises(TraceError, match="piece 2 of life 1 is missing before it"):
        collect([tmp_path / "a"])
    middle.with_suffix(ROWS).write_bytes(b"PK\3\4 something else")
    with pytest.raises(TraceError, match="it is not ours"):
        collect([tmp_path / "a"])
    with pytest.raises(TraceError, match="no trace of any node"):
        collect([])
    with pytest.raises(TraceError, match="cannot be read"):
        collect([tmp_path / "nowhere"])


def test_a_topic_has_one_order_and_none_goes_unjudged(tmp_path: Path) -> None:
    for node, ordering in ((1, "fifo"), (2, "causal")):
        journal = Journal(tmp_path / f"{node}", node, 0, 0)
        journal.ordered("x", ordering)
        journal.close(1)
    with pytest.raises(TraceError, match="topic 'x': fifo at node 1, but causal at node 2"):
        collect([tmp_path / "1", tmp_path / "2"])
    silent = Journal(tmp_path / "3", 3, 0, 0)
    silent.happened("publish", 1, a(1, source=3, incarnation=0, topic="y"))
    silent.close(2)
    with pytest.raises(TraceError, match="topic 'y': no node has told its order"):
        collect([tmp_path / "3"])
