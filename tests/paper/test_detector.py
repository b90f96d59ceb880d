"""VCube's failure detector against what its papers claim, and against what links and processes really do."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from watch import Watch

from trellis.effects import Accuse, Send
from trellis.errors import UnexpectedEvent
from trellis.events import Cycle, Receive, Restore, Suspect, Timeout
from trellis.machine import Place
from trellis.protocols.parts import detector
from trellis.protocols.parts.detector import BELIEVED_MAX, Alive, Ask, Detector, News
from trellis.protocols.parts.hypercube import children, dimension
from trellis.words import MessageId

INTERVAL, LIMIT = 500, 1000
sparse = st.sets(st.integers(0, (1 << 30) - 1), min_size=2, max_size=12)


# The paper


def test_section_2_node_0_of_8_tests_nodes_1_2_and_4() -> None:
    """VCube-PS 2017, section II: with no failures, "p0 only performs tests on nodes 1, 2, 4"."""
    watch = Watch(range(8))
    since = watch.now
    watch.run(INTERVAL)
    assert sorted(j for i, j in watch.tests(since) if i == 0) == [1, 2, 4] == children(0, range(8), 3)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 12, 16, 31, 32])
def test_a_round_has_at_most_n_log2_n_tests_and_leaves_nobody_out(n: int) -> None:
    """VCube 2014: "the worst number of tests executed is N log2 N" per round of all clusters."""
    watch = Watch(range(n))
    for dead in (None, n - 1):
        if dead is not None:
            watch.vanish(dead)
            watch.run(10 * INTERVAL)
        since = watch.now
        watch.run(INTERVAL)
        tests = watch.tests(since)
        assert len(tests) <= n * dimension(n)
        assert len(set(tests)) == len(tests)
        assert {j for _, j in tests} == (set() if n == 2 and dead else set(range(n)) - {dead})


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32])
def test_every_live_node_learns_of_a_crash_within_log2_squared_rounds_by_tests_alone(n: int) -> None:
    """VCube 2014: "with a latency of at most log2^2 N testing rounds". The round in which it dies comes on top.

    A round of the paper ends when its tests are answered or given up, so here the limit is within the round.
    """
    for victim in (0, n - 1, n // 3):
        watch = Watch(range(n), interval=1000, limit=400, news=False)
        watch.vanish(victim)
        watch.time_until_all_know([victim], (dimension(n) ** 2 + 1) * 1000)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.data())
def test_also_of_any_number_of_crashes_at_once(d: int, data: st.DataObject) -> None:
    n = 1 << d
    dead = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    watch = Watch(range(n), interval=1000, limit=400, news=False)
    for victim in dead:
        watch.vanish(victim)
    watch.time_until_all_know(dead, (d**2 + 1) * 1000)


# With news


@pytest.mark.parametrize("end", [Watch.vanish, Watch.stop])
@pytest.mark.parametrize("n", [2, 3, 6, 16, 32])
def test_with_news_all_know_within_one_interval_and_the_limit(n: int, end: object) -> None:
    for victim in (0, n - 1, n // 2):
        watch = Watch(range(n))
        end(watch, victim)  # type: ignore[operator]
        watch.time_until_all_know([victim], INTERVAL + LIMIT + 2 * watch.latency)


@settings(max_examples=30, deadline=None)
@given(sparse, st.data())
def test_places_may_lie_far_apart(places: set[int], data: st.DataObject) -> None:
    victim = data.draw(st.sampled_from(sorted(places)))
    watch = Watch(sorted(places))
    since = watch.now
    watch.run(INTERVAL)
    assert len(watch.tests(since)) <= len(places) * min(30, len(places) - 1)
    watch.vanish(victim)
    watch.time_until_all_know([victim], INTERVAL + LIMIT + 2 * watch.latency)


def test_a_killed_process_is_known_at_once_and_few_tell_of_it() -> None:
    watch = Watch(range(16))
    watch.kill(5)
    watch.run(watch.latency)
    assert watch.all_know([5])
    watch.run(3 * LIMIT)
    assert watch.all_know([5])
    assert not watch.accused
    assert sum(isinstance(packet, News) for *_, packet in watch.sent) <= 16 * 4
    watch.restart(5)
    watch.run(LIMIT)
    assert watch.all_know([])
    assert len(watch.links) == 16 * 15 // 2


# Mistakes


def test_a_stopped_process_that_goes_on_is_held_alive_again_and_has_accused_nobody() -> None:
    watch = Watch(range(16))
    watch.stop(6)
    watch.run(5 * LIMIT)
    assert watch.all_know([6])
    assert {node for _, node, _ in watch.accused} == set(range(16)) - {6}
    assert {node for _, _, node in watch.accused} == {6}
    watch.go_on(6)
    watch.run(3 * LIMIT)
    assert watch.all_know([])
    assert len(watch.links) == 16 * 15 // 2
    assert {node for _, _, node in watch.accused} == {6}


def test_a_short_stop_is_not_noticed() -> None:
    watch = Watch(range(8))
    for _ in range(10):
        watch.stop(3)
        watch.run(LIMIT - INTERVAL - 10)
        watch.go_on(3)
        watch.run(INTERVAL)
    assert not watch.accused
    assert watch.all_know([])


def test_who_slept_tests_again_before_it_accuses() -> None:
    me = Detector(Place(0, 2), INTERVAL, LIMIT)
    me.step(0, Restore(1, 0))
    test = me.step(INTERVAL, Timeout("round"))[0]
    assert isinstance(test, Send)
    late = me.step(INTERVAL + 10 * LIMIT, Timeout("due/1"))
    assert late[1:] == [test]
    assert me.step(INTERVAL + 11 * LIMIT, Timeout("due/1")) == [Accuse(1)]


def test_a_link_that_is_back_within_the_limit_is_nobody_elses_affair() -> None:
    watch = Watch(range(8))
    watch.break_link(0, 1)
    assert watch.held_dead(0) == [1]
    assert watch.held_dead(2) == []
    watch.run(3 * LIMIT)
    assert watch.all_know([])
    assert not watch.accused
    assert not [packet for *_, packet in watch.sent if isinstance(packet, News)]


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (0, 2), (6, 2), (5, 7)])
def test_one_way_loss_parts_the_two_and_nobody_else(pair: tuple[int, int]) -> None:
    watch = Watch(range(8))
    watch.deaf.add(pair)
    watch.run(10 * LIMIT)
    for node in range(8):
        assert set(watch.held_dead(node)) <= (set(pair) - {node} if node in pair else set())
    assert {tuple(sorted(link)) for link in watch.links} == {
        (i, j) for i in range(8) for j in range(i + 1, 8) if {i, j} != set(pair)
    }
    since, accused = watch.now, len(watch.accused)
    watch.run(20 * LIMIT)
    assert len(watch.accused) == accused  # and that is that: no coming and going
    assert {j for _, j in watch.tests(since)} == set(range(8))
    watch.deaf.clear()
    watch.run(LIMIT)
    assert len(watch.links) == 28
    assert watch.all_know([])


def test_a_one_way_loss_between_nodes_that_do_not_test_each_other_is_for_the_link_to_notice() -> None:
    """It is nodes that are watched here, not all pairs of them."""
    watch = Watch(range(8))
    watch.deaf.add((5, 2))
    watch.run(10 * LIMIT)
    assert not watch.accused
    assert frozenset({2, 5}) in watch.links


@pytest.mark.parametrize("n", [3, 4, 8])
def test_a_node_that_has_lost_all_links_but_one_is_alive_for_all_others_until_it_dies(n: int) -> None:
    """Whoever can reach it is found and asked to test it; nobody else is suspected."""
    victim = n - 1
    for friend in range(n - 1):
        watch = Watch(range(n))
        for other in range(n - 1):
            if other != friend:
                watch.deaf |= {(other, victim), (victim, other)}
                watch.break_link(other, victim)
                watch.tell(victim, Suspect(other))
        watch.run(10 * LIMIT)
        assert not watch.accused
        assert watch.held_dead(friend) == []
        assert not [packet for *_, packet in watch.sent if isinstance(packet, News)]
        watch.vanish(victim)
        watch.time_until_all_know([victim], 4 * (INTERVAL + LIMIT))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.data())
def test_when_all_faults_are_over_everybody_holds_everybody_alive(n: int, data: st.DataObject) -> None:
    watch = Watch(range(n))
    node = st.integers(0, n - 1)
    for _ in range(data.draw(st.integers(1, 8))):
        what, i, j = (
            data.draw(st.sampled_from(["stop", "go on", "kill", "restart", "break", "deaf"])),
            *data.draw(st.tuples(node, node)),
        )
        if what == "stop" and i not in watch.dead | watch.stopped.keys():
            watch.stop(i)
        elif what == "go on" and i in watch.stopped:
            watch.go_on(i)
        elif what == "kill" and i not in watch.dead | watch.stopped.keys():
            watch.kill(i)
        elif what == "restart" and i in watch.dead:
            watch.restart(i)
        elif what == "break" and i != j and {i, j} in watch.links and i not in watch.dead | watch.stopped.keys():
            watch.break_link(i, j)
        elif what == "deaf" and i != j:
            watch.deaf.add((i, j))
        watch.run(data.draw(st.integers(0, 3 * LIMIT)))
    watch.deaf.clear()
    for i in list(watch.stopped):
        watch.go_on(i)
    for i in list(watch.dead):
        watch.restart(i)
    watch.run(10 * LIMIT)
    assert watch.all_know([])
    assert len(watch.links) == n * (n - 1) // 2
    accused = len(watch.accused)
    watch.run(10 * LIMIT)
    assert len(watch.accused) == accused


# One machine

ID = MessageId((1, 0), "detector", 1)


def pair(now: int = 0) -> Detector:
    me = Detector(Place(0, 4), INTERVAL, LIMIT)
    for other in (1, 2):
        me.step(now, Restore(other, 0))
    return me


def test_a_test_is_answered_with_what_is_known() -> None:
    me = pair()
    assert me.step(5, Receive(1, detector.Test(ID, {}))) == [Send(1, Alive(ID, {}))]
    me.step(6, Suspect(2))
    assert me.step(7, Receive(1, detector.Test(ID, {}))) == [Send(1, Alive(ID, {}))]  # my own affair yet
    (ask,) = me.step(6 + LIMIT, Timeout("broken/2"))
    assert ask == Send(1, Ask(MessageId((0, 0), "detector", 0), 2, 1))
    assert me.step(7 + LIMIT, Receive(1, detector.Test(ID, {}))) == [Send(1, Alive(ID, {}))]
    me.step(7 + LIMIT, Receive(1, News(ID, {2: 1})))
    assert me.step(8 + LIMIT, Receive(1, detector.Test(ID, {}))) == [Send(1, Alive(ID, {2: 1}))]
    me.step(9 + LIMIT, Restore(2, 0))
    assert me.step(9 + LIMIT, Receive(1, detector.Test(ID, {}))) == [Send(1, Alive(ID, {2: 2}))]


def test_an_accusation_by_another_is_taken_over_unless_the_node_was_heard_lately() -> None:
    me = pair()
    me.step(500, Receive(2, detector.Test(ID, {})))
    assert me.step(500 + LIMIT - 1, Receive(1, News(ID, {2: 1}))) == []
    assert me.counters[2] == 2
    assert me.step(500 + LIMIT, Receive(1, News(ID, {2: 3}))) == [Accuse(2)]
    assert me.step(501 + LIMIT, Receive(1, News(ID, {2: 3}))) == []
    assert me.step(501 + LIMIT, Receive(2, detector.Test(ID, {}))) == []  # nothing counts until it is restored


def test_the_accused_contradicts() -> None:
    me = pair()
    me.step(1, Receive(1, News(ID, {0: 7})))
    assert me.step(2, Receive(1, detector.Test(ID, {}))) == [Send(1, Alive(ID, {0: 8}))]


def test_nothing_is_kept_of_nodes_never_told_of_nor_of_absurd_counters() -> None:
    me = pair()
    me.step(5 * LIMIT, Receive(1, Alive(ID, {3: 1, 2: BELIEVED_MAX + 1})))
    assert me.counters == {0: 0, 1: 0, 2: 0}


def test_what_it_has_no_rule_for_is_refused() -> None:
    for event in (Cycle(1), Timeout("none"), Timeout("due/1/2")):
        with pytest.raises(UnexpectedEvent):
            pair().step(0, event)


@pytest.mark.parametrize("bad", [{0: -1}, {0: 1 << 53}, {1 << 64: 0}])
def test_numbers_out_of_range_are_refused_on_the_wire(bad: dict[int, int]) -> None:
    good = Ask(ID, 3, 0), News(ID, {1: 1}), Alive(ID, {})
    for packet in good:
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(packet), type=type(packet)) == packet
    with pytest.raises((msgspec.ValidationError, OverflowError)):
        msgspec.msgpack.decode(msgspec.msgpack.encode(News(ID, bad)), type=News)
