"""A process that would rather go on than wait, among others that wait: what is late says so, down to the reader."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from stage import Actor, Stage

import trellis
from trellis.cli.sub import line
from trellis.protocols.orderings.hasty import Hasty
from trellis.protocols.orderings.total import Total
from trellis.protocols.parts.groups import Desks
from trellis.trace import store

TOPIC = next(topic for n in range(100) if Desks(3).of(topic := f"t{n}") == 1)
TURNS = 5
SLOW = (0.4, 0.6)  # seconds
TTL_MS = 50


async def reader(at: Actor, *options: str) -> asyncio.subprocess.Process:
    """`trellis sub`, from when it has subscribed."""
    words = ("sub", TOPIC, "--order", "total", "--node", f"trellis://{at.address}", "--plaintext", *options)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "trellis", *words, stdout=pipe, stderr=pipe)
    assert process.stderr is not None
    said = await process.stderr.readline()
    assert said.startswith(b"subscribed to"), said
    return process


def test_who_is_hasty_goes_on_and_is_told_what_is_late_while_the_others_have_everything_in_order(
    tmp_path: Path,
) -> None:
    """The second answers what it hears from the first; from the first to the third the cable is slow."""

    async def story() -> None:
        async with Stage(tmp_path) as stage:
            first, second = await stage.start(2, proxied=True)
            third = await stage.actor().start(join=first, proxied=True, hasty_ttl_ms=TTL_MS)
            await stage.subscribe(TOPIC, [first, second, third], order="total")
            count = ("--count", str(2 * TURNS))
            as_json, plain = await reader(third, "--json", *count), await reader(third, *count)
            patient = await reader(second, "--json", *count)
            for one, other in ((first, third), (third, first)):  # whichever of them has dialled
                await one.do("cable", to=[other.address], delay=SLOW)
            for turn in range(TURNS):
                await first.do("publish", topics=[TOPIC], count=1, rate=1000, order="total")
                await second.do("heard", topic=TOPIC, count=2 * turn + 1)
                await second.do("publish", topics=[TOPIC], count=1, rate=1000, order="total")
                await first.do("heard", topic=TOPIC, count=2 * turn + 2)
                await third.do("heard", topic=TOPIC, count=2 * turn + 2)

            events = [json.loads(text) for text in (await as_json.communicate())[0].splitlines()]
            tagged = [event for event in events if event["tags"]]
            assert {tuple(event["tags"]) for event in tagged} == {("out_of_order",)}
            assert {event["source"] for event in tagged} == {first.place}
            assert len(tagged) > TURNS // 2
            assert sorted((event["source"], event["seq"]) for event in events) == [
                (source.place, seq + 1) for source in (first, second) for seq in range(TURNS)
            ]
            payloads, told = await plain.communicate()
            assert payloads.splitlines() == [event["payload"].encode() for event in events]
            assert [text.split("(")[1] for text in told.decode().splitlines() if text.startswith("LATE: ")] == [
                f"{event['seq']})" for event in tagged
            ]
            in_order = [json.loads(text) for text in (await patient.communicate())[0].splitlines()]
            assert not any(event["tags"] for event in in_order)
            assert [event["source"] for event in in_order] == [first.place, second.place] * TURNS

            found = await stage.hold_clean()
            late = store.read(stage.directory / "run")[0].of_kind("late")
            assert found.late == len(tagged)
            assert set(late.numbers("node").tolist()) == {third.place}

    asyncio.run(story())


def test_a_node_keeps_total_order_in_its_own_manner_and_every_other_order_as_all_do() -> None:
    async def story() -> None:
        for given, kind in (({}, Total), ({"hasty_buffer": 5}, Hasty), ({"hasty_ttl_ms": 5}, Hasty)):
            async with trellis.Node(plaintext=True, **given) as node:
                for order in ("causal", "total"):
                    await node.subscribe(order, order=order)
                machine: Any = node.host.machines["vcube/total"]
                assert type(machine.ordering) is kind
        assert (machine.ordering.buffer.room, machine.ordering.buffer.ttl) == (0, 5000)

    asyncio.run(story())


@pytest.mark.parametrize("given", [{"hasty_buffer": -1}, {"hasty_buffer": 10_001}, {"hasty_ttl_ms": 0.5}])
def test_a_haste_that_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    [(name, value)] = given.items()
    with pytest.raises(
        trellis.TrellisError, match=rf"^{name} = {value}: it must be a whole number from 0 \(no limit\)"
    ):
        trellis.Node(plaintext=True, **given)


def test_an_event_says_whether_it_is_out_of_order() -> None:
    batch = trellis.Batch([b"a", b"b"], "t", 1, 0, 7, ("out_of_order",))
    assert batch.out_of_order
    assert [event.out_of_order for event in batch.events()] == [True, True]
    assert not trellis.Event(b"a", "t", 1, 0, 7).out_of_order
    assert json.loads(line(batch.events()[1], True, False))["tags"] == ["out_of_order"]
