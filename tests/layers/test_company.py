"""Whom a process knows of its group, who remembers whom for others, and what two processes compare."""

from __future__ import annotations

from collections import Counter
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis.machine import Place
from trellis.protocols.parts.account import Account
from trellis.protocols.parts.company import ANCHORS, Company, Entry
from trellis.protocols.parts.directory import LISTED, PLACES, WAITING, Directory, places_of
from trellis.protocols.parts.reach import Reach
from trellis.words import Message, MessageId

LIMIT = 20


def company(me: int = 0, size: int = 1000, c: int = 5) -> Company:
    """Of a process that has heard of a whole group."""
    found = Company(Place(me, size, seed=3), ".a", c, LIMIT)
    found.hear_all(Entry(node, 0, 1) for node in range(size))
    return found


@pytest.mark.parametrize("size", [1, 2, 10, ANCHORS, ANCHORS + 1, 100, 1000])
def test_a_process_knows_few_however_many_there_are(size: int) -> None:
    found = company(size=size)
    assert len(found.known) <= found.fanout(found.size()) + ANCHORS
    assert len(found.table()) == min(size - 1, found.fanout(found.size()))
    assert 0 not in found.known, "it is not its own fellow"
    if size <= ANCHORS:
        assert found.size() == size
        assert len(found.known) == size - 1


def test_the_size_of_a_group_is_estimated_without_counting() -> None:
    for size in (50, 200, 1000, 5000):
        estimates = [Company(Place(0, 1, seed=seed), ".a", 5, LIMIT) for seed in range(12)]
        for one in estimates:
            one.hear_all(Entry(node, 0, 1) for node in range(size))
        assert 0.75 * size < mean(one.size() for one in estimates) < 1.35 * size


def test_tables_are_fair() -> None:
    """Nobody is known by many more than others are."""
    known = Counter(node for me in range(200) for node in company(me, 200).table())
    assert len(known) == 200
    assert max(known.values()) < 3 * mean(known.values())


def test_it_does_not_matter_in_which_order_one_hears_of_the_others() -> None:
    forward, backward = company(size=300), Company(Place(0, 300, seed=3), ".a", 5, LIMIT)
    backward.hear_all(Entry(node, 0, 1) for node in reversed(range(300)))
    assert forward.anchors() == backward.anchors()
    assert forward.table() == backward.table()


def test_whoever_is_silent_is_forgotten_by_all_however_often_its_name_is_passed_on() -> None:
    one, other = company(0, 3), company(1, 3)
    for number in range(1, LIMIT + 2):
        for each, its in ((one, other), (other, one)):
            each.begin_round(number)
            each.hear(Entry(its.me, 0, 1))
            each.hear_all(its.told_of(its.known))
    assert sorted(one.known) == [1]
    assert sorted(other.known) == [0]


def test_whoever_left_is_not_met_again_unless_it_comes_back() -> None:
    found = company(size=5)
    found.hear_leave(Entry(3, 0, 1))
    found.hear(Entry(3, 0, 1))
    assert 3 not in found.known
    found.hear(Entry(3, 0, 2))
    assert 3 in found.known, "it has joined anew"
    found.hear_leave(Entry(3, 0, 1))
    assert 3 in found.known, "old news"
    found.hear(Entry(3, 1, 1))
    assert found.told_of([3])[0].incarnation == 1, "it lives again"


# Those who remember.


def test_of_two_who_look_for_each_other_the_later_one_is_told() -> None:
    found = Directory(LIMIT)
    found.enrol(".a", Entry(1, 0, 1), 0)
    assert found.found(".a", 2, 0) == (Entry(1, 0, 1),)
    found.enrol(".a", Entry(2, 0, 1), 0)
    assert [entry.node for entry in found.found(".a", 1, 0)] == [2]
    found.wait(".", ".a", Entry(1, 0, 1), 0)
    assert found.below(".", 9, 0) == ((".a", Entry(1, 0, 1)),)


def test_a_directory_remembers_few_and_not_for_long() -> None:
    found = Directory(LIMIT)
    for node in range(100):
        found.enrol(".a", Entry(node, 0, 1), node)
        found.wait(".", ".a", Entry(node, 0, 1), node)
    assert [entry.node for entry in found.found(".a", -1, 99)] == list(range(100 - LISTED, 100))
    assert len(found.below(".", -1, 99)) == WAITING
    assert found.found(".a", -1, 99)[0].age == LISTED - 1, "it has not spoken for so long"
    found.strike(".a", Entry(99, 0, 1))
    assert 99 not in [entry.node for entry in found.found(".a", -1, 99)]
    found.clear(200)
    assert not found.members
    assert not found.waiting


def test_everybody_finds_the_same_places_of_a_topic_and_they_are_spread() -> None:
    places = {topic: places_of(7, topic, 50, Reach(range(50))) for topic in (f".t{n}" for n in range(100))}
    assert all(len(set(found)) == PLACES for found in places.values())
    assert len({node for found in places.values() for node in found}) > 40
    dead = Reach(range(50))
    dead.remove(places[".t0"][0])
    assert places_of(7, ".t0", 50, dead)[: PLACES - 1] == places[".t0"][1:], "the next one takes its place"
    alone = Reach(range(3, 4))
    assert places_of(7, ".t0", 1024, alone) == (3,)


# What is compared.

numbers = st.lists(st.tuples(st.sampled_from(["x", "y"]), st.integers(0, 2), st.integers(1, 6)), unique=True)


@settings(max_examples=200, deadline=None)
@given(numbers, st.randoms(use_true_random=False))
def test_two_who_have_the_same_have_the_same_sum_whatever_the_order(
    came: list[tuple[str, int, int]], luck: object
) -> None:
    shuffled = list(came)
    luck.shuffle(shuffled)  # type: ignore[attr-defined]
    accounts = []
    for order in (came, shuffled):
        account = Account()
        for topic in ("x", "y"):
            account.begin(topic, {})
        for topic, source, seq in order:
            assert account.add(Message(MessageId((source, 0), topic, seq), b""))
        accounts.append(account)
    one, other = accounts
    assert one.sum(lambda _: True) == other.sum(lambda _: True)
    assert one.vectors(lambda _: True) == other.vectors(lambda _: True)
    fresh = Account()
    for topic, seen in one.topics.items():
        fresh.begin(topic, {origin: upto for origin, upto in seen.upto.items() if upto})
    assert fresh.sum(lambda _: True) == one.sum(lambda _: True), "a joiner from this cut on has it as well"


def test_a_sum_tells_what_is_missing() -> None:
    account = Account()
    account.begin("x", {})
    sums = {account.sum(lambda _: True)}
    for seq in range(1, 50):
        account.add(Message(MessageId((1, 0), "x", seq), b""))
        sums.add(account.sum(lambda _: True))
    assert len(sums) == 50
    assert account.give_up("x", (2, 0), 4) == [(1, 4)]
    assert account.sum(lambda _: True) not in sums
    assert account.sum(lambda topic: topic == "y") == 0
