"""TNO, section 3: definitions 1 to 4, the examples of figures 2, 4 and 5, and what the letter of the text would do."""

from __future__ import annotations

import re

import pytest
from theatre import Theatre

from trellis.audit import PROMISES, judge
from trellis.protocols import ORDERINGS, OVERLAYS
from trellis.protocols.orderings.total_printed import Dummy, TotalPrinted
from trellis.protocols.parts.groups import ALONE, SHARED, WIDE, sequencing_groups
from trellis.protocols.parts.stamps import comparable, smaller, stamp_of
from trellis.protocols.stack import Stack
from trellis.scenario.model import Fraction, Nodes, OnceEach, Random, Scenario, StackSpec
from trellis.sim import run
from trellis.words import Stamp, Topic, Vector


def subscriptions(text: str) -> list[frozenset[Topic]]:
    """`12 23` is {T1, T2} and {T2, T3}."""
    return [frozenset(f"T{n}" for n in word) for word in text.split()]


# Subscriptions -> the group of each topic, by Definition 1 and by the wider rule of section 4.
GROUPS = {
    "figure 4, before": ("123 12 2", "1:12 2:12 3:3", "1:123 2:123 3:123"),
    "figure 4, after": ("123 12 23", "1:12 2:123 3:23", "1:123 2:123 3:123"),
    "figure 2": (
        "134 125 2345",
        "1:1 2:25 3:34 4:34 5:25",
        "1:12345 2:12345 3:12345 4:12345 5:12345",
    ),
    "the best case: one topic each": ("1 2 3", "1:1 2:2 3:3", "1:1 2:2 3:3"),
    "the worst case: all subscribe to all": ("123 123", "1:123 2:123 3:123", "1:123 2:123 3:123"),
    "one subscription is not an intersection": ("12", "1:1 2:2", "1:12 2:12"),
    "T10: the diagonals": (
        "1234 12 23 34 14",
        "1:124 2:123 3:234 4:134",
        "1:1234 2:1234 3:1234 4:1234",
    ),
    "nobody subscribes": ("", "", ""),
}


def shown(groups: dict[Topic, frozenset[Topic]]) -> str:
    return " ".join(f"{topic[1:]}:{''.join(other[1:] for other in sorted(groups[topic]))}" for topic in sorted(groups))


@pytest.mark.parametrize("case", GROUPS)
def test_definition_1_a_group_holds_what_two_subscriptions_share(case: str) -> None:
    text, shared, wide = GROUPS[case]
    assert shown(sequencing_groups(subscriptions(text), SHARED)) == shared
    assert shown(sequencing_groups(subscriptions(text), WIDE)) == wide
    assert all(len(group) == 1 for group in sequencing_groups(subscriptions(text), ALONE).values())


def stamp(text: str) -> Stamp:
    """`1:4 2:0`"""
    return stamp_of({f"T{topic}": int(number) for topic, _, number in (pair.partition(":") for pair in text.split())})


def test_definition_2_a_timestamp_is_ordered_by_rank() -> None:
    assert stamp("3:1 1:7 2:0") == (("T1", 7), ("T2", 0), ("T3", 1))


@pytest.mark.parametrize(
    ("one", "two", "are_comparable", "one_is_smaller", "two_is_smaller"),
    [
        ("1:0 2:1", "3:1", False, False, False),  # e and e' of figure 4
        ("3:1", "2:2 3:3", True, True, False),  # e' and e''
        ("1:0 2:1", "2:2 3:3", True, True, False),  # e and e''
        ("1:1 2:0", "1:1 2:1", True, True, False),
        ("1:1 2:0", "1:0 2:1", True, False, False),  # comparable, and neither is smaller
        ("1:1 2:1", "1:1 2:1", True, False, False),
        ("1:5", "1:4", True, False, True),
    ],
)
def test_definitions_3_and_4_what_can_be_compared_and_what_is_smaller(
    one: str, two: str, are_comparable: bool, one_is_smaller: bool, two_is_smaller: bool
) -> None:
    a, b = stamp(one), stamp(two)
    assert comparable(a, b) == comparable(b, a) == are_comparable
    assert (smaller(a, b), smaller(b, a)) == (one_is_smaller, two_is_smaller)


class Stage(Theatre):
    """Topics T1, T2 and T3 have their managers at nodes 0, 1 and 3; so have c, e, s and w at 0, 1, 2 and 3."""

    def __init__(self, count: int, ordering: str = "total-printed") -> None:
        super().__init__()
        self.play(f"nodes {count} overlay=vcube ordering={ordering} desks=4")

    def act(self, text: str) -> None:
        for command in text.split(";"):
            self.play(command)

    def settle_but(self, a: int, b: int) -> None:
        """Carry everything except on one link, which is slow."""
        while waiting := sorted(link for link, packets in self.links.items() if packets and link != (a, b)):
            for link in waiting:
                self.carry(*link)

    def stamps(self) -> list[str]:
        """What publishers were given, in this order."""
        return [found[1] for line in self.said if (found := re.search(r" STAMP .*\{(.*)\}", line))]

    def group(self, topic: Topic) -> str:
        """As its manager sees it."""
        for machine in self.machines:
            assert isinstance(machine, Stack)
            assert isinstance(machine.ordering, TotalPrinted)
            if topic in machine.ordering.managers:
                return " ".join(sorted(machine.ordering.managers[topic].group))
        raise AssertionError(f"{topic} has no manager")

    def delivered(self, node: int) -> list[str]:
        return [line.split('"')[1] for line in self.said if line.startswith(f"{node} deliver")]


def test_figure_4_groups_and_timestamps_before_and_after_k_subscribes() -> None:
    """S_i = {T1, T2, T3}, S_j = {T1, T2}, S_k = {T2}, then {T2, T3}; `tno-figure-4.story` has every packet."""
    stage = Stage(7)
    stage.act("standing T1 4 5; standing T2 4 5 6; standing T3 4")
    assert [stage.group(topic) for topic in ("T1", "T2", "T3")] == ["T1 T2", "T1 T2", "T3"]
    stage.act("publish 4 T2 e; settle; publish 4 T3 e'; settle")
    stage.act("subscribe 6 T3; settle")
    assert [stage.group(topic) for topic in ("T1", "T2", "T3")] == ["T1 T2", "T1 T2 T3", "T2 T3"]
    stage.act("publish 4 T3 e''; settle")
    assert stage.stamps() == ["T1:0, T2:1", "T3:1", "T2:2, T3:3"]
    assert stage.delivered(4) == ["e", "e'", "e''"]
    assert stage.delivered(5) == ["e"]
    assert stage.delivered(6) == ["e", "e''"]  # e' is from before its subscription


@pytest.mark.parametrize("ordering", ["total-printed", "total"])
def test_figure_5_what_is_notified_too_early_is_buffered(ordering: str) -> None:
    stage = Stage(7, ordering)
    stage.act("standing T1 4 5; standing T2 4 5 6")
    stage.act("publish 4 T2 e1; carry 4 -> 1; carry 1 -> 0; carry 0 -> 4")
    stage.act("publish 5 T2 e2; carry 5 -> 1; carry 1 -> 0; carry 0 -> 5; carry 5 -> 6")
    assert stage.delivered(6) == []
    stage.act("settle")
    assert stage.delivered(6) == ["e1", "e2"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_printed_form_keeps_its_promise_while_nobody_comes_or_goes(overlay: str) -> None:
    """Everybody subscribes to everything, so that all groups are alike; links are FIFO, and nothing fails."""
    for seed in range(10):
        found = run(
            Scenario(
                name="calm",
                seed=seed,
                stack=StackSpec(overlay=overlay, ordering="total-printed"),
                nodes=Nodes(count=12),
                subscriptions=Fraction(fraction=1.0, topics=5),
                workload=OnceEach(publishers=1.0, window=500),
                network=Random(low=1, high=200),
            )
        )
        assert len(found.trace.of_kind("deliver")) == 12 * 12 * 5
        assert not any(judge(found.trace, PROMISES["total-printed"]).values())


# Where the letter of the text cannot work, and what we read instead. Each class goes back to the letter in one point.


class Equal(TotalPrinted):
    """T11: "if the values for all the topics are equal to the corresponding ones stored locally"."""

    def fits(self, number: int, clock: int) -> bool:
        return number == clock


class Jumping(TotalPrinted):
    """T12: "which uses it to update values contained in its local clock"."""

    def set_clock(self, topic: Topic, numbers: dict[Topic, int], cut: Vector) -> None:
        super().set_clock(topic, numbers, cut)
        self.clock |= {each: max(number, self.clock[each]) for each, number in numbers.items()}


class Checked(TotalPrinted):
    """T13: a dummy event is an event like any other, and waits for all entries of its timestamp."""

    def next_is_ready(self, topic: Topic) -> bool:
        message = self.buffer[topic].get(self.clock[topic] + 1)
        return message is not None and self.has_what_precedes(message)


def reads(monkeypatch: pytest.MonkeyPatch, kind: type[TotalPrinted]) -> None:
    monkeypatch.setitem(ORDERINGS, "total-printed", kind)


@pytest.mark.parametrize(("kind", "heard"), [(TotalPrinted, ["lower", "higher"]), (Equal, ["lower"])])
def test_t11_equal_clocks_never_come_where_a_lower_topic_went_on_alone(
    monkeypatch: pytest.MonkeyPatch, kind: type[TotalPrinted], heard: list[str]
) -> None:
    """Node 5 leaves c. The manager of e hears of it first, and leaves c out; that of c still waits for e to pass."""
    reads(monkeypatch, kind)
    stage = Stage(6)
    stage.act("standing c 4 5; standing e 4 5; unsubscribe 5 c")
    stage.settle_but(5, 0)
    stage.act("publish 4 e lower")
    stage.settle_but(5, 0)
    stage.act("publish 4 c higher")
    stage.settle_but(5, 0)
    assert stage.stamps() == ["e:1", "c:1, e:0"]
    stage.act("settle")
    assert stage.delivered(4) == heard


@pytest.mark.parametrize(("kind", "heard"), [(TotalPrinted, ["on its way"]), (Jumping, [])])
def test_t12_a_clock_that_jumps_passes_over_what_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch, kind: type[TotalPrinted], heard: list[str]
) -> None:
    """Node 5 has e, and subscribes to c while an event on e is on its way to it."""
    reads(monkeypatch, kind)
    stage = Stage(8)
    stage.act("standing c 4; standing e 5 6; publish 6 e on its way; carry 6 -> 1; carry 1 -> 6; subscribe 5 c")
    stage.settle_but(6, 5)
    assert "5 confirm c" in stage.said
    stage.act("settle")
    assert stage.delivered(5) == heard


@pytest.mark.parametrize(("kind", "heard"), [(TotalPrinted, ["x", "y"]), (Checked, [])])
def test_t13_dummy_events_that_are_checked_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch, kind: type[TotalPrinted], heard: list[str]
) -> None:
    """Both carry the same timestamp: the one on c waits for the number of the one on e, and that for this one's."""
    reads(monkeypatch, kind)
    stage = Stage(6)
    stage.act("standing c 4; standing e 4 5; subscribe 5 c; settle; publish 4 c x; settle; publish 4 e y; settle")
    assert stage.delivered(4) == heard


def test_t13_a_dummy_event_carries_the_subscription_timestamp_and_nobody_hears_of_it() -> None:
    stage = Stage(6)
    stage.act("standing c 4; standing e 4 5; subscribe 5 c")
    sent: dict[Topic, object] = {}
    while any(stage.links.values()):
        for link in [link for link, packets in stage.links.items() if packets]:
            messages = stage.links[link][0].messages
            sent |= {message.id.topic: message.stamp for message in messages if isinstance(message, Dummy)}
            stage.carry(*link)
    assert sent == dict.fromkeys("ce", (("c", 1), ("e", 1)))
    assert stage.delivered(4) == stage.delivered(5) == []


def test_t16_timestamps_never_wait_for_each_other_in_a_ring() -> None:
    """On s by way of e, on w by way of s, on d by way of e: all to c. Topics d and w have one desk."""
    stage = Stage(10, "total")
    stage.act("standing c 4 5 6 7; standing e 6 7 8 9; standing s 4 5 8 9; standing w 4 5; standing d 6 7")
    stage.act("publish 8 s C; carry 8 -> 2; publish 4 w A; carry 4 -> 3; publish 6 d B; carry 6 -> 3")
    stage.act("carry 3 -> 2; carry 2 -> 1; carry 3 -> 2; settle")
    assert sorted(stage.delivered(4)) == ["A", "C"]
    assert stage.delivered(6) == ["B"]


def test_t14_list_updates_that_overtake_each_other_leave_a_group_too_small() -> None:
    """Node 5 leaves e and subscribes to s. Manager c hears of the first last, and forgets the second."""
    stage = Stage(8)
    stage.act("standing c 4 5; standing e 5; standing s 4; unsubscribe 5 e; subscribe 5 s")
    stage.settle_but(5, 0)
    assert (stage.group("c"), stage.group("s")) == ("c s", "c s")
    stage.act("settle")
    assert (stage.group("c"), stage.group("s")) == ("c", "c s")
    stage.said.clear()
    stage.act("publish 4 s x; carry 4 -> 2; carry 2 -> 0; carry 0 -> 4; publish 5 c y; carry 5 -> 0; carry 0 -> 5")
    stage.act("settle")
    assert stage.delivered(4) == ["x", "y"]
    assert stage.delivered(5) == ["y", "x"]
