"""Scenarios in part from public traces: pure functions, each with what it refuses."""

from __future__ import annotations

import pytest

from trellis.errors import ScenarioError
from trellis.scenario import check, from_mapping
from trellis.scenario.availability import Comings, Session, comings, with_comings
from trellis.scenario.following import following
from trellis.scenario.model import Crash, Explicit, Faults, Scenario

S = 1_000_000


def test_a_user_subscribes_to_the_topic_of_whom_it_follows() -> None:
    told = following([(2, 0), (1, 0), (0, 1), (11, 10)], users=12)
    assert told == Explicit(members={"t0": [1, 2], "t1": [0], "t10": [11]})


def test_a_follow_of_nobody_is_refused() -> None:
    with pytest.raises(ScenarioError, match="follow 0 -> 3: there are 3 users; their numbers run from 0 to 2"):
        following([(0, 3)], users=3)


def told(
    *sessions: tuple[int, int, int], nodes: int = 1, since: int | None = None, rounds: int | None = None
) -> Comings:
    """Sessions in seconds, rounds of ten."""
    begin = None if since is None else since * S
    return comings([Session(n, start * S, end * S) for n, start, end in sessions], nodes, 10 * S, begin, rounds)


def crashes(found: Comings) -> list[tuple[int, int, int | None]]:
    return [(crash.node, crash.at, crash.restart) for crash in found.crashes]


def test_between_two_sessions_a_node_is_down() -> None:
    found = told((0, 0, 35), (0, 70, 100), (0, 120, 200))
    assert crashes(found) == [(0, 3, 7), (0, 10, 12), (0, 20, None)]
    assert (found.rounds, found.present, found.never) == (20, 1, 0)


def test_whoever_comes_later_crashes_at_0_and_whoever_never_comes_stays_down() -> None:
    found = told((0, 0, 90), (1, 45, 90), nodes=3)
    assert crashes(found) == [(1, 0, 4), (2, 0, None), (0, 9, None), (1, 9, None)]
    assert (found.present, found.never) == (1, 1)


def test_what_was_before_the_beginning_is_left_out_and_what_lasts_is_there_from_the_start() -> None:
    assert crashes(told((0, 0, 20), (0, 25, 80), (0, 95, 130), since=50)) == [(0, 3, 4), (0, 8, None)]


def test_rounds_know_nothing_shorter_than_themselves() -> None:
    found = told((0, 0, 41), (0, 43, 80), (0, 91, 94), (0, 120, 200))
    assert crashes(found) == [(0, 8, 12), (0, 20, None)]
    assert (found.bridged, found.too_short) == (1, 1)


def test_nothing_is_told_of_what_comes_after_the_last_round() -> None:
    found = told((0, 0, 35), (0, 170, 300), (1, 0, 300), (2, 200, 300), nodes=3, rounds=10)
    assert crashes(found) == [(2, 0, None), (0, 3, None)]
    assert (found.rounds, found.never) == (10, 1)


def test_only_the_first_nodes_are_taken_if_fewer_are_asked_for() -> None:
    found = told((0, 0, 40), (1, 0, 40), (2, 10, 80), nodes=2)
    assert (found.nodes, crashes(found)) == (2, [(0, 4, None), (1, 4, None)])


def world(count: int) -> Scenario:
    return from_mapping(
        {
            "name": "world",
            "seed": 1,
            "stack": {"overlay": "damulticast", "ordering": "fifo"},
            "nodes": {"count": count},
            "subscriptions": {"kind": "buckets", "topics": 10, "each": 2},
            "workload": {"kind": "rated", "messages": 5},
            "network": {"kind": "cycles"},
            "end": 20,
        }
    )


def test_nodes_of_a_trace_are_those_of_a_scenario_by_number() -> None:
    found = told((0, 0, 200), (1, 30, 90), (1, 100, 200), nodes=2)
    both = with_comings(world(2), found)
    check(both)
    expected = [Crash(at=0, node=1, restart=3), Crash(at=9, node=1, restart=10)]
    assert isinstance(both.faults, Faults)
    assert both.faults.events[:2] == expected


def test_sizes_that_differ_are_refused() -> None:
    with pytest.raises(ScenarioError) as refused:
        with_comings(world(3), told((0, 0, 200), (1, 30, 90), nodes=2))
    assert str(refused.value) == (
        "nodes.count = 3: the trace of who is up has 2 nodes; use as many, or ask for as many of its nodes"
    )
