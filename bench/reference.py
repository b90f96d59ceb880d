"""The reference engine beside SimPy's bare timeout loop, in one run on one core.

    python bench/reference.py [--rounds 5] [--nodes 256] [--json]

Both are timed in turns, so that a noisy machine disturbs both alike; the figure is the ratio of the medians. A packet
event is one packet received and worked off by a machine, with the trace on and laid out as columns at the end. A
SimPy event is one timeout of a process that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import simpy

from trellis.scenario import from_mapping
from trellis.sim import run


def packets_per_second(nodes: int) -> float:
    scenario = from_mapping(
        {
            "name": "all-publish",
            "seed": 42,
            "stack": {"overlay": "vcube", "ordering": "causal"},
            "nodes": {"count": nodes},
            "subscriptions": {"kind": "fraction", "fraction": 1.0},
            "workload": {"kind": "once-each", "publishers": 1.0, "window": 1000},
            "network": {"kind": "queue", "service": 1, "propagation": 100},
        }
    )
    result = run(scenario)
    packets = len(result.trace.of_kind("receive"))
    return packets / result.seconds


def timeouts_per_second(timeouts: int) -> float:
    def tick(env: simpy.Environment):  # type: ignore[no-untyped-def]
        while True:
            yield env.timeout(1)

    env = simpy.Environment()
    env.process(tick(env))
    began = time.perf_counter()
    env.run(until=timeouts)
    return timeouts / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description="reference engine against SimPy's bare timeout loop")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=256)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ours, theirs = [], []
    for _ in range(options.rounds):
        theirs.append(timeouts_per_second(500_000))
        ours.append(packets_per_second(options.nodes))
    trellis, bare = statistics.median(ours), statistics.median(theirs)
    if options.json:
        print(json.dumps({"packets_per_second": trellis, "timeouts_per_second": bare, "ratio": trellis / bare}))
        return
    print(f"reference engine, {options.nodes} nodes, all publish: {trellis:12,.0f} packet events/s")
    print(f"SimPy, bare timeout loop:                {bare:12,.0f} timeouts/s")
    print(f"ratio {trellis / bare:.3f} (at least 0.25 is wanted)")


if __name__ == "__main__":
    main()
