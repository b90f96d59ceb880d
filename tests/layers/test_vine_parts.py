"""The parts of an overlay that grows like a vine, each alone: ring, profiles, sampling, T-Man, gateways, relays."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis.errors import ScenarioError
from trellis.machine import About, Place
from trellis.protocols import build
from trellis.protocols.parts import ring, small_world, tman
from trellis.protocols.parts.gateways import Election, Proposal, Told
from trellis.protocols.parts.neighbours import FRIEND, FULL, FULL_MAX, RING, SHORTCUT, Neighbours
from trellis.protocols.parts.portions import size_of
from trellis.protocols.parts.profiles import NAMES_MAX, Contact, Profile, Rates, size_of_names
from trellis.protocols.parts.relays import FEW, Relays, asks_by_hop
from trellis.protocols.parts.sampling import VIEW, Sampling
from trellis.words import LENGTH_MAX, TOPIC_MAX, NodeId, Topic

RATES = {"A": 1, "B": 7, "C": 1, "D": 1 << 20, "E": 3, "F": 1, "G": 2, "H": 1}


def profile(node: NodeId, topics: str | frozenset[Topic] = "", rates: Rates | None = None, state: int = 0) -> Profile:
    chosen = frozenset(topics)
    return Profile(node, 0, state, chosen, (rates or Rates({})).weight(chosen))


# Profiles


def test_the_example_of_section_iii_a2() -> None:
    """p takes A, B, C; q takes C, D; r takes C to H: p prefers q to r, though it shares one topic with each."""
    p, q, r = profile(0, "ABC"), profile(1, "CD"), profile(2, "CDEFGH")
    rates = Rates({})
    assert rates.utility(p, q) == 0.25
    assert rates.utility(p, r) == 0.125
    assert round(rates.utility(q, r), 2) == 0.33


topics = st.sets(st.sampled_from(sorted(RATES))).map(frozenset)
rated = st.sampled_from([{}, {topic: About((), {"rate": rate}) for topic, rate in RATES.items()}])


@given(topics, topics, rated)
def test_utility_is_the_same_from_both_sides_and_no_more_than_1(
    one: frozenset[Topic], other: frozenset[Topic], about: dict[Topic, About]
) -> None:
    """Formula (1), beside its plain form."""
    rates = Rates(about)
    i, j = profile(0, one, rates), profile(1, other, rates)
    found = rates.utility(i, j)
    assert found == rates.utility(j, i)
    assert 0.0 <= found <= 1.0
    either = sum(rates.of(topic) for topic in one | other)
    assert found == (sum(rates.of(topic) for topic in one & other) / either if one & other else 0.0)
    assert rates.utility(i, i) == (1.0 if one else 0.0)


@given(topics, topics, st.integers(0, 1 << 52))
def test_whatever_weight_a_profile_claims_its_utility_is_between_0_and_1(
    one: frozenset[Topic], other: frozenset[Topic], claim: int
) -> None:
    liar = Profile(1, 0, 0, other, claim)
    assert 0.0 <= Rates({}).utility(profile(0, one), liar) <= 1.0


def test_a_topic_that_is_said_nothing_on_hardly_counts() -> None:
    about = {"A": About((), {"rate": 1}), "B": About((), {"rate": 1000})}
    rates = Rates(about)
    i, j, k = profile(0, "AB", rates), profile(1, "B", rates), profile(2, "A", rates)
    assert rates.utility(i, j) > 0.99
    assert rates.utility(i, k) < 0.01


# The ring

points = st.lists(st.integers(0, ring.MASK), min_size=1, max_size=12, unique=True)


@given(points, st.integers(0, ring.MASK), st.integers(0, ring.MASK))
def test_a_compass_finds_what_looking_at_everybody_finds(around: list[int], to: int, here: int) -> None:
    nodes = [(point, node) for node, point in enumerate(around)]
    found = ring.Compass(nodes).closer(to, here)
    least = min(ring.distance(point, to) for point in around)
    if least >= ring.distance(here, to):
        assert found is None
    else:
        assert found is not None
        assert ring.distance(around[found], to) == least


@given(st.integers(0, ring.MASK), st.integers(0, ring.MASK))
def test_the_shorter_way_round_is_the_same_from_both_ends(one: int, other: int) -> None:
    ahead, behind = ring.clockwise(one, other), ring.clockwise(other, one)
    assert ring.distance(one, other) == ring.distance(other, one) == min(ahead, behind)
    assert (ahead + behind) % ring.SIZE == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(2, 40), st.integers(0, 3))
def test_greedy_lookups_on_a_ring_end_at_the_closest_node_from_everywhere(seed: int, size: int, far: int) -> None:
    around = sorted((ring.of_node(seed, node), node) for node in range(size))
    known: dict[NodeId, ring.Compass] = {}
    for n, (_, node) in enumerate(around):
        known[node] = ring.Compass([around[n - 1], around[(n + 1) % size], around[(n * 7 + far) % size]])
    to = ring.of_topic(seed, "news")
    least = min(ring.distance(point, to) for point, _ in around)
    for point, node in around:
        here, at, steps = point, node, 0
        while (hop := known[at].closer(to, here)) is not None:
            at, here, steps = hop, ring.of_node(seed, hop), steps + 1
            assert steps <= size
        assert ring.distance(here, to) == least


def test_far_links_are_drawn_by_one_over_their_distance() -> None:
    """As many between 1/n and sqrt(1/n) of the ring as between that and all of it, and so for any two parts as wide on
    a scale of logarithms."""
    n = 10_000
    found = [far / ring.SIZE for node in range(400) for far in small_world.distances(7, node, 5, n)]
    assert all(1 / n <= far <= 1 for far in found)
    parts = [0] * 4
    for far in found:
        parts[min(3, int(4 * (1 + log(far) / log(n))))] += 1
    assert all(abs(part - 500) < 4 * 500**0.5 for part in parts), parts
    assert sum(far < exp(-1) for far in found) / len(found) == pytest.approx(1 - 1 / log(n), abs=0.03)


@pytest.mark.parametrize(
    ("links", "size", "steps"),
    [(1, 24, 12), (1, 150, 21), (1, 1000, 33), (1, 10_000, 65), (13, 10_000, 13), (0, 64, 24)],
)
def test_a_former_way_counts_for_as_long_as_a_new_one_may_take_to_grow(links: int, size: int, steps: int) -> None:
    """With k far links a lookup takes O(log^2 n / k) steps; whoever asks for another number of rounds gets it."""
    assert small_world.steps(links, size) == steps
    vitis = {"k": links, "table": 15, "repair": 0}
    assert build("vitis", "unordered", Place(0, size), vitis).overlay.relays.grace == steps  # type: ignore[attr-defined]
    asked = vitis | {"grace": 3}
    assert build("vitis", "unordered", Place(0, size), asked).overlay.relays.grace == 3  # type: ignore[attr-defined]


def test_whoever_is_not_told_how_many_nodes_there_are_learns_it_from_the_ring() -> None:
    machine = build("vitis", "unordered", Place(0, 1 << 20, alone=True), {"table": 15}).overlay  # type: ignore[attr-defined]
    assert machine.relays.grace == small_world.steps(1, 1 << 20)
    machine.count(ring.SIZE // 24, ring.SIZE // 24)
    assert machine.relays.grace == small_world.steps(1, 24)


def test_a_node_has_the_same_far_links_for_ever() -> None:
    assert small_world.distances(1, 5, 3, 100) == small_world.distances(1, 5, 5, 100)[:3]
    assert small_world.distances(1, 5, 3, 100) != small_world.distances(1, 6, 3, 100)


# Peer sampling

contacts = st.lists(st.builds(Contact, st.builds(profile, st.integers(0, 60)), st.integers(0, 40)), max_size=60)


@given(st.lists(st.tuples(contacts, st.integers(1, 5)), max_size=6))
def test_a_view_is_small_and_holds_the_freshest(swaps: list[tuple[list[Contact], int]]) -> None:
    sampling, now = Sampling(Place(0, 64, seed=1)), 0
    spoke: dict[NodeId, int] = {}
    for told, later in swaps:
        now += later
        sampling.take(told, now)
        for contact in told:
            node = contact.profile.node
            spoke[node] = max(now - contact.age, spoke.get(node, -99))
        assert len(sampling.view) <= VIEW
        assert 0 not in sampling.view
        kept = [at for _, at in sampling.view.values()]
        least = min(kept, default=0)
        if len(sampling.view) == VIEW and len(swaps) == 1:
            left_out = [at for node, at in spoke.items() if node not in sampling.view and node]
            assert all(at <= least for at in left_out)


def test_of_two_words_of_a_node_the_fresher_one_is_kept_and_a_new_life_above_all() -> None:
    sampling = Sampling(Place(0, 8))
    sampling.take([Contact(profile(1, "A"), 2)], 10)
    sampling.take([Contact(profile(1, "B"), 5)], 10)
    assert sampling.view[1] == (profile(1, "A"), 8)
    reborn = Profile(1, 1, 0, frozenset(), 0)
    sampling.take([Contact(reborn, 9)], 10)
    assert sampling.view[1] == (reborn, 1)


def test_whoever_has_died_is_forgotten_by_all() -> None:
    """30 nodes swap their views; node 29 falls silent."""
    nodes = [Sampling(Place(me, 30, seed=4)) for me in range(30)]
    for one in nodes:
        one.take([Contact(profile(n), 0) for n in range(30)], 0)
    for now in range(1, 40):
        living = nodes if now < 5 else nodes[:-1]
        for one in living:
            partner = one.partner(now)
            if partner is not None and partner < len(living):
                other = nodes[partner]
                mine, theirs = one.shown(profile(one.place.me), now), other.shown(profile(partner), now)
                other.take(mine, now)
                one.take(theirs, now)
    assert not any(29 in one.view for one in nodes[:-1])


# T-Man


def test_a_buffer_tells_of_each_node_once_the_freshest() -> None:
    old, new = Contact(profile(1, "A"), 5), Contact(profile(1, "B"), 2)
    assert tman.buffer(Place(0, 8), 1, [Contact(profile(0), 0), old], [new]) == (Contact(profile(0), 0), new)


def crowd(count: int, each: int, name: int) -> list[Contact]:
    """Nodes with so many topics, whose names have so many characters of the widest kind."""
    return [
        Contact(profile(node, frozenset(f"{node}.{n}".ljust(name, "𝄞") for n in range(each))), node)
        for node in range(count)
    ]


@pytest.mark.parametrize(("count", "each", "name"), [(300, 1, 8), (20, 900, 64), (24, 3000, 8), (40, 200, 64)])
def test_a_buffer_fits_into_a_packet_however_long_the_names_are(count: int, each: int, name: int) -> None:
    told = crowd(count, each, name)
    seen = set()
    for now in range(40):
        found = tman.buffer(Place(0, 8), now, told)
        assert found[0] == told[0], "whoever tells is among them"
        assert len(found) <= tman.CONTACTS_MAX
        assert size_of(found) <= LENGTH_MAX * 7 // 8
        seen |= {contact.profile.node for contact in found}
    assert len(seen) > 0.9 * count, "in time, of all"


def test_a_buffer_that_fits_is_told_whole() -> None:
    for told in (crowd(40, 50, 5), crowd(56, 80, 5), crowd(250, 4, 4)):
        assert tman.buffer(Place(0, 8), 1, told) == tuple(told)


def test_nobody_is_a_candidate_who_has_been_silent_for_too_long() -> None:
    candidates = {1: profile(1, "A", state=3)}
    told = [Contact(profile(1, "B", state=2), 0), Contact(profile(2), 5), Contact(profile(3), 6)]
    tman.merge(candidates, told, limit=5)
    assert candidates == {1: profile(1, "A", state=3), 2: profile(2)}


# Neighbours


def neighbours(table: int = 3) -> Neighbours:
    return Neighbours(0, 0, table, table, 5)


def test_who_chose_me_last_for_a_friend_goes_first() -> None:
    found = neighbours()
    ranked = [((RING, -5.0), 1), ((FRIEND, 0.9), 2), ((SHORTCUT, -7.0), 3), ((SHORTCUT, -9.0), 4), ((FRIEND, 0.1), 5)]
    assert found.too_many(ranked) == [2, 5]


def test_whoever_has_no_room_is_asked_again_only_by_those_who_are_short_of_neighbours() -> None:
    found = neighbours(table=2)
    for node in range(10, 14):
        found.be_refused(node, 1)
    found.choose({1: (RING, profile(1)), 2: (RING, profile(2))}, 1)
    found.begin_round(FULL + 5 - FULL % 5 + 5)
    assert sorted(found.full) == [10, 11, 12, 13], "nobody need go"
    found.choose({1: (RING, profile(1))}, 1)
    found.begin_round(FULL + 5 - FULL % 5 + 10)
    assert sorted(found.full) == [11, 12, 13], "there is room for one"


def test_few_are_remembered_who_had_no_room() -> None:
    found = neighbours()
    for node in range(2 * FULL_MAX):
        found.be_refused(node, 1)
    assert len(found.full) == FULL_MAX


@pytest.mark.parametrize("options", [{"table": 1, "k": 0}, {"table": 4, "k": 3}, {"table": 0}])
def test_a_table_has_room_for_the_ring_and_the_shortcuts(options: dict[str, int]) -> None:
    with pytest.raises(ScenarioError, match="the ring takes 2 links"):
        build("vitis", "unordered", Place(0, 8), options)


# Gateways


def election(d: int = 5) -> tuple[Election, list[NodeId]]:
    """And the other nodes, the closest to topic t first."""
    found = Election(0, 0, d)
    others = sorted((node for node in range(1, 40)), key=lambda node: found.distance(node, "t"))
    return found, others


def proposed(found: Election, *told: Told, known: Any = ()) -> Proposal:
    return found.propose(["t"], told, dict.fromkeys([*known, *(one.node for one in told)]))["t"]


def test_the_closest_gateway_that_is_near_enough_is_proposed() -> None:
    found, (best, second, *_, far) = election(d=5)
    assert proposed(found) == Proposal(0, 0, 0)
    near, nearer = Told(7, "t", {"t": Proposal(second, 9, 2)}), Told(8, "t", {"t": Proposal(best, 10, 3)})
    assert proposed(found, near, nearer) == proposed(found, nearer, near) == Proposal(best, 8, 4)
    assert proposed(found, Told(8, "t", {"t": Proposal(best, 10, 4)}), near) == Proposal(second, 7, 3), "line 10"
    if found.distance(far, "t") > found.distance(0, "t"):
        assert proposed(found, Told(8, "t", {"t": Proposal(far, far, 0)})) == Proposal(0, 0, 0)


def test_of_two_ways_to_a_gateway_the_shorter_one_is_taken() -> None:
    found, (best, *_) = election()
    long, short = Told(7, "t", {"t": Proposal(best, 9, 3)}), Told(8, "t", {"t": Proposal(best, 9, 1)})
    assert proposed(found, long, short) == proposed(found, short, long) == Proposal(best, 8, 2)


def test_a_proposal_is_not_taken_back_nor_from_the_child_of_a_neighbour() -> None:
    """Line 7, and what it leaves open: a node is not in its own table."""
    found, (best, *_) = election()
    mine = Told(7, "t", {"t": Proposal(best, 0, 2)})
    assert proposed(found, mine) == Proposal(0, 0, 0)
    assert proposed(found, Told(7, "t", {"t": Proposal(best, 9, 2)}), known=[9]) == Proposal(0, 0, 0)


def test_a_dead_gateway_is_proposed_by_nobody_after_d_rounds() -> None:
    """A row of nodes, each knows the next: whoever was next to it falls silent first."""
    _, (best, *_) = election()
    d, row = 5, [node for node in range(1, 12) if node != best]
    nodes = {node: Election(0, node, d) for node in row}
    said = {node: Proposal(best, row[n - 1] if n else best, n + 1) for n, node in enumerate(row[: d - 1])}
    said |= {node: Proposal(node, node, 0) for node in row[d - 1 :]}
    for now in range(d):
        before = dict(said)
        assert now or any(one.gateway == best for one in said.values())
        for n, node in enumerate(row):
            beside = [row[m] for m in (n - 1, n + 1) if 0 <= m < len(row)]
            told = [Told(other, "t", {"t": before[other]}) for other in beside]
            said[node] = nodes[node].propose(["t"], told, dict.fromkeys(beside))["t"]
    assert not any(one.gateway == best for one in said.values())


# Relays

asked = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=4).map(tuple)


@given(st.lists(st.tuples(st.integers(0, 2), asked), max_size=8))
def test_a_relay_carries_what_its_children_ask_for_now(said: list[tuple[NodeId, Any]]) -> None:
    found, latest = Relays(0), {}
    for child, asks in said:
        found.hear(child, latest.get(child, ()), asks, 0)
        latest[child] = asks
    plain: dict[Topic, dict[NodeId, NodeId]] = {}
    for child, asks in latest.items():
        for topic, gateway in asks:
            plain.setdefault(topic, {})[child] = gateway
    assert found.children == plain


def test_one_link_carries_no_more_topics_than_fit_into_a_packet() -> None:
    many = [(f"{n}".ljust(TOPIC_MAX, "x"), 1) for n in range(3 * FEW)]
    found = asks_by_hop(many, {topic: 4 for topic, _ in many})
    assert list(found) == [4]
    assert found[4] == tuple(many[: len(found[4])])
    assert len(found[4]) >= FEW
    assert size_of_names(topic for topic, _ in found[4]) <= NAMES_MAX
    few = many[:FEW]
    assert asks_by_hop(few, {topic: 4 for topic, _ in few}) == {4: tuple(few)}
