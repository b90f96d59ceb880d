"""Total order between processes: topics that overlap, and a host of the desks that is killed in the middle."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
from stage import Actor, Stage, all_of

from trellis.trace import store
from trellis.trace.table import Trace

TOPICS = [f"t{n}" for n in range(6)]
EACH, RATE = 600, 60  # messages of each node, and a second
SHARED = [f"hall.line-{n:02}" for n in range(30)]
PAUSE_US_MAX = 5_000_000


def topics_of(number: int) -> list[str]:
    return [TOPICS[(number + n) % len(TOPICS)] for n in range(3)]


async def settle(actors: list[Actor]) -> tuple[dict[str, int], dict[str, int]]:
    """When all have got all numbers that were given: per topic how many those are, and how many of them are void."""
    for _ in range(300):
        told = await all_of(actor.do("numbers") for actor in actors)
        given = merged(told, "given")
        if all(number == given.get(topic, 0) for one in told for topic, number in one["came"].items()):
            return given, merged(told, "void")
        await asyncio.sleep(0.1)
    raise AssertionError(told)


def merged(told: list[dict[str, Any]], what: str) -> dict[str, int]:
    return {topic: number for one in told for topic, number in one[what].items()}


def longest_pause_us(trace: Trace, nodes: list[int], since: int) -> int:
    """How long a node waited for anything at all, from `since` until the last of them had published."""
    published, heard = trace.of_kind("publish"), trace.of_kind("deliver")
    said = published.numbers("at")[np.isin(published.numbers("node"), nodes)].max()
    assert said - since > PAUSE_US_MAX, "they must speak for longer than the pause that is measured"
    pauses = []
    for node in nodes:
        at = heard.numbers("at")[heard.numbers("node") == node]
        at = at[(at >= since) & (at <= said)]
        pauses.append(int(np.diff(np.concatenate(([since], at))).max(initial=0)))
    return max(pauses)


def test_eight_processes_keep_one_order_over_six_topics_while_a_topic_manager_is_killed(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            actors = await stage.start(8)
            for number, actor in enumerate(actors):
                for topic in topics_of(number):
                    await actor.do("subscribe", topic=topic, order="total")
            victim = next(actor for actor in actors if actor.place == 1)
            others = [actor for actor in actors if actor is not victim]
            led = (await victim.do("numbers"))["leads"]
            assert led, "it must manage some topics"
            going = {
                actor: actor.ask("publish", topics=topics_of(n), count=EACH, rate=RATE, order="total")
                for n, actor in enumerate(actors)
            }
            await asyncio.sleep(EACH / RATE / 3)
            killed = time.time_ns() // 1000
            await victim.kill()
            await all_of(going[actor] for actor in others)
            await settle(others)

            await victim.start(join=others[0])  # with its data directory
            assert (victim.place, victim.incarnation) == (1, 1)
            mine = topics_of(actors.index(victim))
            for topic in mine:
                await victim.do("subscribe", topic=topic, order="total")
            await victim.do("publish", topics=mine, count=EACH, rate=RATE * 4, order="total", confirm=True)
            given, void = await settle(actors)

            found = await stage.hold_clean()
            trace = store.read(stage.directory / "run")[0]
            published = len(trace.of_kind("publish"))
            assert published >= 8 * EACH
            # Every number was given once, and nobody lacks one: what was published has its own, but for what the killed
            # process had not been told, or had told nobody.
            delivered = trace.of_kind("deliver")
            codes, names = delivered.words("topic")
            for topic, number in given.items():
                of_topic = codes == names.index(topic)
                ids = zip(*(delivered.numbers(c)[of_topic] for c in ("source", "incarnation", "seq")), strict=True)
                assert len(set(ids)) == number - void.get(topic, 0)
            pause = longest_pause_us(trace, [actor.place for actor in others], killed)
            print(f"{published} messages, longest pause {pause / 1e3:.0f} ms, void {void}, gaps {found.gaps}")
            assert pause < PAUSE_US_MAX

    asyncio.run(story())


async def bytes_of_stamps(actors: list[Actor]) -> tuple[int, int]:
    """That have left from these: as they are, and as they were sent."""
    told = await all_of(actor.do("stamps") for actor in actors)
    return sum(one["plain"] for one in told), sum(one["sent"] for one in told)


def test_timestamps_take_less_than_a_tenth_of_their_bytes_between_processes(tmp_path: Path) -> None:
    """Thirty topics that all share and that are equally busy: every timestamp has thirty entries."""

    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            actors = await stage.start(4)
            for topic in SHARED:
                await stage.subscribe(topic, actors, order="total")
            told = []
            for count in (60, 400):  # first, links learn what is in the timestamps of each topic
                await all_of(
                    actor.do("publish", topics=SHARED, count=count, rate=120, order="total") for actor in actors
                )
                await settle(actors)
                told.append(await bytes_of_stamps(actors))
            plain, sent = told[1][0] - told[0][0], told[1][1] - told[0][1]
            print(f"then {plain:,} bytes of timestamps, sent as {sent:,}: {plain / sent:.1f} times fewer;")
            print("with the beginning {:,} and {:,}".format(*told[1]))

            victim = next(actor for actor in actors if actor.place == 3)  # whose links begin anew
            await victim.kill()
            await victim.start(join=next(actor for actor in actors if actor.place == 0))
            await all_of(victim.do("subscribe", topic=topic, order="total") for topic in SHARED[:3])
            await victim.do("publish", topics=SHARED[:3], count=30, rate=300, order="total", confirm=True)
            await settle(actors)
            await stage.hold_clean()
            assert not [line for actor in actors for line in actor.log if "timestamp" in line], "a link refused one"
            assert plain > 100_000, "enough to tell"
            assert plain > 10 * sent

    asyncio.run(story())
