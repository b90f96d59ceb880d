"""One node in a process of its own. It obeys commands on standard input and reports on standard output, as JSON lines.

The first argument is JSON: what `trellis.Node` takes, and
    proxied    links that it dials go through proxies of its own, which the command `cable` turns
    on_demand  damulticast may be the overlay of a cluster with links on demand; it is made for more, but has orders
    disorder   causal topics are kept by the layer for no order at all, and the trace still says causal

Commands have a number `ref`, which comes back in the answer: {"ref": 3, "ok": {...}} or {"ref": 3, "error": "..."}.
What nobody asked for has the key "is": it is "ready", an error came to the "loop", what was published is "acked".
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

from proxy import Proxy

import trellis
from trellis import protocols
from trellis.live import transport
from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner, Server

TICK = 0.02  # seconds between two portions of what is published at a rate


class Cables:
    """The network as this node sees it: each address that it dials is behind a proxy."""

    def __init__(self) -> None:
        self.proxies: dict[str, Proxy] = {}
        self.delays: dict[str, tuple[float, float]] = {}
        self.torn: set[str] = set()

    async def listen(self, address: str, owner: Owner, tls: Identity | None) -> Server:
        return await transport.listen(address, owner, tls)

    async def dial(self, address: str, owner: Owner, tls: Identity | None, timeout: float) -> Link:
        if address not in self.proxies:
            self.proxies[address] = proxy = Proxy(address, seed=len(self.proxies))
            await proxy.__aenter__()
            self.turn(address)
        return await transport.dial(self.proxies[address].address, owner, tls, timeout)

    def turn(self, address: str) -> None:
        proxy = self.proxies.get(address)
        if proxy is not None:
            proxy.delay = self.delays.get(address, (0.0, 0.0))
            if address in self.torn:
                proxy.pause()
            else:
                proxy.resume()

    async def cable(self, to: list[str], delay: tuple[float, float] = (0.0, 0.0), torn: bool = False) -> None:
        """How the links to these addresses are from now on; torn: nothing passes, and nobody is told."""
        for address in to:
            self.delays[address] = delay
            (self.torn.add if torn else self.torn.discard)(address)
            self.turn(address)


class Ear:
    """What one subscription has heard."""

    def __init__(self, subscription: trellis.Subscription) -> None:
        self.subscription = subscription
        self.delivered = 0
        self.gaps = 0
        self.topics: Counter[str] = Counter()  # what was delivered, by the topic that it was published on
        self.news = asyncio.Event()
        self.task = asyncio.create_task(self.listen())

    async def listen(self) -> None:
        async for item in self.subscription.batches():
            if isinstance(item, trellis.Gap):
                self.gaps += item.count
            else:
                self.delivered += len(item.payloads)
                self.topics[item.topic] += len(item.payloads)
            self.news.set()

    async def until(self, count: int) -> None:
        while self.delivered + self.gaps < count:
            self.news.clear()
            await self.news.wait()


class Actor:
    def __init__(self, given: dict[str, Any]) -> None:
        self.cables = Cables() if given.pop("proxied", False) else None
        if given.pop("on_demand", False):
            protocols.LAYERED["damulticast"].links_on_demand = True
        if given.pop("disorder", False):
            protocols.ORDERINGS["causal"] = protocols.ORDERINGS["unordered"]
        self.node = trellis.Node(**given, **({"net": self.cables} if self.cables else {}))
        self.ears: dict[str, Ear] = {}
        self.published: dict[str, int] = {}
        self.over = asyncio.Event()
        self.hushed = asyncio.Event()
        self.talking: asyncio.Task[None]
        self.tasks: set[asyncio.Task[None]] = set()

    async def live(self) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: say({"is": "loop", "what": repr(context)}))
        reader = asyncio.StreamReader(limit=1 << 20)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        try:
            await self.node.start()
        except trellis.TrellisError as error:
            say({"is": "failed", "what": str(error)})
            return
        say({"is": "ready", **self.who()})
        commands = asyncio.create_task(self.obey_all(reader))
        over = asyncio.create_task(self.over.wait())
        await asyncio.wait([commands, over], return_when=asyncio.FIRST_COMPLETED)  # nobody to obey: go
        await self.node.stop()

    async def obey_all(self, reader: asyncio.StreamReader) -> None:
        async for line in reader:
            task = asyncio.create_task(self.obey(json.loads(line)))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def obey(self, command: dict[str, Any]) -> None:
        ref, name = command.pop("ref"), command.pop("do")
        try:
            say({"ref": ref, "ok": await getattr(self, f"do_{name}")(**command)})
        except Exception as error:
            say({"ref": ref, "error": f"{type(error).__name__}: {error}"})

    def who(self) -> dict[str, Any]:
        return {"place": self.node.place, "incarnation": self.node.incarnation, "address": self.node.address}

    async def do_subscribe(self, topic: str, order: str = "causal") -> None:
        self.ears[topic] = Ear(await self.node.subscribe(topic, order=order))

    async def do_subscribe_all(self, topics: list[str], order: str = "causal") -> None:
        await asyncio.gather(*(self.do_subscribe(topic, order) for topic in topics))

    async def do_unsubscribe(self, topic: str) -> dict[str, int]:
        await self.node.unsubscribe(topic)
        ear = self.ears.pop(topic)
        await ear.task
        return {"delivered": ear.delivered, "gaps": ear.gaps}

    async def do_publish(
        self, topics: list[str], count: int, rate: float, confirm: bool = False, order: str = "causal"
    ) -> None:
        """`count` messages, in turn on these topics, `rate` a second as far as it can."""
        loop, sent = asyncio.get_running_loop(), 0
        start = loop.time()
        while sent < count:
            due = min(count, sent + max(1, int((loop.time() - start) * rate) - sent))
            for n, topic in enumerate(topics):
                portion = range(sent + (n - sent) % len(topics), due, len(topics))
                if portion:
                    payloads = [f"{self.node.place}.{self.node.incarnation} {topic} {k}".encode() for k in portion]
                    self.published[topic] = self.published.get(topic, 0) + len(payloads)
                    number = self.published[topic]
                    await self.node.publish_many(topic, payloads, confirm=confirm, order=order)
                    if confirm:
                        say({"is": "acked", **self.who(), "topic": topic, "upto": number})
            sent = due
            await asyncio.sleep(max(TICK, start + sent / rate - loop.time()) if sent < count else 0)

    async def do_talk(self, topics: list[str], rate: float) -> None:
        """Publish until `hush`, each portion confirmed before the next one."""
        self.talking = asyncio.create_task(self.talk(topics, rate))

    async def talk(self, topics: list[str], rate: float) -> None:
        portion = max(len(topics), int(rate * TICK))
        while not self.hushed.is_set():
            await self.do_publish(topics, portion, rate, confirm=True)
            await asyncio.sleep(portion / rate)

    async def do_hush(self) -> None:
        """When all that was published is confirmed."""
        self.hushed.set()
        await self.talking

    async def do_has(self) -> dict[str, Any]:
        """Per topic, up to which number of each source everything came, and how much waits for something before it."""
        found = {}
        for topic, course in self.node.courses.items():
            stack: Any = self.node.host.machines[course.stack]
            state = stack.overlay.topics[topic]
            upto = {f"{source}.{life}": seq for (source, life), seq in sorted(state.seen.upto.items()) if seq}
            found[topic] = {
                "upto": upto,
                "ahead": sum(map(len, state.seen.ahead.values())),
                "held": stack.ordering.held,
            }
        return found

    async def do_numbers(self) -> dict[str, Any]:
        """Under total order: the last number that came on each topic, and what the desks say that are led from here."""
        machine: Any = self.node.host.machines["vcube/total"]
        desks = machine.ordering.bureau
        led = {desk: desks.copies_of[desk].state for desk, ledger in desks.ledgers.items() if ledger.leading}
        return {
            "came": machine.ordering.clock,
            "given": {topic: number for state in led.values() for topic, number in state.clocks.items()},
            "void": {
                topic: sum(v.last - v.first + 1 for v in vs) for s in led.values() for topic, vs in s.voids.items()
            },
            "leads": sorted(led),
        }

    async def do_heard(self, topic: str, count: int) -> dict[str, int]:
        """When so many have come on a topic since it was subscribed to, or were announced as gaps."""
        ear = self.ears[topic]
        await ear.until(count)
        return {"delivered": ear.delivered, "gaps": ear.gaps}

    async def do_stamps(self) -> dict[str, int]:
        """Bytes of timestamps that left from here: as they are, and as they were sent."""
        spent = self.node.host.tally.stamps
        return {"plain": spent.plain, "sent": spent.sent}

    async def do_told(self) -> dict[str, Any]:
        return {topic: {"delivered": ear.delivered, "gaps": ear.gaps} for topic, ear in self.ears.items()}

    async def do_heard_on(self, topic: str) -> dict[str, int]:
        """What a subscription has heard, by the topic that it was published on."""
        return dict(self.ears[topic].topics)

    async def do_flush(self) -> None:
        """The trace of what has happened so far is to be found on disk."""
        if self.node.host.journal is not None:
            self.node.host.journal.flush()

    async def do_status(self) -> dict[str, Any]:
        return self.node.status()

    async def do_reaches(self, count: int) -> None:
        """When there are links to so many others."""
        while len(self.node.host.reached) != count:
            await asyncio.sleep(TICK)

    async def do_cable(self, **how: Any) -> None:
        assert self.cables is not None, "start it with proxied"
        await self.cables.cable(**how)

    async def do_stop(self, leave: bool | None = None) -> None:
        await self.node.stop(leave)
        self.over.set()


def say(what: dict[str, Any]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        from uvloop import new_event_loop
    except ImportError:
        from asyncio import new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner, suppress(KeyboardInterrupt, BrokenPipeError):

        async def life() -> None:
            await Actor(json.loads(sys.argv[1])).live()

        runner.run(life())


if __name__ == "__main__":
    main()
