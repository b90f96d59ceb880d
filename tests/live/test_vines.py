"""Vitis among processes over mTLS: hundreds of topics each, few connections, some are killed, and nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stage import Actor, Stage, all_of

SIZE, LINKS = 24, 10
BUCKETS, BUCKET = 8, 100  # topics in all: 800; a node takes those of two buckets, so each has six who take it
AFTER = 3  # a temporary partner or two, and a hello
SPEAKERS = (0, 5, 10, 15, 20)  # none of whom is killed
KILLED = (3, 12, 21)


FEW, MANY = 3, 1000  # nodes with so many topics each, that they join all at once


def topics_of(number: int) -> list[str]:
    buckets = (number % BUCKETS, (number // 2 + 3) % BUCKETS)
    both = dict.fromkeys((*buckets, (buckets[0] + 4) % BUCKETS) if buckets[0] == buckets[1] else buckets)
    return [f"b{bucket}-{n}" for bucket in list(both)[:2] for n in range(BUCKET)]


async def publish(actors: list[Actor], speakers: tuple[int, ...], each: int) -> dict[str, int]:
    """Every speaker on some of its topics; how many messages each of those got."""
    said: dict[str, int] = {}
    for number in speakers:
        for topic in topics_of(number)[::25]:
            said[topic] = said.get(topic, 0) + each
    await all_of(
        actors[number].do("publish", topics=topics_of(number)[::25], count=8 * each, rate=400) for number in speakers
    )
    return said


async def heard(actors: list[Actor], living: list[int], said: dict[str, int]) -> None:
    """When everybody who takes a topic has all that was said on it."""
    for topic, count in said.items():
        for number in living:
            if topic in topics_of(number):
                found = await actors[number].do("heard", topic=topic, count=count)
                assert found == {"delivered": count, "gaps": 0}, (number, topic, found)


def test_24_processes_with_200_topics_each_heal_over_a_bounded_number_of_connections(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path, tls=True, overlay="vitis", links=LINKS) as stage:
            actors = await stage.start(SIZE)
            await all_of(
                actor.do("subscribe_all", patience=120, topics=topics_of(number)) for number, actor in enumerate(actors)
            )
            said = await publish(actors, SPEAKERS, 4)
            everybody = list(range(SIZE))
            await heard(actors, everybody, said)
            for number in KILLED:
                await actors[number].kill()
            living = [number for number in everybody if number not in KILLED]
            for topic, count in (await publish(actors, SPEAKERS, 4)).items():  # while they heal
                said[topic] += count
            await heard(actors, living, said)
            for topic, count in (await publish(actors, SPEAKERS, 4)).items():
                said[topic] += count
            await heard(actors, living, said)
            links = [0]
            async with asyncio.timeout(60):  # passing links are closed when nobody has used them for a while
                while not 2 <= min(links) <= max(links) <= LINKS + AFTER:
                    await asyncio.sleep(0.5)
                    reports = [await actors[number].do("status") for number in living]
                    links = [report["links"] for report in reports]
            found = await stage.hold_clean()
            assert found.gaps == 0

    asyncio.run(story())


def test_nodes_that_join_a_thousand_topics_at_once_hear_what_is_said_on_any_of_them(tmp_path: Path) -> None:
    """All of them at the same time: so nobody is there who could tell another where to begin."""
    topics = [f"sensor-{n}" for n in range(MANY)]

    async def story() -> None:
        async with Stage(tmp_path, tls=True, overlay="vitis", links=LINKS) as stage:
            actors = await stage.start(FEW)
            await all_of(actor.do("subscribe_all", patience=120, topics=topics) for actor in actors)
            await all_of(
                actor.do("publish", topics=topics[n::50], count=MANY // 50, rate=400) for n, actor in enumerate(actors)
            )
            for n, actor in enumerate(actors):
                for topic in topics[(n + 1) % FEW :: 50]:
                    assert await actor.do("heard", topic=topic, count=1) == {"delivered": 1, "gaps": 0}
            assert (await stage.hold_clean()).gaps == 0

    asyncio.run(story())
