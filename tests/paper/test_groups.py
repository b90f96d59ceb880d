"""Sequencing groups (TNO Definition 1) and the rings that they leave open (hole T10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis import draw
from trellis.audit import PROMISES, judge
from trellis.machine import Machine, Place
from trellis.protocols.orderings.total import Total
from trellis.protocols.overlays.vcube import VCube
from trellis.protocols.parts.desk import Desk
from trellis.protocols.parts.groups import PRINTED, RINGS, SAFE, WIDE, Groups, blocks, sequencing_groups
from trellis.protocols.stack import Stack
from trellis.scenario import from_mapping
from trellis.sim import run


def groups(rule: str, *subscriptions: str) -> dict[str, str]:
    found = sequencing_groups([frozenset(topics) for topics in subscriptions], rule)
    return {topic: "".join(sorted(group)) for topic, group in found.items()}


RING = ("abcd", "ab", "bc", "cd", "da")


def test_figure_4_of_the_paper() -> None:
    assert groups(PRINTED, "123", "12", "2") == {"1": "12", "2": "12", "3": "3"}


def test_a_ring_of_shared_pairs_has_diagonals_only_where_it_needs_them() -> None:
    assert groups(PRINTED, *RING)["a"] == "abd"
    assert groups(SAFE, *RING)["a"] == groups(RINGS, *RING)["a"] == "abcd"
    assert groups(RINGS, "abcd", "ab", "bc", "cd") == groups(PRINTED, "abcd", "ab", "bc", "cd"), "a chain is no ring"
    assert groups(RINGS, "abcde", "ab", "bc", "cd", "da", "de")["e"] == "de", "what hangs on a ring is not on it"
    assert groups(RINGS, "abcd", "efgh") == {topic: topic for topic in "abcdefgh"}, "nobody shares anything"


SUBSCRIPTIONS = st.lists(st.tuples(st.integers(0, 5), st.frozensets(st.sampled_from("abcdef"))), max_size=20)


@given(SUBSCRIPTIONS, st.sampled_from([PRINTED, SAFE, WIDE, RINGS]))
def test_groups_that_change_are_those_of_the_last_word_of_each(changes: list, rule: str) -> None:
    known, last = Groups(rule), {}
    for subscriber, topics in changes:
        known.change((subscriber, 0), topics)
        last[subscriber] = topics
        known.of("a")
    fresh = sequencing_groups(last.values(), rule)
    assert {topic: known.of(topic) for topic in known.holders} == fresh
    for topic, group in fresh.items():
        assert all(topic in fresh[other] for other in group), "in each other's group"
    if rule == RINGS:
        assert set(known.both) == {frozenset((a, b)) for s in last.values() for a in s for b in s if a != b}
        printed, safe = sequencing_groups(last.values(), PRINTED), sequencing_groups(last.values(), SAFE)
        assert all(printed[topic] <= group <= safe[topic] for topic, group in fresh.items())


def test_blocks_are_cut_where_one_vertex_holds_two_parts_together() -> None:
    near = {"a": "bc", "b": "ac", "c": "abde", "d": "ce", "e": "cdf", "f": "e", "g": ""}
    found = blocks({topic: list(others) for topic, others in near.items()})
    assert sorted("".join(sorted(block)) for block in found) == ["abc", "cde", "ef"]


def stuck(rule: str, seed: int) -> int:
    """Subscriber 5 has four topics; of a ring, it shares each two neighbours with one other, diagonals with nobody."""

    def build(place: Place) -> Machine:
        ordering = type("Ruled", (Total,), {"rule": rule})(place, **{**Total.options, "desks": 4, "block": 1})
        return Stack(ordering, VCube(place, **VCube.options))

    pairs = [(n, (n + 1) % 4) for n in range(4)]
    members = {f"t{t}": [5, *(6 + n for n, pair in enumerate(pairs) if t in pair)] for t in range(4)}
    said = [
        {"at": draw.draw(seed, 1, n) % 400, "node": members[f"t{n % 4}"][n // 4 % 3], "topic": f"t{n % 4}"}
        for n in range(100)
    ]
    scenario = from_mapping(
        {
            "name": "T10",
            "seed": seed,
            "stack": {"overlay": "vcube", "ordering": "total"},
            "nodes": {"count": 10},
            "subscriptions": {"kind": "explicit", "members": members},
            "workload": {"kind": "explicit", "messages": said},
            "network": {"kind": "random", "low": 1, "high": 200, "fifo": False},
        }
    )
    found = run(scenario, build=build)
    witnesses = judge(found.trace, PROMISES["total"], found.quiet)
    assert not any(count for name, count in witnesses.items() if name != "stuck")
    return len(witnesses["stuck"])


@pytest.mark.parametrize("rule", [PRINTED, SAFE, RINGS])
def test_t10_a_ring_of_four_stops_nobody_where_climbs_never_overtake_each_other(rule: str) -> None:
    assert not any(stuck(rule, seed) for seed in range(10))


def test_t10_it_does_where_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Desk, "upon_climb", lambda desk, climb: desk.pass_on(climb))
    assert any(stuck(PRINTED, seed) for seed in range(10))
