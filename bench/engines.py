"""The compiled engine beside the reference and SimPy's bare timeout loop, in one run on one core.

    .venv/bin/python bench/engines.py [--rounds 5] [--nodes 512] [--large 4096] [--check]

Everybody subscribes, everybody publishes once in 1,000 units of time, printed VCube-PS in causal order; all are timed
in turns, by the processor's time, so that a noisy machine disturbs them alike; every figure is a ratio of medians. A
packet event is one packet received and worked off. The compiled engine is timed bare, counting what measures need, and
with its trace; compiling is apart. The large run is made once, without order and bare, in a process of its own: its
memory is that process's.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import simpy

from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.scenario.plan import plan
from trellis.sim import run
from trellis.sim.fast.trees.printed import Printed

BARS = {"beside the reference": 40.0, "beside SimPy": 10.0, "large beside small": 1 / 3, "memory of the large run": 4.0}


def scenario(nodes: int, ordering: str = "causal") -> Scenario:
    return from_mapping(
        {
            "name": "all-publish",
            "seed": 42,
            "stack": {"overlay": "vcube-printed", "ordering": ordering},
            "nodes": {"count": nodes},
            "subscriptions": {"kind": "fraction", "fraction": 1.0},
            "workload": {"kind": "once-each", "publishers": 1.0, "window": 1000},
            "network": {"kind": "queue", "service": 1, "propagation": 100},
        }
    )


def packets(nodes: int) -> int:
    """Each message goes to all others once, and each copy is acknowledged."""
    return 2 * nodes * (nodes - 1)


def compiled(nodes: int, kept: bool, ordering: str = "causal", counted: bool = False) -> float:
    """Packet events a second."""
    world = scenario(nodes, ordering)
    whole = Printed(world, plan(world), kept, counted)
    whole.compile()
    began = time.process_time()
    whole.run()
    if kept:
        whole.trace()
    if counted:
        whole.tally()
    return packets(nodes) / (time.process_time() - began)


def reference(nodes: int) -> float:
    world = scenario(nodes)
    began = time.process_time()
    run(world, "reference")
    return packets(nodes) / (time.process_time() - began)


def timeouts(count: int = 500_000) -> float:
    def tick(env: simpy.Environment):  # type: ignore[no-untyped-def]
        while True:
            yield env.timeout(1)

    env = simpy.Environment()
    env.process(tick(env))
    began = time.process_time()
    env.run(until=count)
    return count / (time.process_time() - began)


def large(nodes: int) -> dict[str, float]:
    """In this process: how fast, and with how much memory (GiB)."""
    speed = compiled(nodes, kept=False, ordering="unordered")
    return {"speed": speed, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=512)
    parser.add_argument("--large", type=int, default=4096)
    parser.add_argument("--check", action="store_true", help="exit code 1 if a bar is not held")
    parser.add_argument("--only-large", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only_large:
        print(json.dumps(large(asked.large)))
        return 0
    began = time.perf_counter()
    compiled(16, kept=True)
    print(f"kernels compiled or loaded in {time.perf_counter() - began:.1f} s")
    told: dict[str, list[float]] = {"off": [], "counted": [], "on": [], "reference": [], "simpy": [], "free": []}
    for _ in range(asked.rounds):
        told["simpy"].append(timeouts())
        told["off"].append(compiled(asked.nodes, kept=False))
        told["counted"].append(compiled(asked.nodes, kept=False, counted=True))
        told["free"].append(compiled(asked.nodes, kept=False, ordering="unordered"))
        told["reference"].append(reference(asked.nodes))
        told["on"].append(compiled(asked.nodes, kept=True))
    median = {name: statistics.median(some) for name, some in told.items()}
    print(f"{asked.nodes} nodes, packet events a second:")
    print(
        f"  compiled {median['off']:,.0f} bare, {median['counted']:,.0f} counting, {median['on']:,.0f} with the trace"
    )
    print(f"  reference {median['reference']:,.0f}; SimPy {median['simpy']:,.0f} timeouts")
    words = [sys.executable, __file__, "--only-large", "--large", str(asked.large)]
    huge = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    print(f"{asked.large} nodes, no order: {huge['speed']:,.0f} packet events a second, {huge['memory']:.2f} GiB")
    found = {
        "beside the reference": median["off"] / median["reference"],
        "beside SimPy": median["off"] / median["simpy"],
        "large beside small": huge["speed"] / median["free"],
        "memory of the large run": huge["memory"],
    }
    held = {name: found[name] <= bar if "memory" in name else found[name] >= bar for name, bar in BARS.items()}
    for name, value in found.items():
        print(f"{name}: {value:.2f} (wanted {BARS[name]:.2f}: {'held' if held[name] else 'NOT held'})")
    print(f"with the trace on, beside the reference: {median['on'] / median['reference']:.1f}")
    return 0 if all(held.values()) or not asked.check else 1


if __name__ == "__main__":
    sys.exit(main())
