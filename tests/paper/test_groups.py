"""Sequencing groups (TNO Definition 1), and the rings that they leave open where climbs overtake (hole T10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis import draw
from trellis.audit import PROMISES, judge
from trellis.protocols.parts.desk import Desk
from trellis.protocols.parts.groups import ALONE, SHARED, WIDE, Groups, sequencing_groups
from trellis.scenario import from_mapping
from trellis.sim import run


def groups(rule: str, *subscriptions: str) -> dict[str, str]:
    found = sequencing_groups([frozenset(topics) for topics in subscriptions], rule)
    return {topic: "".join(sorted(group)) for topic, group in found.items()}


def test_figure_4_of_the_paper() -> None:
    assert groups(SHARED, "123", "12", "2") == {"1": "12", "2": "12", "3": "3"}


def test_overlap_makes_groups_and_the_number_of_topics_does_not() -> None:
    assert groups(SHARED, "abcd", "efgh") == {topic: topic for topic in "abcdefgh"}, "nobody shares anything"
    assert groups(WIDE, "abcd", "efgh") == dict.fromkeys("abcd", "abcd") | dict.fromkeys("efgh", "efgh")
    assert groups(SHARED, "abcd", "ab", "bc", "cd", "da")["a"] == "abd", "the diagonals of a ring are left out"


SUBSCRIPTIONS = st.lists(st.tuples(st.integers(0, 5), st.frozensets(st.sampled_from("abcdef"))), max_size=20)


@given(SUBSCRIPTIONS, st.sampled_from([SHARED, WIDE, ALONE]))
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


def stuck(seed: int) -> int:
    """Subscriber 5 has four topics; of a ring, it shares each two neighbours with one other, diagonals with nobody."""

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
            "stack": {"overlay": "vcube", "ordering": "total", "desks": 4, "block": 1},
            "nodes": {"count": 10},
            "subscriptions": {"kind": "explicit", "members": members},
            "workload": {"kind": "explicit", "messages": said},
            "network": {"kind": "random", "low": 1, "high": 200, "fifo": False},
        }
    )
    found = run(scenario)
    witnesses = judge(found.trace, PROMISES["total"], found.quiet)
    assert not any(count for name, count in witnesses.items() if name != "stuck")
    return len(witnesses["stuck"])


def test_t10_a_ring_of_four_stops_nobody_where_climbs_never_overtake_each_other() -> None:
    assert not any(stuck(seed) for seed in range(10))


def test_t10_it_does_where_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Desk, "upon_climb", lambda desk, climb: desk.pass_on(climb))
    assert any(stuck(seed) for seed in range(10))
