"""Topics that include each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.errors import LocalProtocolError
from trellis.protocols.parts.hierarchy import ROOT, Hierarchy, check, depth, in_tree, super_of, supers

parts = st.text("ab", min_size=1, max_size=2)
names = st.lists(parts, max_size=5).map(lambda found: "." + ".".join(found))


@pytest.mark.parametrize(
    ("topic", "above"),
    [
        (".", []),
        (".news", ["."]),
        (".news.science.space", [".news.science", ".news", "."]),
        (".dsn04.reviewers", [".dsn04", "."]),
        ("news.science", []),
        (".ü.né", [".ü", "."]),
    ],
)
def test_what_includes_a_topic_by_its_name(topic: str, above: list[str]) -> None:
    assert list(supers(topic)) == above
    assert Hierarchy().above(topic) == above
    assert super_of(topic) == (above[0] if above else None)


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        (".news..space", "a part of it is empty"),
        (".news.", "a part of it is empty"),
        ("..", "a part of it is empty"),
        ("." + "x" * 256, "257 bytes; at most 256"),
        (".ü" * 86, "258 bytes; at most 256"),
        (".a" * 33, "33 levels; at most 32"),
    ],
)
def test_a_name_that_is_in_no_tree_is_refused(topic: str, why: str) -> None:
    with pytest.raises(LocalProtocolError, match=why):
        check(topic)


@pytest.mark.parametrize("topic", [".", ".a" * 32, "." + "x" * 255, "a..b", "news"])
def test_other_names_are_not(topic: str) -> None:
    check(topic)


@given(names, names)
def test_inclusion_is_what_the_names_say(one: str, two: str) -> None:
    tree = Hierarchy()
    assert tree.includes(one, two) == (one in list(supers(two)))
    assert not (tree.includes(one, two) and tree.includes(two, one))
    assert tree.reaches(one, one)
    assert not tree.includes(one, one)


@given(names)
def test_a_topic_is_one_deeper_than_its_supertopic(topic: str) -> None:
    above = super_of(topic)
    assert (depth(topic) == 0) == (topic == ROOT) == (above is None)
    if above is not None:
        assert depth(topic) == depth(above) + 1


def test_a_name_that_only_begins_like_another_one_is_not_below_it() -> None:
    tree = Hierarchy()
    assert not tree.includes(".news", ".newsletter")
    assert not tree.includes(".news", "news.science")
    assert tree.includes(".", ".newsletter")
    assert not in_tree("news")


# Several supertopics.


def test_a_topic_can_have_supertopics_beside_that_of_its_name() -> None:
    tree = Hierarchy({".news.space": (".science", ".hobby")})
    assert tree.direct(".news.space") == (".news", ".science", ".hobby")
    assert tree.above(".news.space.moon") == [".news.space", ".news", ".science", ".hobby", "."]
    assert tree.includes(".science", ".news.space.moon")
    assert not tree.includes(".science", ".news.sport")
    tree.join(".science", (".humans",))
    assert tree.includes(".humans", ".news.space.moon")


@pytest.mark.parametrize(
    ("topic", "others", "why"),
    [
        (".a", (".a.b",), "it includes '.a.b'"),
        (".a", (".a",), "it includes '.a'"),
        (".science", (".news.space",), "it includes '.news.space'"),
        ("a", (".b",), "write .a"),
        (".a", ("b",), "write .b"),
        (".a", tuple(f".s{n}" for n in range(8)), "more than 8 direct supertopics"),
    ],
)
def test_what_would_be_a_ring_or_no_tree_at_all_is_refused(topic: str, others: tuple[str, ...], why: str) -> None:
    tree = Hierarchy({".news.space": (".science",)})
    with pytest.raises(LocalProtocolError, match=why):
        tree.join(topic, others)
    assert tree.joints == {".news.space": (".science",)}, "nothing of it is kept"


@given(st.lists(st.tuples(names, names), max_size=8))
def test_there_are_no_rings_whatever_is_joined(joints: list[tuple[str, str]]) -> None:
    tree = Hierarchy()
    for topic, other in joints:
        try:
            tree.join(topic, (other,))
        except LocalProtocolError:
            continue
    for topic, other in joints:
        for name in (topic, other):
            assert name not in tree.above(name)
