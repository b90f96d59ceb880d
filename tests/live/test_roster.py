"""Places without agreement: whatever joins, crashes, leaves and is split, no place has two nodes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

import msgspec
import pytest
from crowd import Crowd, Process
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from trellis.errors import StateError
from trellis.live import places as grounds
from trellis.live.codec import Decoder, Malformed, encode
from trellis.live.frames import Elsewhere, Hand, Refused, Welcome
from trellis.live.frames import Roster as Tell
from trellis.live.places import INCARNATIONS, MEMBERS_MAX, PLACES, TOLD_MAX, UNHEARD, WHOLE, Lot, Member, Vacancy
from trellis.live.roster import Roster, merged, pieces

members = st.builds(
    Member,
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(["a:1", "b:1"]),
    st.sampled_from(["a", "b"]),
    st.booleans(),
    st.builds(Lot, st.integers(0, 8), st.integers(0, 2)),
)


@contextmanager
def cramped() -> Iterator[None]:
    """Only 64 places."""
    roomy = grounds.DIMENSION, grounds.PLACES, grounds.STOREYS
    grounds.DIMENSION, grounds.PLACES, grounds.STOREYS = 6, 64, (3, 5, 6)  # type: ignore[assignment]
    try:
        yield
    finally:
        grounds.DIMENSION, grounds.PLACES, grounds.STOREYS = roomy  # type: ignore[assignment]


def founder(name: str = "a") -> Roster:
    return Roster("c", Member(0, 0, "a:1", name, False, WHOLE), lambda lot, changed: None)


@given(st.lists(members, min_size=2, max_size=4))
def test_news_comes_out_the_same_in_any_order_and_however_often(news: list[Member]) -> None:
    outcomes = []
    for order in permutations(news):
        reader = Roster("c", Member(7, 0, "x:1", "x", False, UNHEARD), lambda lot, changed: None)
        for member in (*order, order[0]):
            reader.hear([member])
        outcomes.append(reader.all_news())
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_newer_lives_win_then_who_left_has_left_and_lots_only_shrink() -> None:
    old = Member(3, 1, "a:1", "a", True, Lot(12, 3))
    new = Member(3, 2, "b:1", "b", False, Lot(7, 2))
    assert merged(old, new) == Member(3, 2, "b:1", "b", False, Lot(12, 3))
    gone = msgspec.structs.replace(new, left=True)
    assert merged(gone, new) == gone


def test_only_what_is_new_is_told_on() -> None:
    reader = founder()
    news = [Member(1, 0, "b:1", "b", False, Lot(3, 1)), Member(2, 0, "c:1", "c", False, UNHEARD)]
    assert reader.hear(news) == news
    assert reader.hear(news) == []


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 63), st.booleans()), max_size=63))
def test_lots_never_meet_however_they_are_split_and_used_up(splits: list[tuple[int, bool]]) -> None:
    """Places change hands between nodes that keep their state and others, so a row may be split now so, now so."""
    with cramped():
        nodes = [Member(0, 0, "", "", False, WHOLE)]
        for number, shared in splits:
            giver = nodes[number % len(nodes)]
            if not giver.free.empty:
                kept, given = giver.free.halves() if shared else giver.free.first()
                nodes[number % len(nodes)] = msgspec.structs.replace(giver, lot=kept)
                nodes.append(Member(giver.free.next, 0, "", "", False, given))
        places = [node.place for node in nodes]
        assert len(set(places)) == len(places)
        assert max(places) < grounds.PLACES
        free = [place for node in nodes for place in range(grounds.PLACES) if place in node.lot]
        assert len(set(free) | set(places)) == len(free) + len(places)


# Compact places


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 24), st.booleans(), st.randoms(use_true_random=False))
def test_nodes_that_join_one_after_the_other_stand_on_0_to_n_minus_1(
    n: int, lasting: bool, luck: random.Random
) -> None:
    """When the members know the lots of all: through any member, with data directories or without."""
    crowd = Crowd(lasting)
    for _ in range(n - 1):
        crowd.join(crowd.process(luck.random() < 0.5), luck.choice(crowd.up()))
        crowd.tell_of_selves()
    assert sorted(process.place for process in crowd.up()) == list(range(n))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_members_that_know_little_give_other_places_but_never_one_twice(n: int, luck: random.Random) -> None:
    """Nobody is told anything of others after its welcome, but who is there."""
    crowd = Crowd()
    for _ in range(n - 1):
        crowd.join(crowd.process(luck.random() < 0.5), luck.choice(crowd.up()))
    assert len({process.place for process in crowd.up()}) == n


def lives(lasting: bool, deaths: int, survivors: int) -> Crowd:
    """Sixteen nodes; again and again one of them is gone for good, and a new one joins. The first few never die."""
    crowd, luck = Crowd(lasting), random.Random(1)
    for number in range(deaths + 15):
        if number >= 15:
            luck.choice(crowd.up()[survivors:]).up = False
        crowd.join(crowd.process(lasting), luck.choice(crowd.up()))
        crowd.tell_of_selves()
    return crowd


def test_one_place_is_lost_by_each_death_while_the_first_node_keeps_its_state() -> None:
    assert lives(True, 1000, survivors=1).used == {(place, 0) for place in range(1016)}


@pytest.mark.parametrize(("lasting", "deaths"), [(True, 50), (False, 200)])
def test_places_last_for_a_while_when_everybody_dies_for_good_one_by_one(lasting: bool, deaths: int) -> None:
    """Nodes without data directories share their rows for this case; with them it means that all disks are lost."""
    assert len(lives(lasting, deaths, survivors=0).used) == deaths + 16


# Who may come in


def test_a_place_belongs_to_the_name_that_was_given_it() -> None:
    member = founder()
    welcome = member.admit("b", [])
    assert isinstance(welcome, Welcome)
    assert isinstance(member.greet(welcome.place, 0, "b:1", "eve"), Refused)
    assert member.greet(welcome.place, 0, "b:1", "b") == [Member(1, 0, "b:1", "b", False, welcome.lot)]
    assert isinstance(member.greet(welcome.place, 1, "e:1", "eve"), Refused)
    assert isinstance(member.readmit("eve", welcome.place, 5), Refused)
    back = member.readmit("b", welcome.place, 5)
    assert isinstance(back, Welcome)
    assert (back.place, back.incarnation) == (1, 6)


@pytest.mark.parametrize("place", [0, 1, 2, 77, 65_535, 65_536])
def test_nobody_comes_to_a_place_that_was_never_given(place: int) -> None:
    member = founder()
    member.admit("a", [])
    assert isinstance(member.readmit("a", place, 3), Refused) == (place not in (1, 65_536))
    assert isinstance(member.greet(place, 3, "b:1", "a"), Refused) == (place not in (1, 65_536))


def test_a_node_that_the_member_never_heard_of_comes_back_by_its_own_word() -> None:
    member = Roster("c", Member(1, 0, "b:1", "b", False, Lot(3, 1)), lambda lot, changed: None)
    back = member.readmit("z", 6, 4)
    assert isinstance(back, Welcome)
    assert (back.place, back.incarnation, back.lot) == (6, 5, UNHEARD)


def test_a_life_that_is_over_is_not_let_in() -> None:
    member = founder()
    member.admit("b", [])
    member.hear([Member(1, 4, "b:1", "b", False, Lot(3, 1))])
    assert isinstance(member.greet(1, 3, "b:1", "b"), Refused)
    assert member.greet(1, 4, "b:1", "b") == []
    assert isinstance(member.greet(1, 4, "other:1", "b"), Refused)  # a copy of its data directory
    member.hear([Member(1, 4, "b:1", "b", True, Lot(3, 1))])
    assert isinstance(member.greet(1, 4, "b:1", "b"), Refused)


def test_a_member_whose_place_is_used_in_a_newer_life_falls_silent() -> None:
    member = founder()
    assert not member.ousted
    member.hear([Member(0, 1, "elsewhere:1", "a", False, WHOLE)])
    assert member.ousted
    assert isinstance(member.admit("b", []), Refused)


def test_a_forgotten_member_is_let_in_by_nobody_who_heard_of_it_and_its_place_is_nobodys() -> None:
    member, other = founder(), Roster("c", Member(2, 0, "c:1", "c", False, Lot(9, 3)), lambda lot, changed: None)
    member.admit("b", [])
    member.greet(1, 4, "b:1", "b")
    other.hear(member.all_news())
    assert isinstance(member.not_gone(1, live=[1]), Refused)
    assert member.not_gone(1, live=[2]) is None
    assert member.forget(1) == other.forget(1)  # two operators at once
    for roster in (member, other):
        assert [m.place for m in roster.present()] == ([0] if roster is member else [0, 2])
        for life in (4, 5, 1000):
            assert isinstance(roster.readmit("b", 1, life), Refused)
            assert isinstance(roster.greet(1, life, "b:1", "b"), Refused)
        assert isinstance(roster.not_gone(1, live=[]), Refused)
        assert roster.inherit([Vacancy(1, 4, Lot(5, 2))]) == []  # it had left after all, and that comes late
        assert roster.vacancies == {}
    welcome = member.admit("d", [])
    assert isinstance(welcome, Welcome)
    assert welcome.place == 2


def test_a_vacancy_whose_place_was_forgotten_is_not_given() -> None:
    member = founder()
    member.admit("b", [])
    member.greet(1, 0, "b:1", "b")
    member.inherit([Vacancy(1, 0, Lot(5, 2))])
    assert member.vacancies[1].open
    member.hear([Member(1, INCARNATIONS, "b:1", "b", True, Lot(5, 2))])
    welcome = member.admit("c", [])
    assert isinstance(welcome, Welcome)
    assert welcome.place == 2


def test_what_cannot_be_written_down_is_not_given() -> None:
    def full(lot: Lot, changed: object) -> None:
        raise StateError("the disk is full")

    member = Roster("c", Member(0, 0, "a:1", "a", False, WHOLE), full, [Vacancy(6, 2, Lot(14, 3))])
    before = member.mine, dict(member.vacancies)
    assert isinstance(member.admit("b", []), Refused)
    assert isinstance(member.inherit([Vacancy(9, 0, Lot(25, 4))]), Refused)
    assert (member.mine, member.vacancies) == before


def test_a_joiner_is_sent_to_the_live_member_with_the_lowest_free_place() -> None:
    member = Roster("c", Member(1, 0, "b:1", "b", False, Lot(5, 2)), lambda lot, changed: None)
    member.hear([Member(0, 0, "a:1", "a", False, Lot(4, 2)), Member(2, 0, "c:1", "c", False, UNHEARD)])
    assert member.admit("d", [0, 2]) == Elsewhere("a:1")
    assert isinstance(member.admit("d", [2]), Welcome)
    assert isinstance(member.admit("d", [0, 2], hops=3), Welcome)


def test_a_place_given_back_is_given_out_first_and_in_a_new_incarnation() -> None:
    crowd = Crowd()
    for _ in range(5):
        crowd.join(crowd.process(True), crowd.processes[0])
        crowd.tell_all()
    leaver = crowd.processes[3]
    place = leaver.place
    heir = leaver.roster.heir(crowd.reachable(leaver))
    assert heir is not None
    assert heir.place == 0
    handed = crowd.hand_over(leaver)
    news = crowd.processes[0].roster.inherit(handed)
    assert isinstance(news, list)
    assert [(member.place, member.left) for member in news] == [(place, True)]
    heirs = crowd.processes[0].roster
    welcome = heirs.admit("newcomer", [])
    assert isinstance(welcome, Welcome)
    assert (welcome.place, welcome.incarnation) == (place, 1)
    assert heirs.inherit(handed) == []  # a repeated hand-over opens nothing again
    assert not heirs.vacancies[place].open
    handed_later = Vacancy(place, 1, welcome.lot)  # but the newcomer may leave as well, to the same heir
    heirs.inherit([handed_later])
    assert heirs.vacancies[place] == handed_later


# Everything at once


class Life(RuleBasedStateMachine):
    """Joins through anyone, answers that get lost or come late, news in any order, crashes, returns, leaves, splits."""

    @initialize(lasting=st.booleans())
    def begin(self, lasting: bool) -> None:
        self.crowd = Crowd(lasting)
        self.answers: list[tuple[Process, Welcome]] = []
        self.handed: list[tuple[Vacancy, ...]] = []

    def pick(self, data: st.DataObject, among: list[Process]) -> Process:
        return data.draw(st.sampled_from(among))

    @precondition(lambda self: self.crowd.up())
    @rule(data=st.data(), lasting=st.booleans())
    def ask(self, data: st.DataObject, lasting: bool) -> None:
        first = self.pick(data, self.crowd.up())
        joiner = self.crowd.process(lasting, first.side)
        answer = self.crowd.ask(joiner, first)
        if isinstance(answer, Welcome):
            self.answers.append((joiner, answer))

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), lost=st.sampled_from([False, False, True]), shy=st.booleans())
    def answer(self, data: st.DataObject, lost: bool, shy: bool) -> None:
        joiner, welcome = self.answers.pop(data.draw(st.integers(0, len(self.answers) - 1)))
        if not lost:
            self.crowd.begin(joiner, welcome.place, welcome.incarnation, welcome.lot, welcome.members)
            if not shy:
                self.crowd.introduce(joiner)

    @precondition(lambda self: self.crowd.up())
    @rule(data=st.data())
    def tell(self, data: st.DataObject) -> None:
        teller = self.pick(data, self.crowd.up())
        for listener in self.crowd.reachable(teller).values():
            if data.draw(st.booleans()):
                listener.roster.hear(teller.roster.all_news())

    @precondition(lambda self: self.crowd.up())
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        self.pick(data, self.crowd.up()).up = False

    @precondition(lambda self: self.down())
    @rule(data=st.data(), alone=st.booleans(), side=st.integers(0, 1))
    def come_back(self, data: st.DataObject, alone: bool, side: int) -> None:
        process = self.pick(data, self.down())
        process.side = side
        within_reach = [other for other in self.crowd.up() if other.side == side]
        through = None if alone or not within_reach else self.pick(data, within_reach)
        if self.crowd.come_back(process, through):
            self.crowd.introduce(process)

    def down(self) -> list[Process]:
        return [p for p in self.crowd.processes if p.lasting and not p.up and hasattr(p, "roster")]

    @precondition(lambda self: self.crowd.up())
    @rule(data=st.data(), heard=st.booleans())
    def leave(self, data: st.DataObject, heard: bool) -> None:
        leaver = self.pick(data, self.crowd.up())
        within_reach = self.crowd.reachable(leaver)
        heir = leaver.roster.heir(within_reach)
        handed = self.crowd.hand_over(leaver)
        if heir is not None and heard:
            within_reach[heir.place].roster.inherit(handed)
        for other in within_reach.values():
            if data.draw(st.booleans()):
                other.roster.hear([leaver.roster.mine])
        self.handed.append(handed if heir is not None and heard else ())
        self.heirs = [*getattr(self, "heirs", []), within_reach[heir.place] if heir is not None else None]

    @precondition(lambda self: self.crowd.up())
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        """Whoever is out of reach, dead or not, and perhaps at several members that do not hear of each other."""
        told = self.pick(data, self.crowd.up())
        within_reach = self.crowd.reachable(told)
        lost = [m.place for m in told.roster.present() if told.roster.not_gone(m.place, within_reach) is None]
        if lost:
            told.roster.forget(data.draw(st.sampled_from(lost)))

    @precondition(lambda self: self.handed)
    @rule(data=st.data())
    def repeat_a_hand_over(self, data: st.DataObject) -> None:
        """The same frame to the same heir, any time later."""
        at = data.draw(st.integers(0, len(self.handed) - 1))
        heir = self.heirs[at]
        if heir is not None and heir.up:
            heir.roster.inherit(self.handed[at])

    @precondition(lambda self: self.crowd.up())
    @rule(data=st.data())
    def fill_a_disk(self, data: st.DataObject) -> None:
        self.pick(data, self.crowd.up()).disk.full = True

    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        for process in self.crowd.processes:
            process.side = data.draw(st.integers(0, 1))

    @rule()
    def heal(self) -> None:
        for process in self.crowd.processes:
            process.side = 0

    @invariant()
    def no_place_has_two_nodes(self) -> None:
        if hasattr(self, "crowd"):
            self.crowd.check()

    def teardown(self) -> None:
        if hasattr(self, "crowd") and self.crowd.up():
            self.heal()
            self.crowd.tell_all()
            self.crowd.check()
            known = [process.roster.all_news() for process in self.crowd.up()]
            assert all(news == known[0] for news in known)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)


class CrampedLife(Life):
    """The same with 64 places: they run out."""

    def __init__(self) -> None:
        super().__init__()
        self.room = cramped()
        self.room.__enter__()

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self.room.__exit__(None, None, None)


TestCrampedLife = CrampedLife.TestCase
TestCrampedLife.settings = settings(max_examples=120, stateful_step_count=60, deadline=None)


def test_all_that_a_node_can_know_is_told_in_frames_that_fit_however_long_the_names() -> None:
    lot = Lot(PLACES, grounds.DIMENSION)
    longest = Member(PLACES - 1, INCARNATIONS, "h" * 262, "n" * 63, False, lot)
    told = pieces([longest] * MEMBERS_MAX)
    assert sum(map(len, told)) == MEMBERS_MAX
    vacancy = Vacancy(PLACES - 1, INCARNATIONS, lot)
    for frame in (Tell(told[0]), Welcome("c" * 128, 0, 0, lot, told[0]), Hand(pieces([vacancy] * MEMBERS_MAX)[0])):
        decoder = Decoder()
        decoder.accept()
        assert decoder.feed(b"".join(encode(frame))) == [frame]


@pytest.mark.parametrize("wrong", [{"address": "h" * 263}, {"address": "a b:1"}, {"name": "n" * 64}, {"name": "A"}])
def test_a_member_with_an_address_or_a_name_that_none_can_have_is_no_member(wrong: dict[str, str]) -> None:
    member = msgspec.structs.replace(Member(1, 0, "a:1", "a", False, WHOLE), **wrong)
    decoder = Decoder()
    decoder.accept()
    with pytest.raises(Malformed):
        decoder.feed(b"".join(encode(Tell((member,)))))


def test_more_members_than_fit_one_frame_are_no_frame() -> None:
    member = Member(1, 0, "a:1", "a", False, WHOLE)
    decoder = Decoder()
    decoder.accept()
    with pytest.raises(Malformed):
        decoder.feed(b"".join(encode(Tell((member,) * (TOLD_MAX + 1)))))
