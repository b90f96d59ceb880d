"""Many nodes ask to join within one second, through whoever is there: each gets a place, and everybody knows everybody.

The asking is what must happen within the second, and is held to it; when the last one is in depends on the machine.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from links import run
from stage import Actor, Stage, all_of

import trellis
from trellis.live import transport
from trellis.live.places import UNHEARD, Member
from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner, Server

COMERS = 50
GONE = 30_000  # members, more than fit one frame
EARLY = 4  # who are there before, the founder among them
SECOND = 1.0
SPREAD = 0.3  # seconds over which the dice spread them
PROCESSES = 12


class Street:
    """Where comers wait until all of them stand before their doors. It notes when each asks first."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.standing = 0
        self.all_stand = asyncio.Event()
        self.asked: list[float] = []

    async def wait(self) -> None:
        self.standing += 1
        if self.standing == COMERS:
            self.all_stand.set()
        await self.all_stand.wait()
        await asyncio.sleep(SPREAD * self.dice.random())
        self.asked.append(asyncio.get_running_loop().time())


class Way:
    """The network, as one comer takes it: by way of the street."""

    def __init__(self, street: Street) -> None:
        self.street = street
        self.came = False

    async def listen(self, address: str, owner: Owner, tls: Identity | None) -> Server:
        return await transport.listen(address, owner, tls)

    async def dial(self, address: str, owner: Owner, tls: Identity | None, timeout: float) -> Link:
        if not self.came:
            self.came = True
            await self.street.wait()
        return await transport.dial(address, owner, tls, timeout)


@pytest.mark.parametrize("lasting", [True, False], ids=["with data", "without data"])
def test_fifty_nodes_that_ask_within_a_second_get_fifty_places_and_one_view(lasting: bool, tmp_path: Path) -> None:
    dice = random.Random(11)

    async def story() -> None:
        loop = asyncio.get_running_loop()
        street = Street(dice)

        def node(number: int, join: str | None, **given: Any) -> trellis.Node:
            return trellis.Node(join=join, plaintext=True, data=tmp_path / f"{number}" if lasting else None, **given)

        early = [node(0, None)]
        await early[0].start()
        for number in range(1, EARLY):
            early.append(node(number, dice.choice(early).address))
            await early[-1].start()
        comers = [node(EARLY + n, dice.choice(early).address, net=Way(street)) for n in range(COMERS)]
        await all_of(comer.start() for comer in comers)

        asked = sorted(street.asked)
        print(f"asked within {asked[-1] - asked[0]:.2f} s, all in after {loop.time() - asked[0]:.2f} s")
        assert len(asked) == COMERS
        assert asked[-1] - asked[0] < SECOND
        assert len({comer.place for comer in comers}) == COMERS
        everybody = early + comers
        assert len({node.place for node in everybody}) == len(everybody)
        while any(len(node.host.reached) < len(everybody) - 1 for node in everybody) or not agree(everybody):
            await asyncio.sleep(0.05)  # the limit of `run` is the end of our patience
        assert {member.place for member in everybody[0].members.roster.present()} == {n.place for n in everybody}
        print(f"everybody reaches everybody after {loop.time() - asked[0]:.2f} s")

        ears = await all_of(node.subscribe("news") for node in everybody)
        await all_of(node.publish("news", str(node.place).encode(), confirm=True) for node in everybody)
        for ear in ears:
            stream = aiter(ear)
            heard = [await anext(stream) for _ in everybody]
            assert sorted(int(event.payload) for event in heard) == sorted(node.place for node in everybody)
        await all_of(node.stop() for node in everybody)

    run("uvloop", story(), limit=90)


def agree(nodes: list[trellis.Node]) -> bool:
    rosters = [node.members.roster.all_news() for node in nodes]
    return all(roster == rosters[0] for roster in rosters)


def test_twelve_processes_with_certificates_that_join_at_once_get_twelve_places_and_one_view(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path, tls=True) as stage:
            early = await stage.start(2)
            comers = [stage.actor() for _ in range(PROCESSES)]
            await all_of(comer.start(join=early[n % len(early)]) for n, comer in enumerate(comers))
            everybody = [*early, *comers]
            assert len({actor.place for actor in everybody}) == len(everybody)
            await all_of(actor.do("reaches", count=len(everybody) - 1) for actor in everybody)
            views = await all_of(view(actor) for actor in everybody)
            assert views == [{(actor.place, 0, actor.address, actor.name) for actor in everybody}] * len(everybody)

            await stage.subscribe("news", everybody)
            await all_of(actor.do("publish", topics=["news"], count=1, rate=1, confirm=True) for actor in everybody)
            await all_of(actor.do("heard", topic="news", count=len(everybody)) for actor in everybody)
            found = await stage.hold_clean()
            assert (found.pairs_checked, found.gaps) == (len(everybody) ** 2, 0)

    asyncio.run(story())


async def view(actor: Actor) -> set[tuple[int, int, str, str]]:
    """Whom it holds to be a member: place, incarnation, address and name."""
    members = (await actor.do("status"))["members"]
    return {(m["place"], m["incarnation"], m["address"], m["name"]) for m in members}


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
