"""A discussion held by the nodes of a cluster: each opens, or replies to what it has heard.

Promises: a reply names the remark that it answers, and is published after that was delivered to its author: so it may
          reach nobody before it. Whoever's node dies falls silent; the others go on.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import msgspec

from trellis.errors import NetworkError
from trellis.live.client import Client, connect
from trellis.live.cluster import Cluster
from trellis.live.subscription import Gap, Subscription

TOPIC = "discussion"
THINK = 0.1  # seconds between hearing something and saying something
SILENCE = 1.0  # seconds after which somebody opens anew

Remark = tuple[int, int, int]  # source, incarnation, number


class Said(msgspec.Struct, frozen=True):
    """What a remark consists of."""

    by: str
    to: Remark | None  # None: it opens
    text: str


class Participant:
    """Speaks through one node."""

    def __init__(self, name: str, client: Client, subscription: Subscription) -> None:
        self.name = name
        self.client = client
        self.subscription = subscription
        self.heard: dict[Remark, Said] = {}
        self.gaps = 0
        self.lost = False  # its node died
        self.last: Remark | None = None  # that somebody else made
        self.fresh = asyncio.Event()  # something was heard since I spoke

    async def listen(self) -> None:
        with suppress(NetworkError):
            async for item in self.subscription:
                if isinstance(item, Gap):
                    self.gaps += item.count
                    continue
                remark = (item.source, item.incarnation, item.seq)
                said = self.heard[remark] = msgspec.json.decode(item.payload, type=Said)
                if said.by != self.name:
                    self.last = remark
                    self.fresh.set()

    async def speak(self, enough: asyncio.Event) -> None:
        """Replies to the last that was heard; opens where nothing is said."""
        try:
            while not enough.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.fresh.wait(), SILENCE)
                await asyncio.sleep(THINK)
                await self.say(self.last if self.fresh.is_set() else None)
                self.fresh.clear()
            await self.say(None, "goodbye", confirm=True)
        except NetworkError:
            self.lost = True

    async def say(self, to: Remark | None, text: str = "what do you all think?", confirm: bool = False) -> None:
        if to is not None:
            text = f"I heard you, {self.heard[to].by}"
        await self.client.publish(TOPIC, msgspec.json.encode(Said(self.name, to, text)), confirm=confirm)


async def discuss(cluster: Cluster, seconds: float, killed: int | None = None) -> list[Participant]:
    """Let all nodes that run talk for so long; `killed` is one that dies in the middle, by kill -9."""
    enough = asyncio.Event()
    async with AsyncExitStack() as open_until_the_end:
        people = []
        for node in cluster.running:
            client = connect(f"trellis://{node.address}", **cluster.credentials)
            await open_until_the_end.enter_async_context(client)
            people.append(Participant(node.name, client, await client.subscribe(TOPIC)))
        listening = [asyncio.create_task(one.listen()) for one in people]
        await people[0].say(None)
        async with asyncio.TaskGroup() as speaking:
            for one in people:
                speaking.create_task(one.speak(enough))
            await asyncio.sleep(seconds / 2)
            if killed is not None:
                await asyncio.to_thread(cluster.kill, killed)
            await asyncio.sleep(seconds / 2)
            enough.set()
        for task in listening:
            task.cancel()
        await asyncio.wait(listening)
    return people


def thread(heard: dict[Remark, Said], length: int) -> list[tuple[Remark, Said]]:
    """The end of a line of replies, each to the one before it, where one of that length is to be had."""
    for remark in reversed(heard):
        line = [remark]
        while len(line) < length and (to := heard[line[-1]].to) is not None and to in heard:
            line.append(to)
        if len(line) == length:
            return [(found, heard[found]) for found in reversed(line)]
    return []
