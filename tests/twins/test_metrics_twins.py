"""Measures by arrays beside a plain walk over the rows."""

from __future__ import annotations

import math
from functools import cache
from random import Random

import pytest
from planting import ODDITIES

from trellis.audit.delivery import Logbook, checked
from trellis.audit.witness import id_of
from trellis.metrics.hits import hits
from trellis.metrics.latency import latencies
from trellis.metrics.summary import interval, proportion, student_t
from trellis.metrics.traffic import false_positives, queues_met
from trellis.protocols.parts.hierarchy import supers
from trellis.sim import run
from trellis.swarm import schedule
from trellis.swarm.trees import trees
from trellis.trace.rows import Row
from trellis.trace.table import Trace, trace_of

OVERLAYS = ["vcube", "vcube-printed", "single-root", "brokers"]


def plain_false_positives(trace: Trace) -> int:
    inside: set[tuple[int, str]] = set()
    wrong = 0
    for row in trace.rows():
        place = (row.node, row.topic)
        if row.kind == "receive":
            wanted = any((row.node, topic) in inside for topic in (row.topic, *supers(row.topic)))
            wrong += row.batch if row.packet == "PUB" and not wanted else 0
        elif row.kind in ("subscribe", "confirm"):
            inside.add(place)
        elif row.kind == "unsubscribe":
            inside.discard(place)
    return wrong


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_false_positives_and_hits_are_those_of_a_plain_walk_over_the_rows(seed: int, overlay: str) -> None:
    trace = run(schedule(seed, overlay, "causal")).trace
    assert false_positives(trace) == plain_false_positives(trace)
    assert_hits_are_what_was_owed(trace)


@pytest.mark.parametrize("seed", range(24))
def test_where_topics_include_each_other_a_message_is_for_whoever_subscribed_above(seed: int) -> None:
    trace = run(trees(seed, "vcube", "causal")).trace
    assert false_positives(trace) == plain_false_positives(trace)
    assert_hits_are_what_was_owed(trace)
    assert hits(trace).made == hits(trace).owed


def assert_hits_are_what_was_owed(trace: Trace) -> None:
    for quiet in (True, False):
        book = Logbook(trace.rows())
        found = hits(trace, quiet)
        assert found.owed == checked(trace.rows(), quiet)
        assert found.made == sum((s.life, id) in book.delivered for _, id, s in book.owed(quiet))


@cache
def rows_of(seed: int) -> list[Row]:
    return list(run(schedule(seed, "vcube", "causal")).trace.rows())


@pytest.mark.parametrize("odd", ODDITIES)
def test_hits_are_those_of_the_audit_also_where_a_log_repeats_itself(odd) -> None:
    for seed in range(8):
        spoilt = odd(list(rows_of(seed)), Random(seed))
        if spoilt is not None:
            assert_hits_are_what_was_owed(trace_of(spoilt))


def test_some_schedule_has_false_positives_and_the_printed_form_misses() -> None:
    """Else the test above could not fail."""
    traces = [run(schedule(seed, "vcube-printed", "causal")).trace for seed in range(12)]
    assert any(false_positives(trace) for trace in traces)
    assert any(hits(trace).made < hits(trace).owed for trace in traces)


@pytest.mark.parametrize("seed", range(6))
def test_relayed_are_first_receptions_where_the_message_is_not_delivered(seed: int) -> None:
    trace = run(schedule(seed, "single-root", "causal")).trace
    born = {id_of(row): row.at for row in trace.of_kind("publish").rows()}
    kept = {(id_of(row), row.node) for row in trace.of_kind("deliver").rows()}
    first: dict[tuple[object, int], int] = {}
    for row in trace.of_kind("receive").rows():
        if row.batch and (id_of(row), row.node) not in kept:
            first.setdefault((id_of(row), row.node), row.at - born[id_of(row)])
    assert sorted(latencies(trace).relayed.tolist()) == sorted(first.values())


def test_the_queue_that_a_pub_packet_meets_is_its_mean_wait_at_each_node() -> None:
    trace = run(schedule(3, "vcube", "causal")).trace
    waits: dict[int, list[int]] = {}
    for row in trace.of_kind("send").rows():
        if row.packet == "PUB":
            waits.setdefault(row.node, []).append(row.wait)
    expected = [sum(waits[n]) / len(waits[n]) if n in waits else 0.0 for n in range(32)]
    assert queues_met(trace, 32).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.7062), (4, 2.7764), (7, 2.3646), (11, 2.2010), (39, 2.0227), (1000, 1.9623)]
)
def test_students_t_is_that_of_the_tables(degrees: int, quantile: float) -> None:
    assert student_t(degrees) == pytest.approx(quantile, abs=5e-4)


def test_a_proportion_is_uncertain_also_where_all_hit() -> None:
    """Wilson's interval, for 10 in 100 as in textbooks."""
    assert proportion(10, 100) == pytest.approx((0.0552, 0.1744), abs=1e-4)
    low, high = proportion(200, 200)
    assert (low, high) == (pytest.approx(0.9812, abs=1e-4), 1.0)
    assert proportion(0, 200) == pytest.approx((0.0, 1 - low))


def test_an_interval_needs_two_repetitions() -> None:
    assert interval([3.0]).half is None
    assert math.isnan(interval([]).mean)
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, found.std, found.count) == (2.0, 1.0, 3)
    assert found.half == pytest.approx(4.3027 / math.sqrt(3))
