"""Crashes, new lives and gaps: what they excuse, and what they do not."""

from __future__ import annotations

import pytest

from trellis.audit import AUDITS, gaps_told, judge, late_told
from trellis.trace.rows import Row
from trellis.trace.table import trace_of


def story(text: str) -> list[Row]:
    """Lines like `2 deliver 1:5`, `2 gap 1:5+3`, `2 start.1`, `2 suspect 1`: node, what, source.life:number."""
    rows = []
    for at, line in enumerate(filter(None, (line.strip() for line in text.split("\n")))):
        node, kind, *about = line.split()
        kind, _, life = kind.partition(".")
        source, incarnation, seq, batch = int(node), int(life or 0), 0, 0
        peer = -1
        if kind == "suspect":
            peer = int(about.pop())
        if about:
            who, _, number = about[0].partition(":")
            first, _, count = number.partition("+")
            source, _, life = who.partition(".")
            source, incarnation, seq, batch = int(source), int(life or 0), int(first), int(count or 0)
        topic = "" if kind in ("crash", "stop", "start", "suspect") else "t"
        if kind in ("receive", "settle", "gap"):
            batch = max(1, batch)
        rows.append(Row(at, at, int(node), kind, topic, source, incarnation, seq, "", peer, 0, batch, 0))
    return rows


def broken(text: str) -> dict[str, list[str]]:
    """What each audit says, where it says anything."""
    found = judge(trace_of(story(text)), AUDITS)
    return {name: [w.says for w in witnesses] for name, witnesses in found.items() if witnesses}


BOTH = "1 confirm \n 2 confirm \n"


@pytest.mark.parametrize("end", ["crash", "stop"])
def test_a_node_that_has_ended_is_owed_nothing_more_and_holds_nothing(end: str) -> None:
    assert broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 2 receive 1:1 \n 2 {end}") == {}
    assert broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 2 {end}") == {}
    assert "stuck" in broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 2 receive 1:1")
    assert "lost" in broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1")


def test_what_was_settled_before_a_subscriber_crashed_had_reached_it() -> None:
    assert "lost" in broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 1 settle 1:1 \n 2 crash")
    assert broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 2 deliver 1:1 \n 1 settle 1:1 \n 2 crash") == {}


def test_a_subscription_whose_node_crashed_waits_for_no_confirmation() -> None:
    assert broken("2 subscribe \n 2 crash") == {}
    assert "stuck" in broken("2 subscribe \n 2 crash \n 2 start.1 \n 2 subscribe")


def test_what_a_crashed_source_had_not_settled_is_owed_to_nobody() -> None:
    assert broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 1 crash") == {}
    assert "lost" in broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 1 settle 1:1 \n 1 crash")
    assert "lost" in broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 1 stop"), (
        "who leaves in good order settles first"
    )
    new_life = "1 crash \n 1 start.1 \n 1 confirm \n 1 publish 1.1:1 \n 1 deliver 1.1:1"
    assert "lost" in broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n {new_life}"), "its next life has not crashed"


def test_what_died_with_all_who_had_it_is_not_owed_to_whoever_was_cut_off_when_it_was_settled() -> None:
    said = "1 publish 1:1 \n 1 deliver 1:1 \n 1 suspect 2 \n 1 settle 1:1 \n"
    three = f"3 confirm \n {BOTH} {said} 3 deliver 1:1 \n 1 crash \n"
    assert broken(f"{three} 3 crash") == {}
    assert "lost" in broken(three), "node 3 has it, and lives"
    assert "lost" in broken(f"{three} 3 crash".replace("1 suspect 2 \n", "")), "it was in reach, and passed over"
    assert "lost" in broken(f"{BOTH} {said}"), "its source lives"


def test_what_may_wait_for_a_source_that_is_dead_for_good_is_not_stuck() -> None:
    """Node 2 answers node 1 and comes back; node 3 has the answer and lacks what it answers."""
    said = "1 confirm \n 2 confirm \n 3 confirm \n 1 publish 1:1 \n 1 deliver 1:1 \n 2 deliver 1:1 \n"
    answered = (
        "2 publish 2:1 \n 2 deliver 2:1 \n 1 deliver 2:1 \n 3 receive 2:1 \n 2 settle 2:1 \n 2 crash \n 2 start.1 \n"
    )
    assert broken(f"{said} {answered} 1 crash") == {}
    assert set(broken(f"{said} {answered} 1 crash \n 1 start.1")) == {"stuck"}, "node 1 was met again"
    assert set(broken(f"{said} {answered} 3 deliver 1:1 \n 1 crash")) == {"stuck"}, "node 3 waits for nothing"
    assert set(broken(f"{said} {answered} 3 gap 1:1 \n 1 crash")) == {"stuck"}, "node 3 was told"
    unread = said.replace("2 deliver 1:1", "4 deliver 1:1")
    assert "stuck" in broken(f"{unread} {answered} 1 crash"), "node 2 had not read it"


def test_messages_of_a_crashed_source_keep_their_order_and_are_no_creations() -> None:
    published = f"{BOTH} 1 publish 1:1 \n 1 publish 1:2 \n 1 crash \n"
    assert broken(f"{published} 2 deliver 1:1 \n 2 deliver 1:2") == {}
    assert set(broken(f"{published} 2 deliver 1:2 \n 2 deliver 1:1")) == {"fifo", "causal", "across"}
    assert set(broken(f"{published} 2 deliver 1:3")) == {"creation"}


def test_a_dead_node_delivers_nothing_and_a_new_life_only_what_it_subscribes_to() -> None:
    assert broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 2 crash \n 2 deliver 1:1") == {
        "uninvited": ["node 2 delivered 1:1@t though it is not subscribed to t"]
    }
    assert "uninvited" in broken(f"{BOTH} 1 publish 1:1 \n 1 deliver 1:1 \n 2 crash \n 2 start.1 \n 2 deliver 1:1")


def test_a_new_life_may_be_handed_again_what_the_former_one_got_but_only_once() -> None:
    lived = (
        f"{BOTH} 1 publish 1:1 \n 1 publish 1:2 \n 1 deliver 1:1 \n 1 deliver 1:2 \n 2 deliver 1:1 \n 2 deliver 1:2 \n"
    )
    again = f"{lived} 2 crash \n 2 start.1 \n 2 confirm \n 2 deliver 1:1 \n 2 deliver 1:2 \n"
    assert broken(again) == {}
    assert set(broken(f"{again} 2 deliver 1:2")) == {"duplicate"}
    assert set(broken(f"{lived} 2 deliver 1:2")) == {"duplicate"}


def test_a_new_life_does_not_follow_what_the_former_one_delivered() -> None:
    """Node 2 reads a, crashes, and publishes x: node 3 may see x before a. Without the crash it may not."""
    before = "1 confirm \n 2 confirm \n 3 confirm \n 1 publish 1:1 \n 1 deliver 1:1 \n 2 deliver 1:1 \n"
    crashed = "2 crash \n 2 start.1 \n 2 confirm \n 2 publish 2.1:1 \n 2 deliver 2.1:1 \n 1 deliver 2.1:1 \n"
    assert set(broken(f"{before} {crashed} 3 deliver 2.1:1 \n 3 deliver 1:1")) == {"total"}, "nodes 1 and 3 differ"
    went_on = "2 publish 2:1 \n 2 deliver 2:1 \n 1 deliver 2:1 \n"
    assert set(broken(f"{before} {went_on} 3 deliver 2:1 \n 3 deliver 1:1")) == {"causal", "across", "total"}


def test_what_was_told_as_a_gap_is_neither_lost_nor_stuck() -> None:
    published = (
        f"{BOTH} 1 publish 1:1 \n 1 publish 1:2 \n 1 publish 1:3 \n 1 deliver 1:1 \n 1 deliver 1:2 \n 1 deliver 1:3 \n"
    )
    assert broken(f"{published} 2 receive 1:2 \n 2 gap 1:1+2 \n 2 deliver 1:3") == {}
    assert gaps_told(trace_of(story(f"{published} 2 gap 1:1+2 \n 2 gap 1:3"))) == 3
    short = broken(f"{published} 2 gap 1:1 \n 2 deliver 1:3")
    assert short == {"lost": ["node 2 was subscribed all the time and never got 1:2@t, published at 3"]}
    assert "lost" in broken(f"{published} 1 gap 1:1+2 \n 2 deliver 1:3"), "another node was told"


def test_a_gap_of_a_former_life_excuses_nothing_in_the_next() -> None:
    lived = f"{BOTH} 2 gap 1:1 \n 2 crash \n 2 start.1 \n 2 confirm \n 1 publish 1:1 \n 1 deliver 1:1 \n"
    assert "lost" in broken(lived)
    assert broken(f"{lived} 2 deliver 1:1") == {}


def test_what_comes_after_its_gap_was_told_is_uninvited_and_a_gap_excuses_no_inversion() -> None:
    published = f"{BOTH} 1 publish 1:1 \n 1 publish 1:2 \n 1 deliver 1:1 \n 1 deliver 1:2 \n"
    told = "node 2 delivered 1:1@t after it had told of a gap in its place"
    assert broken(f"{published} 2 gap 1:1 \n 2 deliver 1:1 \n 2 deliver 1:2") == {"uninvited": [told]}
    late = broken(f"{published} 2 gap 1:1 \n 2 deliver 1:2 \n 2 deliver 1:1")
    assert set(late) == {"uninvited", "fifo", "causal", "across", "total"}
    assert broken(f"{published} 2 deliver 1:1 \n 2 gap 1:1 \n 2 deliver 1:2") == {}, (
        "told too much, but nothing is wrong"
    )


def test_what_is_tagged_as_out_of_order_has_no_place_in_any_order_and_is_a_delivery_all_the_same() -> None:
    published = f"{BOTH} 1 publish 1:1 \n 1 publish 1:2 \n 1 deliver 1:1 \n 1 deliver 1:2 \n"
    assert broken(f"{published} 2 receive 1:1 \n 2 receive 1:2 \n 2 deliver 1:2 \n 2 late 1:1") == {}
    assert set(broken(f"{published} 2 deliver 1:2 \n 2 deliver 1:1")) == {"fifo", "causal", "across", "total"}
    assert broken(f"{published} 2 late 1:2 \n 2 deliver 1:1") == {}, "the tag says nothing of which one is too late"
    assert late_told(trace_of(story(f"{published} 2 deliver 1:2 \n 2 late 1:1"))) == 1
    assert set(broken(f"{published} 2 deliver 1:2 \n 2 late 1:1 \n 2 late 1:1")) == {"duplicate"}
    assert set(broken(f"{published} 2 deliver 1:1 \n 2 deliver 1:2 \n 2 late 1:3")) == {"creation"}
    assert set(broken(f"{published} 2 gap 1:1 \n 2 deliver 1:2 \n 2 late 1:1")) == {"uninvited"}


def test_a_tag_excuses_nobody_else() -> None:
    """Node 2 reads a with the tag and answers it: who reads the answer before a breaks the order, tags or not."""
    said = "1 confirm \n 2 confirm \n 3 confirm \n 1 publish 1:1 \n 1 deliver 1:1 \n 2 late 1:1 \n 2 publish 2:1 \n"
    answered = f"{said} 2 deliver 2:1 \n 1 deliver 2:1 \n 3 deliver 2:1 \n"
    assert set(broken(f"{answered} 3 deliver 1:1")) == {"causal", "across", "total"}
    assert broken(f"{answered} 3 late 1:1") == {}


def test_a_topic_is_judged_by_its_own_order() -> None:
    rows = story(
        f"{BOTH} 1 publish 1:1 \n 1 publish 1:2 \n 1 deliver 1:1 \n 1 deliver 1:2 \n 2 deliver 1:2 \n 2 deliver 1:1"
    )
    two = trace_of([*rows, *(row._replace(topic="u") for row in rows)])
    found = judge(two, ("fifo", "causal"), excused={"causal": {"t"}})
    assert {name: [w.message.topic for w in witnesses] for name, witnesses in found.items()} == {
        "fifo": ["t", "u"],
        "causal": ["u"],
    }
