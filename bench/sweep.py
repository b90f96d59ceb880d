"""How much of the cores' time a sweep spends in its scenarios; and the same sweep with its driver killed in the middle.

    python bench/sweep.py [--scenarios 200] [--master local[2]] [--json]

Scenarios of about a tenth of a second each: the share of all cores' time, from the first task to the last, spent
running and measuring scenarios. The rest is Spark's. Starting the session is told apart. Then the same sweep as a
command of its own, killed (-9) when half is done and started again: what was finished must not be run again, and the
table must be the undisturbed one's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from trellis.pipeline import tables
from trellis.pipeline.runs import finished, part_of
from trellis.pipeline.session import cores, session
from trellis.pipeline.sweep import sweep
from trellis.scenario import points
from trellis.scenario.grid import Grid, grid_from_mapping

WANTED = 0.85


def main() -> None:
    parser = argparse.ArgumentParser(description="share of the cores' time that a sweep spends in scenarios")
    parser.add_argument("--scenarios", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    grid = grid_from_mapping(
        {
            "name": "bench",
            "repetitions": options.scenarios,
            "scenario": {
                "stack": {"overlay": "vcube", "ordering": "causal"},
                "nodes": {"count": options.nodes},
                "subscriptions": {"kind": "fraction", "fraction": 1.0},
                "workload": {"kind": "once-each", "publishers": 1.0, "window": 1000},
                "network": {"kind": "queue", "service": 1, "propagation": 100},
            },
        }
    )
    began = time.perf_counter()
    spark = session(options.master)
    started = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as directory:
        calm = Path(directory) / "calm"
        swept = sweep(spark, grid, points(grid), calm)
        mean = tables.read(spark, calm, "timings").agg({"seconds": "mean"}).collect()[0][0]
        kept, ran, same = killed_and_resumed(spark, grid, Path(directory), options.master, calm)
    assert swept.busy is not None
    figures = {
        "scenarios": swept.ran,
        "cores": cores(spark),
        "seconds_per_scenario": mean,
        "session_seconds": started,
        "wall_seconds": swept.wall,
        "busy": swept.busy,
        "finished_when_killed": kept,
        "run_after_that": ran,
        "same_table": same,
        "held": swept.busy >= WANTED and same and kept + ran == swept.ran,
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print(
        f"session {started:.1f} s; {swept.ran} scenarios of {mean:.3f} s on {cores(spark)} cores in {swept.wall:.1f} s"
    )
    verdict = "held" if figures["held"] else "NOT held"
    print(f"{swept.busy:.1%} of the cores' time in scenarios (wanted {WANTED:.0%})")
    print(f"killed with {kept} finished, {ran} run after that, the same table: {same}; all in all {verdict}")
    if not figures["held"]:
        sys.exit(1)


def killed_and_resumed(
    spark: SparkSession, grid: Grid, directory: Path, master: str, calm: Path
) -> tuple[int, int, bool]:
    """Scenarios that stood when the driver was killed, those that ran after that, and whether the tables are equal."""
    rough, file = directory / "rough", directory / "grid.json"
    file.write_bytes(msgspec.json.encode(grid))
    command = [sys.executable, "-m", "trellis", "sweep", str(file), "--out", str(rough), "--master", master, "--json"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(finished(rough)) < grid.repetitions // 2 and driver.poll() is None:
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    time.sleep(3)  # a worker may finish the scenario that it is in
    before = {run: part_of(rough, run).stat().st_mtime_ns for run in finished(rough)}
    resumed = sweep(spark, grid, points(grid), rough)
    untouched = all(part_of(rough, run).stat().st_mtime_ns == at for run, at in before.items())
    rows = [tables.read(spark, place, "runs").orderBy("number").toArrow().to_pylist() for place in (calm, rough)]
    return len(before), resumed.ran, untouched and rows[0] == rows[1]


if __name__ == "__main__":
    main()
