"""What applications do in a scenario: who subscribes, who speaks when, who comes and goes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trellis.events import Publish, Subscribe, Unsubscribe
from trellis.scenario import Plan, from_mapping, load, plan
from trellis.scenario.churn import churn_of
from trellis.scenario.model import Scenario
from trellis.sim import run

EXAMPLES = Path(__file__).parents[2] / "examples"


def scenario(**sections: Any) -> Scenario:
    base: dict[str, Any] = {
        "name": "s",
        "seed": 5,
        "stack": {"overlay": "vcube", "ordering": "causal"},
        "nodes": {"count": 32},
        "subscriptions": {"kind": "fraction", "fraction": 0.5},
        "workload": {"kind": "once-each", "publishers": 0.25, "window": 100},
        "network": {"kind": "queue", "service": 1, "propagation": 10},
    }
    return from_mapping(base | sections)


def publishers(plan: Plan) -> Counter[int]:
    return Counter(action.node for action in plan.actions if isinstance(action.event, Publish))


def test_once_each_lets_a_share_of_the_nodes_speak_once_within_the_window() -> None:
    laid = plan(scenario())
    assert len(laid.standing["t0"]) == 16
    assert len(laid.actions) == 8
    assert set(publishers(laid).values()) == {1}
    assert set(publishers(laid)) <= set(laid.standing["t0"])
    assert all(0 <= action.at <= 100 for action in laid.actions)


def test_the_plan_does_not_depend_on_the_stack() -> None:
    other = scenario(stack={"overlay": "single-root", "ordering": "fifo"})
    assert plan(scenario()) == plan(other)


def test_at_least_one_node_publishes() -> None:
    assert len(plan(scenario(workload={"kind": "once-each", "publishers": 0.0, "window": 9})).actions) == 1


def test_each_topic_draws_its_own_subscribers() -> None:
    laid = plan(scenario(subscriptions={"kind": "fraction", "fraction": 0.5, "topics": 3}))
    assert list(laid.standing) == ["t0", "t1", "t2"]
    assert len(set(laid.standing.values())) == 3


def test_announced_subscriptions_happen_at_time_0_with_traffic() -> None:
    announced = scenario(subscriptions={"kind": "fraction", "fraction": 0.5, "announce": True})
    joins = [action for action in plan(announced).actions if isinstance(action.event, Subscribe)]
    assert len(joins) == 16
    assert {action.at for action in joins} == {0}
    rows = list(run(announced).trace.rows())
    assert any(row.packet == "SUB" for row in rows)
    assert len([row for row in rows if row.kind == "confirm"]) == 16
    silent = run(scenario()).trace
    assert not any(row.packet == "SUB" for row in silent.rows())


def test_sessions_keep_the_number_of_subscribers_and_their_mean_length() -> None:
    churning = scenario(
        subscriptions={"kind": "sessions", "subscribers": 20, "session": 500},
        workload={"kind": "periodic", "interval": 1000},
        end=100_000,
    )
    churn = churn_of(churning)
    census = churn.census("t0")
    assert all(len(census.at(at)) == 20 for at in range(0, 100_000, 777))
    leaves = [move for move in churn.changes if isinstance(move[2], Unsubscribe)]
    assert len(leaves) == pytest.approx(20 * 100_000 / 500, rel=0.1)


def test_a_burst_lets_as_many_join_as_leave() -> None:
    laid = plan(
        scenario(
            subscriptions={"kind": "burst", "fraction": 0.5, "churn": 0.25, "at": 7},
            workload={"kind": "at-once", "messages": 5},
        )
    )
    moves = Counter(type(action.event).__name__ for action in laid.actions)
    assert moves == {"Subscribe": 4, "Unsubscribe": 4, "Publish": 5}
    leavers = {action.node for action in laid.actions if isinstance(action.event, Unsubscribe)}
    assert not leavers & set(publishers(laid)), "the source stays"


def test_periodic_speakers_are_subscribers_of_that_moment() -> None:
    laid = plan(scenario(workload={"kind": "periodic", "interval": 50, "messages": 30}))
    assert [action.at for action in laid.actions] == [50 * n for n in range(1, 31)]
    poisson = plan(scenario(workload={"kind": "periodic", "interval": 50, "messages": 400, "spacing": "poisson"}))
    assert poisson.actions[-1].at == pytest.approx(50 * 400, rel=0.15)


def test_topics_by_zipf_are_unequal_and_even_among_nodes() -> None:
    def laid(law: str) -> Plan:
        return plan(
            scenario(
                subscriptions={"kind": "fraction", "fraction": 1.0, "topics": 16},
                workload={"kind": "topics", "messages": 3200, "interval": 100, "law": law, "exponent": 1.0},
            )
        )

    zipf = Counter(action.event.topic for action in laid("zipf").actions)
    uniform = Counter(action.event.topic for action in laid("uniform").actions)
    assert zipf["t0"] / zipf["t1"] == pytest.approx(2, rel=0.25)
    assert max(uniform.values()) < 1.4 * min(uniform.values())
    assert set(publishers(laid("zipf")).values()) == {100}


@pytest.mark.parametrize("openers", [1, 3])
def test_in_a_discussion_everybody_replies_once_after_hearing_all_openers(openers: int) -> None:
    talk = scenario(
        subscriptions={"kind": "fraction", "fraction": 1.0},
        workload={"kind": "replies", "openers": openers, "think": 50},
    )
    trace = run(talk).trace
    assert len(trace.of_kind("publish")) == 32
    assert len(trace.of_kind("deliver")) == 32 * 32
    opening = {row.node for row in trace.of_kind("publish").rows() if row.at == 0}
    assert len(opening) >= openers
    heard: dict[int, int] = {}
    for row in trace.of_kind("deliver", "publish").rows():
        if row.kind == "deliver" and row.source in opening:
            heard[row.node] = heard.get(row.node, 0) + 1
        elif row.kind == "publish" and row.at > 0:
            assert heard[row.node] >= openers


def test_a_matrix_gives_each_pair_its_own_time(tmp_path: Path) -> None:
    text = (EXAMPLES / "all-publish.toml").read_text()
    text = text.replace("count = 256", "count = 4").replace(
        'kind = "queue"\nservice = 1\npropagation = 100', 'kind = "matrix"\nfile = "links.csv"'
    )
    (tmp_path / "s.toml").write_text(text)
    (tmp_path / "links.csv").write_text("1,20,30,40\n20,1,50,60\n30,50,1,70\n40,60,70,1\n")
    trace = run(load(tmp_path / "s.toml")).trace
    sent = {}
    for row in trace.rows():
        if row.kind == "send":
            sent[row.node, row.peer, row.source, row.packet] = row.at
        elif row.kind == "receive" and {row.node, row.peer} == {2, 3}:
            assert row.at - sent[row.peer, row.node, row.source, row.packet] == 70


def test_on_the_cycle_driven_host_a_hop_takes_a_round() -> None:
    rounds = scenario(
        subscriptions={"kind": "fraction", "fraction": 1.0},
        workload={"kind": "at-once", "messages": 1},
        network={"kind": "cycles"},
    )
    trace = run(rounds).trace
    (source,) = {row.node for row in trace.of_kind("publish").rows()}
    for row in trace.of_kind("deliver").rows():
        assert row.at == (row.node ^ source).bit_count(), "one round per bit that differs"


def test_a_run_that_ends_early_is_not_quiet() -> None:
    cut = run(scenario(end=60))
    assert not cut.quiet
    assert max(row.at for row in cut.trace.rows()) <= 60
    assert run(scenario()).quiet


def test_the_fingerprint_is_of_the_content() -> None:
    assert scenario().fingerprint() == scenario().fingerprint()
    assert scenario().fingerprint() != scenario(seed=6).fingerprint()


def test_example_files_can_be_run() -> None:
    for path in EXAMPLES.glob("*.toml"):
        assert plan(load(path)).actions
