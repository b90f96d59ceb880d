"""How long whoever waits for an answer waits before it asks again."""

from __future__ import annotations

from trellis.protocols.parts.patience import DOUBLINGS_MAX, TRIES_MAX, Patience


def in_vain(patience: Patience) -> int:
    """One wait; how long it was."""
    delay = patience.begin()
    if delay:
        patience.over()
    return delay


def test_it_waits_longer_each_time_and_not_for_ever() -> None:
    patience = Patience(10)
    delays = [in_vain(patience) for _ in range(TRIES_MAX + 3)]
    assert delays[:7] == [10, 20, 40, 80, 160, 320, 320]
    assert delays[TRIES_MAX:] == [10 << DOUBLINGS_MAX, 0, 0]
    patience.rewarded()
    assert in_vain(patience) == 10


def test_it_does_not_ask_before_an_answer_can_have_come() -> None:
    patience = Patience(10)
    for lapse, delay in ((35, 80), (3, 10), (40, 80), (10_000, 320)):
        patience.answered(lapse)
        patience.rewarded()
        assert in_vain(patience) == delay


def test_when_the_world_changes_it_begins_anew() -> None:
    patience = Patience(10)
    patience.answered(100)
    in_vain(patience)
    patience.changed()
    assert in_vain(patience) == 10


def test_one_wait_at_a_time_and_none_without_a_delay() -> None:
    patience = Patience(10)
    assert [patience.begin(), patience.begin()] == [10, 0]
    assert Patience(0).begin() == 0
