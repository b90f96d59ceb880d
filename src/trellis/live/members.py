"""What members say to each other: who they are, who is new, who leaves.

Promises: news reaches every member that somebody has a link to, and is not told back to whoever told it. A node whose
          place another one uses is told to stop. Who leaves hands its place to one that stays, and says goodbye.
Assumes:  what `Peers` promises of links, and `Roster` of places.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable

from msgspec import structs

from trellis.errors import LocalProtocolError, StateError
from trellis.live import joining
from trellis.live.addresses import check_reachable
from trellis.live.codec import OutOfPlace
from trellis.live.demand import OnDemand
from trellis.live.frames import Attach, Bye, Carry, Frame, Hand, Hello, Join, Order, Part, Pulse, Refused, Welcome
from trellis.live.frames import Roster as Tell
from trellis.live.net import Net
from trellis.live.node import Host
from trellis.live.peers import Peers, tell
from trellis.live.places import TOLD_MAX, Member
from trellis.live.roster import Roster, forgotten, pieces
from trellis.live.state import State
from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner, Server
from trellis.protocols import MESH
from trellis.words import NodeId

log = logging.getLogger("trellis.live")

NEWS_DELAY = 0.01  # seconds in which news gathers
LINKS_MAX = 3.0  # seconds for the first links of a newcomer


class Members:
    """One node among the others. The owner of every link but those of clients."""

    def __init__(self, net: Net, tls: Identity | None, state: State, overlay: str = MESH) -> None:
        self.net = net
        self.tls = tls
        self.state = state
        self.overlay = overlay  # how the members are linked
        self.roster: Roster
        self.host: Host
        self.server: Server | None = None
        self.peers: Peers  # from `link_up` on
        self.welcome: Welcome | None = None  # by which I was let in, if I was
        self.clients: Callable[[Link], Owner] | None = None  # who takes those that attach
        self.news: dict[NodeId, tuple[Member, Link | None]] = {}  # to be told, and who told me if nobody else knew
        self.ready = False
        self.leaving = False
        self.ousted: Callable[[str], None] = lambda _: None
        self.ordered: Callable[[Order], None] = lambda _: None

    # Beginning

    async def begin(self, listen: str, join: str | None, advertise: str | None) -> None:
        """Listen, and get a place."""
        self.server = await self.net.listen(listen, self, self.tls)
        self.address = check_reachable(advertise or self.server.address)
        newcomer = joining.Newcomer(self.net, self.tls, self.state, self.address, self.overlay)
        self.roster, self.welcome = await newcomer.begin(join)

    async def link_up(self, host: Host) -> None:
        """Say who I am to the others, and wait until those who are there have answered."""
        self.host = host
        kind = Peers if self.overlay == MESH else OnDemand
        self.peers = kind(self.net, self.tls, self.roster, host, self)
        self.ready = True
        try:
            async with asyncio.timeout(LINKS_MAX):
                await self.peers.begin(self.welcome)
        except TimeoutError:
            log.info("not reached yet: places %s", self.peers.missing())

    # From links

    def opened(self, link: Link) -> None:
        """Whoever came in speaks first."""

    def received(self, link: Link, frames: list[Frame]) -> None:
        place = self.peers.known.get(link) if self.ready else None
        if place is not None:
            self.peers.heard(place, frames)
        for frame in frames:
            if link.reason is not None:  # by one of these: the machines were told that it is over
                return
            if type(frame) is Carry and place is not None:  # by far the most
                self.host.receive(place, frame.stack, frame.at, frame.packet)
            elif place is not None:
                self.upon_member(link, place, frame)
            else:
                self.upon_stranger(link, frame)
                place = self.peers.known.get(link)

    def closed(self, link: Link, reason: str) -> None:
        if self.ready:
            self.peers.ended(link, reason)

    def upon_stranger(self, link: Link, frame: Frame) -> None:
        if not self.ready or self.leaving:
            raise OutOfPlace(f"{type(frame).__name__}: this node is not ready; try again soon")
        match frame:
            case Hello():
                self.spread_news(self.peers.greet(link, frame))
            case Join():
                self.let_in(link, frame)
            case Tell() if link in self.peers.greetings and (self.tls is None or link.is_node):
                self.hear(frame.members, link)  # in answer to my hello: why I am not wanted
            case Attach() if self.clients is not None:
                link.owner = self.clients(link)
                link.owner.received(link, [frame])
            case _:
                raise OutOfPlace(f"{type(frame).__name__} from a stranger: say who you are first")

    def let_in(self, link: Link, join: Join) -> None:
        answer = joining.answer(self.roster, self.peers.live(), join, link, self.tls)
        if isinstance(answer, Welcome):
            tell(link, answer.members[:-TOLD_MAX])
            answer = structs.replace(answer, members=answer.members[-TOLD_MAX:])
        link.send(answer)
        if isinstance(answer, Welcome):
            self.spread_news([self.roster.mine])  # my lot has changed

    def upon_member(self, link: Link, place: NodeId, frame: Frame) -> None:
        match frame:
            case Tell():
                self.hear(frame.members, link)
            case Hand():
                news = self.roster.inherit(frame.vacancies)
                if not isinstance(news, Refused):
                    self.spread_news(news)
            case Order():
                self.ordered(frame)
            case Bye():
                self.peers.upon_goodbye(place, frame.reason)
            case Pulse() | Part():
                self.peers.upon_word(place, frame)
            case _:
                raise OutOfPlace(f"{type(frame).__name__} from place {place}: members do not say that")

    # News

    def hear(self, members: Collection[Member], teller: Link) -> None:
        told = set(members)
        for member in self.roster.hear(members):
            self.spread_news([member], teller if member in told else None)  # else I know more of it than the teller

    def spread_news(self, news: Iterable[Member], teller: Link | None = None) -> None:
        """Tell the others, many things at a time."""
        for member in news:
            if not self.news:
                asyncio.get_running_loop().call_later(NEWS_DELAY, self.tell_news)
            self.news[member.place] = member, None if member.place in self.news else teller
            self.peers.want(member)
        if self.roster.ousted:
            why = "was forgotten as gone for good" if forgotten(self.roster.mine) else "is in use by another node"
            self.ousted(f"place {self.roster.me} {why}; this node must stop")

    def tell_news(self) -> None:
        news, self.news = self.news, {}
        if self.leaving:  # the state is another's by now
            return
        try:
            self.state.remember(member for member, _ in news.values())
        except StateError as error:
            log.warning("%s", error)
        for link in self.peers.open_links():
            told = tuple(member for member, teller in news.values() if teller is not link)
            tell(link, told)

    async def forget(self, place: NodeId) -> None:
        """A member is gone for good, says an operator. Refused when anything speaks against it."""
        self.check_gone(place)
        await self.peers.find(place)
        self.check_gone(place)  # and it may have left meanwhile
        if not self.peers.unreachable(place):
            raise LocalProtocolError(f"place {place}: others may still reach it; try again in some seconds")
        news = self.roster.forget(place)
        self.state.remember(news)
        self.spread_news(news)

    def check_gone(self, place: NodeId) -> None:
        refusal = self.roster.not_gone(place, self.peers.live())
        if refusal is not None:
            raise LocalProtocolError(refusal.reason)

    # Leaving

    async def leave(self) -> None:
        """Give my place back, and say goodbye."""
        await self.peers.reach_somebody()
        self.leaving = True
        heir = self.roster.heir(self.peers.live())
        handed = self.roster.leave()
        self.state.leave()
        if heir is not None and (link := self.peers.link_to(heir.place)) is not None:
            for piece in pieces(handed):
                link.send(Hand(piece))
        for link in self.peers.open_links():
            link.send(Tell((self.roster.mine,)))
        self.close("it leaves")

    def close(self, reason: str) -> None:
        self.leaving = True
        if self.server is not None:
            self.server.close()
        if self.ready:
            self.peers.close(reason)

    async def gone(self) -> None:
        """Until the last words have left."""
        await self.peers.gone()
