"""Sites: short and long links, servers with a queue, clients that wait for themselves, laws of popularity."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean, stdev
from typing import Any

import pytest

from trellis import draw
from trellis.errors import ScenarioError
from trellis.protocols.parts.groups import Desks
from trellis.scenario import from_mapping
from trellis.scenario.check import check
from trellis.scenario.model import Scenario
from trellis.scenario.plan import plan
from trellis.sim import run
from trellis.sim.network import Apart, network_of

NETWORK = {"kind": "sites", "sites": [0, 1, 2, 3, 4], "short": 10_000, "short_spread": 2000, "long": 100_000,
           "long_spread": 10_000, "servers": 5, "service": 1000}  # fmt: skip


def scenario(**more: Any) -> Scenario:
    base: dict[str, Any] = {
        "name": "sites",
        "seed": 1,
        "stack": {"overlay": "vcube", "ordering": "total", "desks": 5, "block": 10},
        "nodes": {"count": 35},
        "subscriptions": {"kind": "popular", "topics": 50, "each": 5, "exponent": 1.349, "clients": 5, "near": True},
        "workload": {"kind": "requests", "interval": 50_000, "until": 200_000, "patient": True},
        "network": NETWORK,
    }
    found = from_mapping(base | more)
    check(found)
    return found


@pytest.mark.parametrize(("to", "wanted", "spread"), [(5, 10_000, 2000), (6, 100_000, 10_000)])
def test_a_link_within_a_site_is_short_and_one_between_two_is_long(to: int, wanted: int, spread: int) -> None:
    network = network_of(scenario())
    assert isinstance(network, Apart)
    taken = [network.times(10**6 * n, 0, to)[1] - 10**6 * n for n in range(4000)]
    assert mean(taken) == pytest.approx(wanted, rel=0.01)
    assert stdev(taken) == pytest.approx(spread, rel=0.05)
    within = sum(abs(time - wanted) < spread for time in taken) / len(taken)
    assert within == pytest.approx(0.683, abs=0.03), "nearly normal"


def test_no_packet_overtakes_another_one_of_its_link() -> None:
    network = network_of(scenario())
    arrivals = [network.times(n, 0, 6)[1] for n in range(500)]
    assert arrivals == sorted(arrivals)


def test_a_server_handles_one_packet_after_the_other() -> None:
    """Without groups an answer is all that a server has to do about a request."""
    trace = run(scenario(stack={"overlay": "vcube", "ordering": "per-topic", "desks": 5, "block": 10})).trace
    for server in range(5):
        answered = [row.at for row in trace.of_kind("send").rows() if row.node == server and row.packet == "STAMP"]
        assert len(answered) > 10
        assert min(two - one for one, two in pairwise(answered)) >= 1000


def test_a_patient_client_speaks_again_only_when_its_message_has_its_timestamp() -> None:
    open_messages: dict[int, int] = {}
    for patient, most in ((True, 1), (False, 4)):
        found = run(scenario(workload={"kind": "requests", "interval": 50_000, "until": 200_000, "patient": patient}))
        seen = 0
        for row in found.trace.of_kind("publish", "spread").rows():
            open_messages[row.node] = open_messages.get(row.node, 0) + (1 if row.kind == "publish" else -1)
            seen = max(seen, open_messages[row.node])
        assert seen == 1 if patient else seen >= most
        assert not any(open_messages.values()), "all that was to be said is said"


def test_a_run_at_sites_keeps_its_promises_and_a_sequencer_per_topic_does_not() -> None:
    from trellis.metrics.measures import measures

    assert not any(measures(run(scenario())).violations.values())
    alone = scenario(stack={"overlay": "vcube", "ordering": "per-topic", "desks": 5, "block": 10})
    assert measures(run(alone)).violations["total"] > 0


def test_each_site_likes_its_own_topics_best() -> None:
    standing = plan(scenario()).standing
    for site in range(5):
        mine = [node for node in range(5, 35) if node % 5 == site]
        best = max(standing, key=lambda topic: len(set(standing[topic]) & set(mine)))
        assert Desks(5, block=10).of(best) == site
    assert sum(map(len, standing.values())) == 30 * 5


def test_interests_are_nested_different_and_follow_the_law() -> None:
    weights = draw.zipf_weights(100, 1.349)
    few, many = draw.interests(3, 7, weights, 10), draw.interests(3, 7, weights, 100)
    assert many[:10] == few
    assert sorted(many) == list(range(100))
    first = [draw.interests(3, client, weights, 1)[0] for client in range(3000)]
    assert first.count(0) / 3000 == pytest.approx(weights[0] / sum(weights), abs=0.03)


def test_topics_come_in_blocks_and_the_last_desk_has_the_rest() -> None:
    desks = Desks(3, block=200)
    assert [desks.of(topic) for topic in ("t0", "t199", "t200", "t399", "t400", "t9999")] == [0, 0, 1, 1, 2, 2]
    assert desks.of("no-number") == Desks(3).of("no-number")


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"network": NETWORK | {"short_spread": 4000}}, "network.short_spread = 4000: .* use at most 2886"),
        ({"network": NETWORK | {"servers": 36}}, "network.servers = 36: there are 35 nodes"),
        ({"network": NETWORK | {"sites": []}}, "network.sites"),
        ({"subscriptions": {"kind": "popular", "topics": 5, "each": 6, "exponent": 1.0}}, "only 5 topics"),
        ({"subscriptions": {"kind": "popular", "topics": 5, "each": 5, "exponent": 1.0, "clients": 35}}, "none is a"),
        ({"subscriptions": {"kind": "fraction", "fraction": 1.0}}, "subscriptions of kind 'popular'"),
        (
            {
                "faults": {"events": [{"kind": "crash", "at": 1, "node": 0}]},
                "stack": {"overlay": "vcube", "ordering": "causal", "repair": 9},
            },
            "network.serv",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(more: dict[str, Any], rule: str) -> None:
    with pytest.raises(ScenarioError, match=rule):
        plan(scenario(**more))


def test_a_sweep_knows_what_such_a_run_costs() -> None:
    """30 clients, 4 messages each, 3 subscribers per topic."""
    from trellis.pipeline.sweep import cost

    assert cost(scenario()) == pytest.approx(100 + 35 * 4 * 3)
