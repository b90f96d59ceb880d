"""Scenarios of the public traces, where they are there: as large as they are."""

from __future__ import annotations

import gzip
import time
from typing import Any

import msgspec
from public_traces import public

from trellis.scenario import check, from_mapping, plan
from trellis.scenario.availability import Session, comings, with_comings
from trellis.scenario.following import following
from trellis.scenario.model import Scenario

S = 1_000_000


def world(count: int, **sections: Any) -> Scenario:
    base: dict[str, Any] = {
        "name": "world",
        "seed": 1,
        "stack": {"overlay": "damulticast", "ordering": "unordered"},
        "nodes": {"count": count},
        "subscriptions": {"kind": "buckets", "of": 2},
        "workload": {"kind": "rated", "messages": 1000, "begin": 5, "per": 10},
        "network": {"kind": "cycles", "upkeep": False},
        "end": 200,
    }
    return from_mapping(base | sections)


def test_the_higgs_follow_graph_is_planned_and_named_in_a_moment() -> None:
    with gzip.open(public("twitter-higgs-10k/follows.tsv.gz"), "rt") as file:
        rows = [line.split() for line in file]
    follows = [(int(a), int(b)) for a, b in rows if a.isdigit()]
    number = {user: n for n, user in enumerate(sorted({user for pair in follows for user in pair}))}
    told = following(((number[a], number[b]) for a, b in follows), len(number))
    scenario = msgspec.structs.replace(world(len(number)), subscriptions=told)
    began = time.perf_counter()
    written = scenario.to_json()
    read = from_mapping(msgspec.json.decode(written))
    check(read)
    assert read.fingerprint() == scenario.fingerprint()
    laid = plan(read)
    assert time.perf_counter() - began < 20
    assert (read.nodes.count, len(told.members), sum(map(len, told.members.values()))) == (9_989, 7_795, 328_560)
    assert len(laid.actions) == 1000
    assert all(action.node in laid.standing[action.event.topic] for action in laid.actions)


def test_skype_comes_and_goes_by_minutes() -> None:
    with gzip.open(public("churn-skype/SKYPE.avt.gz"), "rt") as file:
        nodes = [[int(float(cell) * S) for cell in line.split()[2:]] for line in file]
    sessions = [
        Session(node, start, end)
        for node, times in enumerate(nodes)
        for start, end in zip(times[::2], times[1::2], strict=True)
    ]
    found = comings(sessions, len(nodes), 60 * S, since=14_000 * S)
    assert (found.nodes, found.present, found.rounds) == (2_081, 805, (2_478_200 - 14_000) // 60)
    up = found.nodes
    for at, step in sorted(
        [(crash.at, -1) for crash in found.crashes]
        + [(crash.restart, 1) for crash in found.crashes if crash.restart is not None]
    ):
        up += step
        assert 0 <= up <= (935 if at else 2_081)
    scenario = with_comings(world(len(nodes), end=found.rounds), found)
    check(scenario)
    assert len(plan(scenario).actions) == 1000
