"""What is chosen is the cheapest there is, and gives what was wanted."""

from __future__ import annotations

from itertools import pairwise, product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis.errors import ScenarioError
from trellis.metrics.epidemics import Level
from trellis.metrics.outbreak import everybody
from trellis.metrics.rehearsal import rehearse
from trellis.metrics.tuning import Bounds, Option, Plan, cheapest, evaluate, front, tune

SMALL = Bounds(c_max=3, g_max=3, a_max=2, z_min=1, z_max=2)


def all_plans(sizes: list[int], success: float, bounds: Bounds) -> list[Plan]:
    """Every combination within the bounds."""
    insides = range(bounds.c_max + 1)
    links = [
        [
            (g, a, z)
            for z in range(min(bounds.z_min, above), min(bounds.z_max, above) + 1)
            for a in range(1, min(bounds.a_max, z) + 1)
            for g in range(1, min(bounds.g_max, size) + 1)
        ]
        for size, above in pairwise(sizes)
    ]
    return [
        evaluate(sizes, success, [(c, *up) for c, up in zip(cs, [*ups, (0, 0, 0)], strict=True)])
        for cs in product(insides, repeat=len(sizes))
        for ups in product(*links)
    ]


@pytest.mark.parametrize(("sizes", "loss"), [([30, 12, 4], 0.15), ([25, 3, 1], 0.4), ([40, 40], 0.0), ([7], 0.2)])
def test_nothing_within_the_bounds_is_cheaper(sizes: list[int], loss: float) -> None:
    every = all_plans(sizes, 1 - loss, SMALL)
    best = max(plan.everybody for plan in every)
    for wanted in (0.05, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999):
        if wanted > best:
            with pytest.raises(ScenarioError, match="everybody gets an event with"):
                tune(sizes, loss, wanted, SMALL)
            continue
        found = tune(sizes, loss, wanted, SMALL)
        assert found.everybody >= wanted - 1e-8
        assert found.messages == pytest.approx(min(plan.messages for plan in every if plan.everybody >= wanted))


options = st.lists(st.tuples(st.integers(0, 50), st.integers(-40, 0)), min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(st.lists(options, min_size=1, max_size=5), st.integers(-120, 0))
def test_the_search_is_exact_whatever_the_costs(drawn: list[list[tuple[int, int]]], wanted: int) -> None:
    """Also where the costs are such that a price for all parts alike buys too much."""
    parts = [front(Option(float(cost), float(gain), (n,)) for n, (cost, gain) in enumerate(part)) for part in drawn]
    able = [sum(cost for cost, _ in some) for some in product(*drawn) if sum(gain for _, gain in some) >= wanted]
    if sum(part[-1].gain for part in parts) < wanted:
        assert not able
        return
    found = cheapest(parts, float(wanted))
    assert sum(option.gain for option in found) >= wanted
    assert sum(option.cost for option in found) == min(able)


def test_the_paper_s_groups_need_more_than_the_paper_gives_them() -> None:
    sizes = [1000, 100, 10]
    paper = evaluate(sizes, 0.85, [(5, 5, 1, 3)] * 3)
    assert paper.everybody == pytest.approx(everybody([Level(size, success=0.85) for size in sizes]))
    assert paper.everybody == pytest.approx(0.867, abs=0.001), "section 5.3 says 0.98"
    found = tune(sizes, 0.15, 0.99)
    assert 0.99 <= found.everybody < 0.9905
    assert [(choice.c, choice.g, choice.a, choice.z) for choice in found.choices[:2]] == [(7, 15, 1, 3)] * 2
    assert found.messages < 1.2 * paper.messages
    assert found.choices[0].entries == pytest.approx(6.908 + 7 + 3, abs=0.001)
    same = tune(sizes, 0.15, paper.everybody)
    assert same.messages < paper.messages, "what the paper spends on groups is better spent on links"


def test_wanting_more_costs_more() -> None:
    before = -inf
    for wanted in (0.5, 0.9, 0.99, 0.999, 0.9999):
        found = tune([200, 50, 30, 20], 0.1, wanted)
        assert found.everybody >= wanted
        assert found.messages >= before
        before = found.messages


def test_a_group_never_knows_more_than_there_are() -> None:
    found = tune([50, 2, 1], 0.1, 0.85)
    assert found.choices[0].z == 2
    assert found.choices[1].z == 1
    assert found.choices[1].entries <= 2
    assert found.choices[2] == (1, 0, 0, 0, 0, 1.0, 1.0, 0.0, 0.0)


def test_the_simulation_gives_what_was_chosen() -> None:
    """300 runs: a chance of 0.95 comes out within 0.03, and the formulas are on the safe side."""
    sizes = [60, 30, 12]
    options = tune(sizes, 0.15, 0.95).largest()
    values = (options["c"], options["g"], options["a"], options["z"])
    predicted = evaluate(sizes, 0.85, [values] * 3).everybody
    hits = list(rehearse(sizes, 0.15, options, 300))
    assert predicted >= 0.95
    assert sum(hits) / len(hits) == pytest.approx(predicted, abs=0.03)


@pytest.mark.parametrize(
    ("sizes", "loss", "wanted", "bounds", "rule"),
    [
        ([], 0.1, 0.9, Bounds(), "a path has one group or more"),
        ([5, 0], 0.1, 0.9, Bounds(), "each of one process or more"),
        ([5], 1.0, 0.9, Bounds(), "loss = 1: it is a share"),
        ([5], -0.1, 0.9, Bounds(), "loss = -0.1: it is a share"),
        ([5], 0.1, 1.0, Bounds(), "gossip gives no certainty"),
        ([5], 0.1, float("nan"), Bounds(), "wanted = nan"),
        ([5], 0.1, 0.9, Bounds(z_min=4, z_max=3), "z_min = 4: above z_max = 3"),
        ([5], 0.1, 0.9, Bounds(g_max=0), "g_max = 0: it must be at least 1"),
        ([2, 2], 0.5, 0.9, Bounds(), "everybody gets an event with 0.2"),
    ],
)
def test_what_cannot_be_is_refused(sizes: list[int], loss: float, wanted: float, bounds: Bounds, rule: str) -> None:
    with pytest.raises(ScenarioError, match=rule):
        tune(sizes, loss, wanted, bounds)
