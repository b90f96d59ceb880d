"""Reach and parasites: by hand, beside a plain walk over the rows, and where subscriptions come and go."""

from __future__ import annotations

import json

import pytest

from trellis.audit.witness import id_of
from trellis.metrics.hits import hits
from trellis.metrics.reach import NEVER, parasites, reach
from trellis.metrics.traffic import false_positives
from trellis.scenario.load import from_mapping
from trellis.scenario.path import members_of, one_event, topics_of
from trellis.sim import run
from trellis.swarm import schedule
from trellis.trace.rows import Row
from trellis.trace.table import trace_of

SIZES = (40, 20, 5)


def row(position: int, at: int, node: int, kind: str, topic: str = "", source: int = 0, **more: object) -> Row:
    told = {"incarnation": 0, "seq": 0, "packet": "", "peer": -1, "wait": 0, "batch": 0, "barrier": 0, **more}
    return Row(position=position, at=at, node=node, kind=kind, topic=topic, source=source, **told)  # type: ignore[arg-type]


def test_a_path_is_named_from_below_and_its_groups_share_nobody() -> None:
    assert topics_of(3) == [".t1.t2", ".t1", "."]
    members = members_of((3, 2, 1))
    assert members == {".t1.t2": [3, 4, 5], ".t1": [1, 2], ".": [0]}


def test_who_wants_a_message_is_in_the_group_nearest_to_the_root_and_counts_once() -> None:
    told = {"seq": 1, "source": 2}
    rows = [
        row(0, 0, 0, "confirm", "."),
        row(1, 0, 1, "confirm", ".a"),
        row(2, 0, 2, "confirm", ".a"),
        row(3, 0, 3, "confirm", ".a"),
        row(4, 0, 4, "confirm", ".b"),
        row(5, 0, 0, "confirm", ".a", source=0),  # passed on to it before
        row(6, 0, 3, "crash"),
        row(7, 5, 2, "publish", ".a", **told),
        row(8, 5, 2, "deliver", ".a", **told),
        row(9, 6, 4, "receive", ".a", batch=1, **told),
        row(10, 7, 0, "receive", ".a", batch=1, **told),
        row(11, 8, 0, "deliver", ".a", **told),
    ]
    found = [(each.group, each.wanted, each.reached, each.first, each.last) for each in reach(trace_of(rows))]
    assert found == [(".", 1, 1, 3, 3), (".a", 2, 1, 0, 0)]
    assert parasites(trace_of(rows)) == 1
    assert [each.last for each in reach(trace_of(rows[:8]))] == [NEVER, NEVER]


@pytest.mark.parametrize("overlay", ["damulticast-printed", "gossip-broadcast", "gossip-hierarchical"])
def test_parasites_are_what_reaches_the_groups_below(overlay: str) -> None:
    """An event of the root topic: node 0 to 4 want it."""
    trace = run(one_event(SIZES, 1, {"overlay": overlay}, loss=0.15, group=-1)).trace
    in_vain = sum(each.node >= 5 for each in trace.of_kind("receive").rows())
    assert parasites(trace) == in_vain
    assert (in_vain == 0) == (overlay == "damulticast-printed")


@pytest.mark.parametrize("seed", range(8))
def test_where_topics_stand_for_themselves_a_group_is_who_is_subscribed(seed: int) -> None:
    trace = run(schedule(seed, "vcube", "causal")).trace
    told = {(id_of(each), each.node) for each in trace.of_kind("deliver", "late").rows()}
    for found in reach(trace):
        assert found.group == found.message.topic
        assert found.reached <= len({node for id, node in told if id == found.message})
        assert 0 <= found.first <= found.last or found.first == NEVER
    assert sum(found.reached for found in reach(trace)) >= hits(trace).made


def test_what_reaches_nobody_in_vain_is_no_false_positive_either() -> None:
    for seed in range(8):
        trace = run(schedule(seed, "vcube-printed", "causal")).trace
        assert parasites(trace) >= false_positives(trace)


def test_a_scenario_of_a_path_is_a_value() -> None:
    one = one_event(SIZES, 7, {"overlay": "damulticast-printed", "c": 3}, loss=0.15, stillborn=0.2)
    assert one == one_event(SIZES, 7, {"overlay": "damulticast-printed", "c": 3}, loss=0.15, stillborn=0.2)
    assert from_mapping(json.loads(one.to_json())) == one
