"""How much of the cores' time a sweep spends in its scenarios.

    python bench/sweep.py [--scenarios 200] [--master local[2]] [--json]

Scenarios of about a tenth of a second each: the share of all cores' time, from the first task to the last, spent
running and measuring scenarios. The rest is Spark's. Starting the session is told apart.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from trellis.pipeline import tables
from trellis.pipeline.session import cores, session
from trellis.pipeline.sweep import sweep
from trellis.scenario import points
from trellis.scenario.grid import grid_from_mapping

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
        swept = sweep(spark, grid, points(grid), Path(directory) / "sweep")
        timings = tables.read(spark, Path(directory) / "sweep", "timings")
        mean = timings.agg({"seconds": "mean"}).collect()[0][0]
    assert swept.busy is not None
    figures = {
        "scenarios": swept.ran,
        "cores": cores(spark),
        "seconds_per_scenario": mean,
        "session_seconds": started,
        "wall_seconds": swept.wall,
        "busy": swept.busy,
        "held": swept.busy >= WANTED,
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print(
        f"session {started:.1f} s; {swept.ran} scenarios of {mean:.3f} s on {cores(spark)} cores in {swept.wall:.1f} s"
    )
    verdict = "held" if figures["held"] else "NOT held"
    print(f"{swept.busy:.1%} of the cores' time in scenarios (wanted {WANTED:.0%}: {verdict})")


if __name__ == "__main__":
    main()
