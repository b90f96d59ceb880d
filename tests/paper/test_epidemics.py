"""The formulas of daMulticast, section 5, with the paper's own numbers."""

from __future__ import annotations

from math import exp, inf, log

import pytest

from trellis.metrics import epidemics as e
from trellis.metrics.epidemics import Level

# Section 6.1: from the bottom-most group up to the root group.
PAPER = [Level(size, success=0.85) for size in (1000, 100, 10)]


def test_table_2_broadcast() -> None:
    """Published: 11,216, 1,699 and 3,739 parasite messages of an event of the root topic."""
    for sizes, published in (((1000, 100, 10), 11_216), ((100,) * 3, 1_699), ((100,) * 5, 3_739)):
        found = e.broadcast_parasites(sum(sizes), sizes[-1], c=5, success=0.85)
        assert found == pytest.approx(published, rel=0.1)


def test_messages_of_an_event() -> None:
    inside = 1000 * (log(1000) + 5) + 100 * (log(100) + 5) + 10 * (log(10) + 5)
    assert sum(map(e.messages_inside, PAPER)) == pytest.approx(inside)
    assert [e.messages_upward(level) for level in PAPER] == pytest.approx([5 * 1 * 0.85] * 3)
    assert e.messages(PAPER) == pytest.approx(inside + 2 * 4.25), "the root group sends nothing upward"


def test_memory_is_two_small_tables() -> None:
    assert e.memory(PAPER[0]) == pytest.approx(log(1000) + 5 + 3)
    assert e.memory(PAPER[2], root=True) == pytest.approx(log(10) + 5)


def test_reliability_of_the_root_group() -> None:
    """With the paper's parameters everybody in the root group gets an event of the lowest topic in 98 of 100 cases."""
    gossip, link = exp(-exp(-5)), 1 - 0.15**5
    assert e.link(PAPER[0]) == pytest.approx(link)
    assert e.reliability(PAPER[:1]) == pytest.approx(gossip)
    assert e.reliability(PAPER) == pytest.approx(gossip**3 * link**2)
    assert e.reliability(PAPER) == pytest.approx(0.980, abs=0.0005)


def test_a_link_gets_better_with_all_that_it_is_tuned_by() -> None:
    usual = e.link(Level(100, g=2, success=0.5))
    for better in ({"g": 3}, {"a": 2}, {"success": 0.6}):
        assert e.link(Level(100, **{"g": 2, "success": 0.5} | better)) > usual
    assert e.link(Level(100, g=2, success=0.5, reached=0.5)) < usual
    assert e.link(Level(3, g=5, success=0.5)) == pytest.approx(1 - 0.5**3), "no more than everybody tries"


@pytest.mark.parametrize(
    ("levels", "least", "mean", "most"),
    [(PAPER, 4.76, 6.68, 11.35), ([Level(100)] * 3, 5.02, 6.52, 11.05), ([Level(100)] * 5, 7.02, 11.54, 19.08)],
)
def test_latency_lies_between_the_best_and_the_worst_case(
    levels: list[Level], least: float, mean: float, most: float
) -> None:
    """Table 1 has 8.91, 8.83 and 13.08: between the mean and the worst case."""
    found = (e.latency_min(levels), e.latency_mean(levels), e.latency_max(levels))
    assert found == pytest.approx((least, mean, most), abs=0.005)


def test_the_same_gossip_as_others_needs_a_smaller_c() -> None:
    """5.5.3: at the c up to which daMulticast can be as reliable, both are."""
    t, size, pit = 3, 100, 0.99
    a = e.same_as_broadcast(pit, t)
    assert exp(-exp(-a)) == pytest.approx(pit**t), "with a c of its own that is not bounded it is as good as its links"
    b = e.same_as_multicast(pit)
    assert exp(-exp(-b)) == pytest.approx(pit)
    low, high = e.same_as_hierarchical(50, pit, t)
    assert low < high
    assert e.hierarchical_reliability(50, high, high) == pytest.approx(pit**t, rel=1e-9)
    assert e.same_as_broadcast(1.0, t) == e.same_as_multicast(1.0) == inf
    assert e.smaller_than_broadcast(100_000, size, a - 1, pit, t) < log(100_000)
    assert e.smaller_than_multicast(size, b - 1, pit, t) == pytest.approx(2 * (log(size) + b - 1) + log(1 - exp(-1)))
    assert e.smaller_than_broadcast(1000, size, a + 1, pit, t) == -inf, "beyond it no z is small enough"
    assert e.smaller_than_hierarchical(50, high + 1, pit, t) == -inf


def test_tables_of_the_others() -> None:
    assert e.broadcast_memory(1110, 5) == pytest.approx(log(1110) + 5)
    assert e.multicast_memory(PAPER) == pytest.approx(sum(log(level.size) + 5 for level in PAPER))
    assert e.multicast_reliability(PAPER) == pytest.approx(exp(-exp(-5)) ** 3)
    assert e.hierarchical_memory(30, 37, 5, 5) == pytest.approx(log(37) + log(30) + 10)
