"""Audits by inclusion: whoever subscribes to .news is owed what is published on .news.science, and nothing else."""

from __future__ import annotations

import pytest

from trellis.audit import AUDITS, judge, pairs_checked
from trellis.trace.rows import Row
from trellis.trace.table import Trace, trace_of


def story(text: str) -> Trace:
    """Lines like `2 deliver .a.b 1:5`: node, what, topic, source:number."""
    rows = []
    for at, line in enumerate(filter(None, (line.strip() for line in text.split("\n")))):
        node, kind, topic, *about = line.split()
        source, seq = map(int, about[0].split(":")) if about else (int(node), 0)
        batch = 1 if kind in ("receive", "settle", "gap") else 0
        rows.append(Row(at, at, int(node), kind, topic, source, 0, seq, "", -1, 0, batch, 0))
    return trace_of(rows)


def broken(text: str) -> dict[str, list[str]]:
    found = judge(story(text), AUDITS)
    return {name: [w.says for w in witnesses] for name, witnesses in found.items() if witnesses}


SAID = "1 confirm .a.b \n 2 confirm .a \n 1 publish .a.b 1:1 \n 1 deliver .a.b 1:1 \n"


def test_a_subscriber_of_an_including_topic_gets_it_and_all_is_well() -> None:
    assert broken(f"{SAID} 2 receive .a.b 1:1 \n 2 deliver .a.b 1:1") == {}
    assert broken(f"2 inherit .a.b \n {SAID} 2 receive .a.b 1:1 \n 2 deliver .a.b 1:1") == {}


@pytest.mark.parametrize("topic", [".", ".a", ".a.b"])
def test_what_never_comes_to_a_subscriber_above_is_lost(topic: str) -> None:
    text = SAID.replace("2 confirm .a ", f"2 confirm {topic} ")
    assert broken(text) == {"lost": ["node 2 was subscribed all the time and never got 1:1@.a.b, published at 2"]}
    skipped = " (it came, and was taken for an old one)"
    assert broken(f"{text} 2 receive .a.b 1:1 \n 2 skip .a.b 1:1")["lost"][0].endswith(skipped)


@pytest.mark.parametrize("topic", [".a.b.c", ".ab", ".b", "a", ".a.bc"])
def test_nothing_is_owed_below_beside_or_outside(topic: str) -> None:
    text = SAID.replace("2 confirm .a ", f"2 confirm {topic} ")
    assert broken(text) == {}
    assert broken(f"{text} 2 deliver .a.b 1:1") == {
        "uninvited": ["node 2 delivered 1:1@.a.b though it is not subscribed to .a.b"]
    }


def test_who_left_the_including_topic_is_owed_nothing_and_must_get_nothing() -> None:
    left = "1 confirm .a.b \n 2 confirm .a \n 2 inherit .a.b \n 2 unsubscribe .a"
    left += "\n 1 publish .a.b 1:1 \n 1 deliver .a.b 1:1"
    assert broken(left) == {}
    assert set(broken(f"{left} \n 2 deliver .a.b 1:1")) == {"uninvited"}


def test_who_left_one_of_two_levels_is_still_owed_it_by_the_other() -> None:
    for gone, text in ((".a", ".a.b"), (".a.b", ".a")):
        both = f"1 confirm .a.b \n 2 confirm .a \n 2 confirm .a.b \n 2 unsubscribe {gone} \n 1 publish .a.b 1:1"
        assert broken(f"{both} \n 1 deliver .a.b 1:1 \n 2 deliver .a.b 1:1") == {}, text
        assert set(broken(f"{both} \n 1 deliver .a.b 1:1")) == {"lost"}


def test_a_node_that_subscribed_on_two_levels_is_owed_a_message_once_and_told_of_once() -> None:
    both = f"2 confirm . \n 2 confirm .a.b \n {SAID}"
    assert len(broken(both)["lost"]) == 1
    assert pairs_checked(story(both)) == 2  # its publisher, and this one
    assert len(broken(f"{both} 2 receive .a.b 1:1")["stuck"]) == 1
    assert "duplicate" in broken(f"{both} 2 deliver .a.b 1:1 \n 2 deliver .a.b 1:1")


def test_what_came_by_an_including_topic_and_is_held_back_is_stuck() -> None:
    held = "node 2 received 1:1@.a.b at 4 and still holds it back at the end, 4"
    assert broken(f"{SAID} 2 receive .a.b 1:1") == {"stuck": [held]}


def test_order_is_judged_on_inherited_topics_too() -> None:
    more = f"{SAID} 1 publish .a.b 1:2 \n 1 deliver .a.b 1:2 \n"
    found = broken(f"{more} 2 deliver .a.b 1:2 \n 2 deliver .a.b 1:1")
    assert set(found) >= {"fifo", "causal"}


def test_a_subscription_above_that_was_not_confirmed_yet_is_owed_nothing() -> None:
    text = SAID.replace("2 confirm .a ", "2 subscribe .a ")
    assert broken(text) == {"stuck": ["node 2 subscribed to .a at 1 and was never confirmed"]}
