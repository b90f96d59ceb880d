"""What the experiments of VCube-PS share: the papers' network, the two systems, the sizes.

Source:   section 4 of both papers ("2017": arXiv 1706.08302, "2018": JPDC 2018).

**Which overlay stands for VCube-PS.** `vcube-printed` is the papers' algorithm to the letter, `vcube` the repaired one.
Where every node publishes at most once and nobody comes or goes, both send the same packets at the same times (a test
holds them to it), and `vcube` starts faster at 4,096 nodes: Figures 4, 5, 6, 9 and Table 1 run it. Where the algorithm
itself shows (a source's second message waits for the acknowledgements of its first; churn), the printed form is run.
"""

from __future__ import annotations

from typing import Any

from trellis.scenario.grid import Grid

VCUBE, PRINTED, SRPT = "vcube", "vcube-printed", "single-root"
NAMES = {VCUBE: "VCube-PS", PRINTED: "VCube-PS", SRPT: "SRPT"}

OVERLAY, NODES, FRACTION, PUBLISHERS = "stack.overlay", "nodes.count", "subscriptions.fraction", "workload.publishers"
ONE = 1e-9  # of the nodes publish: one does

RUNS = 40  # "each experiment was executed 40 times"


def sizes(last: int) -> list[int]:
    """8 and its doubles, as in the papers."""
    found = [8]
    while found[-1] < last:
        found.append(2 * found[-1])
    return found


def scenario(subscriptions: dict[str, Any], workload: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """The papers' network under a load. Reception does not depend on the order, so the order is left out by default."""
    return {
        "name": "VCube-PS section 4",
        "stack": {"overlay": VCUBE, "ordering": "unordered"},
        "nodes": {"count": 8},
        "subscriptions": subscriptions,
        "workload": workload,
        "network": {"kind": "queue", "service": 1, "propagation": 100},
    } | rest


def grid(name: str, base: dict[str, Any], repetitions: int, **more: Any) -> Grid:
    """Neither audited nor traced: what is asked here is how fast, and some runs have 77 million packets."""
    return Grid(name=name, scenario=base, repetitions=repetitions, judge=False, trace=False, **more)


def one_publisher(scale: str) -> list[Grid]:
    """Section 4.1, for Figures 4a and 4b: one message, a quarter or all of the nodes subscribe."""
    base = scenario({"kind": "fraction", "fraction": 1.0}, {"kind": "once-each", "publishers": ONE, "window": 1000})
    axes = {OVERLAY: [VCUBE, SRPT], NODES: sizes(4096)}
    return [
        grid("one-publisher-25", base, RUNS, axes=axes | {FRACTION: [0.25]}),
        grid("one-publisher-100", base, RUNS if scale == "paper" else 5, axes=axes | {FRACTION: [1.0]}),
    ]


def all_subscribe(propagation: int) -> dict[str, Any]:
    """Section 4.2: everybody subscribes, publishers speak once, at a time drawn in [0, 1000]."""
    return scenario(
        {"kind": "fraction", "fraction": 1.0},
        {"kind": "once-each", "publishers": 1.0, "window": 1000},
        network={"kind": "queue", "service": 1, "propagation": propagation},
    )


def many_publishers(scale: str) -> list[Grid]:
    """For Figure 5a and Table 1."""
    base = all_subscribe(100)
    if scale == "paper":
        axes = {OVERLAY: [VCUBE, SRPT], PUBLISHERS: [0.25, 1.0], NODES: sizes(4096)}
        return [grid("many-publishers", base, RUNS, axes=axes)]
    both = {OVERLAY: [VCUBE, SRPT], PUBLISHERS: [0.25, 1.0]}
    return [
        grid("many-publishers", base, RUNS, axes=both | {NODES: sizes(64)}),
        grid("many-publishers-256", base, 5, axes=both | {NODES: [128, 256]}),
        grid("many-publishers-1024", base, 1, axes=both | {NODES: [512, 1024]}),
    ]
