"""Sweeps: the tables depend on the grid alone, whatever happens on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from bad_input import PLAIN
from pipeline.cluster import kill, standalone, wait_until

from trellis.errors import PipelineError, ScenarioError
from trellis.pipeline import tables
from trellis.pipeline.runs import PART, RUNS, Work, finished, part_in, part_of, row_of
from trellis.pipeline.sweep import cost, guided, open_directory, sweep
from trellis.scenario.grid import Grid, grid_from_mapping, load_grid, points
from trellis.scenario.load import from_mapping

BASE = {key: value for key, value in PLAIN.items() if key != "seed"}
SMALL = {"name": "small", "scenario": BASE, "axes": {"nodes.count": [4, 8], "stack.overlay": ["vcube", "single-root"]}}
# Some hundred milliseconds each: long enough to be killed in the middle, short enough for a test.
SLOW = {
    "name": "slow",
    "scenario": {**BASE, "workload": {"kind": "once-each", "publishers": 1.0, "window": 1000}},
    "axes": {"nodes.count": [40, 48]},
    "repetitions": 10,
}
ALL = 20  # scenarios of it


def grid_file(directory: Path, grid: dict) -> Path:
    path = directory / "grid.json"
    path.write_text(json.dumps(grid))
    return path


def runs_of(spark, out: Path) -> pa.Table:
    return tables.read(spark, out, "runs").toArrow().sort_by("number")


def start_sweep(grid: Path, out: Path, master: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "trellis", "sweep", str(grid), "--out", str(out), "--master", master, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory) -> pa.Table:
    """The slow grid, run in peace."""
    out = tmp_path_factory.mktemp("undisturbed") / "sweep"
    grid = grid_from_mapping(SLOW)
    swept = sweep(spark, grid, points(grid), out)
    assert swept.scenarios == swept.ran == ALL
    assert swept.failed == 0
    return runs_of(spark, out)


def test_a_sweep_on_spark_gives_the_rows_that_a_plain_loop_gives(spark, tmp_path: Path) -> None:
    grid = grid_from_mapping({**SMALL, "repetitions": 3})
    laid_out = points(grid)
    swept = sweep(spark, grid, laid_out, tmp_path / "sweep", traces=True)
    assert (swept.scenarios, swept.ran, swept.failed) == (12, 12, 0)
    plain = [row_of(Work(point, str(tmp_path), False, True)) for point in laid_out]
    expected = pa.Table.from_pylist(plain, PART).select(RUNS.names)
    assert runs_of(spark, tmp_path / "sweep").to_pylist() == expected.to_pylist()
    traces = sorted(path.name for path in (tmp_path / "sweep" / "traces").iterdir())
    assert traces == sorted(f"run={point.run}" for point in laid_out)


def test_a_finished_sweep_runs_nothing_again(spark, tmp_path: Path) -> None:
    grid = grid_from_mapping(SMALL)
    sweep(spark, grid, points(grid), tmp_path / "sweep")
    before = runs_of(spark, tmp_path / "sweep")
    again = sweep(spark, grid, points(grid), tmp_path / "sweep")
    assert (again.ran, again.busy) == (0, None)
    assert runs_of(spark, tmp_path / "sweep") == before


def test_a_scenario_that_fails_is_a_row_with_its_error(spark, tmp_path: Path) -> None:
    """Half the nodes cannot be openers when a quarter subscribes; that shows only when the plan is made."""
    openers = {"workload": [{"kind": "replies", "openers": 1}, {"kind": "replies", "openers": 7}]}
    quarter = {"kind": "fraction", "fraction": 0.25}
    grid = grid_from_mapping({"name": "g", "scenario": {**BASE, "subscriptions": quarter}, "axes": openers})
    assert sweep(spark, grid, points(grid), tmp_path / "sweep").failed == 1
    well, failed = runs_of(spark, tmp_path / "sweep").to_pylist()
    assert well["error"] == ""
    assert failed["error"].startswith("ScenarioError: workload.openers = 7")
    assert failed["digest"] is None
    assert sweep(spark, grid, points(grid), tmp_path / "sweep").ran == 0
    assert sweep(spark, grid, points(grid), tmp_path / "sweep", retry=True).ran == 1


def test_a_driver_killed_in_the_middle_leaves_whole_scenarios_that_are_not_run_again(
    spark, tmp_path: Path, undisturbed: pa.Table
) -> None:
    grid, out = grid_file(tmp_path, SLOW), tmp_path / "sweep"
    first = start_sweep(grid, out, "local[2]")
    wait_until(lambda: len(finished(out)) >= 4, "four scenarios are finished")
    kill_alone(first)
    wait_until_still(out)
    done = {run: part_of(out, run).stat().st_mtime_ns for run in finished(out)}
    assert 4 <= len(done) < ALL
    with pytest.raises(PipelineError, match="there is no such table"):
        tables.read(spark, out, "runs")
    _, laid_out = load_grid(grid)
    swept = sweep(spark, grid_from_mapping(SLOW), laid_out, out)
    assert swept.ran == ALL - len(done)
    assert {run: part_of(out, run).stat().st_mtime_ns for run in done} == done
    assert runs_of(spark, out) == undisturbed


def kill_alone(process: subprocess.Popen[bytes]) -> None:
    """The driver only: Spark has to notice by itself."""
    process.kill()
    process.communicate()


def wait_until_still(out: Path) -> None:
    """Workers may finish the scenario that they are in."""
    seen = [-1]

    def still() -> bool:
        import time

        time.sleep(2)
        seen.append(len(finished(out)))
        return seen[-1] == seen[-2]

    wait_until(still, "nothing is written any more")


def test_a_cluster_gives_the_same_tables_also_when_a_worker_is_killed(
    spark, tmp_path: Path, undisturbed: pa.Table
) -> None:
    """Each worker has finished something before one of them is killed."""
    grid, out = grid_file(tmp_path, SLOW), tmp_path / "sweep"

    def workers() -> set[str]:
        return {part_in(out, run)["worker"][0].as_py() for run in finished(out)}

    with standalone(tmp_path, workers=2) as cluster:
        swept = start_sweep(grid, out, cluster.master)
        wait_until(lambda: len(workers()) >= 2, "both workers have finished a scenario")
        kill(cluster.processes[-1])
        assert len(finished(out)) < ALL
        said, complaint = swept.communicate(timeout=240)
        assert swept.returncode == 0, complaint.decode()
        assert json.loads(said)["ran"] == ALL
    assert set(tables.read(spark, out, "timings").toArrow()["worker"].to_pylist()) == workers()
    assert runs_of(spark, out) == undisturbed


def test_the_directory_of_another_grid_is_refused(spark, tmp_path: Path) -> None:
    grid = grid_from_mapping(SMALL)
    sweep(spark, grid, points(grid), tmp_path / "sweep")
    other = grid_from_mapping({**SMALL, "seed": 1})
    with pytest.raises(PipelineError, match="another grid"):
        sweep(spark, other, points(other), tmp_path / "sweep")


def test_a_table_without_its_manifest_or_with_a_torn_file_is_not_read(spark, tmp_path: Path) -> None:
    grid = grid_from_mapping(SMALL)
    sweep(spark, grid, points(grid), tmp_path)
    (part,) = (tmp_path / "runs").glob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(PipelineError, match="not whole"):
        tables.read(spark, tmp_path, "runs")
    (tmp_path / "runs" / tables.MANIFEST).unlink()
    with pytest.raises(PipelineError, match="not whole"):
        tables.read(spark, tmp_path, "runs")


def test_seeds_come_from_the_content_and_are_the_same_for_two_overlays() -> None:
    few = points(grid_from_mapping(SMALL))
    more = points(grid_from_mapping({**SMALL, "axes": {"stack.overlay": ["single-root"], "nodes.count": [16, 8]}}))
    assert {p.scenario.nodes.count: p.scenario.seed for p in few if p.scenario.stack.overlay == "vcube"} == {
        p.scenario.nodes.count: p.scenario.seed for p in few if p.scenario.stack.overlay == "single-root"
    }
    assert more[1].run in {p.run for p in few}
    assert len({p.scenario.seed for p in points(grid_from_mapping({**SMALL, "repetitions": 3}))}) == 2 * 3


def test_work_is_dealt_out_once_the_dearest_first_and_in_ever_smaller_pieces() -> None:
    laid_out = points(grid_from_mapping({**SMALL, "repetitions": 50}))
    chunks = guided(laid_out, workers=2)
    assert sorted(p.number for chunk in chunks for p in chunk) == list(range(200))
    shares = [sum(cost(p.scenario) for p in chunk) for chunk in chunks]
    assert shares[0] <= sum(shares) / 4
    assert len(chunks[-1]) == 1
    assert cost(chunks[0][0].scenario) == max(cost(p.scenario) for p in laid_out)


def test_what_changes_often_is_begun_first_however_few_messages_there_are() -> None:
    """Figure 8: with short sessions nearly all of the work is telling everybody who came and who left."""
    calm, stirred = (
        from_mapping(
            PLAIN
            | {
                "nodes": {"count": 64},
                "subscriptions": {"kind": "sessions", "subscribers": 50, "session": session},
                "workload": {"kind": "periodic", "interval": 500},
                "end": 60_000,
            }
        )
        for session in (600_000, 600)
    )
    assert cost(stirred) > 50 * cost(calm)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scenario": None}, "not a grid"),
        ({"axes": {"nodes.count": []}}, "0 runs"),
        ({"axes": {"nodes.count": [8, 8]}}, "the same scenario"),
        ({"axes": {"nodes.count": ["many"]}}, "nodes.count"),
        ({"axes": {"stack.overlay": ["vcub"]}}, "no such overlay"),
        ({"axes": {"name.count": [1]}}, "no table"),
        ({"axes": {"nodes.counts": [1]}}, "counts"),
        ({"repetitions": 0}, "not a grid"),
        ({"axis": {}}, "not a grid"),
        ({"trace": False}, "audits need the trace"),
    ],
)
def test_a_wrong_grid_is_refused_in_one_line(tmp_path: Path, change: dict, says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as refusal:
        load_grid(grid_file(tmp_path, {**SMALL, **change}))
    assert "\n" not in str(refusal.value)


def test_a_grid_is_a_value() -> None:
    assert grid_from_mapping(SMALL) == Grid(name="small", scenario=BASE, axes=SMALL["axes"])
    nested = {**SMALL, "axes": {"nodes": {"count": [4, 8]}, "stack": {"overlay": ["vcube", "single-root"]}}}
    assert grid_from_mapping(nested) == grid_from_mapping(SMALL)


def test_traces_are_kept_of_all_runs_or_of_none(spark, tmp_path: Path) -> None:
    grid = grid_from_mapping(SMALL)
    first, *others = points(grid)
    sweep(spark, grid, [first], tmp_path / "sweep")
    assert sweep(spark, grid, [first], tmp_path / "sweep", traces=True).ran == 1
    with pytest.raises(PipelineError, match="add --traces"):
        sweep(spark, grid, [first, *others], tmp_path / "sweep")


def test_a_grid_without_traces_has_the_same_measures_and_says_that_nothing_was_audited(spark, tmp_path: Path) -> None:
    """Also where a run is large enough to be compiled, and counted instead of traced."""
    axes = {"nodes.count": [8, 400], "stack.overlay": ["vcube-printed", "single-root"]}
    asked = {**SMALL, "axes": axes, "judge": False}
    plain, bare = grid_from_mapping(asked), grid_from_mapping({**asked, "trace": False})
    sweep(spark, plain, points(plain), tmp_path / "plain")
    sweep(spark, bare, points(bare), tmp_path / "bare")
    expected = [{**row, "digest": None} for row in runs_of(spark, tmp_path / "plain").to_pylist()]
    found = runs_of(spark, tmp_path / "bare").to_pylist()
    assert found == expected
    assert {row["audited"] for row in found} == {False}
    with pytest.raises(PipelineError, match="trace = false"):
        sweep(spark, bare, points(bare), tmp_path / "bare", traces=True)


def test_rows_of_other_code_are_not_mixed_in(tmp_path: Path, monkeypatch) -> None:
    grid = grid_from_mapping(SMALL)
    open_directory(tmp_path / "sweep", grid)
    open_directory(tmp_path / "sweep", grid)
    monkeypatch.setattr("trellis.pipeline.sweep.fingerprint", lambda: "of tomorrow")
    with pytest.raises(PipelineError, match="other code"):
        open_directory(tmp_path / "sweep", grid)


def test_a_stray_file_beside_a_table_is_not_read(spark, tmp_path: Path) -> None:
    tables.write(spark.range(3), tmp_path, "three")
    (part, *_) = (tmp_path / "three").glob("part-*.parquet")
    (tmp_path / "three" / "stray.parquet").write_bytes(part.read_bytes())
    assert tables.read(spark, tmp_path, "three").count() == 3


def test_names_with_blanks_and_brackets_are_only_names(spark, tmp_path: Path) -> None:
    out = tmp_path / "ein Gitter [1] ä"
    grid = grid_from_mapping({**SMALL, "axes": {"nodes.count": [4]}})
    assert sweep(spark, grid, points(grid), out).ran == 1
    assert runs_of(spark, out).num_rows == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [out.name]
