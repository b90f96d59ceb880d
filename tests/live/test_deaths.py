"""A process dies or stands still under load: the topic goes on, and nothing is lost to the others."""

from __future__ import annotations

import asyncio
import resource
import time
from pathlib import Path

import numpy as np
from stage import Actor, Stage, all_of

from trellis.trace import store
from trellis.trace.table import Trace

TOPIC = "news"
SILENCE_US_MAX = 3_000_000
EACH, RATE = 900, 150  # messages of each node, and a second


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


def silence_us(trace: Trace, node: int, since: int, until: int) -> int:
    """The longest time for which a node got nothing new from others; its own messages need nobody."""
    rows = trace.of_kind("deliver")
    at = rows.numbers("at")[(rows.numbers("node") == node) & (rows.numbers("source") != node)]
    within = at[(at >= since) & (at <= until)]
    return int(np.diff(np.concatenate(([since], within, [until]))).max())


def trace_of(stage: Stage) -> Trace:
    return store.read(stage.directory / "run")[0]


def now_us() -> int:
    return time.time_ns() // 1000


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
            published = now_us()
            assert published - killed > SILENCE_US_MAX, "it must still be spoken when the silence is measured"
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
            silent = {actor.place: silence_us(trace, actor.place, killed, published) for actor in others}
            print(f"longest silence after kill -9: {max(silent.values()) / 1e3:.0f} ms")
            assert max(silent.values()) < SILENCE_US_MAX

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
            going = [actor.ask("publish", topics=[TOPIC], count=EACH, rate=RATE) for actor in everybody]
            await under_way(others, EACH)
            stopped = now_us()
            victim.freeze()
            await all_of(going[:-1])
            published = now_us()
            assert published - stopped > SILENCE_US_MAX
            await asyncio.sleep(max(0.0, 10 - (now_us() - stopped) / 1e6))
            victim.thaw()
            await going[-1]  # it has more to say, too
            heard = await all_of(actor.do("heard", topic=TOPIC, count=len(everybody) * EACH) for actor in everybody)
            found = await stage.hold_clean()
            assert [told["gaps"] for told in heard] == [0] * len(everybody)
            assert found.pairs_checked == len(everybody) ** 2 * EACH
            trace = trace_of(stage)
            assert forwarded(trace, 4) > 0
            silent = {actor.place: silence_us(trace, actor.place, stopped, published) for actor in others}
            print(f"longest silence after SIGSTOP: {max(silent.values()) / 1e3:.0f} ms")
            assert max(silent.values()) < SILENCE_US_MAX

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
