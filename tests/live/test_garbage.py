"""Garbage at a whole node, from strangers and from a member that makes no sense: it serves the others, and says why.

`test_hostile.py` has the same for a bare listener, with more kinds of it.
"""

from __future__ import annotations

import asyncio
import random
import re
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, find, settings
from links import Ear
from stage import Actor, Stage, all_of
from wire import frames_of, integers, packed, plain, sent, with_value

from trellis.live import keys
from trellis.live.closings import LINES_MAX, PERIOD
from trellis.live.codec import PREFIX, Bundle
from trellis.live.frames import FRAMES, VERSION, Attach, Carry, Done, Frame, Hello, Join, Order, Roster, Welcome
from trellis.live.tls import Identity
from trellis.live.transport import Link, dial
from trellis.protocols.overlays.damulticast_packets import (
    Ask,
    Digest,
    Found,
    Gossip,
    Holdings,
    Refill,
    Search,
    Start,
    Stray,
)
from trellis.protocols.overlays.vcube_packets import Ack, Cut, Fill, Pub, Refuse, State, Sub
from trellis.protocols.parts.company import Entry
from trellis.protocols.parts.detector import Alive
from trellis.protocols.parts.view import Rank
from trellis.words import Message, MessageId, Packet

MEMORY_MAX = 64 << 20
HALF_OPEN = 1000
TOPIC = "news"
EDGES = (0, -1, 1 << 31, 1 << 53, 1 << 63, (1 << 64) - 1)
plainly = settings(phases=[Phase.generate], database=None)


def resident(actor: Actor) -> int:
    return int(Path(f"/proc/{actor.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def port(actor: Actor) -> tuple[str, int]:
    host, _, number = actor.address.rpartition(":")
    return host, int(number)


@asynccontextmanager
async def served(stage: Stage, town: Actor, others: list[Actor]) -> AsyncIterator[None]:
    """Meanwhile the others publish, and every message is confirmed by all: the town takes part."""
    await stage.subscribe(TOPIC, [town, *others])
    stop = asyncio.Event()
    confirmed = 0

    async def talk(actor: Actor) -> None:
        nonlocal confirmed
        while not stop.is_set():
            await actor.do("publish", topics=[TOPIC], count=5, rate=1000, confirm=True, patience=10)
            confirmed += 5

    talks = [asyncio.create_task(talk(actor)) for actor in others]
    yield
    before = confirmed
    while confirmed < before + 50:  # it still does
        await asyncio.sleep(0.01)
    stop.set()
    await all_of(talks)
    await all_of(actor.do("heard", topic=TOPIC, count=confirmed) for actor in (town, *others))


def beginnings() -> Iterator[bytes]:
    """What no stranger may say, one for each connection."""
    dice = random.Random(3)
    for size in (1, 7, 8, 9, 100, 5000):
        yield dice.randbytes(size)
    for _ in range(20):
        yield PREFIX.pack(dice.randrange(60), dice.randrange(60)) + dice.randbytes(200)
    yield PREFIX.pack(1 << 31, 0)
    yield PREFIX.pack(0, 1 << 31)
    yield PREFIX.pack((1 << 32) - 1, (1 << 32) - 1)
    for nested in (b"\x91", b"\x81\xa1a", b"\xdd\x00\x00\x00\x01"):
        yield packed(nested * (4000 // len(nested)))
    for kind in FRAMES:
        frame = find(frames_of(kind), lambda _: True, settings=plainly)
        if kind is not Join:  # which is for strangers; it comes with senseless numbers below
            yield sent(frame)
    for frame in (Hello(VERSION, "c", 5, 0, "127.0.0.1:1", 9), Join("127.0.0.1:1", "c", 1, 1, 1), Attach(VERSION)):
        header, body = plain(frame)
        for path, _, _ in integers(inspected(type(frame)), header):
            for value in EDGES:
                yield packed(with_value(header, path, value), body)


def inspected(kind: type[Frame]) -> Any:
    from msgspec import inspect

    return inspect.type_info(kind)


async def throw(where: tuple[str, int], data: bytes, tls: ssl.SSLContext | None) -> None:
    """Connect, send, and wait until the other side has had enough."""
    with suppress(ConnectionError, ssl.SSLError):
        reader, writer = await asyncio.open_connection(*where, ssl=tls, server_hostname="" if tls else None)
        try:
            writer.write(data)
            if tls is None:
                writer.write_eof()
            await reader.read()
        finally:
            writer.close()


def closings(actor: Actor) -> int:
    """Connections whose end is in the log, in lines of their own or counted."""
    left_out = sum(int(found[1]) for line in actor.log if (found := re.search(r" (\d+) more closings", line)))
    return left_out + sum("link from" in line and "closed: " in line for line in actor.log)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_garbage_from_strangers_leaves_a_node_serving_and_small_and_its_log_says_why(tls: bool, tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path, tls=tls) as stage:
            town, *others = await stage.start(3)
            context = None
            if tls:
                keys.issue(tmp_path / "keys", "stranger")
                context = Identity(tmp_path / "keys", "stranger").client
            quiet = closings(town)
            async with served(stage, town, others):
                before, thrown = resident(town), 0
                for data in beginnings():
                    await throw(port(town), data, None)
                    thrown += 1
                assert_reasons(town, tls)
                if context is not None:  # with a good certificate
                    await all_of(throw(port(town), data, context) for data in beginnings())
                    thrown *= 2
                with socket_crowd() as crowd:
                    for _ in range(HALF_OPEN):
                        crowd.append(await half_open(port(town)))
                    grown = resident(town) - before
                print(f"{thrown} pieces of garbage, {HALF_OPEN} half-open: {grown / (1 << 20):.1f} MiB more")
                assert grown < MEMORY_MAX
                lines = len(town.log)
                async with asyncio.timeout(3 * PERIOD):  # the log counts what it left out once a period is over
                    while closings(town) - quiet < thrown + HALF_OPEN:
                        await throw(port(town), b"", None)
                        thrown += 1
                        await asyncio.sleep(0.25)
            assert closings(town) - quiet == thrown + HALF_OPEN
            assert lines < 4 * LINES_MAX, "garbage must not fill the disk"
            await stage.hold_clean()

    asyncio.run(story())


def assert_reasons(town: Actor, tls: bool) -> None:
    said = "\n".join(line for line in town.log if "closed: " in line)
    for reason in ("the limit is 4096", "a header of") if not tls else ("handshake",):
        assert reason in said, said


class socket_crowd(list[socket.socket]):
    def __enter__(self) -> socket_crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self:
            one.close()


async def half_open(where: tuple[str, int]) -> socket.socket:
    """It begins to say something, and leaves it there."""
    one = socket.socket()
    one.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(one, where)
    with suppress(ConnectionError):
        await loop.sock_sendall(one, b"\0\0")
    return one


class Senseless:
    """An honest member's beginning: it has joined and says hello. What follows is up to the test."""

    def __init__(self, town: Actor, place: int, cluster: str) -> None:
        self.town, self.place, self.cluster = town, place, cluster

    @classmethod
    async def join(cls, town: Actor) -> Senseless:
        ear = Ear()
        link = await dial(town.address, ear, None, 5)
        link.send(Join("127.0.0.1:1", ""))
        welcome = await ear.until(lambda e: e.frames and e.frames[0])
        assert isinstance(welcome, Welcome)
        link.close("asked and answered")
        return cls(town, welcome.place, welcome.cluster)

    async def hello(self) -> tuple[Link, Ear]:
        ear = Ear()
        link = await dial(self.town.address, ear, None, 5)
        link.send(Hello(VERSION, self.cluster, self.place, 0, "127.0.0.1:1", 1))
        await ear.until(lambda e: any(isinstance(frame, Roster) for frame in e.frames))
        return link, ear

    def senseless(self) -> Iterator[Frame]:
        """What no member says."""
        me, other = (self.place, 0), (self.place + 1, 0)
        id, block = MessageId(me, TOPIC, 1), Bundle.of([b"x"])
        message = Message(id, block)
        elsewhere = Message(MessageId(me, "elsewhere", 1), block)
        for stack in (
            "vcube/nonsense",
            "nonsense",
            "causal",
            "vcube/causal/causal",
            "vcube/damulticast/fifo",
            "vcube-printed/causal",
        ):
            yield Carry(stack, 1, Ack(id, 1))
        packets: list[Packet] = [
            Pub(id, 1, (elsewhere,)),
            Pub(id, 1, (message, message)),
            Pub(MessageId(me, TOPIC, 2), 1, (message,)),
            Pub(MessageId(other, TOPIC, 1), 1, (message,)),
            Pub(MessageId(me, TOPIC, -1), 1, (Message(MessageId(me, TOPIC, -1), block),)),
            Fill(id, (message, elsewhere), {}, {}, False),
            Alive(id, {}),
        ]
        for packet in packets:
            yield Carry("vcube/causal", 1, packet)
        yield Hello(VERSION, self.cluster, self.place, 0, "127.0.0.1:1", 1)
        yield Join("127.0.0.1:1", "")
        yield Attach(VERSION)
        yield Done(1)
        stranger = Entry(self.place + 1, 0, 1)
        below_one = Message(MessageId(me, TOPIC, 0), block)
        for packet in (
            Ack(id, 1),
            Gossip(id, (below_one,), TOPIC),
            Refill(id, (message, below_one), {}, {}, False, False),
            Ask(id, TOPIC, stranger),
            Stray(id, stranger),
            Holdings(id, {}, False, False, stranger, False),
            Digest(id, "0", False, False, stranger, False, (), ()),
        ):
            yield Carry("damulticast/fifo", 1, packet)
        yield Carry("vcube/causal", 1, Gossip(id, (message,), TOPIC))

    def out_of_place(self) -> Iterator[Frame]:
        """What a member may say that is late or mistaken: nothing comes of it."""
        me = (self.place, 0)
        for topic in (TOPIC, "nobody.joined.this"):
            id, rank = MessageId(me, topic, 1), Rank(self.place, 0, 1, 3)
            for height in (0, 1, 31):
                yield Carry("vcube/causal", 1, Ack(id, height))
                yield Carry("vcube/causal", 1, Refuse(id, height, rank, {}))
                yield Carry("vcube/causal", 1, Cut(MessageId(me, topic, -1), height, rank))
            yield Carry("vcube/causal", 1, State(id, rank, {(3, 9): 5}, True, False))
            yield Carry("vcube/causal", 1, State(id, rank, None, False, False))
            yield Carry("vcube/causal", 1, Fill(id, (), {}, {}, True))
            yield Carry("vcube/fifo", 1, Ack(id, 1))
            yield Carry("detector", 1, Ack(id, 1))
            yield Order(topic, "fifo")
            mine = Entry(self.place, 0, 1)
            far = {topic: {(3, 9): (1 << 53) - 1}, "elsewhere": {}}
            for packet in (
                Gossip(id, (Message(id, Bundle.of([b"x"])),), topic),
                Digest(id, "nonsense", True, True, mine, True, (mine,), ()),
                Holdings(id, far, True, False, mine, True),
                Refill(id, (), far, far, False, True),
                Search(id, topic, mine, True, 16),
                Found(id, topic, (mine,), ((topic, mine),), True),
                Ask(id, topic, mine),
                Start(id, topic, True, far),
                Stray(id, mine),
            ):
                yield Carry("damulticast/fifo", 1, packet)
        lost = Message(MessageId(me, "nobody.joined.this", 1), Bundle.of([b"x"]))
        yield Carry("vcube/causal", 1, Fill(lost.id, (lost,), {(3, 9): 5}, {(3, 9): 5}, False))
        yield Carry("vcube/causal", 1, Pub(lost.id, 31, (lost,)))


def test_a_member_that_makes_no_sense_loses_its_link_and_the_node_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with Stage(tmp_path) as stage:
            town, *others = await stage.start(4)
            async with served(stage, town, others):
                intruder = await Senseless.join(town)
                link, ear = await intruder.hello()
                for frame in intruder.out_of_place():
                    link.send(frame)
                for frame in intruder.senseless():
                    link.send(frame)
                    _, reason = await ear.until(lambda e: e.ends and e.ends[0])
                    assert "closed" in reason, frame
                    link, ear = await intruder.hello()
                assert intruder.place == 4  # the first one of a cluster of the town's: it is given waves
                await refuse_a_subscription(town, link, ear)
            said = [line for line in town.log if "closed: " in line and "link from" in line]
            assert any("this node has no such machine" in line for line in said)
            assert any("members do not say that" in line for line in said)
            assert sum("its frames made this node fail" in line for line in town.log) == 1  # the refused subscription
            await stage.hold_clean()

    async def refuse_a_subscription(town: Actor, link: Link, ear: Ear) -> None:
        """A subscription goes to every member, and nobody refuses one: the machine fails."""
        standing = town.ask("subscribe", topic="other")
        wave = await ear.until(lambda e: next((f for f in e.frames if asks(f)), None))
        link.send(Carry(wave.stack, 1, Refuse(wave.packet.id, wave.packet.height, Rank(9, 0, 1, 3), {})))
        await ear.until(lambda e: e.ends)
        await standing  # it stands all the same: whoever does not answer is passed over

    def asks(frame: Frame) -> bool:
        return isinstance(frame, Carry) and isinstance(frame.packet, Sub)

    asyncio.run(story())
