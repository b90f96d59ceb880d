"""Published figures that the papers' model determines (`trellis reproduce vcube-ps` runs all of them)."""

from __future__ import annotations

from itertools import combinations, pairwise
from statistics import mean

import pytest

from trellis.metrics.latency import latencies
from trellis.metrics.traffic import sent
from trellis.protocols.parts.hypercube import path
from trellis.protocols.parts.relay import root_of
from trellis.scenario import from_mapping
from trellis.sim import run
from trellis.trace import Trace

ONE = 1e-9  # of the nodes publish: one does


def simulated(overlay: str, nodes: int, subscribers: float, publishers: float, seed: int) -> Trace:
    return run(
        from_mapping(
            {
                "name": "figure",
                "seed": seed,
                "stack": {"overlay": overlay, "ordering": "causal"},
                "nodes": {"count": nodes},
                "subscriptions": {"kind": "fraction", "fraction": subscribers},
                "workload": {"kind": "once-each", "publishers": publishers, "window": 1000},
                "network": {"kind": "queue", "service": 1, "propagation": 100},
            }
        ),
        engine="fast",  # the same rows as the reference engine's: tests/twins
    ).trace


def latency(overlay: str, nodes: int, subscribers: float, publishers: float, runs: int) -> float:
    traces = (simulated(overlay, nodes, subscribers, publishers, seed) for seed in range(1, runs + 1))
    return mean(float(latencies(trace).reception.mean()) for trace in traces)


def test_figure_4a_latency_of_srpt_among_1024_nodes_of_which_a_quarter_subscribes() -> None:
    assert latency("single-root", 1024, 0.25, ONE, 40) == pytest.approx(620, rel=0.03)


def test_figure_4a_latency_of_vcube_ps_among_1024_nodes_is_not_the_published_one() -> None:
    """The paper says 420 in 40 runs; in 40 runs we get 433.5, 3.2% above: not held, and written down as it is."""
    ours = latency("vcube", 1024, 0.25, ONE, 40)
    assert ours == pytest.approx(433.5, abs=0.1)
    assert ours != pytest.approx(420, rel=0.03)


@pytest.mark.parametrize("nodes", [8, 64, 256])
def test_figure_4a_with_all_subscribing_latency_grows_with_log2_of_the_nodes(nodes: int) -> None:
    """The model gives it exactly: half of log2 N hops of 101 u.t. on average, and the queue at each sender."""
    d = nodes.bit_length() - 1
    trace = simulated("vcube", nodes, 1.0, ONE, 1)
    expected = mean(hops_and_queue(x, d) for x in range(1, nodes))
    assert float(latencies(trace).reception.mean()) == pytest.approx(expected)


def hops_and_queue(x: int, d: int) -> int:
    """Time to the node at distance x from the source: each hop waits behind the copies for nearer clusters."""
    time, height = 0, d
    while x:
        s = x.bit_length()  # the cluster in which the rest of the way lies; its copy is the s-th in the queue
        assert s <= height
        time += s + 100
        x ^= 1 << (s - 1)
        height = s - 1
    return time


@pytest.mark.parametrize("nodes", [64, 256])
def test_figure_4a_when_all_subscribe_srpt_is_one_hop_above(nodes: int) -> None:
    """ "SRPT has an additional hop": a node has the message 101 u.t. later than from a tree rooted at the publisher."""
    for seed in range(1, 5):
        trace = simulated("single-root", nodes, 1.0, ONE, seed)
        root = root_of(seed, "t0", nodes)
        (published,) = trace.of_kind("publish").rows()
        hop = 101 if published.node != root else 0
        for row in trace.of_kind("receive").rows():
            if row.packet == "PUB":
                d = nodes.bit_length() - 1
                assert row.at - published.at == hop + hops_and_queue(row.node ^ root, d)


def test_figure_4b_vcube_ps_needs_one_pub_per_subscriber_and_srpt_forwarders() -> None:
    """ "At least 43% fewer"; without forwarders a tree has one edge less than nodes."""
    ours = sent(simulated("vcube", 1024, 0.25, ONE, 1))["PUB"]
    assert ours == 255
    theirs = mean(sent(simulated("single-root", 1024, 0.25, ONE, seed))["PUB"] for seed in range(1, 11))
    assert 1 - ours / theirs == pytest.approx(0.43, rel=0.03)


def test_figure_4b_with_8_nodes_the_models_mean_is_2_7_pub_messages_for_srpt_and_40_runs_scatter() -> None:
    """Exactly, over all roots and all pairs of subscribers (VCube-PS sends one); the reading of PUB: decision 0004.

    An average of 40 runs is no good measure of it: ours is 2.83, 4.6% above the published one.
    """
    trees = [
        {hop for member in pair for hop in pairwise(path(root, member, range(8)))}
        for root in range(8)
        for pair in combinations(range(8), 2)
    ]
    assert mean(len(tree) for tree in trees) == pytest.approx(2.7, rel=0.03)
    ours = mean(sent(simulated("single-root", 8, 0.25, ONE, seed)).get("PUB", 0) for seed in range(1, 41))
    assert ours == pytest.approx(2.825)


def test_figure_5a_srpt_is_2_48_times_vcube_ps_with_256_publishers() -> None:
    ratios = [latency_ratio(seed) for seed in range(1, 4)]
    assert mean(ratios) == pytest.approx(2.48, rel=0.03)


def latency_ratio(seed: int) -> float:
    srpt, vcube = (simulated(overlay, 256, 1.0, 1.0, seed) for overlay in ("single-root", "vcube"))
    return float(latencies(srpt).reception.mean() / latencies(vcube).reception.mean())


def test_v5_a_window_finishes_at_least_20_times_earlier_than_one_wave_at_a_time() -> None:
    """1,000 messages of one source at once to 256 subscribers."""
    last = {}
    for overlay in ("vcube", "vcube-printed"):
        trace = run(
            from_mapping(
                {
                    "name": "at once",
                    "seed": 1,
                    "stack": {"overlay": overlay, "ordering": "causal"},
                    "nodes": {"count": 256},
                    "subscriptions": {"kind": "fraction", "fraction": 1.0},
                    "workload": {"kind": "at-once", "messages": 1000},
                    "network": {"kind": "queue", "service": 1, "propagation": 100},
                }
            ),
            engine="fast",
        ).trace.of_kind("deliver")
        assert len(trace) == 256 * 1000
        last[overlay] = int(trace.numbers("at").max())
    assert last["vcube-printed"] >= 20 * last["vcube"]
