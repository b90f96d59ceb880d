"""Whole nodes on links in memory: who dials whom, what happens when links break, and what stays behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from links import Ear, run

import trellis
from trellis.errors import LocalProtocolError, NetworkError
from trellis.live import closings, joining
from trellis.live import members as live_members
from trellis.live.client import connect
from trellis.live.frames import VERSION, Bye, Carry, Elsewhere, Frame, Hello, Join
from trellis.live.memory import Memory
from trellis.live.places import Lot, Member
from trellis.live.transport import Link
from trellis.protocols.parts import detector
from trellis.words import MessageId


class Town(Memory):
    """Addresses to some of which nobody gets through: dialling them lasts until the town is open again, and fails."""

    def __init__(self) -> None:
        super().__init__()
        self.mute: set[str] = set()
        self.open = asyncio.Event()
        self.dialled: list[tuple[str, float]] = []  # and when

    async def dial(self, address: str, *rest: Any) -> Link:
        self.dialled.append((address, asyncio.get_running_loop().time()))
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
    return {peer.dialling for node in nodes for peer in node.members.peers.wanted.values()}


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
            await until(lambda: 2 in a.host.reached and 1 in comer.members.peers.wanted)
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
            if how == "cancelled" and not lasting:
                await until(lambda: a.members.roster.members[2].left)  # it gave its place back
            async with town.node(3, a, **given) as again:  # nobody holds its directories
                await until(lambda: sorted(again.host.reached) == [0, 1])
                kept = lasting or how == "cancelled"  # its place, in its directory or given back
                assert (again.place, again.incarnation) == ((2, 1) if kept else (3, 0))

    told(story())


class Porter:
    """A door that has no place to give, and names a member that nobody reaches."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def opened(self, link: Link) -> None:
        pass

    def received(self, link: Link, frames: list[Frame]) -> None:
        for frame in frames:
            assert isinstance(frame, Join)
            self.asked.append(frame.hops)
            link.send(Elsewhere("m:99"))

    def closed(self, link: Link, reason: str) -> None:
        pass


def test_a_door_that_names_somebody_unreachable_is_asked_a_few_times_with_pauses_and_then_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joining, "PAUSE_LEAST", 0.004)

    async def story() -> None:
        town, porter = Town(), Porter()
        await town.listen("m:1", porter, None)
        begun = asyncio.get_running_loop().time()
        with pytest.raises(NetworkError, match="m:1: not let in: it sends me to one that is not there: m:99"):
            await trellis.Node("m:2", "m:1", plaintext=True, net=town).start()
        assert asyncio.get_running_loop().time() - begun >= 0.004 + 0.008 + 0.016
        assert len(porter.asked) <= joining.ASKS_MAX
        assert "m:2" not in town.servers

    told(story())


def test_a_comer_does_not_wait_for_a_member_that_died_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_members, "LINKS_MAX", 600)  # longer than the story lasts

    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b:
            dead = town.node(3, a)
            await dead.start()
            await until(lambda: len(a.host.reached) == len(b.host.reached) == 2)
            town.mute = {"m:3"}
            dead.end("killed")
            await until(lambda: len(a.host.reached) == len(b.host.reached) == 1)
            async with town.node(4, a) as comer:
                assert sorted(comer.host.reached) == [0, 1]
                assert [member.place for member in comer.members.roster.present()] == [0, 1, 2, 3]

    told(story())


def test_a_comer_waits_for_one_that_came_between_its_welcome_and_its_hello() -> None:
    async def story() -> None:
        town, gate = Town(), asyncio.Event()
        dial = town.dial

        async def held_up(address: str, owner: Any, *rest: Any) -> Link:
            if isinstance(owner, live_members.Members) and owner.address == "m:2":  # it has its place by now
                await gate.wait()
            return await dial(address, owner, *rest)

        town.dial = held_up  # type: ignore[method-assign]
        async with town.node(1) as a:
            comer = town.node(2, a)
            starting = asyncio.create_task(comer.start())
            await until(lambda: hasattr(comer, "members") and comer.members.ready)
            async with town.node(3, a) as other:
                gate.set()
                await starting
                assert (comer.place, other.place) == (1, 2)
                assert sorted(comer.host.reached) == [0, 2]
                await comer.stop()

    told(story())


# Links


def links_of(node: trellis.Node) -> list[int]:
    """The places at the other ends, each as often as there is a link that has not ended."""
    return sorted(place for link, place in node.members.peers.known.items() if link.reason is None)


def test_of_links_that_cross_one_is_left_between_two_members() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as first:
            others = [town.node(n, first) for n in range(2, 9)]
            await asyncio.gather(*(node.start() for node in others))
            nodes = [first, *others]
            places = sorted(node.place for node in nodes)
            await until(lambda: all(len(node.host.reached) == 7 for node in nodes))
            for node in nodes:  # all at once, in both directions
                for peer in node.members.peers.wanted.values():
                    node.members.peers.drop(peer, "to dial anew")
                    node.members.peers.begin_dialling(peer)
            await until(lambda: all(len(node.host.reached) == 7 and not diallers(node) - {None} for node in nodes))
            for node in nodes:
                assert links_of(node) == [place for place in places if place != node.place]
            await asyncio.gather(*(node.stop() for node in others))

    told(story())


def test_who_is_gone_is_dialled_with_growing_pauses() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a:
            dead = town.node(2, a)
            await dead.start()
            dead.end("killed")
            town.dialled.clear()
            await until(lambda: len(town.dialled) >= 4)
            pauses = [later - earlier for (_, earlier), (_, later) in pairwise(town.dialled[:4])]
            for pause, least in zip(pauses, (0.05, 0.1, 0.2), strict=True):
                assert pause > 0.9 * least
            assert {address for address, _ in town.dialled} == {"m:2"}

    told(story())


def test_a_link_that_breaks_is_made_again_and_the_topic_goes_on() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b:
            news = await b.subscribe("news")
            await a.publish("news", b"before", confirm=True)
            [link] = a.members.peers.known
            link.end("it broke")
            await until(lambda: a.host.tally.suspicions and b.host.tally.suspicions)
            await until(lambda: a.host.reached and b.host.reached)
            await a.publish("news", b"after", confirm=True)
            stream = aiter(news)
            heard = [await anext(stream) for _ in range(2)]
            assert [event.payload for event in heard if isinstance(event, trellis.Event)] == [b"before", b"after"]

    told(story())


def test_timestamps_are_told_by_what_changed_and_as_a_whole_once_more_when_a_link_was_made_again() -> None:
    topics = [f"t{n:02}" for n in range(12)]

    async def story() -> None:
        town, refused = Town(), closings.refused()
        async with town.node(1) as first, town.node(2, first) as second:
            readers = [await node.subscribe(topics, order="total") for node in (first, second)]

            async def publish_on_all() -> float:
                """How many bytes of timestamps one byte that was sent stands for."""
                spent = first.host.tally.stamps
                plain, sent = spent.plain, spent.sent
                for topic in topics:
                    await first.publish(topic, b"x", confirm=True)
                return (spent.plain - plain) / (spent.sent - sent)

            assert await publish_on_all() < 2
            assert await publish_on_all() > 5
            link = first.members.peers.link_to(second.place)
            assert link is not None
            link.transport.abort()
            await until(lambda: first.members.peers.link_to(second.place) not in (None, link))
            assert await publish_on_all() < 2
            assert await publish_on_all() > 5
            for reader in readers:
                coming = aiter(reader)
                got = [(await anext(coming)).topic for _ in range(48)]
                assert got == topics * 4
            assert closings.refused() == refused
            for node in (first, second):
                report = node.status()["stamps"]
                assert report["plain_bytes"] > report["sent_bytes"] > 0

    told(story())


def test_a_member_of_another_version_is_refused_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closings, "OF_STRANGERS", closings.Closings())  # no lines of other tests in its count

    async def story() -> None:
        town, ear = Town(), Ear(accepts=False)
        async with town.node(1) as node:
            link = await town.dial(node.address, ear, None, 5)
            link.send(Hello(VERSION - 1, node.members.roster.cluster, 7, 0, "m:7", 1))
            await ear.until(lambda e: e.ends)
            assert node.host.reached == {}

    with caplog.at_level(logging.INFO, "trellis.live"):
        told(story())
    assert f"closed: version {VERSION - 1}: this node speaks {VERSION}; run the same release" in caplog.text


def test_a_node_whose_place_another_one_uses_stops_and_says_why() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b:
            await until(lambda: a.host.reached and b.host.reached)
            reader = await b.subscribe("news")
            other = Member(b.place, b.incarnation + 1, "m:9", "", False, b.members.roster.mine.lot)
            a.members.spread_news(a.members.roster.hear([other]))
            await b.stopped.wait()
            with pytest.raises(NetworkError, match="place 1 is in use by another node"):
                await reader.next()
            with pytest.raises(NetworkError, match="place 1 is in use by another node"):
                await b.publish("news", b"x")
            await until(lambda: not a.host.reached)

    told(story())


def test_news_goes_to_everybody_once_and_not_back_to_its_teller() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b, town.node(3, a) as c:
            nodes = (a, b, c)
            await until(lambda: all(len(node.host.reached) == 2 for node in nodes))
            await asyncio.sleep(10 * live_members.NEWS_DELAY)  # what the joining set going
            heard: list[tuple[int, int]] = []
            for node in nodes:
                listen(node, heard)
            gone = Member(9, 0, "m:9", "", True, Lot(20, 4))
            a.members.spread_news(a.members.roster.hear([gone]))
            await until(lambda: all(9 in node.members.roster.members for node in nodes))
            await asyncio.sleep(10 * live_members.NEWS_DELAY)
            assert (0, 9) not in heard
            assert {(1, 9), (2, 9)} <= set(heard)

    told(story())


def listen(node: trellis.Node, heard: list[tuple[int, int]]) -> None:
    """Note who is told of whom."""
    hear = node.members.hear

    def noting(members: Any, teller: Link) -> None:
        heard.extend((node.place, member.place) for member in members)
        hear(members, teller)

    node.members.hear = noting  # type: ignore[method-assign]


def test_nothing_of_a_link_reaches_the_machines_after_its_end_though_it_came_in_the_same_read() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b:
            await until(lambda: a.host.reached and b.host.reached)
            happened: list[str] = []
            suspect, receive = a.host.suspect, a.host.receive
            a.host.suspect = lambda *what: (happened.append("suspect"), suspect(*what))[1]  # type: ignore[method-assign]
            a.host.receive = lambda *what: (happened.append("receive"), receive(*what))[1]  # type: ignore[method-assign]
            [link] = a.members.peers.known
            carry = Carry("detector", 0, detector.Alive(MessageId((1, 0), detector.TOPIC, 1), {}))
            a.members.received(link, [carry, Bye("enough"), carry])
            assert happened == ["receive", "suspect"]

    told(story())


# Who is gone for good


def test_a_dead_member_is_forgotten_by_all_and_does_not_come_back_with_its_data(tmp_path: Path) -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b, connected(town, b) as operator:
            dead = town.node(3, a, data=tmp_path / "data")
            await dead.start()
            await until(lambda: len(a.host.reached) == len(b.host.reached) == 2)
            with pytest.raises(LocalProtocolError, match="place 2: it is alive"):
                await operator.forget(2)
            dead.end("killed")
            await until(lambda: b.host.holds_dead(2))
            await operator.forget(2)
            await until(lambda: not diallers(a, b) - {None})
            assert [member["place"] for member in a.status()["members"]] == [0, 1]
            with pytest.raises(LocalProtocolError, match="place 2: no member stands there"):
                await operator.forget(2)
            for _ in range(2):  # each time it would be a new life
                with pytest.raises(
                    NetworkError, match="place 2: it was forgotten as gone for good; start with an empty"
                ):
                    await town.node(3, data=tmp_path / "data").start()
            async with town.node(3, b) as comer:
                assert (comer.place, sorted(comer.host.reached)) == (3, [0, 1])

    told(story())


def test_a_member_that_lived_on_out_of_reach_stops_when_it_hears_that_it_was_forgotten(tmp_path: Path) -> None:
    """Through the first link that it gets: it is told why, and not only refused."""

    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, a) as b:
            away = town.node(3, a, data=tmp_path / "data")
            await away.start()
            await until(lambda: len(a.host.reached) == len(b.host.reached) == 2)
            away.end("it is cut off")
            await until(lambda: a.host.holds_dead(2))
            await a.forget(2)
            await until(lambda: not diallers(a, b) - {None})
            town.mute = {"m:1", "m:2"}
            town.open.set()  # dialling them fails at once
            again = town.node(3, data=tmp_path / "data")
            starting = asyncio.create_task(again.start())
            await until(lambda: hasattr(again, "members") and again.members.ready)  # alone, as it must think
            town.mute = set()
            with pytest.raises(NetworkError, match="place 2 was forgotten as gone for good; this node must stop"):
                await starting
            assert sorted(a.host.reached) == [1]

    told(story())


def connected(town: Town, node: trellis.Node) -> trellis.Client:
    return connect(node.address, plaintext=True, net=town)
