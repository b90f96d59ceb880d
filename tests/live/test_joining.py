"""Many nodes join within one second, through whoever is there: each gets a place, and everybody knows everybody."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from links import run
from stage import all_of

import trellis
from trellis.live.places import UNHEARD, Member

COMERS = 50
GONE = 30_000  # members, more than fit one frame


@pytest.mark.parametrize("lasting", [True, False], ids=["with data", "without data"])
def test_fifty_nodes_that_join_within_a_second_get_fifty_places_and_one_view(lasting: bool, tmp_path: Path) -> None:
    dice = random.Random(11)

    async def story() -> None:
        loop = asyncio.get_running_loop()

        def node(number: int, join: str | None) -> trellis.Node:
            return trellis.Node(join=join, plaintext=True, data=tmp_path / f"{number}" if lasting else None)

        there = [node(0, None)]
        await there[0].start()
        begun = loop.time()

        async def come(number: int) -> None:
            await asyncio.sleep(0.9 * dice.random())
            comer = node(number, dice.choice(there).address)
            asked.append(loop.time() - begun)
            await comer.start()
            there.append(comer)

        asked: list[float] = []
        await all_of(come(number) for number in range(1, COMERS))
        print(f"asked within {max(asked):.2f} s, all in after {loop.time() - begun:.2f} s")

        assert len({node.place for node in there}) == COMERS
        while any(len(node.host.reached) < COMERS - 1 for node in there) or not agree(there):
            await asyncio.sleep(0.05)  # the limit of `run` is the end of our patience
        print(f"everybody reaches everybody after {loop.time() - begun:.2f} s; places {max(n.place for n in there)}")

        ears = await all_of(node.subscribe("news") for node in there)
        await all_of(node.publish("news", str(node.place).encode(), confirm=True) for node in there)
        for ear in ears:
            stream = aiter(ear)
            heard = [await anext(stream) for _ in range(COMERS)]
            assert sorted(int(event.payload) for event in heard) == sorted(node.place for node in there)
        await all_of(node.stop() for node in there)

    run("uvloop", story(), limit=60)


def agree(nodes: list[trellis.Node]) -> bool:
    rosters = [node.members.roster.all_news() for node in nodes]
    return all(roster == rosters[0] for roster in rosters)


def test_whoever_joins_a_cluster_of_long_memory_hears_of_all_who_ever_were() -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as first:
            gone = [
                Member(100 + n, 3, f"10.0.{n >> 8}.{n & 255}:7000", f"node-{n}", True, UNHEARD) for n in range(GONE)
            ]
            first.members.roster.hear(gone)
            async with trellis.Node(plaintext=True, join=first.address) as second:
                assert second.members.roster.members[100 + GONE - 1] == gone[-1]
                async with trellis.Node(plaintext=True, join=second.address) as third:
                    while not agree([first, second, third]):
                        await asyncio.sleep(0.05)
                    assert len(third.members.roster.members) == GONE + 3

    run("uvloop", story(), limit=60)
