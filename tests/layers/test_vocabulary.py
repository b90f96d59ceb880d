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
from trellis.errors import AlreadySubscribed, NotSubscribed, ScenarioError, UnexpectedEvent
from trellis.events import Arrive, Cycle, Publish, Receive, Standing, Subscribe, Timeout, Unsubscribe
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
        ScenarioError, match=r"stack\.brokers = 3: overlay 'vcube' does not take it; it belongs to brokers"
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
