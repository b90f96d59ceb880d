"""Fast things beside plain ones, compared entry by entry."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis.audit.across import across
from trellis.audit.causal import causal
from trellis.metrics import traffic
from trellis.metrics.latency import latencies
from trellis.protocols.parts.passed import Passed
from trellis.protocols.parts.seen import Seen
from trellis.sim import run
from trellis.sim.calendar import PACKET, Calendar
from trellis.swarm import make_hasty, schedule
from trellis.trace.rows import Row
from trellis.trace.table import Recorder, Trace, trace_of
from trellis.words import Message, MessageId, Packet

ORIGINS = [(1, 0), (2, 0), (2, 1)]


@given(st.lists(st.tuples(st.sampled_from([(0, 0), (1, 0), (1, 1)]), st.integers(0, 9), st.booleans()), max_size=60))
def test_seen_is_a_set_of_numbers_that_forgets_what_it_can(calls: list[tuple[tuple[int, int], int, bool]]) -> None:
    """Numbers come in portions: the n-th is of n % 3 + 1 numbers. Now and then what is missing is given up."""
    seen = Seen()
    plain: dict[tuple[int, int], set[int]] = {}
    for origin, n, gives_up in calls:
        first = 1 + sum(k % 3 + 1 for k in range(n))
        last = first + n % 3
        numbers = plain.setdefault(origin, set())
        if gives_up:
            missing = {number for low, high in seen.give_up(origin, last) for number in range(low, high + 1)}
            assert missing == set(range(1, last + 1)) - numbers
            numbers |= missing
        else:
            assert seen.add(origin, first, last) is (first not in numbers)
            numbers |= set(range(first, last + 1))
    for origin, numbers in plain.items():
        ahead = {number for low, high in seen.ahead.get(origin, {}).items() for number in range(low, high + 1)}
        assert set(range(1, seen.upto.get(origin, 0) + 1)) | ahead == numbers
    assert all(seen.ahead.values()), "no empty gap is kept"


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("ce"), st.integers(0, 9), st.integers(0, 4))))
def test_what_was_passed_over_is_a_set_of_numbers(calls: list[tuple[bool, str, int, int]]) -> None:
    passed = Passed()
    plain: dict[str, set[int]] = {"c": set(), "e": set()}
    clock = {"c": 0, "e": 0}
    for goes, topic, step, more in calls:
        numbers = plain[topic]
        if goes:
            first, last = clock[topic] + step + 1, clock[topic] + step + 1 + more
            passed.add(topic, first, last)
            numbers |= set(range(first, last + 1))
            clock[topic] = last
        else:
            first = max(1, clock[topic] - 3 * step)
            taken = {n for low, high in passed.take(topic, first, first + more) for n in range(low, high + 1)}
            assert taken == numbers & set(range(first, first + more + 1))
            numbers -= taken
        assert {n for n in range(clock[topic] + 3) if (topic, n) in passed} == numbers
        assert passed.count == sum(map(len, passed.rows.values()))
        assert all(passed.rows.values()), "no topic is kept without numbers"
    passed.forget("c")
    assert passed.count == len(passed.rows.get("e", ()))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 3), st.integers(0, 99)), unique=True))
def test_the_calendar_is_a_sorted_list(entries: list[tuple[int, int, int, int]]) -> None:
    calendar = Calendar()
    for at, node, peer, number in entries:
        calendar.push(at, (node, PACKET, peer, number, None, b""))  # type: ignore[arg-type]
    out = []
    while calendar.next_time() is not None:
        at, bucket = calendar.pop()
        out += [(at, node, peer, number) for node, _, peer, number, _, _ in bucket]
    assert out == sorted(entries)


class Parcel(Packet, frozen=True):
    """A packet for the recorder."""

    messages: tuple[Message, ...]  # type: ignore[misc]
    kind: Any = "PUB"


def test_the_recorder_lays_out_what_was_written_row_by_row() -> None:
    a, b = MessageId((4, 1), "x", 1), MessageId((2, 0), "y", -3)
    recorder = Recorder()
    recorder.happened("publish", 3, 4, a)
    arrival = recorder.sent(3, 4, Parcel(a, (Message(a, b""), Message(next_to(a), b"", count=3))), 2, 5, 105)
    recorder.happened("settle", 4, 2, b, 7, 9)
    recorder.happened("suspect", 5, 2, MessageId((4, 1), "", 0), peer=4)
    recorder.lines += arrival
    assert list(recorder.trace().rows()) == [
        Row(0, 3, 4, "publish", "x", 4, 1, 1, "", -1, 0, 0, 0),
        Row(1, 3, 4, "send", "x", 4, 1, 1, "PUB", 2, 2, 4, 0),
        Row(2, 4, 2, "settle", "y", 2, 0, -3, "", -1, 0, 7, 9),
        Row(3, 5, 2, "suspect", "", 4, 1, 0, "", 4, 0, 0, 0),
        Row(4, 105, 2, "receive", "x", 4, 1, 1, "PUB", 4, 0, 4, 0),
    ]


def next_to(id: MessageId) -> MessageId:
    return MessageId(id.origin, id.topic, id.seq + 1)


HAPPENED = ["publish", "spread", "deliver", "late", "skip", "settle", "gap", "confirm"]


@given(st.lists(st.tuples(st.sampled_from(HAPPENED), st.sampled_from("xy"), st.integers(1, 9), st.integers(0, 4))))
def test_a_line_about_many_messages_is_a_row_for_each_or_a_range(lines: list[tuple[str, str, int, int]]) -> None:
    recorder, plain = Recorder(), []
    for at, (kind, topic, seq, batch) in enumerate(lines):
        recorder.happened(kind, at, 7, MessageId((3, 1), topic, seq), batch, 2)
        each = range(max(1, batch)) if kind in ("publish", "spread", "deliver", "late", "skip") else [None]
        for n in each:
            numbers = (seq, batch) if n is None else (seq + n, 0)
            plain.append(Row(len(plain), at, 7, kind, topic, 3, 1, numbers[0], "", -1, 0, numbers[1], 2))
    trace = recorder.trace()
    assert list(trace.rows()) == plain
    assert trace.digest() == trace_of(plain).digest()


@pytest.mark.parametrize("seed", range(6))
def test_a_trace_survives_being_taken_apart_into_rows(seed: int) -> None:
    trace = run(schedule(seed, "vcube", "causal")).trace
    again = trace_of(list(trace.rows()))
    assert again.digest() == trace.digest()
    assert list(again.rows()) == list(trace.rows())


def test_an_empty_trace_has_a_digest_and_no_rows() -> None:
    empty = Recorder().trace()
    assert len(empty) == 0
    assert empty.digest() == trace_of([]).digest()
    assert list(empty.rows()) == []


def plain_latencies(trace: Trace) -> list[tuple[int, int]]:
    """(reception, delivery) of every delivery at another node than the source, sorted."""
    published: dict[tuple[str, int, int], int] = {}
    received: dict[tuple[int, str, int, int], int] = {}
    found = []
    for row in trace.rows():
        match row.kind:
            case "publish":
                published[row.topic, row.source, row.seq] = row.at
            case "receive":
                for seq in range(row.seq, row.seq + row.batch):
                    received.setdefault((row.node, row.topic, row.source, seq), row.at)
            case "deliver" | "late" if row.node != row.source:
                born = published[row.topic, row.source, row.seq]
                found.append((received[row.node, row.topic, row.source, row.seq] - born, row.at - born))
    return sorted(found)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("overlay", ["vcube", "vcube-printed", "single-root", "brokers"])
def test_latencies_are_those_of_a_plain_walk_over_the_rows(seed: int, overlay: str) -> None:
    traces = [run(schedule(seed, overlay, "causal")).trace]
    if overlay == "vcube":
        traces.append(run(make_hasty(schedule(seed, overlay, "total"))).trace)
    for trace in traces:
        fast = latencies(trace)
        assert sorted(zip(fast.reception.tolist(), fast.delivery.tolist(), strict=True)) == plain_latencies(trace)


@pytest.mark.parametrize("seed", range(4))
def test_queues_are_those_of_a_plain_walk_over_time(seed: int) -> None:
    scenario = schedule(seed, "vcube", "causal")
    scenario = msgspec.structs.replace(scenario, network=msgspec.structs.replace(scenario.network, service=5))
    trace = run(scenario).trace
    spans = [(row.node, row.at, row.at + row.wait) for row in trace.of_kind("send").rows()]
    longest = 0
    for node in range(scenario.nodes.count):
        mine = [(enter, leave) for n, enter, leave in spans if n == node]
        for moment, _ in mine:
            longest = max(longest, sum(enter <= moment < leave for enter, leave in mine))
    until = max(row.at for row in trace.rows())
    waited = sum(leave - enter for _, enter, leave in spans)
    found = traffic.queues(trace, scenario.nodes.count)
    assert found.max == longest
    assert found.mean == pytest.approx(waited / until / scenario.nodes.count)


def plain_causal(rows: list[Row], across: bool = False) -> set[tuple[int, str, str]]:
    """Brute force: the past of a message as a set of messages, and every pair of deliveries of every node."""
    pasts: dict[tuple[str, int, int], set[tuple[str, int, int]]] = {}
    lives: dict[tuple[int, str], set[tuple[str, int, int]]] = {}
    orders: dict[tuple[int, str], list[tuple[str, int, int]]] = {}
    for row in rows:
        where = (row.node, "" if across else row.topic)
        id, life = (row.topic, row.source, row.seq), lives.setdefault(where, set())
        if row.kind == "publish":
            pasts[id] = set(life)
            life.add(id)
        elif row.kind == "deliver":
            life |= pasts.get(id, set()) | {id}
            orders.setdefault(where, []).append(id)
    found = set()
    for (node, _), order in orders.items():
        for n, later in enumerate(order):
            for earlier in order[:n]:
                if later in pasts.get(earlier, set()) and later not in order[:n]:
                    found.add((node, f"{later[1]}:{later[2]}@{later[0]}", "late"))
    return found


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_causal_audits_find_what_brute_force_finds(data: st.DataObject) -> None:
    """On traces of four nodes that publish and deliver as they like, on one topic or three."""
    rows: list[Row] = []
    published: list[tuple[str, int, int]] = []
    counters: Counter[tuple[str, int]] = Counter()
    topics = data.draw(st.sampled_from(["t", "tuv"]))
    for position in range(data.draw(st.integers(0, 24))):
        node = data.draw(st.integers(0, 3))
        mine = [id for id in published if not any(delivered(row, node, id) for row in rows)]
        if mine and data.draw(st.booleans()):
            topic, source, seq = data.draw(st.sampled_from(mine))
            rows.append(Row(position, position, node, "deliver", topic, source, 0, seq, "", -1, 0, 0, 0))
        else:
            topic = data.draw(st.sampled_from(topics))
            counters[topic, node] += 1
            published.append((topic, node, counters[topic, node]))
            rows.append(
                Row(position, position, node, "publish", topic, node, 0, counters[topic, node], "", -1, 0, 0, 0)
            )
    assert {(w.node, str(w.message), "late") for w in causal(rows)} == plain_causal(rows)
    assert {(w.node, str(w.message), "late") for w in across(rows)} == plain_causal(rows, across=True)


def delivered(row: Row, node: int, id: tuple[str, int, int]) -> bool:
    return row.kind == "deliver" and row.node == node and (row.topic, row.source, row.seq) == id


def test_words_of_a_column_are_its_strings() -> None:
    trace = run(schedule(1, "vcube", "causal")).trace
    codes, names = trace.words("kind")
    assert [names[code] for code in codes] == [row.kind for row in trace.rows()]
    assert np.array_equal(trace.numbers("position"), np.arange(len(trace)))
