"""Traces that cannot be read, and places that cannot be written.

One clear line on standard error, exit code 2, nothing lost, nothing half-written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_input import DEEP, GONE, PLAIN, everything_in, scenario_file

from trellis.trace.rows import Row
from trellis.trace.table import trace_of

# Traces on disk.


def forge(directory: Path, rows: list[Row]) -> None:
    """Other rows, with the digest that belongs to them."""
    trace = trace_of(rows)
    pq.write_table(trace.table, directory / "trace.parquet")
    edit_about(directory, digest=trace.digest())


def edit_about(directory: Path, **edits: Any) -> None:
    about = json.loads((directory / "run.json").read_text())
    (directory / "run.json").write_text(
        json.dumps({key: value for key, value in {**about, **edits}.items() if value is not GONE})
    )


@pytest.mark.parametrize("command", [["audit"], ["story", "0:1@t0"]])
@pytest.mark.parametrize("kind", ["missing", "empty", "file", "line\nend"])
def test_a_place_without_a_run_is_refused(refused, tmp_path, command, kind):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    line = refused(command[0], tmp_path / kind, *command[1:])
    assert "run.json: cannot be read (" in line
    assert "give a directory that `trellis run --out` wrote" in line


def test_a_trace_cut_anywhere_is_refused(refused, written):
    whole = (written / "trace.parquet").read_bytes()
    for length in [*range(12), *range(12, len(whole), len(whole) // 25), *range(len(whole) - 12, len(whole))]:
        (written / "trace.parquet").write_bytes(whole[:length])
        assert "trace.parquet: not a whole Parquet file (" in refused("audit", written)


def test_a_trace_with_flipped_bits_is_never_a_traceback_and_never_another_verdict(trellis, written):
    whole = (written / "trace.parquet").read_bytes()
    before = trellis("audit", written)
    codes = []
    for n in range(0, len(whole), len(whole) // 60):
        (written / "trace.parquet").write_bytes(whole[:n] + bytes([whole[n] ^ 1 << n % 8]) + whole[n + 1 :])
        outcome = trellis("audit", written)
        assert outcome == before or (outcome.code == 2 and outcome.err.count("\n") == 1)
        codes.append(outcome.code)
    assert codes.count(2) > len(codes) // 2


@pytest.mark.parametrize(
    ("column", "values", "rule"),
    [
        ("seq", None, "column 'seq' is missing; a trace has position, at"),
        ("at", pa.scalar("x"), "wrong types ("),
        ("at", pa.scalar(1.5), "wrong types ("),
        ("at", pa.scalar([1]), "wrong types ("),
        ("node", pa.scalar(1 << 40), "wrong types ("),
        ("kind", pa.scalar(1), "wrong types ("),
        ("at", pa.scalar(None, pa.int64()), "column 'at' has empty cells"),
        ("topic", pa.scalar(None, pa.string()), "column 'topic' has empty cells"),
        ("at", pa.scalar(7), "its digest is not the one in run.json"),
    ],
)
def test_a_trace_with_other_columns_is_refused(refused, written, column, values, rule):
    table = pq.read_table(written / "trace.parquet")
    place = table.column_names.index(column)
    table = table.remove_column(place)
    if values is not None:
        table = table.add_column(place, column, pa.repeat(values, len(table)))
    pq.write_table(table, written / "trace.parquet")
    for command in (["audit", written], ["story", written, "0:1@t0"]):
        assert f"trace.parquet: {rule}" in refused(*command)


def test_a_trace_with_fewer_rows_than_its_digest_says_is_refused(refused, written):
    pq.write_table(pq.read_table(written / "trace.parquet").slice(0, 9), written / "trace.parquet")
    assert "its digest is not the one in run.json" in refused("audit", written)


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        (Row(0, 0, 0, "shout", "t0", 0, 0, 1, "", -1, 0, 0, 0), "kind 'shout' is none of subscribe"),
        (Row(0, 0, 0, "deliver", "t0", 0, 0, -2, "", -1, 0, 0, 0), "seq of a message is negative"),
    ],
)
def test_a_trace_of_strange_rows_is_refused_even_with_its_digest(refused, written, row, rule):
    forge(written, [row])
    assert rule in refused("audit", written)


def test_a_trace_that_is_missing_or_a_directory_is_refused(refused, written):
    (written / "trace.parquet").unlink()
    assert "trace.parquet: there is no trace" in refused("audit", written)
    (written / "trace.parquet").mkdir()
    assert "trace.parquet: not a whole Parquet file (" in refused("audit", written)


@pytest.mark.parametrize(
    ("edits", "rule"),
    [
        ({"ordering": GONE}, "run.json: ordering = None: expected a str"),
        ({"ordering": []}, "run.json: ordering = []: expected a str"),
        ({"ordering": "best"}, "run.json says ordering 'best'; there are unordered, fifo, causal"),
        ({"ordering": "unordered"}, "run.json says ordering 'unordered', but its scenario 'causal'"),
        ({"digest": GONE}, "run.json: digest = None: expected a str"),
        ({"digest": 5}, "run.json: digest = 5: expected a str"),
        ({"digest": "ab"}, "its digest is not the one in run.json"),
        ({"quiet": "no"}, "run.json: quiet = 'no': expected a bool"),
    ],
)
def test_a_run_json_that_says_something_else_is_refused(refused, written, edits, rule):
    edit_about(written, **edits)
    assert rule in refused("audit", written)


@pytest.mark.parametrize("content", [b"[1]", b"null", b"5", b'"x"', b"[" * DEEP, b"1" * 5000, b"\xff\xc0", b""])
def test_a_run_json_that_is_no_object_is_refused(refused, written, content):
    (written / "run.json").write_bytes(content)
    line = refused("audit", written)
    assert "run.json: holds a " in line or "run.json: not valid JSON (" in line


def test_a_run_json_cut_anywhere_is_refused(refused, written):
    whole = (written / "run.json").read_bytes().rstrip()
    for length in range(0, len(whole), len(whole) // 20):
        (written / "run.json").write_bytes(whole[:length])
        assert "run.json: not valid JSON (" in refused("audit", written)


def test_a_run_json_with_more_in_it_is_read(trellis, written):
    edit_about(written, note="mine", scenario=["not", "looked", "at"])
    assert trellis("audit", written).code == 0


@pytest.mark.parametrize(
    "name", ["", "x", "0", "0:", "0:1@", ":1@t0", " 0:1@t0", "0:1@t0\n", "²:1", "٣:1", "9" * 5000 + ":1", "\udcff"]
)
def test_a_senseless_message_name_is_refused(refused, written, name):
    assert "not a message; write SOURCE:NUMBER@TOPIC, as in 3:7@news" in refused("story", written, name)


@pytest.mark.parametrize("name", ["99:1@t0", "0:99@t0", "0:-1@t0", "0.9:1@t0", "0:1@zz", "0:1@[/]", "0:1@\x1b[31m"])
def test_a_message_that_never_was_is_answered_with_some_that_were(refused, written, name):
    assert "nothing happened to it; 4 were published, as 0:1@t0, " in refused("story", written, name)


def test_a_broken_promise_on_a_topic_named_like_markup_is_still_exit_code_1(trellis, written):
    delivered = Row(0, 7, 3, "deliver", "[/]", 0, 0, 1, "", -1, 0, 0, 0)
    forge(written, [delivered])
    outcome = trellis("audit", written)
    assert outcome.code == 1
    assert "node 3 delivered 0:1@[/], which nobody published" in outcome.out


# Where a run is written.


@pytest.mark.parametrize("command", ["run", "swarm", "demo"])
@pytest.mark.parametrize(
    ("place", "rule"),
    [
        ("full", "full: not empty and not a run; give a new directory"),
        ("mine", "mine: not empty and not a run; give a new directory"),
        ("precious", "precious: not empty and not a run; give a new directory"),
        ("file", "file: a file stands there; give a new directory"),
        ("file/below", "below: nothing can be written in "),
        ("a" * 300, "cannot be written (File name too long)"),
    ],
)
def test_nothing_is_ever_written_over_what_is_not_a_run(refused, tmp_path, command, place, rule):
    for name, entries in (
        ("full", ["keep"]),
        ("mine", ["run.json"]),
        ("precious", ["run.json", "trace.parquet", "thesis.tex"]),
    ):
        (tmp_path / name).mkdir()
        for entry in entries:
            (tmp_path / name / entry).write_text("keep me")
    (tmp_path / "file").write_text("keep me")
    arguments = {"run": [scenario_file(tmp_path, PLAIN)], "swarm": ["--schedules", 1], "demo": []}[command]
    before = everything_in(tmp_path)
    assert rule in refused(command, *arguments, "--out", tmp_path / place)
    assert everything_in(tmp_path) == before


def test_the_place_is_refused_before_the_run_and_not_after_it(refused, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setattr("trellis.sim.run", lambda *_: pytest.fail("it ran"))
    assert "a file stands there" in refused("run", scenario_file(tmp_path, PLAIN), "--out", tmp_path / "file")


def test_a_place_that_may_not_be_written_is_refused(refused, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    line = refused("run", scenario_file(tmp_path, PLAIN), "--out", tmp_path / "run")
    assert f"nothing can be written in {tmp_path}; give another directory" in line


def test_a_run_that_cannot_be_put_in_place_leaves_the_former_one(refused, tmp_path, written, monkeypatch):
    before = everything_in(tmp_path)
    rename = os.rename

    def failing(source: Path, target: Path) -> None:
        if source.name == "new":
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    line = refused("run", tmp_path / "scenario.json", "--seed", 2, "--out", written)
    assert "cannot be written (No space left on device)" in line
    assert everything_in(tmp_path) == before


def test_a_page_that_cannot_be_written_is_one_line_after_the_run(trellis, tmp_path, monkeypatch):
    def denied(self: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("trellis.trace.store.write", lambda *_: None)
    monkeypatch.setattr(Path, "write_text", denied)
    outcome = trellis("demo", "--out", tmp_path / "demo")
    page = tmp_path / "demo" / "index.html"
    assert outcome.code == 2
    assert outcome.err == f"trellis: {page}: No space left on device; nothing more was written\n"


def test_a_run_replaces_a_run_also_behind_a_link(trellis, tmp_path, written):
    (tmp_path / "link").symlink_to(written)
    before = everything_in(written)
    assert trellis("run", tmp_path / "scenario.json", "--seed", 2, "--out", tmp_path / "link").code == 0
    assert (tmp_path / "link").is_symlink()
    assert json.loads((written / "run.json").read_text())["scenario"]["seed"] == 2
    assert everything_in(written).keys() == before.keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "run", "scenario.json"]
