"""A run on disk: whole or not at all, and held to its digest."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from trellis.errors import TraceError
from trellis.sim import Run, run
from trellis.swarm import schedule
from trellis.trace import store
from trellis.trace.rows import COLUMNS, KINDS, Row, arrow_schema, numpy_dtype, spark_ddl
from trellis.trace.story import parse, story, tell


@pytest.fixture(scope="module")
def finished() -> Run:
    return run(schedule(3, "vcube", "causal"))


def test_a_run_is_read_back_as_it_was(finished: Run, tmp_path: Path) -> None:
    store.write(tmp_path / "run", finished.trace, finished.about())
    trace, said = store.read(tmp_path / "run")
    assert trace.digest() == finished.trace.digest() == said["digest"]
    assert list(trace.rows()) == list(finished.trace.rows())
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "nothing is left beside it"


def test_the_same_run_writes_the_same_bytes(finished: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        store.write(tmp_path / name, finished.trace, finished.about())
    for file in (store.TRACE, store.ABOUT):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_run_may_be_replaced_but_nothing_else(finished: Run, tmp_path: Path) -> None:
    store.write(tmp_path / "run", finished.trace, finished.about())
    store.write(tmp_path / "run", finished.trace, finished.about())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(TraceError, match="not empty and not a run"):
        store.write(tmp_path / "mine", finished.trace, finished.about())
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("keep", [0, 3, 4, 100, -1, -9])
def test_a_torn_file_is_one_clear_error(finished: Run, tmp_path: Path, keep: int) -> None:
    store.write(tmp_path / "run", finished.trace, finished.about())
    path = tmp_path / "run" / store.TRACE
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(TraceError, match="not a whole Parquet file") as error:
        store.read(tmp_path / "run")
    assert "\n" not in str(error.value)


def test_a_row_changed_after_the_run_is_noticed(finished: Run, tmp_path: Path) -> None:
    store.write(tmp_path / "run", finished.trace, finished.about())
    path = tmp_path / "run" / store.TRACE
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(TraceError, match="digest"):
        store.read(tmp_path / "run")


def test_the_columns_are_defined_once() -> None:
    names = [column.name for column in COLUMNS]
    assert list(Row._fields) == names
    assert list(numpy_dtype().names or ()) == names
    assert arrow_schema().names == names
    assert [part.split()[0].strip("`") for part in spark_ddl().split(", ")] == names


def test_hosts_write_only_kinds_that_are_listed(finished: Run) -> None:
    assert {row.kind for row in finished.trace.rows()} <= set(KINDS)


def test_the_scenario_beside_a_trace_runs_again_to_the_same_digest(finished: Run, tmp_path: Path) -> None:
    from trellis.scenario import load

    store.write(tmp_path / "run", finished.trace, finished.about())
    kept = json.loads((tmp_path / "run" / store.ABOUT).read_text())["scenario"]
    (tmp_path / "again.json").write_text(json.dumps(kept))
    assert run(load(tmp_path / "again.json")).trace.digest() == finished.trace.digest()


def test_a_story_holds_all_rows_of_its_message_and_no_others(finished: Run) -> None:
    rows = list(finished.trace.rows())
    first = next(row for row in rows if row.kind == "publish")
    id = parse(f"{first.source}:{first.seq}@{first.topic}", [])
    told = list(story(rows, id))
    assert [row for row in rows if (row.topic, row.source, row.seq) == (id.topic, id.source, id.seq)] == told
    assert tell(told[0]).endswith("publish")
    assert {"publish", "spread", "send", "receive", "deliver", "settle"} <= {row.kind for row in told}


def test_a_message_in_the_middle_of_a_batch_has_its_packets_in_its_story() -> None:
    packet = Row(0, 5, 1, "send", "t", 1, 0, 4, "PUB", 2, 1, 3, 0)
    assert [list(story([packet], parse(f"1:{seq}@t", []))) for seq in (3, 4, 6, 7)] == [[], [packet], [packet], []]
    assert tell(packet) == "t=5        node 1     send PUB (3 messages) -> 2"
