"""What a reader gets: every number once, as an event or in a gap, whatever it reads when."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.live import subscription
from trellis.live.subscription import OVERHEAD, TOO_SLOW, Batch, Budget, Gap, Subscription

ROOM = 10  # messages that may wait

SOURCES = [(topic, source) for topic in "tu" for source in range(3)]

# Either a batch of a source on a topic, with so many payloads, or so many reads.
STEPS = st.lists(
    st.tuples(st.just("put"), st.sampled_from(SOURCES), st.integers(1, 6))
    | st.tuples(st.just("lack"), st.sampled_from(SOURCES), st.integers(1, 6))
    | st.tuples(st.just("read"), st.integers(1, 4), st.just(0)),
    max_size=60,
)


def made(budget: Budget | None = None) -> Subscription:
    return Subscription(["t", "u"], "fifo", lambda *_: asyncio.sleep(0), messages_max=ROOM, budget=budget)


def batch(source: int, seq: int, count: int, topic: str = "t") -> Batch:
    return Batch([b"%d" % number for number in range(seq, seq + count)], topic, source, 0, seq)


async def read_all(reader: Subscription) -> list[Batch | Gap]:
    return [item async for item in reader.batches()]


def numbers(item: Batch | Gap) -> range:
    return range(item.seq, item.seq + (item.count if isinstance(item, Gap) else len(item.payloads)))


@given(STEPS)
def test_every_number_of_a_source_comes_once_and_in_order_as_an_event_or_in_a_gap(steps: list[Any]) -> None:
    async def story() -> None:
        reader, got = made(), []
        after = dict.fromkeys(SOURCES, 1)
        delivered = []
        lacked = 0
        for kind, n, count in steps:
            if kind == "read":
                for _ in range(n):
                    if reader.waiting or reader.gaps:
                        got.append(await reader.next())
                continue
            topic, source = n
            if kind == "put":
                delivered.append(batch(source, after[n], count, topic))
                reader.put(delivered[-1], count)
            else:
                reader.leave_out(Gap(topic, source, 0, after[n], count, "nobody had them any more"))
                lacked += count
            after[n] += count
            # The bound, and what may be above it: the gaps since the last batch, two reasons for each source.
            assert reader.messages <= ROOM + 6 * 2 * 2
            assert sum(reader.messages_of.values()) == reader.messages
        reader.close()
        got += await read_all(reader)
        for (topic, source), end in after.items():
            mine = [item for item in got if (item.topic, item.source) == (topic, source)]
            assert sorted(number for item in mine for number in numbers(item)) == list(range(1, end))
            events = [number for item in mine if isinstance(item, Batch) for number in numbers(item)]
            assert events == sorted(events)
        come = [item for item in got if isinstance(item, Batch)]
        assert come == [item for item in delivered if item in come]  # whatever their topics
        assert all(item.payloads == [b"%d" % n for n in numbers(item)] for item in got if isinstance(item, Batch))
        assert sum(len(numbers(i)) for i in got if isinstance(i, Gap) and i.why != TOO_SLOW) == lacked
        assert (reader.messages, reader.messages_of, reader.bytes) == (0, {}, 0)

    asyncio.run(story())


@given(st.permutations(range(30)))
def test_a_reader_that_sleeps_costs_one_gap_for_each_source_even_when_numbers_come_in_disorder(
    order: list[int],
) -> None:
    async def story() -> None:
        reader = made()
        reader.put(batch(0, 1, ROOM), ROOM)
        for n in order:
            for source in (1, 2):
                reader.put(batch(source, 1 + 3 * n, 3), 3)
        reader.close()
        found = await read_all(reader)
        assert found[0] == batch(0, 1, ROOM)
        assert found[1:] == [Gap("t", source, 0, 1, 90, TOO_SLOW) for source in (1, 2)]

    asyncio.run(story())


def test_bytes_are_bounded_too_and_are_given_back_when_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "BYTES_MAX", 3 * (95 + OVERHEAD) - 1)

    async def story() -> None:
        reader = made()
        reader.put(Batch([b"x" * 90], "t", 0, 0, 1), 95)  # on the wire it is larger than its payloads
        reader.put(Batch([b"x" * 90], "t", 0, 0, 2), 95)
        assert [type(await reader.next()) for _ in range(2)] == [Batch, Gap]
        reader.put(Batch([b"x" * 90], "t", 0, 0, 3), 95)
        assert await reader.next() == Batch([b"x" * 90], "t", 0, 0, 3)
        assert reader.bytes == 0

    asyncio.run(story())


@given(
    st.lists(
        st.tuples(st.just("put"), st.integers(0, 3), st.integers(0, 200))
        | st.tuples(st.sampled_from(["read", "close"]), st.integers(0, 3), st.just(0)),
        max_size=60,
    )
)
def test_readers_of_one_program_share_a_bound_and_give_back_what_they_held(steps: list[Any]) -> None:
    async def story() -> None:
        budget = Budget()
        readers, after = [made(budget) for _ in range(4)], [1] * 4
        for kind, n, size in steps:
            reader = readers[n]
            if kind == "put" and reader.over is None:
                reader.put(batch(0, after[n], 1), size)
                after[n] += 1
            elif kind == "close":
                reader.close()
            elif reader.waiting or reader.gaps:
                await reader.next()
            held = [reader.bytes for reader in readers if reader.over is None]
            assert sum(held) == budget.used <= subscription.BYTES_MAX
        for reader in readers:
            reader.close()
            await read_all(reader)
            assert reader.bytes == 0
        assert budget.used == 0

    with pytest.MonkeyPatch.context() as small:
        small.setattr(subscription, "BYTES_MAX", 1000)
        asyncio.run(story())


def test_readers_that_sleep_leave_room_for_one_that_is_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "BYTES_MAX", 20 * (100 + OVERHEAD))

    async def story() -> None:
        budget = Budget()
        sleepers, awake = [made(budget) for _ in range(5)], made(budget)
        for seq in range(1, 51):
            for reader in (*sleepers, awake):
                reader.put(batch(0, seq, 1), 100)
            assert await awake.next() == batch(0, seq, 1)
        assert budget.used <= subscription.BYTES_MAX
        for reader in sleepers:
            reader.close()
            *got, gap = await read_all(reader)
            assert got
            assert gap == Gap("t", 0, 0, 1 + len(got), 50 - len(got), TOO_SLOW)

    asyncio.run(story())


def test_what_waits_can_be_read_after_the_end_and_then_the_reason_is_raised() -> None:
    async def story() -> None:
        reader = made()
        reader.put(batch(0, 1, 2), 2)
        reader.close(OSError("gone"))
        reader.close()  # the first reason stays
        assert await reader.next() == batch(0, 1, 2)
        for _ in range(2):
            with pytest.raises(OSError, match="gone"):
                await reader.next()

    asyncio.run(story())


def test_two_tasks_may_read_one_subscription_and_share_what_comes() -> None:
    async def story() -> None:
        reader = made()
        tasks = [asyncio.create_task(reader.next()) for _ in range(2)]
        await asyncio.sleep(0)
        reader.put(batch(0, 1, 1), 1)
        reader.put(batch(0, 2, 1), 1)
        assert sorted([(await task).seq for task in tasks]) == [1, 2]

    asyncio.run(story())


def test_whoever_stops_in_the_middle_of_a_batch_goes_on_there_one_by_one_or_with_the_rest() -> None:
    async def story() -> None:
        reader = made()
        reader.put(batch(0, 1, 5), 5)
        reader.put(batch(0, 6, 1), 1)
        for seq in (1, 2):
            async for event in reader:
                assert event.seq == seq
                break
        assert await reader.next() == batch(0, 3, 3)
        async for event in reader:
            assert event.seq == 6
            break

    asyncio.run(story())
