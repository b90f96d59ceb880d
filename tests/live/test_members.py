"""Whole nodes on links in memory: who dials whom, what happens when links break, and what stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from links import run

import trellis
from trellis.errors import NetworkError
from trellis.live.frames import Bye, Carry
from trellis.live.memory import Memory
from trellis.live.transport import Link
from trellis.protocols.parts import detector
from trellis.words import MessageId


class Town(Memory):
    """Addresses to some of which nobody gets through: dialling them lasts until the town is open again, and fails."""

    def __init__(self) -> None:
        super().__init__()
        self.mute: set[str] = set()
        self.open = asyncio.Event()
        self.dialled: list[str] = []

    async def dial(self, address: str, *rest: Any) -> Link:
        self.dialled.append(address)
        if address in self.mute:
            await self.open.wait()
            raise NetworkError(f"{address}: no link in time")
        return await super().dial(address, *rest)

    def node(self, number: int, join: trellis.Node | None = None, **given: Any) -> trellis.Node:
        """It listens at m:NUMBER."""
        at = join.address if join is not None else None
        return trellis.Node(f"m:{number}", at, plaintext=True, net=self, **given)


def told(story: Any) -> None:
    run("asyncio", story, limit=20)


async def until(test: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not test():
            await asyncio.sleep(0.002)


# Starting


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


def diallers(*nodes: trellis.Node) -> set[Any]:
    return {peer.dialling for node in nodes for peer in node.members.peers.values()}


@pytest.mark.parametrize("lasting", [True, False], ids=["with data", "without data"])
@pytest.mark.parametrize("how", ["cancelled", "failing"])
def test_a_start_that_is_given_up_leaves_nothing_behind(how: str, lasting: bool, tmp_path: Path) -> None:
    given = {"data": tmp_path / "data", "trace": tmp_path / "trace"} if lasting else {"trace": tmp_path / "trace"}

    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b:
            await until(lambda: a.host.reached and b.host.reached)
            before = others()
            town.mute = {"m:2", "m:3"}  # the comer gets its place and a link to a, but none to b
            comer = town.node(3, a, **given)
            starting = asyncio.create_task(comer.start())
            await until(lambda: 2 in a.host.reached and 1 in comer.members.peers)
            if how == "cancelled":
                starting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await starting
            else:
                comer.be_ousted("its place is another's")
                with pytest.raises(trellis.TrellisError, match="its place is another's"):
                    await starting
            await until(lambda: list(a.host.reached) == [1] and "m:3" not in town.servers)
            assert comer.host.timers == {}
            assert not comer.running
            town.mute.clear()
            town.open.set()
            await until(lambda: others() - before <= diallers(a, b))
            async with town.node(3, a, **given) as again:  # nobody holds its directories
                await until(lambda: sorted(again.host.reached) == [0, 1])
                kept = lasting or how == "cancelled"  # its place, in its directory or given back
                assert (again.place, again.incarnation) == ((2, 1) if kept else (3, 0))

    told(story())


# Links


def test_nothing_of_a_link_reaches_the_machines_after_its_end_though_it_came_in_the_same_read() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b:
            await until(lambda: a.host.reached and b.host.reached)
            happened: list[str] = []
            suspect, receive = a.host.suspect, a.host.receive
            a.host.suspect = lambda *what: (happened.append("suspect"), suspect(*what))[1]  # type: ignore[method-assign]
            a.host.receive = lambda *what: (happened.append("receive"), receive(*what))[1]  # type: ignore[method-assign]
            [link] = a.members.known
            carry = Carry("detector", 0, detector.Alive(MessageId((1, 0), detector.TOPIC, 1), {}))
            a.members.received(link, [carry, Bye("enough"), carry])
            assert happened == ["receive", "suspect"]

    told(story())
