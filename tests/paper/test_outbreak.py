"""Formulas with links and losses as they are drawn, beside the algorithm in rounds and beside counting by hand."""

from __future__ import annotations

from itertools import product
from math import exp
from statistics import mean
from typing import Any

import pytest

from trellis.metrics import epidemics, outbreak
from trellis.metrics.epidemics import Level
from trellis.metrics.reach import Reach, reach
from trellis.scenario.path import one_event, topics_of
from trellis.sim import run

PAPER = [Level(size, success=0.85) for size in (1000, 100, 10)]


def runs(sizes: tuple[int, ...], many: int, loss: float = 0.15, stillborn: float = 0.0, **options: int) -> list[Any]:
    """By run, the reach of the event in each group, the lowest first; None where nobody lives."""
    stack: dict[str, Any] = {"overlay": "damulticast-printed", **options}
    found: list[list[Reach | None]] = []
    for seed in range(many):
        ran = run(one_event(sizes, seed, stack, loss, stillborn), engine="fast")
        by_group = {each.group: each for each in reach(ran.trace)}
        found.append([by_group.get(topic) for topic in topics_of(len(sizes))])
    return found


def test_d1_a_link_of_the_paper_fails_in_four_of_a_hundred_cases() -> None:
    """Section 5.3 has 0.99992 for the same."""
    assert epidemics.link(PAPER[0]) > 0.9999
    expected = 1 - exp(-5 * (1 - (1 - 0.85 / 3) ** 3))
    assert outbreak.link(PAPER[0], 100) == pytest.approx(expected, abs=1e-3)
    assert expected == pytest.approx(0.958, abs=1e-3)


def test_d2_with_losses_one_of_a_thousand_is_missed_in_four_of_a_hundred_cases() -> None:
    """exp(-exp(-5)) is 0.993; without losses both agree."""
    assert outbreak.inside(PAPER[0]) == pytest.approx(0.963, abs=1e-3)
    assert outbreak.inside(Level(1000)) == pytest.approx(epidemics.all_reached(5), abs=1e-3)


@pytest.mark.parametrize(("sizes", "options"), [((100, 100, 100), {"c": 2}), ((60, 30, 12), {"g": 8, "a": 2})])
def test_shares_and_chances_are_those_of_the_simulation(sizes: tuple[int, ...], options: dict[str, int]) -> None:
    """As far as 200 runs can tell: the standard error of a chance is up to 0.035."""
    found = runs(sizes, 200, **options)
    levels = [Level(size, success=0.85, **options) for size in sizes]  # type: ignore[arg-type]
    for group, expected in enumerate(outbreak.reached(levels)):
        assert mean(each[group].share for each in found) == pytest.approx(expected.share, abs=0.06)
        assert mean(each[group].is_whole for each in found) == pytest.approx(expected.whole, abs=0.1)
    everybody = mean(all(group.is_whole for group in each) for each in found)
    assert everybody == pytest.approx(outbreak.everybody(levels), abs=0.1)


def test_with_half_of_the_processes_dead_it_is_the_living_that_count() -> None:
    found = runs((200, 60), 80, stillborn=0.5)
    lowest, root = outbreak.reached([Level(200, success=0.85), Level(60, success=0.85)], 0.5)
    assert mean(each[0].share for each in found) == pytest.approx(lowest.share, abs=0.03)
    assert mean(each[1].share for each in found) == pytest.approx(root.share, abs=0.15)
    assert root.share < 0.7, "dead processes neither send upward nor receive"


def test_a_small_group_is_counted_out() -> None:
    """Three processes, by all ways in which their packets may be lost: who is reached from the first?"""
    miss = 0.3
    whole = 0.0
    for lost in product((True, False), repeat=6):
        weight = 1.0
        there = {pair for pair, gone in zip(product(range(3), range(2)), lost, strict=True) if not gone}
        for gone in lost:
            weight *= miss if gone else 1 - miss
        edges = {(a, (a + 1 + b) % 3) for a, b in there}
        has, before = {0}, set[int]()
        while has != before:
            before, has = has, has | {b for a, b in edges if a in has}
        whole += weight * (len(has) == 3)
    assert outbreak.counted_out(2, 1, miss)[1] == pytest.approx(whole)
    assert outbreak.outbreak(Level(3, c=5, success=0.7)).whole == pytest.approx(whole)


def test_a_process_alone_has_it() -> None:
    assert outbreak.everybody([Level(1, success=0.5)]) == 1.0
    assert outbreak.everybody([Level(2, success=0.5)]) == pytest.approx(0.5)
    assert outbreak.everybody([Level(1, g=1, a=1, z=1, success=0.5), Level(1)]) == pytest.approx(0.5)


def test_more_of_anything_helps() -> None:
    usual = outbreak.everybody(PAPER)
    for better in ({"c": 6}, {"g": 6}, {"a": 2}, {"success": 0.9}):
        assert outbreak.everybody([level._replace(**better) for level in PAPER]) > usual
