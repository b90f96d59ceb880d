"""Links on demand, on links in memory: as many as are used, nothing lost without a word, and news reaches everybody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import ring
from links import run
from ring import STACK, heard, say

import trellis
from trellis import protocols
from trellis.errors import LocalProtocolError, NetworkError, StateError
from trellis.live import demand, node, transport
from trellis.live.client import connect
from trellis.live.demand import OnDemand
from trellis.live.joining import Question
from trellis.live.memory import Memory
from trellis.live.peers import Greeting
from trellis.live.state import State
from trellis.live.transport import Link
from trellis.words import MessageId


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The ring is an overlay for these tests, and everything that has to wait waits less."""
    known = [(table, dict(table)) for table in (protocols.LAYERED, node.OPTIONS, node.WORDS)]
    ring.register()
    monkeypatch.setattr(State, "lasting", True)  # then the first node gives out all places, in their order
    monkeypatch.setattr(demand, "IDLE", 0.06)
    monkeypatch.setattr(demand, "PULSE", 0.02)
    yield
    for table, before in known:
        table.pop("ring", None)  # type: ignore[attr-defined]
        assert table == before


def address(number: int) -> str:
    return f"m:{100 + number}"


class Town(Memory):
    """Addresses of which some cannot be dialled: at once, or only after a while. Dialling takes as long as one says."""

    def __init__(self) -> None:
        super().__init__()
        self.cut: set[str] = set()
        self.slow: Callable[[], float] = lambda: 0.0
        self.dialled: list[str] = []

    async def dial(self, address: str, *rest: Any) -> Link:
        self.dialled.append(address)
        await asyncio.sleep(self.slow())
        if address in self.cut:
            raise NetworkError(f"{address}: cannot be reached")
        return await super().dial(address, *rest)

    def node(self, number: int, join: trellis.Node | None = None, **given: Any) -> trellis.Node:
        """It listens at an address of that number."""
        at = join.address if join is not None else None
        return trellis.Node(address(number), at, plaintext=True, net=self, **{"overlay": "ring", **given})

    async def nodes(self, count: int) -> list[trellis.Node]:
        """So many, each with its machine; they stand on places 0 to count - 1."""
        first = self.node(0)
        await first.start()
        made = [first]
        for number in range(1, count):
            made.append(self.node(number, first))
            await made[-1].start()
        for one in made:
            one.host.stack("unordered")
        assert [one.place for one in made] == list(range(count))
        await until(lambda: len({one.members.roster.sum() for one in made}) == 1)
        return made


def told(story: Any, limit: float = 30) -> None:
    run("asyncio", story, limit=limit)


async def until(test: Callable[[], Any]) -> None:
    async with asyncio.timeout(15):
        while not test():
            await asyncio.sleep(0.002)


async def stop(*nodes: trellis.Node) -> None:
    """The end of a story. They do not leave: without ties they would look in vain for somebody to say goodbye to."""
    await asyncio.gather(*(one.stop(leave=False) for one in nodes))


def links(one: trellis.Node) -> list[int]:
    return sorted(one.members.peers.known.values())


def got(one: trellis.Node, sender: int) -> list[int]:
    """The numbers that came from a node, in the order in which they came."""
    return [event[3] for event in heard(one.host) if event[0] == "got" and event[1] == sender]


def suspected(*nodes: trellis.Node) -> list[tuple[int, int]]:
    return [(one.place, event[1]) for one in nodes for event in heard(one.host) if event[0] == "suspect"]


def no_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links stand only for what the machines say."""
    monkeypatch.setattr(demand, "TIES", 0)
    monkeypatch.setattr(demand, "LOOK", 3600.0)


async def at_rest(*nodes: trellis.Node) -> None:
    """Until no link is left."""
    await until(lambda: not any(links(one) for one in nodes))


# One link, when it is needed


def test_the_first_word_makes_the_link_and_restore_comes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        town = Town()
        a, b, c = await town.nodes(3)
        no_ties(monkeypatch)
        for one in (a, b, c):
            one.members.peers.ties.clear()
        await at_rest(a, b, c)
        say(a.host, 2, 1)
        await until(lambda: got(c, 0) == [1])
        assert (links(a), links(b), links(c)) == ([2], [], [0])
        events = heard(c.host)
        assert events.index(("restore", 0, 0)) < events.index(("got", 0, 0, 1))
        assert suspected(a, b, c) == []
        await stop(a, b, c)

    told(story())


def test_an_idle_link_is_let_go_by_both_and_made_again_and_nobody_is_suspected(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        no_ties(monkeypatch)
        for one in (a, b):
            one.members.peers.ties.clear()
        caplog.clear()
        for number in range(1, 4):
            await at_rest(a, b)
            before = a.host.reached.copy()
            say(a.host, 1, number)
            await until(lambda number=number: got(b, 0)[-1:] == [number])
            say(b.host, 0, number)
            await until(lambda number=number: got(a, 1)[-1:] == [number])
            assert a.host.reached == before
        assert suspected(a, b) == []
        assert [event for event in heard(b.host) if event[0] == "restore"] == [("restore", 0, 0)]  # nothing was new
        assert (got(a, 1), got(b, 0)) == ([1, 2, 3], [1, 2, 3])
        assert "link" not in caplog.text  # nothing that anybody need read
        await stop(a, b)

    with caplog.at_level(logging.INFO, "trellis.live"):
        told(story())


@pytest.mark.parametrize("seed", range(6))
def test_what_is_said_while_a_link_is_let_go_arrives_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both speak at times that lie around those at which their link is idle."""
    monkeypatch.setattr(demand, "IDLE", 0.01)
    monkeypatch.setattr(demand, "PULSE", 0.005)

    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        no_ties(monkeypatch)
        luck = Random(seed)
        for one in (a, b):
            one.members.peers.ties.clear()

        async def talk(one: trellis.Node, other: int) -> None:
            for number in range(1, 101):
                await asyncio.sleep(luck.choice((0.0, 0.005, luck.uniform(0.01, 0.02))))
                say(one.host, other, number)

        dialled = len(town.dialled)
        await asyncio.gather(talk(a, 1), talk(b, 0))
        await until(lambda: len(got(a, 1)) == len(got(b, 0)) == 100)
        assert got(a, 1) == got(b, 0) == list(range(1, 101))
        assert suspected(a, b) == []
        assert len(town.dialled) > dialled + 3  # it was let go and made again
        assert a.host.tally.dropped == b.host.tally.dropped == 0
        await stop(a, b)

    told(story())


@pytest.mark.parametrize("seed", range(8))
def test_of_two_that_dial_each_other_at_once_one_link_is_left_and_all_arrives(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        town, luck = Town(), Random(seed)
        a, b = await town.nodes(2)
        no_ties(monkeypatch)
        for one in (a, b):
            one.members.peers.ties.clear()
        await at_rest(a, b)
        town.slow = lambda: luck.choice((0.0, 0.0, luck.uniform(0.0, 0.004)))
        for number in range(1, 9):
            say(a.host, 1, number)
            if luck.random() < 0.5:
                await asyncio.sleep(luck.uniform(0.0, 0.004))
            say(b.host, 0, number)
            await until(lambda number=number: got(b, 0)[-1:] == [number] == got(a, 1)[-1:])
            await until(lambda: not diallers(a, b))
            assert (links(a), links(b)) == ([1], [0])
            assert len(open_ends(a, b)) == 2  # of one link
            await at_rest(a, b)
        assert got(a, 1) == got(b, 0) == list(range(1, 9))
        assert suspected(a, b) == []
        await stop(a, b)

    told(story())


def test_a_hello_that_crossed_and_is_read_after_the_link_stands_does_not_break_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        no_ties(monkeypatch)
        for one in (a, b):
            one.members.peers.ties.clear()
        await at_rest(a, b)
        peers = b.members.peers
        crossing = await town.dial(a.address, b.members, None, 5)
        peers.greetings[crossing] = Greeting(0)
        say(a.host, 1, 1)
        await until(lambda: got(b, 0) == [1])
        crossing.send(peers.hello())  # as if it had been under way since before
        await until(lambda: crossing.reason is not None)
        assert (links(a), links(b)) == ([1], [0])
        say(b.host, 0, 2)
        await until(lambda: got(a, 1) == [2])
        assert suspected(a, b) == []
        await stop(a, b)

    told(story())


def test_who_answers_that_a_link_may_go_suspects_the_other_unless_that_has_heard_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        no_ties(monkeypatch)
        for one in (a, b):
            one.members.peers.ties.clear()
        await at_rest(a, b)
        say(a.host, 1, 1)
        await until(lambda: got(b, 0) == [1])
        [link] = a.members.peers.known
        monkeypatch.setattr(link, "data_received", lambda data: None)  # from here on it reads nothing
        say(b.host, 0, 5)
        a.members.peers.ask_to_part(a.members.peers.wanted[1])
        await until(lambda: b.members.peers.wanted[0].parting == demand.ANSWERED)
        town.cut = {address(0), address(1)}
        link.end("it was killed")
        await until(lambda: suspected(a, b) == [(0, 1), (1, 0)])
        assert got(a, 1) == []
        town.cut = set()
        await stop(a, b)

    told(story())


def diallers(*nodes: trellis.Node) -> list[Any]:
    return [peer for one in nodes for peer in one.members.peers.wanted.values() if peer.dialling is not None]


def open_ends(*nodes: trellis.Node) -> list[Link]:
    return [link for one in nodes for link in one.members.peers.known if link.reason is None]


# What breaks is told


def test_a_peer_that_is_killed_is_suspected_and_its_next_life_is_told_before_anything_of_it(tmp_path: Path) -> None:
    async def story() -> None:
        town = Town()
        a, b, c = await town.nodes(3)
        late = town.node(3, a, data=tmp_path / "data")
        await late.start()
        late.host.stack("unordered")
        place = late.place
        say(late.host, 0, 1)
        say(b.host, place, 1)
        await until(lambda: got(a, place) == [1] and got(late, 1) == [1])
        kill(late)
        await until(lambda: ("suspect", place) in heard(a.host) and ("suspect", place) in heard(b.host))
        async with town.node(3, data=tmp_path / "data") as again:
            again.host.stack("unordered")
            assert (again.place, again.incarnation) == (place, 1)
            say(again.host, 0, 7)
            say(b.host, place, 2)
            await until(lambda: got(a, place) == [1, 7] and got(again, 1) == [2])
            for one in (a, b):
                about = [event for event in heard(one.host) if event[1] == place and event[0] != "got"]
                assert ("restore", place, 1) in about
                assert about.index(("suspect", place)) < about.index(("restore", place, 1))
            events = heard(a.host)
            assert events.index(("restore", place, 1)) < events.index(("got", place, 1, 7))
        await stop(a, b, c)

    told(story())


def kill(one: trellis.Node) -> None:
    """As kill -9 does: its links break, and nobody listens there any more. No word of goodbye."""
    peers = one.members.peers
    for link in list(peers.known):
        link.transport.close()  # type: ignore[union-attr]
    peers.known.clear()
    for peer in peers.wanted.values():
        peer.link = None
    one.end("killed")


def test_a_peer_that_came_back_while_there_was_no_link_is_told_in_its_new_life_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link was let go, so nothing broke; what waited for the old life does not reach the new one."""

    async def story() -> None:
        town = Town()
        (a,) = await town.nodes(1)
        b = town.node(1, a, data=tmp_path / "data")
        await b.start()
        no_ties(monkeypatch)
        for one in (a, b):
            one.host.stack("unordered")
            one.members.peers.ties.clear()
        say(a.host, 1, 1)
        await until(lambda: got(b, 0) == [1])
        await at_rest(a, b)
        kill(b)
        await b.stopped.wait()
        again = town.node(1, data=tmp_path / "data")
        town.cut = {address(0)}  # it comes back unheard
        monkeypatch.setattr("trellis.live.members.LINKS_MAX", 0.05)
        await again.start()
        again.host.stack("unordered")
        town.cut = set()
        assert suspected(a) == []
        say(a.host, 1, 2)
        await until(lambda: ("restore", 1, 1) in heard(a.host))
        say(a.host, 1, 3)
        await until(lambda: got(again, 0)[-1:] == [3])
        assert got(again, 0) == [3]
        about = [event for event in heard(a.host) if event[0] != "got"]
        assert about[-2:] == [("suspect", 1), ("restore", 1, 1)]
        assert a.host.tally.dropped == 1
        await stop(a, again)

    told(story())


def test_a_member_that_cannot_be_dialled_is_suspected_each_time_and_not_dialled_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        no_ties(monkeypatch)
        for one in (a, b):
            one.members.peers.ties.clear()
        await at_rest(a, b)
        town.cut = {address(1)}
        town.dialled.clear()
        say(a.host, 1, 1)
        await until(lambda: len(suspected(a)) == 1)
        assert len(town.dialled) == demand.DIALS_MAX
        for number in range(2, 100):  # just now it failed
            say(a.host, 1, number)
        assert len(town.dialled) == demand.DIALS_MAX
        assert a.host.tally.dropped == 99
        await asyncio.sleep(demand.PAUSE_MOST)
        say(a.host, 1, 100)
        await until(lambda: len(suspected(a)) == 2)  # it was asked for once more, so it is told once more
        town.cut = set()
        await asyncio.sleep(demand.PAUSE_MOST)
        say(a.host, 1, 101)
        await until(lambda: got(b, 0) == [101])
        assert heard(a.host)[-1] == ("restore", 1, 0)
        await stop(a, b)

    told(story())


def test_what_waits_for_a_link_is_bounded_in_packets_and_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        town = Town()
        a, b, c = await town.nodes(3)
        no_ties(monkeypatch)
        for one in (a, b, c):
            one.members.peers.ties.clear()
        await at_rest(a, b, c)
        town.slow = lambda: 0.05
        for number in range(1, 401):
            say(a.host, 1, number)
        peer = a.members.peers.wanted[1]
        assert len(peer.waiting) == demand.WAITING_MAX
        assert a.host.tally.dropped == 400 - demand.WAITING_MAX
        size = peer.waiting_bytes // demand.WAITING_MAX
        monkeypatch.setattr(demand, "WAITING_BYTES_MAX", 10 * size)
        for number in range(1, 41):
            say(a.host, 2, number)
        waits = len(a.members.peers.wanted[2].waiting)
        assert 5 <= waits <= 11
        assert a.host.tally.dropped == 400 - demand.WAITING_MAX + 40 - waits
        await until(lambda: got(b, 0) and got(c, 0))
        assert got(b, 0) == list(range(1, demand.WAITING_MAX + 1))
        assert got(c, 0) == list(range(1, waits + 1))
        assert a.members.peers.waiting_bytes == 0
        assert a.status()["waiting_dropped"] == a.host.tally.dropped
        monkeypatch.setattr(demand, "WAITING_BYTES_ALL", 0)
        await at_rest(a, b, c)
        say(a.host, 1, 401)
        assert a.host.tally.dropped == 400 - demand.WAITING_MAX + 40 - waits + 1
        await stop(a, b, c)

    told(story())


def test_a_peer_that_falls_silent_is_suspected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demand, "SILENCE_MAX", 0.2)

    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        say(a.host, 1, 1)
        await until(lambda: got(b, 0) == [1])
        b.members.peers.ticking.cancel()  # as if it had been stopped
        town.cut = {address(1)}
        await until(lambda: suspected(a) == [(0, 1)])
        town.cut = set()
        b.members.peers.tick()
        await until(lambda: heard(a.host)[-1] == ("restore", 1, 0))
        await stop(a, b)

    told(story())


def test_who_was_asleep_itself_accuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        say(a.host, 1, 1)
        await until(lambda: got(b, 0) == [1])
        for one in (a, b):
            for peer in one.members.peers.wanted.values():
                peer.heard -= 60
            one.members.peers.ticked -= 60
        await asyncio.sleep(0.1)
        assert suspected(a, b) == []
        await stop(a, b)

    told(story())


# The roster


def test_a_ring_of_ten_has_few_links_and_what_is_new_of_members_reaches_all(tmp_path: Path) -> None:
    node.OPTIONS["ring"] = {"size": 10, "period": 20_000}

    async def story() -> None:
        town = Town()
        nodes = await town.nodes(10)
        readers = [await one.subscribe("news", order="unordered") for one in nodes]
        sides = [{(place + 1) % 10, (place - 1) % 10} for place in range(10)]
        await until(lambda: all(sides[one.place] <= set(links(one)) and len(links(one)) <= 4 for one in nodes))
        await nodes[3].publish("news", b"hello", order="unordered")
        for reader in readers:
            assert (await reader.next()).payloads == [b"hello"]
        comer = town.node(10, nodes[7], data=tmp_path / "data")
        await comer.start()
        await until(lambda: all(comer.place in one.members.roster.members for one in nodes))
        await until(lambda: len({one.members.roster.sum() for one in (*nodes, comer)}) == 1)
        kill(comer)
        await until(lambda: not any(comer.place in links(one) for one in nodes))
        await nodes[2].forget(comer.place)
        await until(lambda: all(one.members.roster.members[comer.place].left for one in nodes))
        for one in nodes:
            report = one.status()
            assert report["links"] == len(links(one)) <= 4
            assert report["links"] <= report["links_most"] < 10
            assert report["overlay"] == "ring"
        assert suspected(*nodes) == [] or {who for _, who in suspected(*nodes)} == {comer.place}
        await stop(*nodes)

    told(story())


def test_links_to_passing_partners_do_not_pile_up() -> None:
    node.OPTIONS["ring"] = {"size": 16, "period": 100_000, "partner": 1}

    async def story() -> None:
        town = Town()
        nodes = await town.nodes(16)
        for one in nodes:
            await one.subscribe("news", order="unordered")
        counts = []
        for _ in range(60):
            await asyncio.sleep(0.05)
            counts.append([len(links(one)) for one in nodes])
        met = [{event[1] for event in heard(one.host) if event[0] == "got"} for one in nodes]
        assert min(map(len, met)) >= 10  # each had to do with most others
        assert max(map(max, counts[20:])) <= 11
        assert sum(map(sum, counts[20:])) / (16 * len(counts[20:])) < 8
        assert suspected(*nodes) == []
        await stop(*nodes)

    told(story())


def test_without_a_word_of_the_machines_a_cluster_keeps_few_links_and_all_know_all() -> None:
    async def story() -> None:
        town = Town()
        nodes = await town.nodes(12)
        await until(lambda: len({one.members.roster.sum() for one in nodes}) == 1)
        await until(lambda: all(len(links(one)) <= demand.TIES + demand.KEPT_MAX for one in nodes))
        assert all(len(links(one)) >= 1 for one in nodes)
        assert suspected(*nodes) == []
        await stop(*nodes)

    told(story())


def test_whom_all_came_to_first_is_left_by_most_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demand, "TIES", 1)
    monkeypatch.setattr(demand, "LOOK", 3600.0)

    async def story() -> None:
        town = Town()
        with pytest.MonkeyPatch.context() as door:

            def the_first(peers: OnDemand, among: Any = ()) -> int | None:
                return 0 if peers.roster.me and peers.is_free(peers.wanted.get(0)) else None

            door.setattr(OnDemand, "somebody", the_first)
            nodes = await town.nodes(12)
        await until(lambda: len(links(nodes[0])) <= demand.TIES + demand.KEPT_MAX)
        await until(lambda: all(1 <= len(links(one)) <= demand.TIES + demand.KEPT_MAX for one in nodes))
        assert suspected(*nodes) == []
        await stop(*nodes)

    told(story())


def test_a_node_that_had_no_link_for_a_while_catches_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        town = Town()
        a, b, c = await town.nodes(3)
        town.cut = {address(2)}
        away = c.members.peers
        away.net = Memory()  # it reaches nobody either
        for link in list(away.known):
            link.end("the cable is torn")
        await until(lambda: not links(c) and 2 not in links(a) + links(b))
        d = town.node(3, a)
        await d.start()
        await until(lambda: 3 in b.members.roster.members)
        assert 3 not in c.members.roster.members
        town.cut, away.net = set(), town
        await until(lambda: 3 in c.members.roster.members)
        await stop(a, b, c, d)

    told(story())


def test_the_halves_of_a_cluster_find_each_other_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demand, "LOOK", 0.2)

    class Halves(Town):
        split = False

        async def dial(self, address: str, owner: Any, *rest: Any) -> Link:
            ends = [address] if isinstance(owner, Question) else [address, owner.address]
            if self.split and len({int(end.removeprefix("m:")) % 2 for end in ends}) == 2:
                raise NetworkError(f"{address}: cannot be reached")
            return await super().dial(address, owner, *rest)

    async def story() -> None:
        town = Halves()
        nodes = await town.nodes(6)
        town.split = True
        for one in nodes:
            for link, place in list(one.members.peers.known.items()):
                if place % 2 != one.place % 2:
                    link.end("the cable is torn")
        await until(lambda: not any(place % 2 != one.place % 2 for one in nodes for place in links(one)))
        await asyncio.sleep(1.0)
        comer = town.node(8, nodes[0])
        await comer.start()
        assert all(comer.place not in one.members.roster.members for one in nodes[1::2])
        town.split = False
        await until(lambda: all(comer.place in one.members.roster.members for one in nodes))
        await stop(*nodes, comer)

    told(story())


def test_who_leaves_hands_its_place_to_one_it_has_a_link_to_and_everybody_hears_of_it() -> None:
    async def story() -> None:
        town = Town()
        nodes = await town.nodes(6)
        leaver = nodes.pop(4)
        place = leaver.place
        await leaver.stop()
        await until(lambda: all(one.members.roster.members[place].left for one in nodes))
        holder = [one for one in nodes if place in one.members.roster.vacancies]
        assert len(holder) == 1
        async with town.node(9, holder[0]) as comer:
            assert (comer.place, comer.incarnation) == (place, 1)
        await stop(*nodes)

    told(story())


def test_a_member_without_a_link_is_forgotten_only_if_it_cannot_be_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        town = Town()
        a, b, c = await town.nodes(3)
        no_ties(monkeypatch)
        for one in (a, b, c):
            one.members.peers.ties.clear()
        await at_rest(a, b, c)
        with pytest.raises(LocalProtocolError, match="place 1: it is alive; end it with --leave instead"):
            await a.forget(1)
        assert suspected(a, b, c) == []
        kill(b)
        await at_rest(a, c)
        await a.forget(1)
        assert a.members.roster.members[1].left
        assert heard(a.host)[-1] == ("suspect", 1)
        say(c.host, 0, 1)  # and over the next link all the others hear of it
        await until(lambda: c.members.roster.members[1].left)
        await stop(a, c)

    told(story())


def test_a_newcomers_machines_are_told_of_a_few_members_only() -> None:
    async def story() -> None:
        town = Town()
        nodes = await town.nodes(14)
        async with town.node(20, nodes[0]) as comer:
            comer.host.stack("unordered")
            restored = {event[1] for event in heard(comer.host) if event[0] == "restore"}
            assert demand.CONTACTS <= len(restored) <= demand.CONTACTS + demand.TIES
        await stop(*nodes)

    told(story())


# What kind of cluster it is


def test_a_node_is_let_in_only_where_members_are_linked_as_it_says(tmp_path: Path) -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1) as a, town.node(2, overlay="mesh") as mesh:
            with pytest.raises(
                NetworkError, match=r"not let in: this cluster has links on demand \(overlay 'ring'\), "
            ):
                await town.node(3, a, overlay="mesh").start()
            with pytest.raises(NetworkError, match="this cluster has a link between every two members, not links"):
                await town.node(3, mesh).start()
            async with town.node(4, a, data=tmp_path / "data") as b:
                assert b.members.roster.cluster == a.members.roster.cluster
            with pytest.raises(StateError, match=r"of a cluster with links on demand .*; start it with --overlay ring"):
                await town.node(4, data=tmp_path / "data", overlay="mesh").start()
            assert len(a.members.roster.members) == 2  # no place was given away in vain
            assert len(mesh.members.roster.members) == 1

    told(story())


def test_an_overlay_that_needs_all_links_is_no_way_to_link_a_cluster() -> None:
    for overlay in ("vcube", "damulticast", "nonsense", ""):
        with pytest.raises(LocalProtocolError, match="no cluster can be linked so; there is mesh, vitis, ring"):
            trellis.Node(plaintext=True, overlay=overlay)


def test_orders_that_need_a_link_between_every_two_members_are_refused_by_name() -> None:
    async def story() -> None:
        town = Town()
        async with (
            town.node(1) as a,
            town.node(2, overlay="mesh") as mesh,
            connect(a.address, plaintext=True, net=town) as client,
        ):
            for bus in (a, client):
                for order in ("total", "total-causal", "causal", "damulticast/causal"):
                    with pytest.raises(LocalProtocolError, match=f"order '{order}': it needs a link between every two"):
                        await bus.subscribe("t", order=order)
                    with pytest.raises(LocalProtocolError, match="links are made on demand; use unordered"):
                        await bus.publish("t", b"x", order=order)
                with pytest.raises(LocalProtocolError, match="order 'best': no such order; there are unordered"):
                    await bus.subscribe("t", order="best")
                await bus.subscribe("plain", order="unordered")
                await bus.subscribe("plain", order="ring/unordered")  # the same
                await bus.publish("plain", b"x", order="ring/unordered")
            assert a.courses["plain"].stack == STACK
            with pytest.raises(LocalProtocolError, match="'ring/unordered': it needs a cluster that was started with"):
                await mesh.subscribe("t", order="ring/unordered")

    told(story())


def test_a_mesh_takes_no_frames_about_links_on_demand() -> None:
    async def story() -> None:
        town = Town()
        async with town.node(1, overlay="mesh") as a, town.node(2, a, overlay="mesh") as b:
            [link] = b.members.peers.known
            link.send(demand.Part())
            await until(lambda: a.host.tally.suspicions == 1)

    told(story())


@pytest.mark.parametrize("secret", [False, True], ids=["plain", "tls"])
def test_two_nodes_on_sockets_dial_each_other_at_once(
    secret: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from links import key_directory

    keys = key_directory(tmp_path / "keys", "a", "b") if secret else None

    def made(name: str, join: str | None = None) -> trellis.Node:
        how: dict[str, Any] = {"keys": keys, "name": name} if secret else {"plaintext": True}
        return trellis.Node(join=join, overlay="ring", net=transport, **how)

    async def story() -> None:
        async with made("a") as a, made("b", a.address) as b:
            no_ties(monkeypatch)
            for one in (a, b):
                one.host.stack("unordered")
                one.members.peers.ties.clear()
            for number in range(1, 9):
                await at_rest(a, b)
                say(a.host, 1, number)
                say(b.host, 0, number)
                await until(lambda number=number: got(b, 0)[-1:] == [number] == got(a, 1)[-1:])
                await until(lambda: not diallers(a, b))
                assert (links(a), links(b)) == ([1], [0])
            assert got(a, 1) == got(b, 0) == list(range(1, 9))
            assert suspected(a, b) == []

    told(story())


def test_a_word_to_nobody_is_told_as_a_suspicion_and_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        town = Town()
        a, b = await town.nodes(2)
        say(a.host, 77, 1)
        await until(lambda: suspected(a) == [(0, 77)])
        assert 77 not in a.members.peers.wanted
        assert a.host.life("t") == MessageId((0, 0), "t", 0)
        await stop(a, b)

    told(story())
