"""Sixteen processes with certificates: 20,000 messages from all, while they join and leave topics and the cluster."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

from stage import Actor, Stage, all_of

from trellis.audit import PROMISES, needed_rows
from trellis.audit.delivery import checked
from trellis.trace import store
from trellis.words import Origin, Topic

TOPICS = ("a", "b", "c", "d")
MESSAGES = 20_000
NODES = 16
STEADY = 8  # of the sixteen, on each topic
ROUNDS = 5
PORTION = MESSAGES // NODES // ROUNDS  # of each node in each round
GUEST = 20  # messages of a node that comes and goes again

Book = Counter[tuple[Origin, Topic]]  # how many messages each life published on each topic


def test_twenty_thousand_messages_of_sixteen_processes_that_come_and_go(tmp_path: Path) -> None:
    assert PORTION * NODES * ROUNDS == MESSAGES

    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            actors = await stage.start(NODES)
            assert sorted(actor.place for actor in actors) == list(range(NODES))
            topics = {actor: [TOPICS[n % 4], TOPICS[(n + 1 + n // 4 % 3) % 4]] for n, actor in enumerate(actors)}
            for topic in TOPICS:
                steady = [actor for actor in actors if topic in topics[actor]]
                assert len(steady) == STEADY
                await stage.subscribe(topic, steady)
            published: Book = Counter()
            began = time.monotonic()
            for number in range(ROUNDS):
                going = [say(actor, topics[actor], PORTION, published) for actor in actors]
                await all_of([*going, come_and_go(stage, actors[number :: ROUNDS + 1], topics, published)])
            assert published.total() == MESSAGES + sum(len(actors[n :: ROUNDS + 1]) + GUEST for n in range(ROUNDS))
            await all_of(say(actor, topics[actor], 2, published, confirm=True) for actor in actors)
            seconds = time.monotonic() - began

            found = await stage.hold_clean()
            assert found.gaps == 0
            assert found.violations == dict.fromkeys(PROMISES["causal"], 0)
            hold_told(stage, published)
            print(
                f"{published.total():,} messages, {found.deliveries:,} deliveries in {seconds:.1f} s "
                f"({found.deliveries / seconds:,.0f} a second), {found.pairs_checked:,} pairs checked"
            )

    asyncio.run(story())


def hold_told(stage: Stage, published: Book) -> None:
    """The trace has all that was published, and nothing else; and on each topic the audits had enough to look at."""
    trace, about = store.read(stage.directory / "run")
    assert about["orders"] == dict.fromkeys(TOPICS, "causal")
    rows = needed_rows(trace)
    said = [row for row in rows if row.kind == "publish"]
    assert Counter(((row.source, row.incarnation), row.topic) for row in said) == published
    assert len({(row.source, row.incarnation, row.topic, row.seq) for row in said}) == len(said)
    assert {row.source for row in said} >= set(range(NODES))
    delivered = Counter(row.topic for row in rows if row.kind == "deliver")
    for topic in TOPICS:
        owed = STEADY * sum(count for (_, about), count in published.items() if about == topic)
        assert owed > STEADY * MESSAGES // len(TOPICS)
        assert delivered[topic] >= owed
        assert checked([row for row in rows if row.topic in (topic, "")], quiet=True) >= owed


async def say(actor: Actor, topics: list[Topic], count: int, book: Book, **how: Any) -> None:
    """Publish in turn on these topics, and note it once it is accepted."""
    await actor.do("publish", topics=topics, count=count, rate=400, **how)
    for n, topic in enumerate(topics):
        book[(actor.place, actor.incarnation), topic] += len(range(n, count, len(topics)))


async def come_and_go(stage: Stage, some: list[Actor], topics: dict[Actor, list[Topic]], book: Book) -> None:
    """Some change a topic for another that they have not, and back; a guest joins the cluster, speaks and leaves it."""

    async def change(actor: Actor) -> None:
        other = next(topic for topic in TOPICS if topic not in topics[actor])
        await actor.do("subscribe", topic=other)
        await say(actor, [other], 1, book)
        await actor.do("unsubscribe", topic=other)

    async def visit() -> None:
        guest = await stage.actor().start(join=some[0])
        await guest.do("subscribe", topic=TOPICS[0])
        await say(guest, [TOPICS[0]], GUEST, book, confirm=True)
        await guest.stop(leave=True)

    await all_of([*(change(actor) for actor in some), visit()])
