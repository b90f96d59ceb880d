"""The sample and the power law, each beside a plain twin."""

from __future__ import annotations

import numpy as np
import pytest

from trellis.draw import FOLLOW_SAMPLE, LATENCY, draw
from trellis.pipeline.ingest.sample import breadth_first, within
from trellis.pipeline.ingest.statistics import degree_figures, online, power_law, whole_range, zeta

EDGES = sorted({(draw(5, LATENCY, i, 0) % 60, draw(5, LATENCY, i, 1) % 60) for i in range(150)})
EDGES = [(a, b) for a, b in EDGES if a != b]


def plain_sample(edges: list[tuple[int, int]], count: int, seed: int, depth: int) -> set[int]:
    """One search after the other, until there are enough."""
    luck = {user: draw(seed, FOLLOW_SAMPLE, user) for edge in edges for user in edge}
    taken: list[int] = []
    for start in sorted(luck, key=lambda user: (luck[user] >> 1, user)):
        level, seen = [start], {start}
        for _ in range(depth + 1):
            taken += [user for user in level if user not in taken]
            ahead = {b for a, b in edges if a in level} - seen
            seen |= ahead
            level = sorted(ahead, key=lambda user: (luck[user] >> 1, user))
        if len(taken) >= count:
            break
    return set(taken[:count])


@pytest.mark.parametrize(("count", "seed", "depth"), [(10, 0, 1), (25, 1, 3), (1000, 2, 2)])
def test_a_sample_is_what_searches_one_after_the_other_find(spark, count, seed, depth):
    edges = spark.createDataFrame(EDGES, "follower bigint, followee bigint")
    users = breadth_first(edges, count, seed, depth)
    found = {row.user for row in users.collect()}
    assert found == plain_sample(EDGES, count, seed, depth)
    inside = sorted(tuple(row) for row in within(edges, users).select("follower", "followee").collect())
    assert inside == [(a, b) for a, b in EDGES if a in found and b in found]


def test_a_sample_does_not_depend_on_the_order_of_the_file(spark):
    forth = spark.createDataFrame(EDGES, "follower bigint, followee bigint")
    back = spark.createDataFrame(EDGES[::-1], "follower bigint, followee bigint").repartition(5)
    one, other = (sorted(row.user for row in breadth_first(edges, 20, 3, 1).collect()) for edges in (forth, back))
    assert one == other


def test_the_exponent_of_a_power_law_is_found_and_its_start_too():
    x = np.arange(1, 20_001)
    # Flat up to 20, from there on a power law of 2.5; by quantiles, so that no luck is in it.
    density = np.where(x < 20, 20.0**-2.5, x**-2.5)
    counts = np.round(density / density.sum() * 1e6).astype(np.int64)
    values, counts = x[counts > 0], counts[counts > 0]
    assert power_law(values, counts, xmin=20)["exponent"] == pytest.approx(2.5, abs=0.03)
    assert 15 <= power_law(values, counts)["xmin"] <= 40


@pytest.mark.parametrize("exponent", [1.65, 2.5])
def test_the_exponent_over_the_whole_range_is_found_in_both_ways(exponent):
    x = np.arange(1, 200_001)
    counts = np.round(x**-exponent / zeta(exponent) * 1e9).astype(np.int64)
    values, counts = x[counts >= 100], counts[counts >= 100]
    found = whole_range(values, counts)
    assert found["line"] == pytest.approx(exponent, abs=0.01)
    assert found["likelihood"] == pytest.approx(exponent, abs=0.01)


def test_the_zeta_function_is_riemanns():
    assert [zeta(2), zeta(4), zeta(1.5)] == pytest.approx([np.pi**2 / 6, np.pi**4 / 90, 2.612375348685488], rel=1e-9)


def test_where_only_the_tail_is_a_power_law_the_two_exponents_differ():
    x = np.arange(1, 20_001)
    density = np.where(x < 20, 20.0**-2.5, x**-2.5)
    counts = np.round(density / density.sum() * 1e6).astype(np.int64)
    values, counts = np.append(0, x[counts > 0]), np.append(7, counts[counts > 0])
    found = degree_figures(values, counts, xmin=20)
    assert found["exponent_tail"]["exponent"] == pytest.approx(2.5, abs=0.03)
    assert found["exponent_whole"]["likelihood"] < 1.7
    assert found["none"] == 7


def test_figures_over_all_users_count_those_who_have_none():
    found = degree_figures(np.array([0, 1, 4]), np.array([3, 2, 1]))
    assert (found["mean"], found["median"], found["max"], found["none"]) == (1, 0.5, 4, 3)


def test_too_short_a_tail_has_no_exponent():
    assert power_law(np.array([1, 2, 3]), np.array([5, 3, 1])) is None


def test_a_node_that_leaves_makes_room_for_one_that_comes(spark):
    sessions = spark.createDataFrame([(0, 0, 10), (1, 10, 20), (2, 5, 15)], "node bigint, start bigint, end bigint")
    found = online(sessions)
    assert (found["online_peak"], found["online_mean"]) == (2, 1.5)
