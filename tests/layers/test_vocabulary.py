"""Events, effects and packets are values: compared by content, frozen, picklable; draws are free of order."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis import draw
from trellis.effects import Send, SetTimer
from trellis.errors import AlreadySubscribed, BarrierTooLong, NotSubscribed, ScenarioError, UnexpectedEvent
from trellis.events import (
    Arrive,
    Cycle,
    Departed,
    Joined,
    Publish,
    Receive,
    Spread,
    Standing,
    Subscribe,
    Timeout,
    Unsubscribe,
)
from trellis.machine import Place
from trellis.protocols import ORDERINGS, OVERLAYS, WHOLE, build, check
from trellis.protocols.orderings.causal import Causal
from trellis.protocols.overlays.vcube import VCube
from trellis.protocols.overlays.vcube_packets import Ack, Pub
from trellis.protocols.stack import Stack
from trellis.words import Message, MessageId, Packet

ID = MessageId((3, 0), "news", 7)


def test_values_are_compared_by_content_and_cannot_change() -> None:
    assert Receive(1, Ack(ID, 0)) == Receive(1, Ack(MessageId((3, 0), "news", 7), 0))
    assert Receive(1, Ack(ID, 0)) != Send(1, Ack(ID, 0))
    with pytest.raises(AttributeError):
        ID.seq = 8  # type: ignore[misc]


@pytest.mark.parametrize("value", [ID, Send(2, Pub(ID, 3, (Message(ID, b"x", (ID,)),))), Publish("t", b"")])
def test_values_travel_to_another_process(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_message_id_reads_as_source_number_topic() -> None:
    assert str(ID) == "3:7@news"
    assert str(MessageId((3, 2), "news", 7)) == "3.2:7@news"


@given(st.integers(0, 2**63 - 1), st.integers(1, 20), st.lists(st.integers(0, 2**40), max_size=4))
def test_a_draw_depends_on_what_it_is_for_and_on_nothing_else(seed: int, purpose: int, key: list[int]) -> None:
    first = draw.draw(seed, purpose, *key)
    draw.draw(seed, purpose, *key, 1)
    assert draw.draw(seed, purpose, *key) == first
    assert 0 <= first < 1 << 64
    assert draw.draw(seed, purpose + 1, *key) != first


def test_draws_are_even_enough() -> None:
    counts = Counter(draw.between(draw.draw(1, draw.LATENCY, n), 0, 9) for n in range(20_000))
    assert all(1_800 < counts[value] < 2_200 for value in range(10))


def test_draws_are_what_they_were() -> None:
    """Golden: another number here changes every digest."""
    assert draw.draw(0, 1) == 16294208416658607535
    assert draw.draw(42, draw.LATENCY, 3, 5, 1) == 14213115771597986129
    assert draw.sample(7, draw.SUBSCRIBERS, range(20), 5) == [12, 15, 16, 18, 19]


def stacks() -> list[tuple[str, str]]:
    whole = [(name, ordering) for name, kind in WHOLE.items() for ordering in kind.brings]
    return whole + [(overlay, ordering) for overlay in OVERLAYS for ordering in ORDERINGS]


@pytest.mark.parametrize(("overlay", "ordering"), stacks())
def test_every_stack_refuses_what_breaks_its_contract_and_stays_as_it_was(overlay: str, ordering: str) -> None:
    machine = build(overlay, ordering, Place(2, 8))
    machine.step(0, Standing("t", (0, 1)))
    for event, error in (
        (Publish("t", b""), NotSubscribed),
        (Unsubscribe("t"), NotSubscribed),
        (Timeout("none"), UnexpectedEvent),
    ):
        with pytest.raises(error):
            machine.step(1, event)
    first = build(overlay, ordering, Place(2, 8))
    first.step(0, Standing("t", (0, 1)))
    assert machine.step(2, Subscribe("t")) == first.step(2, Subscribe("t"))
    with pytest.raises(AlreadySubscribed):
        machine.step(3, Subscribe("t"))


def test_a_stack_that_cannot_keep_its_promise_is_refused_by_name() -> None:
    with pytest.raises(ScenarioError, match="'fifo' over 'vcube-printed'"):
        check("vcube-printed", "fifo", {})
    with pytest.raises(
        ScenarioError, match=r"stack\.brokers = 3: 'causal' over 'vcube' does not take it; it belongs to brokers"
    ):
        check("vcube", "causal", {"brokers": 3})


def test_an_ordering_can_be_tried_alone() -> None:
    """Without an overlay, what it would ask of one comes out as events."""
    causal = Causal(Place(1, 4))
    causal.step(0, Standing("t", (0, 1)))
    a, b = MessageId((0, 0), "t", 1), MessageId((0, 0), "t", 2)
    assert causal.step(1, Arrive(Message(b, b"b", (a,)))) == []
    delivered = [effect.message.id for effect in causal.step(2, Arrive(Message(a, b"a")))]  # type: ignore[union-attr]
    assert delivered == [a, b]


def test_a_message_that_would_follow_more_than_a_packet_may_name_is_refused() -> None:
    causal = Causal(Place(2, 4, barrier_max=1))
    causal.step(0, Standing("t", (0, 1, 2)))
    a, b = MessageId((0, 0), "t", 1), MessageId((1, 0), "t", 1)
    causal.step(1, Arrive(Message(a, b"a")))
    causal.step(2, Arrive(Message(b, b"b")))
    with pytest.raises(
        BarrierTooLong, match=r"would directly follow 2 others: the limit is 1; let fewer nodes publish"
    ):
        causal.step(3, Publish("t", b"c"))
    causal.step(4, Arrive(Message(MessageId((0, 0), "t", 2), b"d", (a, b))))
    assert Spread(Message(MessageId((2, 0), "t", 1), b"c", (MessageId((0, 0), "t", 2),))) in causal.step(
        5, Publish("t", b"c")
    )


def test_what_was_heard_before_leaving_is_followed_after_coming_back_and_what_was_skipped_is_not() -> None:
    causal = Causal(Place(1, 4))
    causal.step(0, Subscribe("t"))
    causal.step(1, Joined("t", {(life, 0): 7 for life in range(2, 1200)}))
    heard = MessageId((2, 0), "t", 8)
    causal.step(2, Arrive(Message(heard, b"a")))
    causal.step(3, Unsubscribe("t"))
    causal.step(4, Departed("t"))
    causal.step(5, Subscribe("t"))
    causal.step(6, Joined("t", {(2, 0): 9, (3, 0): 8}))
    assert Spread(Message(MessageId((1, 0), "t", 1), b"b", (heard,))) in causal.step(7, Publish("t", b"b"))


@pytest.mark.parametrize(
    ("payload", "awaited", "can_wait"), [(b"a", False, True), (b"a", True, False), (bytes(1 << 14), False, False)]
)
def test_an_acknowledgement_can_wait_unless_somebody_waits_for_it_or_it_is_for_much(
    payload: bytes, awaited: bool, can_wait: bool
) -> None:
    vcube = VCube(Place(1, 2), **VCube.options)
    vcube.step(0, Standing("t", (0, 1)))
    id = MessageId((0, 0), "t", 1)
    effects = vcube.step(1, Receive(0, Pub(id, 0, (Message(id, payload, awaited=awaited),))))
    assert [effect for effect in effects if isinstance(effect, Send)] == [Send(0, Ack(id, 0), can_wait)]


class Whisper(Packet, frozen=True):
    """A packet between orderings."""

    for_ordering: ClassVar[bool] = True


class Talkative(Causal):
    """An ordering that has packets, timers and rounds of its own."""

    wants_cycles = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.lived: list[object] = []

    def upon_own(self, event: Receive | Timeout | Cycle) -> None:
        self.lived.append(event)
        self.set_timer("again", 5)


def test_an_ordering_may_have_packets_timers_and_rounds_of_its_own() -> None:
    ordering = Talkative(Place(0, 2))
    stack = Stack(ordering, VCube(Place(0, 2), **VCube.options))
    assert stack.wants_cycles
    events = [Receive(1, Whisper(ID)), Cycle(3), Timeout("ordering/again")]
    effects = [stack.step(1, event) for event in events]
    assert effects == [[SetTimer("ordering/again", 5)]] * 3
    assert ordering.lived == [events[0], events[1], Timeout("again")]
    with pytest.raises(UnexpectedEvent):
        stack.step(2, Timeout("the overlay has none"))
