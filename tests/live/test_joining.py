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
from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner, Server

COMERS = 50
EARLY = 4  # who are there before, the founder among them
SECOND = 1.0
SPREAD = 0.3  # seconds over which the dice spread them
PROCESSES = 12


class Street:
    """The network, where comers wait until all of them stand before their doors. It notes when each asks first."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.standing = 0
        self.all_stand = asyncio.Event()
        self.asked: dict[Owner, float] = {}

    async def listen(self, address: str, owner: Owner, tls: Identity | None) -> Server:
        return await transport.listen(address, owner, tls)

    async def dial(self, address: str, owner: Owner, tls: Identity | None, timeout: float) -> Link:
        if owner not in self.asked:
            self.standing += 1
            if self.standing == COMERS:
                self.all_stand.set()
            await self.all_stand.wait()
            await asyncio.sleep(SPREAD * self.dice.random())
            self.asked[owner] = asyncio.get_running_loop().time()
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
        comers = [node(EARLY + n, dice.choice(early).address, net=street) for n in range(COMERS)]
        await all_of(comer.start() for comer in comers)

        asked = sorted(street.asked.values())
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


def test_a_node_that_is_stopped_while_it_comes_in_is_gone_and_hears_no_more(tmp_path: Path) -> None:
    """A member that is not there keeps it waiting; then others have news. `run` holds that no callback fails."""

    async def story() -> None:
        async with trellis.Node(plaintext=True) as first:
            absent = trellis.Node(join=first.address, plaintext=True, data=tmp_path / "absent")
            await absent.start()
            await absent.stop()
            comer = trellis.Node(join=first.address, plaintext=True, data=tmp_path / "comer", trace=tmp_path / "trace")
            coming = asyncio.create_task(comer.start())
            while not (hasattr(comer, "host") and first.place in comer.host.reached):
                await asyncio.sleep(0.001)
            assert not coming.done()
            coming.cancel()
            await asyncio.wait([coming])
            async with trellis.Node(join=first.address, plaintext=True):
                while len(first.host.reached) != 1:
                    await asyncio.sleep(0.01)
            again = trellis.Node(join=first.address, plaintext=True, data=tmp_path / "comer", trace=tmp_path / "trace")
            await again.start()  # what it had is free
            assert (again.place, again.incarnation) == (comer.place, 1)
            await again.stop()

    run("uvloop", story())
