"""What a link carries of timestamps (`parts/deltas.py`): less, and all of it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.errors import RemoteProtocolError
from trellis.protocols.parts.deltas import Restorer, Shortener, only
from trellis.words import EXACT, Stamp

TOPICS = st.sampled_from("abcdefgh")
NUMBERS = st.one_of(st.integers(0, 40), st.integers(0, EXACT - 1))
STAMPS = st.dictionaries(TOPICS, NUMBERS, max_size=8).map(lambda entries: tuple(sorted(entries.items())))
SENT = st.lists(st.one_of(st.tuples(TOPICS, STAMPS), st.none()), max_size=40)  # None: a new session begins


@given(SENT, st.integers(0, 20))
def test_whatever_goes_in_comes_out_at_the_other_end(sent: list[tuple[str, Stamp] | None], kept_max: int) -> None:
    here, there = Shortener(kept_max), Restorer(kept_max)
    for said in sent:
        if said is None:
            here.reset()
            there.reset()
            assert here.last == there.last == {}
        else:
            assert there.restore(said[0], here.shorten(*said)) == said[1]
            assert there.kept == here.kept == sum(map(len, there.last.values())) <= kept_max
    assert there.last == here.last


def test_only_what_changed_is_sent_and_a_new_session_begins_with_all_of_it() -> None:
    here = Shortener()
    one = tuple((f"t{n:03}", 1000 + n) for n in range(500))
    two = tuple((name, number + (name in ("t007", "t400"))) for name, number in one)
    whole = here.shorten("t007", one)
    assert len(whole) > 500 * 7
    assert len(here.shorten("t007", two)) == 9  # two tags, a length; a gap and a step twice, one gap of three bytes
    assert len(here.shorten("t007", two[1:])) == 6  # what has gone: its place
    here.reset()
    assert here.shorten("t007", one) == whole


@given(SENT, st.binary(max_size=40), TOPICS)
def test_a_peer_can_only_be_refused(sent: list[tuple[str, Stamp] | None], garbage: bytes, topic: str) -> None:
    here, there = Shortener(), Restorer()
    for said in filter(None, sent):
        there.restore(said[0], here.shorten(*said))
    before = dict(there.last)
    try:
        found = there.restore(topic, garbage)
    except RemoteProtocolError:
        assert there.last == before
    else:
        assert found == tuple(sorted(dict(found).items()))
        assert all(0 <= number < EXACT for _, number in found)


@pytest.mark.parametrize(
    "said",
    [
        [0, [["b", 1], ["a", 1]]],
        [0, [["a", 1], ["a", 2]]],
        [0, [["a", -1]]],
        [1, [0]],
        [1, [-1, 1]],
        [1, [2, 1]],
        [1, [0, -8]],
        [1, [0, EXACT - 1]],
        [1, [0, EXACT]],
        [2, [5], [], []],
        [2, [], [["a", 1]], []],
        [2, [0, 0], [], [0, 1]],
        [3, []],
        [1, [], []],
        "1",
    ],
)
def test_senseless_changes_are_refused(said: object) -> None:
    there = Restorer()
    there.restore("a", msgspec.msgpack.encode([0, [["a", 7], ["b", 7]]]))
    with pytest.raises(RemoteProtocolError):
        there.restore("a", msgspec.msgpack.encode(said))
    assert there.last == {"a": (("a", 7), ("b", 7))}


def test_changes_without_a_timestamp_before_are_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="there was none before"):
        Restorer().restore("a", msgspec.msgpack.encode([1, []]))


def test_who_hears_only_some_topics_needs_only_their_numbers() -> None:
    assert only((("a", 1), ("b", 2), ("c", 3)), {"a", "c"}) == (("a", 1), ("c", 3))
