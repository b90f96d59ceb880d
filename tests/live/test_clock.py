"""The clock of a live node, under wall clocks that jump."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from trellis.live.clock import AHEAD_US_MAX, Clock

DAY = 24 * AHEAD_US_MAX


class Wall:
    """A wall clock that the test sets."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at


def test_a_clock_follows_the_wall_clock_in_microseconds() -> None:
    before = time.time_ns() // 1000
    reading = Clock().read()
    assert before <= reading <= time.time_ns() // 1000


def test_a_wall_clock_set_back_does_not_set_the_clock_back() -> None:
    wall = Wall(DAY)
    clock = Clock(wall)
    assert clock.read() == DAY
    wall.at = 5
    assert clock.read() == DAY
    wall.at = DAY + 1
    assert clock.read() == DAY + 1


def test_what_was_heard_is_behind_every_later_reading() -> None:
    clock = Clock(Wall(100))
    assert clock.hear(100)
    assert clock.read() == 101
    assert clock.hear(70)
    assert clock.read() == 101


def test_a_peer_more_than_an_hour_ahead_is_not_believed() -> None:
    clock = Clock(Wall(DAY))
    assert not clock.hear(DAY + AHEAD_US_MAX + 1)
    assert clock.read() == DAY
    assert clock.hear(DAY + AHEAD_US_MAX)
    assert clock.read() == DAY + AHEAD_US_MAX + 1


def test_peers_cannot_carry_the_clock_away_step_by_step() -> None:
    clock = Clock(Wall(DAY))
    at = DAY
    while clock.hear(at):
        at += AHEAD_US_MAX // 2
    assert clock.read() <= DAY + AHEAD_US_MAX + 1


jumps = st.integers(-2 * DAY, 2 * DAY) | st.integers(-1000, 1000)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), jumps), max_size=60))
def test_whatever_the_wall_clocks_do_a_reception_sorts_after_its_sending(steps: list[tuple[int, int, int]]) -> None:
    """Every node's wall clock jumps before every step. What was believed is in order, and no clock goes back."""
    walls = [Wall(10 * DAY) for _ in range(4)]
    clocks = [Clock(wall) for wall in walls]
    last = [0] * 4
    for sender, receiver, jump in steps:
        walls[sender].at += jump
        sent = clocks[sender].read()
        assert sent >= last[sender]
        last[sender] = sent
        if sender == receiver:
            continue
        believed = clocks[receiver].hear(sent)
        received = clocks[receiver].read()
        assert received >= last[receiver]
        last[receiver] = received
        if believed:
            assert received > sent
        else:
            assert sent > walls[receiver].at + AHEAD_US_MAX
