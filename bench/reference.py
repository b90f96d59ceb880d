"""The reference engine beside SimPy's bare timeout loop, in one run on one core.

    python bench/reference.py [--rounds 7] [--nodes 256] [--json]

Both are timed in turns, so that a noisy machine disturbs both alike; every figure is a ratio of medians.

A packet event is one packet received and worked off by a machine. Our time includes the machines of both layers, the
recording of two rows per packet, and laying the rows out as columns at the end; SimPy's process does nothing but wait.
Two more figures for comparison: in SimPy the same packet would take two timeouts (it leaves its sender's queue, and it
arrives), and a loop with as many processes as nodes is slower than one with one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import simpy

from trellis.scenario import from_mapping
from trellis.sim import run

WANTED = 0.25


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
        "simpy_timeouts_per_second": one,
        "simpy_timeouts_per_second_with_as_many_processes": all_,
        "ratio": packets / one,
        "ratio_two_events_per_packet": 2 * packets / one,
        "ratio_two_events_per_packet_with_as_many_processes": 2 * packets / all_,
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    verdict = "held" if packets / one >= WANTED else "NOT held"
    print(f"reference engine, {options.nodes} nodes, all publish: {packets:,.0f} packet events/s")
    print(f"SimPy, bare timeout loop: {one:,.0f} timeouts/s; with {options.nodes} processes {all_:,.0f}")
    print(f"ratio {packets / one:.3f} (wanted {WANTED}: {verdict})")
    print(
        f"with two events per packet {2 * packets / one:.3f}; beside {options.nodes} processes {2 * packets / all_:.3f}"
    )


if __name__ == "__main__":
    main()
