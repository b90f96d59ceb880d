"""Queues of the nodes when everybody publishes.

Source:   2018 section 4.2, Table 1; 2017 section IV, Table I.
Departs:  the papers do not say what the average is taken over. The mean over the PUB packets of a node, of the queue
          that each found, itself included, gives the SRPT column exactly: (s + 1) / 2 for a node with s children. A
          mean over time would put no node into the class 0.
"""

from __future__ import annotations

from collections.abc import Callable

from trellis.experiments.chart import Chart, Series, published
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment
from trellis.experiments.rows import Row, Rows, average, pick
from trellis.experiments.vcube_ps.fig5a import ACKS
from trellis.experiments.vcube_ps.model import NAMES, NODES, OVERLAY, PUBLISHERS, SRPT, VCUBE, many_publishers
from trellis.metrics.summary import Interval

CLASSES = {
    "0": (-1, 0),
    "(0, 2]": (0, 2),
    "(2, 4]": (2, 4),
    "(4, 8]": (4, 8),
    "(8, 16]": (8, 16),
    "(16, 32]": (16, 32),
    "(32, 4096]": (32, 4096),
    "(4096, 8192]": (4096, 8192),
}
PUBLISHED: dict[str, list[float]] = {VCUBE: [0, 0, 0, 495, 510, 19, 0, 0], SRPT: [512, 448, 60, 3, 0, 0, 0, 1]}
ROOT = (
    "the paper prints an average of 9,240 with a deviation of 4,617, but has the root in the class (4096, 8192]. Read "
    "as the root's longest queue and its average the two fit (next lines)"
)


def chosen(rows: Rows, overlay: str) -> Rows:
    return pick(rows, {OVERLAY: overlay, NODES: 1024, PUBLISHERS: 1.0})


def nodes_between(low: float, high: float) -> Callable[[Row], float]:
    """How many nodes have an average queue in (low, high]."""
    return lambda row: sum(low < length <= high for length in row["met"])


def count(rows: Rows, overlay: str, low: float, high: float) -> Interval | None:
    return average(chosen(rows, overlay), nodes_between(low, high))


def root_mean(rows: Rows) -> Interval | None:
    return average(chosen(rows, SRPT), lambda row: max(row["met"]))


def root_longest(rows: Rows) -> Interval | None:
    return average(chosen(rows, SRPT), lambda row: row["queue_max"])


def share_of_vcube(rows: Rows) -> Interval | None:
    """Nodes of VCube-PS with an average in (4, 16], in percent."""
    return average(chosen(rows, VCUBE), lambda row: 100 * nodes_between(4, 16)(row) / 1024)


def elsewhere(rows: Rows, overlay: str) -> Interval | None:
    """Nodes in the classes in which the paper has none. One claim: an empty class is easily held."""
    empty = [CLASSES[name] for name, figure in zip(CLASSES, PUBLISHED[overlay], strict=True) if not figure]
    return average(chosen(rows, overlay), lambda row: sum(nodes_between(*ends)(row) for ends in empty))


def in_classes(overlay: str) -> list[Claim]:
    why = ACKS if overlay == VCUBE else ""
    says = f"{NAMES[overlay]}: nodes in the classes where the paper has none"
    rest = Claim(says, 0.0, lambda rows: elsewhere(rows, overlay), " nodes", why=why, by_fit=overlay == SRPT)
    filled = [(name, figure) for name, figure in zip(CLASSES, PUBLISHED[overlay], strict=True) if figure]
    return [*(in_class(overlay, name, figure, why) for name, figure in filled), rest]


def in_class(overlay: str, name: str, figure: float, why: str) -> Claim:
    low, high = CLASSES[name]
    return Claim(
        f"{NAMES[overlay]}: nodes with an average queue of {name}",
        figure,
        lambda rows: count(rows, overlay, low, high),
        " nodes",
        why=why,
        by_fit=overlay == SRPT,  # what the average is taken over
    )


def charts(rows: Rows) -> list[Chart]:
    found = []
    for color, overlay in ((0, VCUBE), (2, SRPT)):
        counts = {name: count(rows, overlay, low, high) for name, (low, high) in CLASSES.items()}
        ours = {name: number for name, number in counts.items() if number is not None}
        theirs = dict(zip(CLASSES, PUBLISHED[overlay], strict=True))
        series = [Series(NAMES[overlay], ours, False, color), published(NAMES[overlay], theirs, color)]
        found.append(Chart(f"{NAMES[overlay]}, 1,024 nodes", "bars", "average queue (packets)", "nodes", series))
    return found


EXPERIMENT = Experiment(
    id="table1",
    title="Table 1: queues of the nodes",
    source="2018 Table 1, section 4.2; 2017 Table I",
    about="The runs of Figure 5a with 1,024 nodes that all publish. A node's average is taken over its PUB packets: "
    "the queue that each found, itself included. The papers do not say what they average over; this reading was "
    "chosen because it gives the SRPT column to the node.",
    grids=many_publishers,
    claims=[
        *in_classes(VCUBE),
        Claim(
            "VCube-PS: share of nodes with an average queue in (4, 16]",
            98.0,
            share_of_vcube,
            "%",
            why=ACKS,
        ),
        *in_classes(SRPT),
        Claim("SRPT: average queue of the root", 9240.0, root_mean, " packets", why=ROOT),
        Claim(
            "SRPT: the printed average, read as the root's longest queue", 9240.0, root_longest, " packets", by_fit=True
        ),
        Claim(
            "SRPT: the printed deviation, read as the root's average queue", 4617.0, root_mean, " packets", by_fit=True
        ),
    ],
    charts=charts,
)
