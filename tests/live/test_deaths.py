"""A process dies or stands still under load: the topic goes on, and nothing is lost to the others."""

from __future__ import annotations

import asyncio
import resource
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from stage import Actor, Stage, all_of

from trellis.trace import store
from trellis.trace.rows import Row
from trellis.trace.table import Numbers, Trace
from trellis.trace.table import trace_of as trace_of_rows

TOPIC = "news"
SILENCE_US_MAX = 3_000_000
EACH, RATE = 480, 80  # messages of each node, and a second
STOPPED = 10.0  # seconds of SIGSTOP
SPOKEN, PACE = 700, 50  # the same where it must be spoken for longer than that


async def troupe(stage: Stage, count: int = 8) -> tuple[list[Actor], Actor]:
    """Subscribers that all publish, and one of them that forwards for others, on place 4."""
    actors = await stage.start(count)
    await stage.subscribe(TOPIC, actors)
    victim = next(actor for actor in actors if actor.place == 4)
    return [actor for actor in actors if actor is not victim], victim


async def under_way(actors: list[Actor], count: int) -> None:
    """When so many messages have come to everybody."""
    await all_of(actor.do("heard", topic=TOPIC, count=count) for actor in actors)


def forwarded(trace: Trace, node: int) -> int:
    """How many publications of others this node passed on."""
    return sum(row.packet == "PUB" and row.node == node != row.source for row in trace.of_kind("send").rows())


def silences_us(trace: Trace, places: list[int], since: int, count: int) -> dict[tuple[int, int], int]:
    """For each node and each other source: the longest time, from `since` to the last of the `count` messages of the
    source, for which this node got nothing from it. A source that stands still hides behind no other.
    """
    said, heard = (spoken(trace.of_kind(kind), since, count) for kind in ("publish", "deliver"))
    for one in places:
        until = said.at[said.source == one].max(initial=since)
        assert until - since > SILENCE_US_MAX, f"node {one} must speak for longer than the silence that is measured"
    pairs = [(ear, one) for ear in places for one in places if ear != one]  # its own messages need nobody
    of_pair = {pair: heard.at[(heard.node == pair[0]) & (heard.source == pair[1])] for pair in pairs}
    return {pair: int(np.diff(np.concatenate(([since], at))).max(initial=0)) for pair, at in of_pair.items()}


class Spoken(NamedTuple):
    at: Numbers
    node: Numbers
    source: Numbers


def spoken(rows: Trace, since: int, count: int) -> Spoken:
    """What was said in the first life of each source, up to this number."""
    counts = (rows.numbers("seq") <= count) & (rows.numbers("incarnation") == 0) & (rows.numbers("at") >= since)
    return Spoken(*(rows.numbers(name)[counts] for name in Spoken._fields))


def hold_short(trace: Trace, others: list[Actor], since: int, count: int, after: str) -> None:
    places = [actor.place for actor in others]
    silent = silences_us(trace, places, since, count)
    (ear, source), longest = max(silent.items(), key=lambda item: item[1])
    print(f"longest silence after {after}: {longest / 1e3:.0f} ms, of {source} at {ear}")
    assert longest < SILENCE_US_MAX, sorted(silent.items(), key=lambda item: -item[1])[:5]


def trace_of(stage: Stage) -> Trace:
    return store.read(stage.directory / "run")[0]


def now_us() -> int:
    return time.time_ns() // 1000


def test_the_measure_notices_one_source_that_is_not_heard_at_one_node_while_all_others_are() -> None:
    second = 1_000_000
    rows = []
    for n in range(1, 11):
        for source in range(3):
            rows.append(row(n * second, source, "publish", source, n))
            rows += [
                row((8 if late and 3 <= n < 8 else n) * second + 5, ear, "deliver", source, n)
                for ear in range(3)
                for late in [(ear, source) == (2, 1)]
            ]
    found = silences_us(trace_of_rows(sorted(rows, key=lambda row: row.at)), [0, 1, 2], second, 10)
    assert found == {(0, 1): second, (0, 2): second, (1, 0): second, (1, 2): second, (2, 0): second, (2, 1): 6 * second}


def row(at: int, node: int, kind: str, source: int, seq: int) -> Row:
    return Row(0, at, node, kind, TOPIC, source, 0, seq, "", -1, 0, 0, 0)


def test_the_topic_goes_on_when_a_forwarding_node_is_killed_and_it_comes_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            others, victim = await troupe(stage)
            going = [actor.ask("publish", topics=[TOPIC], count=EACH, rate=RATE) for actor in others]
            last_words = victim.ask("publish", topics=[TOPIC], count=EACH, rate=RATE)
            await under_way(others, EACH)
            killed = now_us()
            await victim.kill()
            await all_of(going)
            assert last_words.exception() is not None
            await all_of(actor.do("heard", topic=TOPIC, count=len(others) * EACH) for actor in others)

            await victim.start(join=others[3])  # with its data directory
            assert (victim.place, victim.incarnation) == (4, 1)
            await goes_on([*others, victim], victim)

            await victim.kill()
            await victim.start(join=others[3], data=False)  # as new
            assert victim.place not in {4, *(actor.place for actor in others)}
            assert victim.incarnation == 0
            await goes_on([*others, victim], victim)

            found = await stage.hold_clean()
            assert found.gaps == 0
            trace = trace_of(stage)
            assert forwarded(trace, 4) > 0
            hold_short(trace, others, killed, EACH, "kill -9")

    asyncio.run(story())


async def goes_on(actors: list[Actor], comer: Actor) -> None:
    """Whoever came back reads what all publish, and is read by all."""
    before = [(await actor.do("told")).get(TOPIC, {"delivered": 0})["delivered"] for actor in actors]
    await comer.do("subscribe", topic=TOPIC)
    await all_of(actor.do("publish", topics=[TOPIC], count=50, rate=500, confirm=True) for actor in actors)
    await all_of(
        actor.do("heard", topic=TOPIC, count=count + 50 * len(actors))
        for actor, count in zip(actors, before, strict=True)
    )


def test_a_node_that_stood_still_for_ten_seconds_catches_up(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            others, victim = await troupe(stage)
            everybody = [*others, victim]
            going = [actor.ask("publish", topics=[TOPIC], count=SPOKEN, rate=PACE) for actor in everybody]
            await under_way(others, 8 * PACE)
            stopped = now_us()
            victim.freeze()
            await asyncio.sleep(STOPPED)
            assert not any(speaking.done() for speaking in going), "all speak for as long as it stands still"
            victim.thaw()
            await all_of(going)  # it has more to say, too
            heard = await all_of(actor.do("heard", topic=TOPIC, count=len(everybody) * SPOKEN) for actor in everybody)
            found = await stage.hold_clean()
            assert [told["gaps"] for told in heard] == [0] * len(everybody)
            assert found.pairs_checked == len(everybody) ** 2 * SPOKEN
            trace = trace_of(stage)
            assert forwarded(trace, 4) > 0
            hold_short(trace, others, stopped, SPOKEN, "SIGSTOP")

    asyncio.run(story())


def test_a_node_whose_trace_finds_no_room_falls_silent_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """Nothing leaves a node before its rows are written. Files that may not grow stand for a full disk."""

    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            others, victim = await troupe(stage, 5)
            everybody = [*others, victim]
            going = [actor.ask("publish", topics=[TOPIC], count=EACH // 3, rate=RATE) for actor in everybody]
            await under_way(others, EACH // 3)
            [segment] = (victim.directory / "trace").glob("*.rows")
            unlimited = resource.prlimit(victim.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, (segment.stat().st_size, unlimited[1]))
            await all_of(actor.do("reaches", count=len(others) - 1) for actor in others)
            assert segment.stat().st_size <= resource.prlimit(victim.pid, resource.RLIMIT_FSIZE)[0]
            resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, unlimited)
            await all_of(going)
            everything = len(everybody) * (EACH // 3)
            heard = await all_of(actor.do("heard", topic=TOPIC, count=everything) for actor in everybody)
            assert heard == [{"delivered": everything, "gaps": 0}] * len(everybody)
            found = await stage.hold_clean()
            assert found.pairs_checked == len(everybody) * everything

    asyncio.run(story())
