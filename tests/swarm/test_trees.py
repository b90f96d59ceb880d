"""Random schedules of topics that include each other (`make swarm` has the long form)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trellis.errors import ScenarioError
from trellis.protocols.overlays.vcube_tree import Tree
from trellis.sim import run
from trellis.swarm import Campaign, try_one
from trellis.swarm.trees import trees

ORDERS = ["unordered", "fifo", "causal"]


def tried(ordering: str, schedules: int, seed: int = 0, faults: bool = False) -> Campaign:
    campaign = Campaign("vcube", ordering, faults, hierarchy=True)
    campaign.go(seed, schedules)
    return campaign


@pytest.mark.parametrize("ordering", ORDERS)
def test_readers_at_all_levels_get_what_is_theirs_while_others_come_and_go(ordering: str) -> None:
    campaign = tried(ordering, 75)
    assert campaign.failures == {}
    assert campaign.deliveries > 2500


@pytest.mark.parametrize("ordering", ORDERS)
def test_readers_at_all_levels_get_what_is_theirs_while_nodes_crash_and_links_break(ordering: str) -> None:
    campaign = tried(ordering, 50, faults=True)
    assert campaign.failures == {}
    assert campaign.deliveries > 1000


def test_most_of_what_is_delivered_is_inherited() -> None:
    rows = [row for seed in range(30) for row in run(trees(seed, "vcube", "causal")).trace.of_kind("inherit").rows()]
    assert len(rows) > 100


# Schedules that once failed.
BROKEN = {0: "a topic that was left, and was joined again with one above it, was taken from its first message on"}


@pytest.mark.parametrize("seed", BROKEN, ids=BROKEN.values())
@pytest.mark.parametrize("ordering", ORDERS)
def test_a_broken_world_that_once_failed_does_not_fail_again(seed: int, ordering: str) -> None:
    assert try_one(seed, "vcube", ordering, faults=True, hierarchy=True).kinds == {}


PLANTED: dict[str, tuple[str, Callable[..., Any], str]] = {
    "a new topic is begun as any other, from a cut": ("is_fresh", lambda tree, topic: False, "lost"),
    "every topic is taken from its first message on": ("is_fresh", lambda tree, topic: True, "stuck"),
    "a subscription does not wait for what is below it": ("is_waiting", lambda tree, state: False, "lost"),
    "nobody joins what is below when it subscribes": ("join_below", lambda tree, topic, others: (), "lost"),
    "a topic that comes up later is not joined": (
        "meet",
        lambda tree, topic: tree.overlay.topics.get(topic),
        "lost",
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_the_swarm_notices_each_planted_bug(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, instead, promise = PLANTED[bug]
    monkeypatch.setattr(Tree, method, instead)
    assert promise in tried("causal", 50).failures


UNTOLD: dict[str, tuple[str, Callable[..., Any], int]] = {
    "who has left a topic does not name it to who was out of reach": (
        "tell_names",
        lambda tree, node, names: None,
        686,
    ),
    "who hears where others stand does not join what it hears of": ("upon_state", lambda tree, sender, told: None, 186),
}


@pytest.mark.parametrize("bug", UNTOLD)
def test_the_swarm_notices_when_who_was_out_of_reach_is_told_nothing(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, instead, seed = UNTOLD[bug]
    assert tried("causal", 1, seed, faults=True).failures == {}
    monkeypatch.setattr(Tree, method, instead)
    assert "lost" in tried("causal", 1, seed, faults=True).failures


@pytest.mark.parametrize(
    ("overlay", "ordering", "says"),
    [
        ("single-root", "causal", "overlay 'single-root' does not know hierarchies; use vcube"),
        ("brokers", "fifo", "overlay 'brokers' does not know hierarchies; use vcube"),
        ("vcube-printed", "causal", "overlay 'vcube-printed' does not know hierarchies; use vcube"),
        ("vcube", "total", "in total order a subscription includes no subtopics; use unordered, fifo, causal"),
        ("vcube", "total-causal", "in total-causal order a subscription includes no subtopics"),
    ],
)
def test_a_stack_that_brings_no_subtopics_refuses_the_tree_by_name(overlay: str, ordering: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        run(trees(1, overlay, ordering))
