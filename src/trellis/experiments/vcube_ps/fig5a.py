"""Many publishers, propagation 100.

Source:   2018 section 4.2, Figure 5(a); 2017 section IV, Figure 5(a).
"""

from __future__ import annotations

from trellis.experiments.chart import Chart, line
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment
from trellis.experiments.rows import Rows, above, average, pick, ratio, reception, setting
from trellis.experiments.vcube_ps.model import NAMES, NODES, OVERLAY, PUBLISHERS, SRPT, VCUBE, many_publishers
from trellis.metrics.summary import Interval

ACKS = (
    "VCube-PS acknowledges every PUB, and ACK packets stand in the same queues. With 1,024 publishers each node must "
    "emit 2,046 packets in little more than 1,500 u.t.: the queues saturate. The same trees without any ACK give "
    "about the published figures (tests/paper/test_queues_without_acks.py), so the papers' queues seem to hold none"
)
PUBS = (
    "with 4,096 publishers each node must emit 4,095 PUB packets in little more than 1,500 u.t., and as many ACKs: "
    "the queues saturate. The same trees without any ACK gave +192% in one run, so that does not explain it either"
)


def latency(rows: Rows, overlay: str, nodes: int, publishers: float) -> Interval | None:
    return average(pick(rows, {OVERLAY: overlay, NODES: nodes, PUBLISHERS: publishers}), reception)


def over_vcube(rows: Rows, nodes: int) -> Interval | None:
    """SRPT over VCube-PS when everybody publishes."""
    return ratio(latency(rows, SRPT, nodes, 1.0), latency(rows, VCUBE, nodes, 1.0))


def increase(rows: Rows, nodes: int) -> Interval | None:
    """VCube-PS: all publish against a quarter, in percent."""
    return above(latency(rows, VCUBE, nodes, 1.0), latency(rows, VCUBE, nodes, 0.25), 100)


def one_hop(rows: Rows) -> Interval | None:
    """SRPT above VCube-PS up to 128 nodes, a quarter publishing: the mean over the sizes, in u.t."""
    pairs = [
        (latency(rows, SRPT, nodes, 0.25), latency(rows, VCUBE, nodes, 0.25))
        for nodes in setting(rows, NODES)
        if nodes <= 128
    ]
    found = [(srpt.mean - vcube.mean, srpt.count) for srpt, vcube in pairs if srpt is not None and vcube is not None]
    if not found:
        return None
    return Interval(sum(gap for gap, _ in found) / len(found), 0.0, None, min(runs for _, runs in found))


def largest(rows: Rows) -> str:
    nodes = max((n for n in setting(rows, NODES) if increase(rows, n) is not None), default=None)
    found = increase(rows, nodes) if nodes else None
    return "" if found is None else f"The largest size that was run is {nodes:,} nodes: {found.mean:+.1f}%."


def charts(rows: Rows) -> list[Chart]:
    return [latency_chart("Reception latency, propagation 100", rows)]


def latency_chart(title: str, rows: Rows) -> Chart:
    series = [
        line(f"{NAMES[overlay]} - {share:.0%}", rows, NODES, reception, color, {OVERLAY: overlay, PUBLISHERS: share})
        for color, (overlay, share) in enumerate([(VCUBE, 0.25), (VCUBE, 1.0), (SRPT, 0.25), (SRPT, 1.0)])
    ]
    note = "The papers print no point of this figure as a number, only the ratios below."
    y = "mean reception latency (u.t.)"
    return Chart(title, "lines", "number of nodes", y, series, log_x=True, log_y=True, note=note)


EXPERIMENT = Experiment(
    id="fig5a",
    title="Figure 5a: many publishers, propagation 100",
    source="2018 Fig. 5(a), section 4.2; 2017 Fig. 5(a)",
    about="All nodes subscribe; 25% or 100% of them publish once, at a time drawn in [0, 1000]. VCube-PS is `vcube`: "
    "with one message per source its packets are those of the printed algorithm.",
    grids=many_publishers,
    claims=[
        Claim("256 nodes, all publish: SRPT over VCube-PS", 2.48, lambda rows: over_vcube(rows, 256), "x"),
        Claim(
            "up to 128 nodes, 25% publish: SRPT above VCube-PS by one hop",
            101.0,
            one_hop,
            " u.t.",
            why="the root has the message after one hop whatever the size, and a publisher that is the root saves "
            "that hop: both weigh at 8 and 16 nodes and vanish with the size",
        ),
        Claim(
            "1,024 nodes: VCube-PS, 100% against 25% publishers",
            5.7,
            lambda rows: increase(rows, 1024),
            "%",
            why=ACKS,
            nearest=largest,
        ),
        Claim(
            "4,096 nodes: VCube-PS, 100% against 25% publishers",
            38.8,
            lambda rows: increase(rows, 4096),
            "%",
            why=PUBS,
            nearest=largest,
        ),
    ],
    charts=charts,
)
