"""Slow and torn cables: the causal layer holds, a cut network heals, and without the layer the audits notice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from stage import Actor, Stage, all_of

from trellis.audit.verdict import Verdict

TOPIC = "talk"
TURNS = 12
SLOW = (0.1, 0.3)  # seconds


async def discussion(stage: Stage) -> Verdict:
    """The second answers what it hears from the first; from the first to the third the cable is slow.

    An answer takes the short way, and what it answers the long one: it must wait for it at the third.
    """
    first, second, third = sorted(await stage.start(3, proxied=True), key=lambda actor: actor.place)
    await stage.subscribe(TOPIC, [first, second, third])
    for one, other in ((first, third), (third, first)):  # whichever of them has dialled
        await one.do("cable", to=[other.address], delay=SLOW)
    for turn in range(TURNS):
        await first.do("publish", topics=[TOPIC], count=1, rate=1000)
        await second.do("heard", topic=TOPIC, count=2 * turn + 1)
        await second.do("publish", topics=[TOPIC], count=1, rate=1000)
        await first.do("heard", topic=TOPIC, count=2 * turn + 2)
    heard = await third.do("heard", topic=TOPIC, count=2 * TURNS)
    assert heard == {"delivered": 2 * TURNS, "gaps": 0}
    return await stage.verdict()


def on_spark(stage: Stage, audit: str) -> Verdict:
    """One promise alone: each takes Spark its seconds."""
    from trellis.pipeline.audit import runs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "asked_of", lambda *_: (audit,))
        [found] = runs.verdicts_on(stage.directory / "run", False, None, "local[2]")
    return found


def test_an_answer_waits_for_what_it_answers_whatever_the_cables_do(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path) as stage:
            found = await discussion(stage)
            assert found.broken == {}
            assert found.pairs_checked == 3 * 2 * TURNS
            assert stage.troubles == []

    asyncio.run(story())


def test_without_the_causal_layer_the_same_discussion_is_found_out(tmp_path: Path, spark: Any) -> None:
    """The trace still says causal: if the audits were blind, this run would be as clean as the one above."""

    async def story() -> None:
        async with Stage(tmp_path, disorder=True) as stage:
            found = await discussion(stage)
            assert found.about["orders"] == {TOPIC: "causal"}
            assert set(found.broken) == {"causal"}
            assert found.violations["causal"] > TURNS // 2
            again = on_spark(stage, "causal")
            assert again.violations == {"causal": found.violations["causal"]}
            assert again.witnesses["causal"] == found.witnesses["causal"]

    asyncio.run(story())


def test_two_halves_that_were_cut_apart_have_everything_of_each_other_once_they_are_whole(tmp_path: Path) -> None:
    each = 200

    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            actors = sorted(await stage.start(6, proxied=True), key=lambda actor: actor.place)
            await stage.subscribe(TOPIC, actors)
            halves = actors[::2], actors[1::2]
            await speak(actors, each)
            await all_of(actor.do("heard", topic=TOPIC, count=len(actors) * each) for actor in actors)

            await tear(halves, torn=True)
            going = [actor.ask("publish", topics=[TOPIC], count=each, rate=100) for actor in actors]
            await all_of(actor.do("reaches", count=2) for actor in actors)  # they have noticed
            await all_of(going)
            await speak(actors, each)  # confirmed within each half
            heard = await all_of(actor.do("told") for actor in actors)
            at_most = (len(actors) + 2 * len(halves[0]) + len(halves[1])) * each  # the rest is on the other side
            assert all(told[TOPIC]["delivered"] < at_most for told in heard)

            await tear(halves, torn=False)
            await all_of(actor.do("reaches", count=5) for actor in actors)
            everything = 3 * len(actors) * each
            heard = await all_of(actor.do("heard", topic=TOPIC, count=everything) for actor in actors)
            assert heard == [{"delivered": everything, "gaps": 0}] * len(actors)
            found = await stage.hold_clean()
            assert found.pairs_checked == len(actors) * everything

    asyncio.run(story())


async def speak(actors: list[Actor], count: int) -> None:
    await all_of(actor.do("publish", topics=[TOPIC], count=count, rate=1000, confirm=True) for actor in actors)


async def tear(halves: tuple[list[Actor], list[Actor]], torn: bool) -> None:
    """Nothing passes between the halves, and no connection says so; or it passes again."""
    for half, other in (halves, halves[::-1]):
        await all_of(actor.do("cable", to=[far.address for far in other], torn=torn) for actor in half)
