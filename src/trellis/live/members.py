"""Links to all members: joining, who dials whom, who is there, leaving.

Promises: between two members there is one link at a time, and the machines hear `Restore` before anything comes over it
          and `Suspect` after it broke, before the next one. Who is lost is dialled again, with growing pauses, until it
          comes back or has left. A place belongs to the name in a certificate: nobody else is taken for it.
Assumes:  members can reach each other's addresses. Of two, the one on the lower place dials.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from trellis.effects import Send
from trellis.errors import NetworkError, StateError
from trellis.live.codec import OutOfPlace
from trellis.live.frames import (
    VERSION,
    Attach,
    Bye,
    Carry,
    Elsewhere,
    Frame,
    Hand,
    Hello,
    Join,
    Order,
    Refused,
    Welcome,
    said,
)
from trellis.live.frames import Roster as Tell
from trellis.live.node import Host
from trellis.live.places import WHOLE, Member
from trellis.live.roster import HOPS_MAX, Roster, later
from trellis.live.state import State
from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner, Server, check_reachable
from trellis.words import NodeId

log = logging.getLogger("trellis.live")

DIAL_MAX = 2.0  # seconds for a link to stand
JOIN_MAX = 10.0  # seconds to be let in
PAUSE_LEAST, PAUSE_MOST = 0.05, 1.0  # seconds between two attempts
NEWS_DELAY = 0.01  # seconds in which news gathers
LINKS_MAX = 3.0  # seconds for the first links of a newcomer


class Net(Protocol):
    """Sockets, or the same in memory."""

    def listen(self, address: str, owner: Owner, tls: Identity | None) -> Awaitable[Server]: ...
    def dial(self, address: str, owner: Owner, tls: Identity | None, timeout: float) -> Awaitable[Link]: ...


class Peer:
    """A member with which I have a link, or want one."""

    def __init__(self, place: NodeId) -> None:
        self.place = place
        self.link: Link | None = None
        self.dialling: asyncio.Task[None] | None = None


class Members:
    """One node's links. The owner of every link but those of clients."""

    def __init__(self, net: Net, tls: Identity | None, state: State) -> None:
        self.net = net
        self.tls = tls
        self.state = state
        self.roster: Roster
        self.host: Host
        self.server: Server | None = None
        self.peers: dict[NodeId, Peer] = {}
        self.known: dict[Link, NodeId] = {}  # links over which a member said who it is
        self.greeting: dict[Link, NodeId] = {}  # links that I dialled, to this place
        self.answers: dict[Link, asyncio.Future[Frame]] = {}  # links over which I ask to be let in
        self.clients: Callable[[Link], Owner] | None = None  # who takes those that attach
        self.parting: list[asyncio.Future[None]] = []  # links on their way out
        self.news: dict[NodeId, Member] = {}
        self.ready = False
        self.leaving = False
        self.ousted: Callable[[str], None] = lambda _: None
        self.ordered: Callable[[Order], None] = lambda _: None

    # Beginning

    async def begin(self, listen: str, join: str | None, advertise: str | None) -> None:
        """Listen, and get a place: my own again, a new one, or the first of a new cluster."""
        self.server = await self.net.listen(listen, self, self.tls)
        self.address = check_reachable(advertise or self.server.address)
        name, mine = self.state.name, self.state.identity()
        doors = [join] if join else [m.address for m in self.state.members() if not m.left] if mine else []
        welcome = await self.knock(doors, (mine and mine.cluster) or "", mine.place if mine else -1) if doors else None
        if welcome is not None:
            lot = later(welcome.lot, mine.lot) if mine and mine.place == welcome.place else welcome.lot
            incarnation = max(welcome.incarnation, mine.incarnation if mine and mine.place == welcome.place else 0)
            cluster, place = welcome.cluster, welcome.place
        elif mine is not None:
            cluster, place, incarnation, lot = mine.cluster, mine.place, mine.incarnation, mine.lot
        else:
            cluster, place, incarnation, lot = secrets.token_hex(8), 0, 0, WHOLE
        self.state.settle(cluster, place, incarnation, lot)
        me = Member(place, incarnation, self.address, name, False, lot)
        self.roster = Roster(cluster, me, self.state.keep, self.state.vacancies(), self.state.lasting)
        remembered = self.state.members() if mine is not None and mine.place == place else []
        told = (*remembered, *(welcome.members if welcome else ()))
        self.state.remember(self.roster.hear(m for m in told if m.place != place))

    async def knock(self, doors: Iterable[str], cluster: str, place: int) -> Welcome | None:
        """Ask members to be let in, wherever they send me. None when I come back and nobody is there."""
        mine = self.state.identity()
        trouble: Exception | None = None
        for door in doors:
            address, hops = door, 0
            while True:
                asked = Join(self.address, cluster, place, mine.incarnation - 1 if mine else -1, hops)
                try:
                    answer = await self.ask(address, asked)
                except (NetworkError, TimeoutError) as error:
                    trouble = error if isinstance(error, NetworkError) else NetworkError(f"{address}: no answer")
                    if address == door:
                        break
                    address, hops = door, HOPS_MAX  # whom it named is not there: let it find another, or do it itself
                    continue
                if isinstance(answer, Elsewhere) and hops <= 2 * HOPS_MAX:
                    address, hops = answer.address, hops + 1
                    continue
                if isinstance(answer, Welcome):
                    return answer
                reason = answer.reason if isinstance(answer, Refused) else "it sends me in circles"
                raise NetworkError(f"{address}: not let in: {reason}")
        if mine is None and trouble is not None:
            raise trouble
        return None

    async def ask(self, address: str, question: Join) -> Frame:
        link = await self.net.dial(address, self, self.tls, DIAL_MAX)
        answer = self.answers[link] = asyncio.get_running_loop().create_future()
        link.accept()  # its roster may be large
        link.send(question)
        try:
            return await asyncio.wait_for(answer, JOIN_MAX)
        finally:
            self.answers.pop(link, None)
            link.close("asked and answered")

    async def link_up(self, host: Host) -> None:
        """Say who I am to all members, and wait until those who are there have answered."""
        self.host = host
        host.post = self.post
        host.accuse = self.accuse
        self.ready = True
        for member in self.roster.present():
            self.want(member)
        if self.peers:
            self.tell_who_i_am()
        waiting = set(self.peers)
        limit = asyncio.get_running_loop().time() + LINKS_MAX
        while waiting - set(host.reached) and asyncio.get_running_loop().time() < limit:
            await asyncio.sleep(0.01)

    def tell_who_i_am(self) -> None:
        """Members on lower places dial me once they know me; I say hello to one that I can dial, and it tells on."""
        lower = [peer for peer in self.peers.values() if peer.place < self.roster.me]
        for peer in lower:
            peer.dialling = peer.dialling or asyncio.create_task(self.dial(peer))

    # Links

    def want(self, member: Member) -> None:
        """A member that I should have a link to. The lower place dials."""
        if member.place == self.roster.me or member.left or self.leaving:
            return
        peer = self.peers.setdefault(member.place, Peer(member.place))
        if peer.link is None and peer.dialling is None and self.roster.me < member.place:
            peer.dialling = asyncio.create_task(self.dial(peer))

    async def dial(self, peer: Peer) -> None:
        """Until there is a link."""
        pause = PAUSE_LEAST
        try:
            while peer.link is None and not self.leaving:
                member = self.roster.members[peer.place]
                if member.left:
                    return
                try:
                    link = await self.net.dial(member.address, self, self.tls, DIAL_MAX)
                    if peer.link is not None:
                        link.close("it has dialled meanwhile")
                        return
                    self.greeting[link] = peer.place
                    link.send(self.hello())
                    await asyncio.wait_for(self.closed_or_known(link), DIAL_MAX)
                except (NetworkError, TimeoutError) as error:
                    log.debug("place %d: %s", peer.place, error)
                if peer.link is None:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, PAUSE_MOST)
                    if pause >= PAUSE_MOST and peer.place < self.roster.me:
                        return  # it dials me
        finally:
            peer.dialling = None

    async def closed_or_known(self, link: Link) -> None:
        try:
            while link.reason is None and link not in self.known:
                await asyncio.sleep(0.005)
        finally:
            if link not in self.known:
                self.greeting.pop(link, None)
                link.close("no hello in time")

    def hello(self) -> Hello:
        me = self.roster.said
        return Hello(VERSION, self.roster.cluster, me.place, me.incarnation, me.address, self.host.clock.read())

    def opened(self, link: Link) -> None:
        """Whoever came in speaks first."""

    def received(self, link: Link, frames: list[Frame]) -> None:
        place = self.known.get(link)
        for frame in frames:
            if link.reason is not None:  # by one of these: the machines were told that it is over
                return
            if type(frame) is Carry and place is not None:  # by far the most
                self.host.receive(place, frame.stack, frame.at, frame.packet)
            elif place is not None:
                self.upon_member(link, place, frame)
            elif link in self.answers:
                self.upon_answer(link, frame)
            else:
                self.upon_stranger(link, frame)
                place = self.known.get(link)

    def upon_stranger(self, link: Link, frame: Frame) -> None:
        if not self.ready or self.leaving:
            raise OutOfPlace(f"{type(frame).__name__}: this node is not ready; try again soon")
        match frame:
            case Hello():
                self.greet(link, frame)
            case Join():
                self.let_in(link, frame)
            case Attach() if self.clients is not None:
                link.owner = self.clients(link)
                link.owner.received(link, [frame])
            case _:
                raise OutOfPlace(f"{type(frame).__name__} from a stranger: say who you are first")

    def greet(self, link: Link, hello: Hello) -> None:
        """A member says who it is: over a link that it dialled, or in answer to my own hello."""
        if hello.version != VERSION:
            raise OutOfPlace(f"version {hello.version}: this node speaks {VERSION}; run the same release")
        if hello.cluster != self.roster.cluster:
            raise OutOfPlace(f"cluster {hello.cluster!r}: this is {self.roster.cluster!r}; join this one first")
        if self.tls is not None and not link.is_node:
            raise OutOfPlace(f"a client's certificate ({link.peer}): members have a node's")
        expected = self.greeting.pop(link, None)
        if expected is not None and expected != hello.place:
            raise OutOfPlace(f"place {hello.place} answers where {expected} was dialled")
        if expected is None and self.roster.me < hello.place and hello.place in self.greeting.values():
            raise OutOfPlace(
                f"place {hello.place}: a link that I dialled is on its way; there is one between two members"
            )
        news = self.roster.greet(hello.place, hello.incarnation, hello.address, link.peer)
        if isinstance(news, Refused):
            raise OutOfPlace(news.reason)
        peer = self.peers.setdefault(hello.place, Peer(hello.place))
        if peer.link is not None:
            if expected is not None and peer.link.reason is None and self.roster.me > hello.place:
                raise OutOfPlace(f"place {hello.place}: there is a link already")
            self.drop(peer, "a newer link stands")
        link.accept()
        self.host.clock.hear(hello.at)
        if expected is None:
            link.send(self.hello())
        peer.link = link
        self.known[link] = hello.place
        if self.host.journal is not None:
            link.before_write = self.host.journal.flush
        link.send(Tell(self.roster.all_news()))
        self.spread_news(news, besides=link)
        self.host.restore(hello.place, hello.incarnation)

    def upon_member(self, link: Link, place: NodeId, frame: Frame) -> None:
        match frame:
            case Tell():
                self.hear(frame.members, link)
            case Hand():
                news = self.roster.inherit(frame.vacancies)
                if not isinstance(news, Refused):
                    self.spread_news(news, besides=link)
            case Order():
                self.ordered(frame)
            case Bye():
                self.drop(self.peers[place], f"place {place} says: {frame.reason}", goodbye=True)
            case _:
                raise OutOfPlace(f"{type(frame).__name__} from place {place}: members do not say that")

    def upon_answer(self, link: Link, frame: Frame) -> None:
        answer = self.answers[link]
        if not isinstance(frame, Welcome | Elsewhere | Refused):
            raise OutOfPlace(f"{type(frame).__name__} in answer to a Join")
        if not answer.done():
            answer.set_result(frame)

    def let_in(self, link: Link, join: Join) -> None:
        answer: Frame
        if self.tls is not None and not link.is_node:
            answer = Refused(f"a client's certificate ({link.peer}): members have a node's")
        elif join.cluster not in ("", self.roster.cluster):
            answer = Refused(f"this is cluster {self.roster.cluster!r}, not {join.cluster!r}")
        elif join.place >= 0:
            answer = self.roster.readmit(link.peer, join.place, join.incarnation)
        else:
            answer = self.roster.admit(link.peer, self.host.reached, join.hops)
        link.send(answer)
        if isinstance(answer, Welcome):
            self.spread_news([self.roster.mine], besides=link)  # my lot has changed

    def closed(self, link: Link, reason: str) -> None:
        answer = self.answers.get(link)
        if answer is not None and not answer.done():
            answer.set_exception(NetworkError(f"{link.address}: {reason}"))
        place = self.known.get(link)
        if place is not None and self.peers[place].link is link:
            self.drop(self.peers[place], reason)

    def drop(self, peer: Peer, reason: str, goodbye: bool = False) -> None:
        """The link to a peer is over: first it is suspected, then looked for."""
        link, peer.link = peer.link, None
        if link is not None:
            del self.known[link]
            link.close(reason)
            self.host.tally.suspicions += not goodbye
            self.host.suspect(peer.place)
            self.want(self.roster.members[peer.place])

    def accuse(self, node: NodeId) -> None:
        peer = self.peers.get(node)
        if peer is not None and peer.link is not None:
            self.drop(peer, "it does not answer the failure detector")

    def post(self, what: Send, stack: str, at: int) -> None:
        """To somebody without a link it goes nowhere: the machines were told, or will be."""
        peer = self.peers.get(what.to)
        if peer is not None and peer.link is not None:
            peer.link.send(Carry(stack, at, what.packet), what.can_wait)

    # News

    def hear(self, members: Iterable[Member], teller: Link) -> None:
        news = self.roster.hear(members)
        if news:
            self.spread_news(news, besides=teller)

    def spread_news(self, news: Iterable[Member], besides: Link | None) -> None:
        """Tell the others, many things at a time."""
        if not self.news:
            asyncio.get_running_loop().call_later(NEWS_DELAY, self.tell_news)
        for member in news:
            self.news[member.place] = member
            self.want(member)
        if self.roster.ousted:
            self.ousted(f"place {self.roster.me} is in use by another node; this one must stop")

    def tell_news(self) -> None:
        news, self.news = tuple(self.news.values()), {}
        if self.leaving:  # the state is another's by now
            return
        try:
            self.state.remember(news)
        except StateError as error:
            log.warning("%s", error)
        for link in self.known:
            link.send(Tell(news))

    # Leaving

    async def leave(self) -> None:
        """Give my place back, and say goodbye."""
        self.leaving = True
        heir = self.roster.heir(self.host.reached)
        handed = self.roster.leave()
        self.state.leave()
        if heir is not None and (link := self.peers[heir.place].link) is not None:
            link.send(Hand(handed))
        for link in list(self.known):
            link.send(Tell((self.roster.mine,)))
        self.close("it leaves")

    def close(self, reason: str) -> None:
        self.leaving = True
        if self.server is not None:
            self.server.close()
        for peer in self.peers.values():
            if peer.dialling is not None:
                peer.dialling.cancel()
            if peer.link is not None:
                peer.link.send(Bye(said(reason)))
                link, peer.link = peer.link, None
                link.close(reason)
                self.parting.append(link.gone)
        self.known.clear()

    async def gone(self) -> None:
        """Until the last words have left."""
        await asyncio.gather(*self.parting)
