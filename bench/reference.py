"""The reference engine beside SimPy's bare timeout loop, in one run on one core.

    python bench/reference.py [--rounds 7] [--nodes 256] [--json]

Both are timed in turns, so that a noisy machine disturbs both alike; every figure is a ratio of medians.

A packet has two events in the queue model, as it would take two timeouts in SimPy: it leaves its sender's queue, and it
arrives. Both are rows of the trace. The ratio that counts packets received only is half of that; it is printed too. Our
time includes the machines of both layers, the recording of every row, and laying the rows out as columns at the end.
SimPy's process does nothing but wait.
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
    return len(result.trace.of_kind("receive")) / result.seconds


def timeouts_per_second(processes: int, timeouts: int = 500_000) -> float:
    def tick(env: simpy.Environment):  # type: ignore[no-untyped-def]
        while True:
            yield env.timeout(1)

    env = simpy.Environment()
    for _ in range(processes):
        env.process(tick(env))
    began = time.perf_counter()
    env.run(until=timeouts // processes)
    return timeouts / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description="reference engine against SimPy's bare timeout loop")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--nodes", type=int, default=256)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    packets_per_second(16)  # imports and first calls
    ours, alone, many = [], [], []
    for _ in range(options.rounds):
        alone.append(timeouts_per_second(1))
        ours.append(packets_per_second(options.nodes))
        many.append(timeouts_per_second(options.nodes))
    packets, one, all_ = statistics.median(ours), statistics.median(alone), statistics.median(many)
    figures = {
        "packets_per_second": packets,
        "packet_events_per_second": 2 * packets,
        "simpy_timeouts_per_second": one,
        "simpy_timeouts_per_second_with_as_many_processes": all_,
        "ratio": 2 * packets / one,
        "ratio_with_as_many_processes": 2 * packets / all_,
        "ratio_packets_received_only": packets / one,
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print(f"reference engine, {options.nodes} nodes, all publish: {2 * packets:,.0f} packet events/s")
    print(f"SimPy, bare timeout loop: {one:,.0f} timeouts/s; with {options.nodes} processes {all_:,.0f}")
    print(f"ratio of packet events: {figures['ratio']:.3f}; with {options.nodes} processes {2 * packets / all_:.3f}")
    print(f"ratio counting packets received only: {packets / one:.3f} (at least 0.25 is wanted)")


if __name__ == "__main__":
    main()
