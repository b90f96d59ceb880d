"""The waist, for topics that include each other: what an ordering asks of an overlay, and tells its application."""

from __future__ import annotations

import pytest

from trellis.effects import Confirm, Deliver, Effect, Gap, Note
from trellis.errors import LocalProtocolError, NotSubscribed
from trellis.events import Arrive, Departed, Event, Join, Joined, Leave, Publish, Subscribe, Unsubscribe
from trellis.machine import Place
from trellis.protocols import build
from trellis.protocols.layers import Ordering
from trellis.protocols.orderings.causal import Causal
from trellis.protocols.orderings.fifo import Fifo
from trellis.protocols.orderings.unordered import Unordered
from trellis.words import Message, MessageId

ORDERINGS = [Unordered, Fifo, Causal]
INHERITED = Note("inherit", MessageId((0, 0), ".a.b", 0))


class Told:
    """An ordering without an overlay: `learns` and `lacks` are said to it as calls."""

    def __init__(self, kind: type[Ordering], *events: Event) -> None:
        self.ordering = kind(Place(0, 4))
        for event in events:
            self.upon(event)

    def upon(self, event: Event) -> list[Effect]:
        return list(self.ordering.step(0, event))

    def learns(self, topic: str) -> list[Effect]:
        self.ordering.learns(topic)
        effects = list(self.ordering.outbox)
        self.ordering.outbox.clear()
        return effects


def message(seq: int, topic: str = ".a.b") -> Message:
    return Message(MessageId((1, 0), topic, seq), b"")


def inside(kind: type[Ordering]) -> Told:
    """It has subscribed to .a, and .a.b came up."""
    told = Told(kind, Subscribe(".a"), Joined(".a", {}))
    assert told.learns(".a.b") == [Join(".a.b")]
    assert told.upon(Joined(".a.b", {})) == [INHERITED]
    return told


@pytest.mark.parametrize("kind", ORDERINGS)
def test_a_topic_below_one_of_mine_is_joined_and_delivered_and_no_other(kind: type[Ordering]) -> None:
    told = inside(kind)
    assert told.upon(Arrive(message(1))) == [Deliver(message(1))]
    for topic in (".b", "a.b", ".ab", "."):
        assert told.learns(topic) == []


@pytest.mark.parametrize("kind", ORDERINGS)
def test_a_subscription_to_what_is_inherited_stands_at_once_and_leaving_it_keeps_it_inherited(
    kind: type[Ordering],
) -> None:
    told = inside(kind)
    assert told.upon(Subscribe(".a.b")) == [Confirm(".a.b")]
    assert told.upon(Unsubscribe(".a.b")) == []
    assert told.upon(Arrive(message(1))) == [Deliver(message(1))]


@pytest.mark.parametrize("kind", ORDERINGS)
def test_what_is_inherited_is_left_with_the_topic_that_included_it(kind: type[Ordering]) -> None:
    told = inside(kind)
    assert told.upon(Unsubscribe(".a")) == [Leave(".a"), Leave(".a.b")]
    assert told.upon(Arrive(message(1))) == [Note("skip", message(1).id)]
    assert told.upon(Departed(".a.b")) == []
    assert told.upon(Departed(".a")) == []
    assert told.upon(Subscribe(".a")) == [Join(".a")]


@pytest.mark.parametrize("kind", ORDERINGS)
def test_what_is_wanted_for_itself_or_included_by_another_one_stays(kind: type[Ordering]) -> None:
    told = inside(kind)
    told.upon(Subscribe(".a.b"))
    assert told.upon(Unsubscribe(".a")) == [Leave(".a")]
    assert told.upon(Arrive(message(1))) == [Deliver(message(1))]

    told = Told(kind, Subscribe("."), Joined(".", {}), Subscribe(".a"), Joined(".a", {}))
    told.learns(".a.b")
    told.upon(Joined(".a.b", {}))
    assert told.upon(Unsubscribe(".a")) == []
    assert told.upon(Arrive(message(1))) == [Deliver(message(1))]
    assert told.upon(Unsubscribe(".")) == [Leave("."), Leave(".a"), Leave(".a.b")]


@pytest.mark.parametrize("kind", ORDERINGS)
def test_who_changes_its_mind_while_it_joins_gets_nothing_and_misses_no_topic_that_began_meanwhile(
    kind: type[Ordering],
) -> None:
    told = Told(kind, Subscribe(".a"))
    assert told.learns(".a.b") == [Join(".a.b")]
    told.upon(Joined(".a.b", {}))
    assert told.upon(Unsubscribe(".a")) == []
    assert not any(isinstance(effect, Deliver) for effect in told.upon(Arrive(message(1))))
    assert told.learns(".a.c") == [Join(".a.c")]
    assert told.upon(Subscribe(".a")) == []
    told.upon(Joined(".a.c", {}))
    assert told.upon(Joined(".a", {})) == [Confirm(".a")]
    assert told.upon(Arrive(message(1, ".a.c"))) == [Deliver(message(1, ".a.c"))]


@pytest.mark.parametrize("kind", ORDERINGS)
def test_a_topic_that_was_being_left_is_joined_again_for_one_that_includes_it(kind: type[Ordering]) -> None:
    told = Told(kind, Subscribe(".a.b"), Joined(".a.b", {}), Unsubscribe(".a.b"), Subscribe(".a"))
    assert told.upon(Departed(".a.b")) == [Join(".a.b")]


@pytest.mark.parametrize("kind", ORDERINGS)
def test_gaps_are_told_of_inherited_topics(kind: type[Ordering]) -> None:
    told = inside(kind)
    told.ordering.lacks(".a.b", {(1, 0): 3}, [((1, 0), 1, 3)])
    assert told.ordering.outbox == [Gap(MessageId((1, 0), ".a.b", 1), 3)]


def test_only_who_subscribed_to_that_very_topic_publishes_on_it() -> None:
    told = inside(Causal)
    with pytest.raises(NotSubscribed):
        told.upon(Publish(".a.b", b""))


def test_what_an_overlay_brings_unasked_is_inherited() -> None:
    told = Told(Unordered, Subscribe(".a"), Joined(".a", {}))
    told.ordering.inherits(".a.b", {})
    told.ordering.inherits(".a.b", {})
    assert told.ordering.outbox == [INHERITED]
    told.ordering.outbox.clear()
    assert told.upon(Unsubscribe(".a")) == [Leave(".a"), Leave(".a.b")]


@pytest.mark.parametrize(
    ("overlay", "ordering", "topic", "says"),
    [
        ("brokers", "causal", ".a", r"topic '\.a': overlay 'brokers' does not know hierarchies; use vcube"),
        ("single-root", "fifo", ".", "overlay 'single-root' does not know hierarchies"),
        ("vcube", "total", ".a", "in total order a subscription includes no subtopics"),
        ("vcube", "causal", ".a..b", "a part of it is empty"),
    ],
)
def test_a_machine_refuses_what_it_could_only_take_as_flat(overlay: str, ordering: str, topic: str, says: str) -> None:
    machine = build(overlay, ordering, Place(0, 4))
    with pytest.raises(LocalProtocolError, match=says):
        machine.step(0, Subscribe(topic))
    machine.step(0, Subscribe("a"))
