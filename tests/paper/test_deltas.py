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
            assert here.groups == there.groups == {}
        else:
            assert there.restore(said[0], here.shorten(*said)) == said[1]
            assert there.kept == here.kept == sum(1 + len(group) for group in there.groups.values())
            assert there.kept + len(there.entries) <= kept_max
    assert (there.groups, there.entries) == (here.groups, here.entries)


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


def test_what_one_topic_has_told_no_other_one_tells_again() -> None:
    here, there = Shortener(), Restorer()
    names = [f"t{n:02}" for n in range(30)]
    numbers = dict.fromkeys(names, 1000)
    sizes = []
    for turn in range(300):  # all are equally busy: between two messages of a topic the others have one each
        topic = names[turn % 30]
        numbers[topic] += 1
        stamp = tuple(numbers.items())
        sent = here.shorten(topic, stamp)
        assert there.restore(topic, sent) == stamp
        sizes.append(len(sent))
    assert set(sizes[:30]) == {len(msgspec.msgpack.encode(stamp)) + 2}
    assert set(sizes[30:]) == {5}  # a length, a tag, a length; a gap and a step
    assert here.spent.plain == 300 * len(msgspec.msgpack.encode(stamp))
    assert here.spent.sent == sum(sizes)


def test_entries_come_out_in_the_order_in_which_they_went_in_where_that_is_not_ascending() -> None:
    here, there = Shortener(), Restorer()
    for stamp in (((("b", 1), ("a", 1))), (("b", 2), ("a", 1)), (("b", 3), ("c", 1), ("a", 1)), (("b", 3), ("b", 4))):
        assert there.restore("climb", here.shorten("climb", stamp), ascending=False) == stamp
    with pytest.raises(RemoteProtocolError, match="ascending"):
        there.restore("a", here.shorten("a", (("b", 1), ("a", 1))))


@given(st.lists(st.tuples(TOPICS, STAMPS), max_size=20))
def test_a_timestamp_never_takes_more_than_when_it_is_whole(sent: list[tuple[str, Stamp]]) -> None:
    here = Shortener()
    for topic, stamp in sent:
        assert len(here.shorten(topic, stamp)) <= len(msgspec.msgpack.encode(stamp)) + 2


def test_timestamps_without_entries_do_not_fill_the_memory_either() -> None:
    there = Restorer(kept_max=100)
    for n in range(1000):
        there.restore(f"t{n}", msgspec.msgpack.encode([0, []]))
        assert len(there.groups) <= 100


@given(SENT, st.binary(max_size=40), TOPICS)
def test_a_peer_can_only_be_refused(sent: list[tuple[str, Stamp] | None], garbage: bytes, topic: str) -> None:
    here, there = Shortener(), Restorer()
    for said in filter(None, sent):
        there.restore(said[0], here.shorten(*said))
    before = dict(there.groups), dict(there.entries)
    try:
        found = there.restore(topic, garbage)
    except RemoteProtocolError:
        assert (there.groups, there.entries) == before
    else:
        assert found == tuple(sorted(found, key=lambda entry: entry[0]))
        assert all(0 <= number < EXACT for _, number in found)


@pytest.mark.parametrize(
    "said",
    [
        [0, [["b", 1], ["a", 1]]],
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
    assert there.groups == {"a": ("a", "b")}
    assert there.entries == {"a": ("a", 7), "b": ("b", 7)}


def test_changes_without_a_timestamp_before_are_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="there was none before"):
        Restorer().restore("a", msgspec.msgpack.encode([1, []]))


def test_who_hears_only_some_topics_needs_only_their_numbers() -> None:
    assert only((("a", 1), ("b", 2), ("c", 3)), {"a", "c"}) == (("a", 1), ("c", 3))
