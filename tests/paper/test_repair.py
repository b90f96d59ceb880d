"""damulticast: what the printed form misses, the repaired one brings; and what that takes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from groves import SIZES, checked, grown, interested, nodes_with

from trellis import protocols
from trellis.errors import ScenarioError
from trellis.protocols.overlays.damulticast import DaMulticast
from trellis.protocols.parts.company import ANCHORS
from trellis.protocols.stack import Stack
from trellis.scenario.model import Scenario
from trellis.sim import Run, host_of, run

SMALL: dict[str, Any] = {
    "name": "two processes",
    "seed": 1,
    "end": 10,
    "stack": {"overlay": "damulticast", "ordering": "unordered"},
    "nodes": {"count": 2},
    "subscriptions": {"kind": "explicit", "members": {".": [0, 1]}},
    "workload": {"kind": "explicit", "messages": [{"at": 0, "node": 0, "topic": "."}]},
    "network": {"kind": "cycles"},
}
ROUNDS = 24  # after a message, all who live have it; the printed form is over after 15 at most


def world(overlay: str, members: dict[str, list[int]], seed: int, end: int = ROUNDS, **more: Any) -> Scenario:
    topic = max(members, key=len)
    raw = {
        "name": "repair",
        "seed": seed,
        "end": end,
        "stack": {"overlay": overlay, "ordering": "unordered", **more.get("stack", {})},
        "nodes": {"count": 1 + max(map(max, members.values()))},
        "subscriptions": {"kind": "explicit", "members": members, "announce": more.get("announce", False)},
        "workload": {
            "kind": "explicit",
            "messages": [{"at": more.get("at", 0), "node": members[topic][0], "topic": topic}],
        },
        "network": {"kind": "cycles", "loss": more.get("loss", 0.0)},
        "faults": {"stillborn": more.get("stillborn", 0.0)},
    }
    return checked(raw)


def got(found: Run, members: dict[str, list[int]]) -> tuple[int, int]:
    """Who lives and got the message, and who lives and should have."""
    dead = set(nodes_with(found, "crash"))
    topic = max(members, key=len)
    return len(set(nodes_with(found, "deliver"))), len(interested(members, topic) - dead)


def sent(found: Run) -> Counter[str]:
    return Counter(row.packet for row in found.trace.rows() if row.kind == "send")


@pytest.mark.parametrize("seed", [1])
def test_with_repair_all_who_live_get_it_though_packets_are_lost_and_many_are_dead(seed: int) -> None:
    members = grown(SIZES)
    repaired = run(world("damulticast", members, seed, loss=0.15, stillborn=0.3), engine="fast")
    came, owed = got(repaired, members)
    assert came == owed
    assert not [row for row in repaired.trace.rows() if row.kind == "gap"]


def test_without_repair_somebody_is_missed() -> None:
    members = grown({".": 10, ".a": 60, ".a.b": 300})
    short = 0
    for seed in range(4):
        found = run(world("damulticast", members, seed, loss=0.15, stillborn=0.3, stack={"repair": 0}))
        came, owed = got(found, members)
        short += came < owed
        assert not sent(found)["REFILL"]
    assert short >= 1


def test_events_travel_as_often_as_in_the_printed_form_and_far_less_than_if_they_were_flooded() -> None:
    members = grown({".": 10, ".a": 40, ".a.b": 120})
    loss = 0.15
    printed = run(world("damulticast-printed", members, 1, loss=loss))
    flooded = run(world("damulticast-printed", members, 1, loss=loss, stack={"c": 10_000}))
    repaired = run(world("damulticast", members, 1, loss=loss))
    events = sent(repaired)["GOSSIP"] + len(nodes_with(repaired, "fill"))
    assert got(repaired, members) == (170, 170)
    assert events < 1.3 * sent(printed)["GOSSIP"]
    assert events < 0.2 * sent(flooded)["GOSSIP"]


def test_processes_that_find_each_other_while_it_runs_know_few_and_miss_nothing() -> None:
    """All subscribe in the first round; the message comes when they have settled."""
    members = grown({".": 8, ".a": 40, ".a.b": 150})
    scenario = world("damulticast", members, 5, end=110, at=80, announce=True, loss=0.05)
    host = host_of(scenario)(scenario)
    trace = host.run()
    heard = {row.node for row in trace.rows() if row.kind == "deliver"}
    assert heard == interested(members, ".a.b")
    sizes = []
    for machine in host.machines:
        assert isinstance(machine, Stack)
        assert isinstance(machine.overlay, DaMulticast)
        for topic, group in machine.overlay.groups.items():
            size = group.company.size()
            sizes.append(size / len(members[topic]))
            assert group.entries() <= group.company.fanout(size) + group.with_.z + ANCHORS
            assert topic == "." or group.uplinks[0].topic == {".a.b": ".a", ".a": "."}[topic]
    assert 0.5 < sum(sizes) / len(sizes) < 1.6, "they know about how many they are"


def test_orders_need_the_repair() -> None:
    for ordering in ("fifo", "causal"):
        protocols.check("damulticast", ordering, {})
        with pytest.raises(ScenarioError, match=f"{ordering!r} over 'damulticast': it needs"):
            protocols.check("damulticast", ordering, {"repair": 0})
    protocols.check("damulticast", "unordered", {"repair": 0})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"end": None}, "end is missing"),
        ({"network": {"kind": "random", "low": 1, "high": 3}}, "stack.period is missing"),
        ({"stack": {"overlay": "damulticast", "ordering": "unordered", "period": 5}}, "has rounds of its own"),
    ],
)
def test_rounds_need_a_beginning_and_an_end(change: dict[str, Any], complaint: str) -> None:
    changed = {key: value for key, value in {**SMALL, **change}.items() if value is not None}
    with pytest.raises(ScenarioError, match=complaint):
        checked(changed)


def test_a_topic_may_have_several_supertopics_and_parameters_of_its_own() -> None:
    members = {".": [0], ".news": [1, 2], ".digest": [3, 4], ".news.space": [5, 6, 7], ".other": [8]}
    raw = {
        "name": "joints",
        "seed": 4,
        "end": 30,
        "stack": {"overlay": "damulticast", "ordering": "causal"},
        "nodes": {"count": 9},
        "subscriptions": {"kind": "explicit", "members": members},
        "workload": {"kind": "explicit", "messages": [{"at": 1, "node": 5, "topic": ".news.space"}]},
        "network": {"kind": "cycles", "loss": 0.2},
        "topics": {".news.space": {"supers": [".digest"], "z": 2, "c": 9}, ".news": {"g": 1}},
    }
    scenario = checked(raw)
    host = host_of(scenario)(scenario)
    trace = host.run()
    heard = {row.node for row in trace.rows() if row.kind == "deliver"}
    assert heard == {0, 1, 2, 3, 4, 5, 6, 7}, "by both ways, and each of them once"
    assert len([row for row in trace.rows() if row.kind == "deliver"]) == 8
    machine = host.machines[5]
    assert isinstance(machine, Stack)
    assert isinstance(machine.overlay, DaMulticast)
    group = machine.overlay.groups[".news.space"]
    assert [(uplink.topic, sorted(uplink.known)) for uplink in group.uplinks] == [
        (".news", [1, 2]),
        (".digest", [3, 4]),
    ]
    assert (group.with_.z, group.with_.c, group.with_.g) == (2, 9, 5)


@pytest.mark.parametrize(
    ("topics", "complaint"),
    [
        ({"flat": {"c": 1}}, "only a topic of a tree"),
        ({".a": {"supers": [".a.b"]}}, "cannot include it"),
        ({".a": {"supers": ["flat"]}}, "only a topic of the tree has supertopics"),
        ({".a": {"window": 1}}, "no such key"),
    ],
)
def test_what_is_said_of_topics_must_make_sense(topics: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        checked({**SMALL, "topics": topics})
