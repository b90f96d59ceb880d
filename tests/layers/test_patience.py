"""How long whoever waits for an answer waits before it asks again."""

from __future__ import annotations

from trellis.protocols.parts.patience import DOUBLINGS_MAX, TRIES_MAX, Patience


def wait(patience: Patience, answered: bool) -> int:
    """One wait, in vain or not; how long it would have been."""
    delay = patience.begin()
    if answered:
        patience.rewarded()
    patience.over() if not answered else setattr(patience, "waiting", False)
    return delay


def test_it_waits_longer_each_time_and_not_for_ever() -> None:
    patience = Patience(10)
    delays = [wait(patience, answered=False) for _ in range(TRIES_MAX + 3)]
    assert delays[:7] == [10, 20, 40, 80, 160, 320, 320]
    assert delays[TRIES_MAX:] == [10 << DOUBLINGS_MAX, 0, 0]


def test_where_answers_come_late_it_does_not_ask_at_once_again() -> None:
    """An answer that comes after the wait says that it was too short, however many copies of it come."""
    patience = Patience(10)
    assert [wait(patience, answered=False) for _ in range(3)] == [10, 20, 40]
    for _ in range(5):
        patience.rewarded()
    assert patience.tries == 0
    assert patience.begin() == 80
    patience.over()
    patience.rewarded()
    assert patience.begin() == 160


def test_where_they_come_in_time_it_becomes_quicker_by_steps() -> None:
    patience = Patience(10)
    for _ in range(4):
        wait(patience, answered=False)
    patience.rewarded()
    delays = []
    for _ in range(6):
        delays.append(patience.begin())
        patience.rewarded()
        patience.rewarded()
        patience.waiting = False
    assert delays == [160, 80, 40, 20, 10, 10]


def test_when_the_world_changes_it_begins_anew() -> None:
    patience = Patience(10)
    for _ in range(4):
        wait(patience, answered=False)
    patience.changed()
    assert patience.begin() == 10


def test_without_a_delay_it_never_asks_again() -> None:
    assert Patience(0).begin() == 0
