"""Publishing on one topic: order, bounds, and when a confirmation comes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.errors import LocalProtocolError, NetworkError
from trellis.live import outgoing
from trellis.live.codec import Bundle
from trellis.live.frames import BUNDLE_MAX
from trellis.live.outgoing import OVERHEAD, Outgoing

SIZES = st.one_of(
    st.lists(st.integers(0, 40), min_size=1, max_size=60),
    st.integers(900, 2500).map(lambda n: [0] * n),
    st.lists(st.sampled_from([0, 1, 1 << 16, 1 << 17, BUNDLE_MAX - OVERHEAD]), min_size=1, max_size=5),
)


def payloads(sizes: list[int], first: int = 0) -> list[bytes]:
    return [b"%d." % n + b"x" * max(0, size - 8) for n, size in enumerate(sizes, first)]


@given(st.lists(SIZES, max_size=4))
def test_portions_keep_the_order_and_fit_into_a_bundle(calls: list[list[int]]) -> None:
    going, given = Outgoing("t"), []
    for sizes in calls:
        items = payloads(sizes, len(given))
        going.add(items)
        given += items
    portions = going.portions()
    assert [item for items in portions for item in items] == given
    for items in portions:
        assert 1 <= len(items) <= outgoing.PORTION_MESSAGES
        assert len(items) == 1 or sum(map(len, items)) <= outgoing.PORTION_BYTES
        Bundle.of(items)
    assert going.portions() == []


# Publish so many payloads, ask for a confirmation, flush, or let one of the waves under way be settled.
STEPS = st.lists(
    st.tuples(st.just("add"), st.integers(1, 9))
    | st.tuples(st.sampled_from(["confirm", "flush"]), st.just(0))
    | st.tuples(st.just("settle"), st.integers(0, 1000)),
    max_size=60,
)


@given(STEPS)
def test_a_confirmation_comes_exactly_when_all_accepted_before_it_is_settled(steps: list[Any]) -> None:
    """In whatever order waves settle, and however many portions a wave took along."""

    async def story() -> None:
        going = Outgoing("t")
        accepted = numbered = 0
        portions: list[tuple[int, int]] = []  # under way: first number, payloads
        wanted: list[tuple[int, asyncio.Future[None]]] = []  # a confirmation, and how many were accepted before it
        unsettled: set[int] = set()

        def check() -> None:
            for before, future in wanted:
                assert future.done() == (not any(number <= before for number in unsettled))
            assert going.messages == len(unsettled)
            assert going.bytes == 2 * len(unsettled)

        def flush() -> None:
            nonlocal numbered
            for items in going.portions():
                going.numbered(numbered + 1, len(items))
                portions.append((numbered + 1, len(items)))
                numbered += len(items)
                check()

        def settle(which: int) -> None:
            """A wave: one portion, or it and the next one."""
            n = which % len(portions)
            first, count = portions.pop(n)
            if which % 3 == 0 and n < len(portions) and portions[n][0] == first + count:
                count += portions.pop(n)[1]
            unsettled.difference_update(range(first, first + count))
            going.settled(first, count)

        for kind, n in steps:
            if kind == "add":
                going.add([b"xx"] * n)
                unsettled |= set(range(accepted + 1, accepted + n + 1))
                accepted += n
            elif kind == "confirm":
                wanted.append((accepted, going.confirmation()))
            elif kind == "flush":
                flush()
            elif portions:
                settle(n)
            check()
        flush()
        while portions:
            settle(7)
            check()
        assert all(future.done() for _, future in wanted)
        assert (going.messages, going.bytes, going.under_way) == (0, 0, {})
        assert not going.confirmations

    size = outgoing.PORTION_MESSAGES
    outgoing.PORTION_MESSAGES = 3
    try:
        asyncio.run(story())
    finally:
        outgoing.PORTION_MESSAGES = size


def test_a_publisher_waits_for_room_and_is_told_when_there_never_will_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "MESSAGES_MAX", 4)

    async def story() -> None:
        going = Outgoing("t")
        going.add([b"x"] * 4)
        for items in going.portions():
            going.numbered(1, len(items))
        assert going.full
        room = asyncio.ensure_future(going.room())
        confirmation = going.confirmation()
        await asyncio.sleep(0)
        going.settled(1, 4)
        await room
        await confirmation
        assert not going.full
        going.add([b"x"] * 4)
        room, confirmation = asyncio.ensure_future(going.room()), going.confirmation()
        await asyncio.sleep(0)
        going.fail(NetworkError("the node has gone"))
        for waiting in (room, confirmation):
            with pytest.raises(NetworkError, match="the node has gone"):
                await waiting

    asyncio.run(story())


@pytest.mark.parametrize("wrong", [["text"], [bytearray(b"x")], [b"fine", None], b"bytes", "text", [3]])
def test_what_is_no_bytes_is_refused_and_nothing_of_the_call_is_taken(wrong: Any) -> None:
    going = Outgoing("t")
    with pytest.raises(LocalProtocolError, match="it must be bytes; encode text first"):
        going.add(wrong)
    assert (going.waiting, going.messages, going.bytes) == ([], 0, 0)


def test_a_payload_that_fits_into_no_frame_is_refused() -> None:
    going = Outgoing("t")
    going.add([b"x" * (BUNDLE_MAX - OVERHEAD)])
    with pytest.raises(LocalProtocolError, match="the limit is 524272; cut it into parts"):
        going.add([b"x", b"x" * (BUNDLE_MAX - OVERHEAD + 1)])
    assert going.messages == 1
