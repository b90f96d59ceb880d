"""Subscriptions in buckets, as in Vitis section IV-A: uniform over topics, correlated among nodes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from trellis.errors import ScenarioError
from trellis.scenario import check, from_mapping, plan
from trellis.scenario.buckets import interests
from trellis.scenario.model import Buckets, Scenario


def scenario(nodes: int = 200, **subscriptions: Any) -> Scenario:
    return from_mapping(
        {
            "name": "s",
            "seed": 5,
            "stack": {"overlay": "damulticast", "ordering": "unordered"},
            "nodes": {"count": nodes},
            "subscriptions": {"kind": "buckets", **subscriptions},
            "workload": {"kind": "explicit", "messages": []},
            "network": {"kind": "cycles"},
            "end": 5,
        }
    )


def test_the_paper_is_the_default_and_its_three_patterns_differ_in_one_key() -> None:
    spec = scenario().subscriptions
    assert spec == Buckets(topics=5000, each=50, buckets=100, of=0)


@pytest.mark.parametrize(("of", "buckets"), [(5, {10}), (2, {25})])
def test_a_node_draws_as_many_topics_from_each_of_its_buckets(of: int, buckets: set[int]) -> None:
    spec = Buckets(of=of)
    for node in range(50):
        mine = interests(5, spec, node)
        assert len(set(mine)) == 50
        per_bucket = [sum(topic // 50 == bucket for topic in mine) for bucket in range(100)]
        assert sum(count > 0 for count in per_bucket) == of
        assert set(per_bucket) - {0} == buckets


def test_at_random_a_node_draws_different_topics_from_all() -> None:
    drawn = [interests(5, Buckets(), node) for node in range(50)]
    assert all(len(set(mine)) == 50 for mine in drawn)
    assert min(map(min, drawn)) < 50
    assert max(map(max, drawn)) >= 4950


def overlap(of: int) -> float:
    """Topics that two nodes have in common, on average."""
    drawn = [set(interests(7, Buckets(of=of), node)) for node in range(150)]
    pairs = list(combinations(drawn, 2))
    return sum(len(a & b) for a, b in pairs) / len(pairs)


def test_topics_are_equally_popular_but_nodes_that_agree_at_all_agree_on_more() -> None:
    """Section IV-A: popularity is uniform in all patterns; what differs is who has how much in common with whom."""
    for of in (0, 5, 2):
        assert overlap(of) == pytest.approx(0.5, abs=0.08)
        members = plan(scenario(2000, of=of)).standing
        assert len(members) == 5000
        assert sum(map(len, members.values())) == 2000 * 50
        assert max(map(len, members.values())) < 50

    def most(of: int) -> float:
        drawn = [set(interests(7, Buckets(of=of), node)) for node in range(150)]
        return sum(max(len(a & b) for b in drawn if b is not a) for a in drawn) / len(drawn)

    assert most(0) < 0.6 * most(5) < 0.5 * most(2)


def test_interests_depend_on_the_seed_and_the_node_and_on_nothing_else() -> None:
    few, many = plan(scenario(20, of=2)).standing, plan(scenario(90, of=2)).standing
    assert {topic: tuple(n for n in nodes if n < 20) for topic, nodes in many.items()} == few
    assert plan(scenario(20, of=2).with_seed(6)).standing != few


def test_buckets_of_unlike_size_share_all_topics_among_them() -> None:
    spec = Buckets(topics=11, each=3, buckets=3, of=3)
    assert [sorted(interests(1, spec, node))[0] < 3 for node in range(9)] == [True] * 9
    seen = {topic for node in range(200) for topic in interests(1, spec, node)}
    assert seen == set(range(11))


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"each": 6000}, "subscriptions.each = 6000: there are only 5000 topics; use at most that"),
        ({"of": 101}, "subscriptions.of = 101: there are only 100 buckets; use at most that"),
        ({"of": 7}, "subscriptions.each = 50: not the same number from each of 7 buckets; use a multiple of 7"),
        (
            {"topics": 1000, "of": 2},
            "subscriptions.each = 50: 25 from each of 2 buckets, but with 1000 topics in 100 buckets the smallest has "
            "10; use at most 20",
        ),
    ],
)
def test_what_no_node_could_draw_is_refused(told: dict[str, int], says: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        check(scenario(**told))
    assert str(refused.value) == says
