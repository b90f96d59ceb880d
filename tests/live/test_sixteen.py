"""Sixteen processes with certificates: 20,000 messages from all, while they join and leave topics and the cluster."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from stage import Actor, Stage, all_of

TOPICS = ("a", "b", "c", "d")
MESSAGES = 20_000
NODES = 16
ROUNDS = 4


def test_twenty_thousand_messages_of_sixteen_processes_that_come_and_go(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            actors = await stage.start(NODES)
            assert sorted(actor.place for actor in actors) == list(range(NODES))
            topics = {actor: [TOPICS[n % 4], TOPICS[(n // 4 + n + 1) % 4]] for n, actor in enumerate(actors)}
            for topic in TOPICS:
                await stage.subscribe(topic, [actor for actor in actors if topic in topics[actor]])
            began = time.monotonic()
            for number in range(ROUNDS):
                going = [
                    actor.ask("publish", topics=topics[actor], count=MESSAGES // NODES // ROUNDS, rate=400)
                    for actor in actors
                ]
                await come_and_go(stage, actors[number :: ROUNDS + 1], topics)
                await all_of(going)
            await all_of(
                actor.do("publish", topics=topics[actor], count=2, rate=1000, confirm=True) for actor in actors
            )
            seconds = time.monotonic() - began

            found = await stage.hold_clean()
            assert found.gaps == 0
            published = MESSAGES + 2 * NODES + GUEST * ROUNDS
            assert found.deliveries > 5 * MESSAGES
            assert found.pairs_checked > 5 * MESSAGES
            print(
                f"{published:,} messages, {found.deliveries:,} deliveries in {seconds:.1f} s "
                f"({found.deliveries / seconds:,.0f} a second), {found.pairs_checked:,} pairs checked"
            )

    asyncio.run(story())


GUEST = 20  # messages of a node that comes and goes again


async def come_and_go(stage: Stage, some: list[Actor], topics: dict[Actor, list[str]]) -> None:
    """Some change a topic for another that they have not, and back; a guest joins the cluster, speaks and leaves it."""

    async def change(actor: Actor) -> None:
        other = next(topic for topic in TOPICS if topic not in topics[actor])
        await actor.do("subscribe", topic=other)
        await actor.do("publish", topics=[other], count=1, rate=1000)
        await actor.do("unsubscribe", topic=other)

    async def visit() -> None:
        guest = await stage.actor().start(join=some[0])
        await guest.do("subscribe", topic=TOPICS[0])
        await guest.do("publish", topics=[TOPICS[0]], count=GUEST, rate=1000, confirm=True)
        await guest.stop(leave=True)

    await all_of([*(change(actor) for actor in some), visit()])
