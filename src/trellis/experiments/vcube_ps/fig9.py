"""Brokers.

Source:   2018 section 4.6, Figure 9.
Departs:  "publishers are randomly chosen among the subscribers [...] and send a new message on average every 500 u.t.,
          up to 128 messages" can be read in two ways, and the figure's axis is not in our text: one message every
          500 u.t. in all (calm), or 128 publishers that each send one after 500 u.t. on average (crowd). Both are run
          and judged.
"""

from __future__ import annotations

from typing import Any

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale
from trellis.experiments.rows import Row, Rows, average, pick, ratio, reception
from trellis.experiments.vcube_ps.model import OVERLAY, RUNS, SRPT, VCUBE, grid, scenario
from trellis.metrics.summary import Interval
from trellis.scenario.grid import Grid

NODES, MESSAGES, BROKERS = 4096, 128, (32, 256, 2048)
SUBSCRIPTIONS, WORKLOAD, COUNT = "subscriptions", "workload", "stack.brokers"
READINGS: dict[str, dict[str, Any]] = {
    "calm": {"kind": "periodic", "interval": 500, "messages": MESSAGES, "spacing": "poisson"},
    "crowd": {"kind": "once-each", "publishers": MESSAGES / NODES, "window": 1000},
}


def grids(scale: Scale) -> list[Grid]:
    """With brokers, the other nodes are the subscribers (127, 15 and 1 for each); without, all are."""
    everybody = {SUBSCRIPTIONS: {"kind": "fraction", "fraction": 1.0}}
    systems: list[dict[str, Any]] = [everybody | {OVERLAY: overlay} for overlay in (VCUBE, SRPT)]
    for count in BROKERS:
        others = {"t0": [node for node in range(NODES) if node % (NODES // count)]}
        systems.append({SUBSCRIPTIONS: {"kind": "explicit", "members": others}, OVERLAY: "brokers", COUNT: count})
    base = scenario({}, {}, nodes={"count": NODES})
    axes = {WORKLOAD: list(READINGS.values())}
    return [grid("brokers", base, RUNS if scale == "paper" else 1, axes=axes, variants=systems)]


def chosen(rows: Rows, reading: str, system: str | int) -> Rows:
    which = {OVERLAY: system} if isinstance(system, str) else {OVERLAY: "brokers", COUNT: system}
    return pick(rows, {WORKLOAD: READINGS[reading]} | which)


def latency(rows: Rows, reading: str, system: str | int) -> Interval | None:
    return average(chosen(rows, reading, system), reception)


def below(rows: Rows, reading: str, brokers: int) -> Interval | None:
    """VCube-PS below SRPT-B, in percent."""
    found = ratio(latency(rows, reading, VCUBE), latency(rows, reading, brokers))
    return None if found is None else Interval(100 * (1 - found.mean), 0.0, None, found.count)


def below_all(rows: Rows, reading: str) -> Interval | None:
    found = [below(rows, reading, brokers) for brokers in BROKERS]
    return min((one for one in found if one is not None), key=lambda one: one.mean, default=None)


def to_brokers(row: Row) -> float | None:
    """Tree: from publication to a broker. Brokers do not deliver, and nobody else but they passes messages on."""
    mean: float | None = row["relayed"]["mean"]
    return mean


def to_subscribers(row: Row) -> float | None:
    """B-S: from a broker to its subscribers."""
    tree, whole = to_brokers(row), reception(row)
    return None if tree is None or whole is None else whole - tree


def crowded(rows: Rows, reading: str) -> Interval | None:
    """B-S with 32 brokers over the larger of the others."""
    first, *others = (average(chosen(rows, reading, brokers), to_subscribers) for brokers in BROKERS)
    most = max((one for one in others if one is not None), key=lambda one: one.mean, default=None)
    return ratio(first, most)


def claims(reading: str) -> list[Claim]:
    calm = reading == "calm"
    other = (
        "one message per 500 u.t. never meets another one, so nothing contends; a tree of 256 is four hops lower than "
        "one of 4,096 and two hops longer: to the root, and to the subscriber"
        if calm
        else "128 messages within 1000 u.t. load the root broker with 128 x 23 packets: more than the paper's gain"
    )
    return [
        Claim(
            f"{reading}: VCube-PS below SRPT-B with 256 brokers",
            22.0,
            lambda rows: below(rows, reading, 256),
            "%",
            why=other,
        ),
        Claim(
            f"{reading}: VCube-PS below every SRPT-B (the smallest gain)",
            0.0,
            lambda rows: below_all(rows, reading),
            "%",
            "at least",
            why=other,
        ),
        Claim(
            f"{reading}: B-S latency with 32 brokers over the others'",
            4.0,
            lambda rows: crowded(rows, reading),
            "x",
            why="a broker's 127 copies take 64 u.t. on average beside 100 of propagation when nothing else contends"
            if calm
            else "each broker has 128 x 127 copies to send, 16,256 u.t. of work",
        ),
        Claim(
            f"{reading}: SRPT-S over SRPT-B with 2,048 brokers",
            1.0,
            lambda rows: ratio(latency(rows, reading, SRPT), latency(rows, reading, 2048)),
            "x",
            "at least",
            why="a tree over half of the nodes is one level lower, but every subscriber of it is one hop further",
        ),
    ]


def charts(rows: Rows) -> list[Chart]:
    systems: dict[str, str | int] = {"VCube-PS": VCUBE, "SRPT-S": SRPT} | {f"SRPT-B {n}": n for n in BROKERS}
    found = []
    for reading in READINGS:
        whole = {name: latency(rows, reading, system) for name, system in systems.items()}
        parts = [
            {name: average(chosen(rows, reading, n), value) for name, n in systems.items() if isinstance(n, int)}
            for value in (to_brokers, to_subscribers)
        ]
        series = [
            Series(name, {k: one for k, one in points.items() if one is not None}, False, color)
            for color, (name, points) in enumerate([("whole", whole), ("Tree", parts[0]), ("B-S", parts[1])])
        ]
        title = {"calm": "Calm: one message every 500 u.t.", "crowd": "Crowd: 128 publishers within 1000 u.t."}[reading]
        found.append(Chart(title, "bars", "system", "mean reception latency (u.t.)", series))
    found[0] = found[0]._replace(note="The paper prints no latency of this figure as a number, only the ratios below.")
    return found


EXPERIMENT = Experiment(
    id="fig9",
    title="Figure 9: brokers",
    source="2018 Fig. 9, section 4.6",
    about="4,096 nodes, one topic, 128 messages. The text can be read in two ways: one message every 500 u.t. in all "
    "(calm), or 128 publishers that send one message each, after 500 u.t. on average (crowd). Both are judged. "
    "VCube-PS is `vcube`: nearly no source speaks twice, and the printed form's views of 4,096 nodes at 4,096 nodes "
    "take long to set up.",
    grids=grids,
    claims=[*claims("calm"), *claims("crowd")],
    charts=charts,
)
