"""Grids and directories that a sweep cannot use: one line, before Spark starts, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bad_input import PLAIN, everything_in

from trellis.cli.command import out as console
from trellis.cli.sweep import SHOWN, table_of
from trellis.errors import PipelineError, TraceError
from trellis.pipeline import tables
from trellis.pipeline.audit.runs import runs_in
from trellis.pipeline.runs import Work, finished, keep, part_of, row_of, trace_of
from trellis.pipeline.sweep import GRID, forget, open_directory, part_in, sweep
from trellis.scenario.grid import grid_from_mapping, load_grid, points

BASE = {key: value for key, value in PLAIN.items() if key != "seed"}
SMALL: dict[str, Any] = {"name": "small", "scenario": BASE, "axes": {"nodes.count": [4, 8]}}


def grid_file(directory: Path, grid: dict[str, Any]) -> Path:
    path = directory / "asked.json"
    path.write_text(json.dumps(grid))
    return path


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """A directory in which both scenarios are finished, but no table is written."""
    place, grid = tmp_path / "sweep", grid_from_mapping(SMALL)
    open_directory(place, grid)
    for point in points(grid):
        keep(place, row_of(Work(point, str(place), False, True)))
    return place


def go_on(place: Path, **options: bool) -> None:
    """Without a session: what is refused is refused before Spark is asked for anything."""
    grid = grid_from_mapping(SMALL)
    sweep(None, grid, points(grid), place, **options)  # type: ignore[arg-type]


def test_a_product_with_thousands_of_digits_is_refused(refused, tmp_path: Path) -> None:
    axes = {f"key{n}": list(range(1000)) for n in range(1500)}
    assert "far too many runs" in refused(
        "sweep", grid_file(tmp_path, {**SMALL, "axes": axes}), "--out", tmp_path / "o"
    )


def test_a_number_that_is_none_is_not_taken_for_a_missing_one(refused, tmp_path: Path) -> None:
    file = grid_file(tmp_path, {**SMALL, "scenario": {**BASE, "end": float("nan")}})
    assert "end = nan" in refused("sweep", file, "--out", tmp_path / "o")


def test_an_axis_within_the_table_of_another_leaves_the_grid_as_it_was() -> None:
    grid = grid_from_mapping(
        {**SMALL, "axes": {"nodes": [{"count": 4}], "nodes.count": [6, 7], "network.service": [5]}}
    )
    told = [(point.scenario.nodes.count, point.settings["nodes"]) for point in points(grid)]
    assert told == [(6, {"count": 4}), (7, {"count": 4})]
    assert grid.axes["nodes"] == [{"count": 4}]
    assert grid.scenario == BASE


def test_a_matrix_lies_beside_the_base_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "times.csv").write_text("0,7\n7,0\n")
    base = {**PLAIN, "nodes": {"count": 2}, "network": {"kind": "matrix", "file": "times.csv"}}
    (tmp_path / "below" / "base.json").write_text(json.dumps(base))
    _, found = load_grid(grid_file(tmp_path, {"name": "m", "base": "below/base.json"}))
    assert found[0].scenario.network.rows == [[0, 7], [7, 0]]


def test_a_senseless_master_leaves_no_directory(refused, tmp_path: Path) -> None:
    file = grid_file(tmp_path, SMALL)
    assert "not a Spark master" in refused("sweep", file, "--out", tmp_path / "o", "--master", "local[0]")
    assert "not a Spark master" in refused("reproduce", "vcube-ps", "--out", tmp_path / "o", "--master", "x")
    assert not (tmp_path / "o").exists()


def test_failures_are_not_forgotten_when_spark_does_not_start(refused, tmp_path: Path, swept: Path) -> None:
    before = everything_in(swept)
    refused("sweep", grid_file(tmp_path, SMALL), "--out", swept, "--retry", "--master", "x")
    assert everything_in(swept) == before


def test_a_start_that_was_cut_off_does_not_bar_the_directory(tmp_path: Path) -> None:
    (tmp_path / f".{GRID}-1").write_text("{")
    open_directory(tmp_path, grid_from_mapping(SMALL))
    assert (tmp_path / GRID).is_file()


@pytest.mark.parametrize("retry", [False, True])
@pytest.mark.parametrize("wrong", ["torn", "empty", "of another run", "without rows", "a directory"])
def test_a_part_that_is_not_whole_or_not_of_its_run_is_refused(swept: Path, wrong: str, retry: bool) -> None:
    one, other = (part_of(swept, run) for run in sorted(finished(swept)))
    match wrong:
        case "torn":
            one.write_bytes(one.read_bytes()[:600])
        case "empty":
            one.write_bytes(b"")
        case "of another run":
            one.write_bytes(other.read_bytes())
        case "without rows":
            pq.write_table(pq.read_table(other).slice(0, 0), one)
        case _:
            one.unlink()
            one.mkdir()
    with pytest.raises(PipelineError, match=f"{one.name}: .*remove it and start the sweep again"):
        go_on(swept, retry=retry)


def test_files_of_others_among_the_parts_are_passed_over(swept: Path) -> None:
    runs = finished(swept)
    (swept / "parts" / "letter.txt").write_text("dear")
    assert finished(swept) == runs


def test_only_what_failed_or_lacks_its_trace_is_run_again(swept: Path) -> None:
    one, other = sorted(finished(swept))
    keep(swept, {**part_in(swept, one).to_pylist()[0], "error": "it failed"})

    def left(**options: bool) -> list[str]:
        done = {run: part_in(swept, run) for run in sorted(finished(swept))}
        forget(swept, done, **options)
        assert finished(swept) == set(done)
        return list(done)

    assert left(retry=False, traces=False) == [one, other]
    assert left(retry=False, traces=True) == [one]
    assert left(retry=True, traces=False) == []


def test_what_stands_where_a_trace_goes_is_left_alone(swept: Path) -> None:
    stands = trace_of(swept, min(finished(swept)))
    stands.parent.mkdir()
    stands.write_text("mine")
    with pytest.raises(TraceError, match="a file stands there"):
        go_on(swept, traces=True)
    assert stands.read_text() == "mine"


def test_what_stands_where_a_table_goes_is_left_alone(swept: Path) -> None:
    (swept / "runs").write_text("mine")
    with pytest.raises(PipelineError, match="a file stands where the table goes"):
        tables.write(None, swept, "runs")  # type: ignore[arg-type]
    assert (swept / "runs").read_text() == "mine"


def test_settings_with_brackets_are_shown_as_they_are() -> None:
    row = {"point": 0, "settings": [("name[/x]", '"[/a]"')], "mean": 1.0, "half": None, "count": 1}
    with console.capture() as shown:
        console.print(table_of("[/g]", [{**row, "measure": measure} for measure in SHOWN]))
    assert "name[/x]" in shown.get()
    assert '"[/a]"' in shown.get()


def test_a_sweep_that_is_not_whole_is_not_audited(refused, swept: Path) -> None:
    assert "the sweep is not finished" in refused("audit", swept, "--spark")


def test_a_sweep_without_some_of_its_traces_is_not_audited(refused, swept: Path) -> None:
    fake_table(swept)
    assert "2 of 2 runs have no trace" in refused("audit", swept, "--spark")
    (swept / "runs" / tables.MANIFEST).write_text("{")
    assert "the table is not whole" in refused("audit", swept, "--spark")


def fake_table(place: Path) -> None:
    """The table `runs` as Spark would write it, but without Spark."""
    import msgspec
    import pyarrow as pa

    (place / "runs").mkdir()
    file = place / "runs" / "part-0.parquet"
    pq.write_table(pa.concat_tables([part_in(place, run) for run in sorted(finished(place))]), file)
    manifest = tables.Manifest("runs", 2, "", {file.name: file.stat().st_size})
    (place / "runs" / tables.MANIFEST).write_bytes(msgspec.json.encode(manifest))


@pytest.mark.parametrize("stray", ["run=a/copy", "other"])
def test_a_stray_trace_among_the_runs_is_refused(tmp_path: Path, stray: str) -> None:
    for name in ("run=a", "run=b", ".trellis-x/new", stray):
        (tmp_path / "traces" / name).mkdir(parents=True)
        (tmp_path / "traces" / name / "trace.parquet").write_bytes(b"")
    with pytest.raises(TraceError, match="not of a run"):
        runs_in(tmp_path)


def test_two_names_that_spark_takes_for_one_are_refused(tmp_path: Path) -> None:
    for name in ("run=a", "run=%61"):
        (tmp_path / "traces" / name).mkdir(parents=True)
    with pytest.raises(TraceError, match="the name of another run"):
        runs_in(tmp_path)


def test_a_sample_larger_than_spark_can_count_is_refused(refused, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1 2\n")
    line = refused("ingest", "follows", tmp_path / "t", "--out", tmp_path / "o", "--sample", 1 << 63)
    assert "'--sample'" in line


def test_a_demo_looks_at_both_of_its_directories_first(refused, tmp_path: Path) -> None:
    (tmp_path / "demo-sweep").mkdir()
    (tmp_path / "demo-sweep" / "letter.txt").write_text("dear")
    assert "not empty and not a sweep" in refused("demo", "--out", tmp_path / "demo")
    assert not (tmp_path / "demo").exists()
    assert "not empty" in refused("demo", "--out", "/")


def test_a_demo_can_go_where_one_stands(trellis, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert trellis("demo", "--out", ".", "--no-spark", "--no-live").code == 0
    assert (tmp_path / "here" / "index.html").is_file()


def test_a_reproduction_cut_off_while_writing_its_claims_goes_on(tmp_path: Path) -> None:
    from trellis.cli.reproduce import prepare, put

    (tmp_path / "sweeps").mkdir()
    (tmp_path / ".claims.json").write_text("{")
    prepare(tmp_path)
    (tmp_path / "claims.json").mkdir()
    with pytest.raises(IsADirectoryError):
        put(tmp_path / "claims.json", b"{}")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["claims.json", "sweeps"]


def test_an_interrupt_is_told_in_one_line(tmp_path: Path) -> None:
    grid = tmp_path / "grid.json"
    os.mkfifo(grid)  # the command waits for somebody to write
    command = [sys.executable, "-m", "trellis", "sweep", str(grid), "--out", str(tmp_path / "o")]
    waiting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with grid.open("w"):  # opens once the command reads
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate(timeout=30)
    assert waiting.returncode == 130
    assert said == "trellis: interrupted\n"
