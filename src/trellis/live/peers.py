"""Links to other members: who dials whom, who is reached. Every two members are linked here; otherwise in demand.py.

Promises: between two members there is one link at a time, and the machines hear `Restore` before anything comes over it
          and `Suspect` after it broke, before the next one. Who is lost is dialled again, with growing pauses, until it
          comes back or has left. A place belongs to the name in a certificate: nobody else is taken for it.
Assumes:  members can reach each other's addresses. Of two, the one on the lower place dials; a newcomer dials all.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Sequence

from trellis.effects import Send
from trellis.errors import NetworkError
from trellis.live.codec import OutOfPlace
from trellis.live.frames import VERSION, Bye, Carry, Frame, Hello, Part, Pulse, Refused, Welcome, said
from trellis.live.frames import Roster as Tell
from trellis.live.net import Net
from trellis.live.node import Host
from trellis.live.places import Member
from trellis.live.roster import Roster, forgotten, pieces
from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner
from trellis.protocols.parts.deltas import Shortener
from trellis.words import NodeId

log = logging.getLogger("trellis.live")

DIAL_MAX = 2.0  # seconds for a link to stand, and again for the hello over it
PAUSE_LEAST, PAUSE_MOST = 0.05, 1.0  # seconds between two attempts


def tell(link: Link, news: Sequence[Member]) -> None:
    """In as many frames as it takes."""
    for piece in pieces(news):
        link.send(Tell(piece))


class Peer:
    """A member with which I have a link, or want one."""

    def __init__(self, place: NodeId) -> None:
        self.place = place
        self.link: Link | None = None
        self.dialling: asyncio.Task[None] | None = None
        # The rest is for links on demand (demand.py).
        self.waiting: deque[Carry] = deque()  # what the machines have to say, until there is a link
        self.waiting_bytes = 0
        self.parting = ""  # ASKED or ANSWERED while its link is being let go
        self.kept = False  # the other end wants the link though nothing is said
        self.differs = False  # when it was last heard from, it knew other members than I
        self.suspected = False  # as the machines were told last
        self.stood = self.heard = self.used = 0.0  # when its link came to stand, anything came, machines last spoke
        self.not_before = 0.0  # when it may be dialled again
        self.told = 0.0  # when it was told of all members that I know


class Greeting:
    """A link that I dialled, until the other end has said who it is."""

    def __init__(self, place: NodeId) -> None:
        self.place = place
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # it has, or the link has ended

    def end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Peers:
    """One node's links to members. What comes over them is their owner's affair."""

    def __init__(self, net: Net, tls: Identity | None, roster: Roster, host: Host, owner: Owner) -> None:
        self.net = net
        self.tls = tls
        self.roster = roster
        self.host = host
        self.owner = owner
        self.wanted: dict[NodeId, Peer] = {}
        self.known: dict[Link, NodeId] = {}  # links over which a member said who it is
        self.greetings: dict[Link, Greeting] = {}
        self.parting: list[asyncio.Future[None]] = []  # links on their way out
        self.changed = asyncio.Event()  # somebody is reached, or will not be
        self.lost: set[NodeId] = set()  # whom a newcomer need not wait for
        self.closed = False
        host.post = self.post
        host.accuse = self.accuse

    # Who should be reached

    async def begin(self, welcome: Welcome | None) -> None:
        """Say who I am to all members, and wait until those who are there have answered.

        Whoever let me in said whom it reaches. If I come back and nobody let me in, others may be coming back as I do.
        Over its link it also tells of those who came between its welcome and my hello: they are there, too.
        """
        self.want_all()
        self.lost = set(self.wanted) - set(welcome.reached) if welcome is not None else set()
        for _ in range(2):
            await self.reach(set(self.wanted) - self.lost)

    def missing(self) -> list[NodeId]:
        """Whom I should have reached by now."""
        return sorted(set(self.wanted) - self.lost - set(self.host.reached))

    def want(self, member: Member) -> None:
        """A member that I should have a link to, unless it has left. The lower place dials."""
        if member.place == self.roster.me or self.closed:
            return
        if member.left:
            self.changed.set()
            return
        peer = self.peer(member.place)
        if peer.link is None and self.roster.me < member.place:
            self.begin_dialling(peer)

    def want_all(self) -> None:
        """I am new. Members on lower places dial me once they know me, so I dial them this once."""
        for member in self.roster.present():
            self.want(member)
        for peer in self.wanted.values():
            self.begin_dialling(peer)

    async def reach(self, places: Collection[NodeId]) -> None:
        """Until there is a link to each of them that has not left, or none any more because I must stop."""
        while not self.closed and any(
            place not in self.host.reached and not self.roster.members[place].left for place in places
        ):
            self.changed.clear()
            await self.changed.wait()

    # Dialling

    def begin_dialling(self, peer: Peer) -> None:
        if peer.dialling is None:
            peer.dialling = asyncio.create_task(self.dial(peer))

    async def dial(self, peer: Peer) -> None:
        """Until there is a link."""
        pause = PAUSE_LEAST
        try:
            while peer.link is None and not self.closed:
                member = self.roster.members[peer.place]
                if member.left:
                    return
                try:
                    await self.dial_once(peer, member)
                except (NetworkError, TimeoutError) as error:
                    log.debug("place %d: %s", peer.place, error)
                if peer.link is None:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, PAUSE_MOST)
                    if pause >= PAUSE_MOST and peer.place < self.roster.me:
                        return  # it dials me
        finally:
            peer.dialling = None

    async def dial_once(self, peer: Peer, member: Member) -> None:
        link = await self.net.dial(member.address, self.owner, self.tls, DIAL_MAX)
        if peer.link is not None:
            link.close("it has dialled meanwhile")
            return
        greeting = self.greetings[link] = Greeting(peer.place)
        link.send(self.hello())
        try:
            await asyncio.wait_for(greeting.over, DIAL_MAX)
        finally:
            self.greetings.pop(link, None)
            if link not in self.known:
                link.close("no hello in time")

    async def find(self, place: NodeId) -> None:
        """One more attempt, whoever of us should dial."""
        if place not in self.host.reached:
            try:
                await self.dial_once(self.peer(place), self.roster.members[place])
            except (NetworkError, TimeoutError) as error:
                log.debug("place %d: %s", place, error)

    def hello(self) -> Hello:
        me = self.roster.said
        return Hello(VERSION, self.roster.cluster, me.place, me.incarnation, me.address, self.host.clock.read())

    # Links

    def greet(self, link: Link, hello: Hello) -> list[Member]:
        """A member says who it is: over a link that it dialled, or in answer to my own hello. What is new by it."""
        if hello.version != VERSION:
            raise OutOfPlace(f"version {hello.version}: this node speaks {VERSION}; run the same release")
        if hello.cluster != self.roster.cluster:
            raise OutOfPlace(f"cluster {hello.cluster!r}: this is {self.roster.cluster!r}; join this one first")
        if self.tls is not None and not link.is_node:
            raise OutOfPlace(f"a client's certificate ({link.peer}): members have a node's")
        known = self.roster.members.get(hello.place)
        if known is not None and forgotten(known):
            link.send(Tell((known,)))  # or it would never learn why nobody wants it
        mine = self.greetings.pop(link, None)
        if mine is not None:
            mine.end()
        self.check_only_link(mine, hello.place, hello.incarnation)
        news = self.roster.greet(hello.place, hello.incarnation, hello.address, link.peer)
        if isinstance(news, Refused):
            raise OutOfPlace(news.reason)
        peer = self.peer(hello.place)
        if peer.link is not None:
            if mine is not None and peer.link.reason is None and self.roster.me > hello.place:
                raise OutOfPlace(f"place {hello.place}: there is a link already")
            self.drop(peer, "a newer link stands")
        link.accept()
        self.host.clock.hear(hello.at)
        if mine is None:
            link.send(self.hello())
        peer.link = link
        self.known[link] = hello.place
        link.before_write = self.host.secure
        link.shortener = Shortener(spent=self.host.tally.stamps)
        self.host.tally.links_most = max(self.host.tally.links_most, len(self.known))
        self.stand(peer, link, hello.incarnation)
        self.changed.set()
        return news

    def stand(self, peer: Peer, link: Link, incarnation: int) -> None:
        """There is a link to it now."""
        tell(link, self.roster.all_news())
        self.host.restore(peer.place, incarnation)

    def check_only_link(self, mine: Greeting | None, place: NodeId, incarnation: int) -> None:
        """Of two links that cross, the one stands that the lower place dialled."""
        if mine is not None and mine.place != place:
            raise OutOfPlace(f"place {place} answers where {mine.place} was dialled")
        dialled = any(greeting.place == place for greeting in self.greetings.values())
        if mine is None and self.roster.me < place and dialled:
            raise OutOfPlace(f"place {place}: a link that I dialled is on its way; there is one between two members")

    def ended(self, link: Link, reason: str) -> None:
        """A link has ended, whether I closed it or not."""
        greeting = self.greetings.get(link)
        if greeting is not None:
            greeting.end()
        place = self.known.get(link)
        if place is not None and self.wanted[place].link is link:
            self.drop(self.wanted[place], reason)

    def drop(self, peer: Peer, reason: str, goodbye: bool = False) -> None:
        """The link to a peer is over: first it is suspected, then looked for."""
        link, peer.link = peer.link, None
        if link is not None:
            del self.known[link]
            link.close(reason)
            self.host.tally.suspicions += not goodbye
            self.host.suspect(peer.place)
            self.want(self.roster.members[peer.place])

    def upon_goodbye(self, place: NodeId, reason: str) -> None:
        self.drop(self.wanted[place], f"place {place} says: {reason}", goodbye=True)

    def upon_word(self, place: NodeId, frame: Pulse | Part) -> None:
        """What a member says of the link itself."""
        raise OutOfPlace(f"{type(frame).__name__} from place {place}: every two members of this cluster are linked")

    def heard(self, place: NodeId, frames: Sequence[Frame]) -> None:
        """Something came from a member."""

    def accuse(self, node: NodeId) -> None:
        peer = self.wanted.get(node)
        if peer is not None and peer.link is not None:
            self.drop(peer, "it does not answer the failure detector")

    def post(self, what: Send, stack: str, at: int) -> None:
        """To somebody without a link it goes nowhere: the machines were told, or will be."""
        peer = self.wanted.get(what.to)
        if peer is not None and peer.link is not None:
            peer.link.send(Carry(stack, at, what.packet), what.can_wait)

    def peer(self, place: NodeId) -> Peer:
        found = self.wanted.get(place)
        if found is None:
            found = self.wanted[place] = Peer(place)
        return found

    def live(self) -> Collection[NodeId]:
        """To whom a link stands."""
        return self.host.reached

    def open_links(self) -> list[Link]:
        """Over which news can be told."""
        return list(self.known)

    def unreachable(self, place: NodeId) -> bool:
        """Whether nobody reaches a member any more, as far as can be known."""
        return self.host.holds_dead(place)

    async def reach_somebody(self) -> None:
        """Before I leave: somebody must hear of it, if anybody is there."""

    def link_to(self, place: NodeId) -> Link | None:
        peer = self.wanted.get(place)
        return peer.link if peer is not None else None

    # The end

    def close(self, reason: str) -> None:
        self.closed = True
        for peer in self.wanted.values():
            if peer.dialling is not None:
                peer.dialling.cancel()
            if peer.link is not None:
                peer.link.send(Bye(said(reason)))
                link, peer.link = peer.link, None
                link.close(reason)
                self.parting.append(link.gone)
        self.known.clear()
        self.changed.set()

    async def gone(self) -> None:
        """Until the last words have left."""
        await asyncio.gather(*self.parting)
