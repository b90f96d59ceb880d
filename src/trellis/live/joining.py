"""Getting a place in a cluster: a node asks to be let in, a member answers.

Promises: a node that comes back has its own place again, a new one a place that nobody ever had, and the first one
          begins a cluster. Whoever is sent around asks `ASKS_MAX` times at most, with pauses where somebody that it
          was sent to is not there, and is told what was wrong in the end.
Assumes:  what `Roster` does of members and places.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Iterable

from msgspec import structs

from trellis.errors import NetworkError, StateError
from trellis.live.codec import OutOfPlace
from trellis.live.frames import Elsewhere, Frame, Join, Refused, Welcome
from trellis.live.frames import Roster as Tell
from trellis.live.naming import kind, named, overlay_of, remedy
from trellis.live.net import Net
from trellis.live.peers import DIAL_MAX, PAUSE_LEAST, PAUSE_MOST
from trellis.live.places import MEMBERS_MAX, WHOLE, Member
from trellis.live.roster import HOPS_MAX, Roster, later
from trellis.live.state import State
from trellis.live.tls import Identity
from trellis.live.transport import Link
from trellis.protocols import MESH
from trellis.words import NodeId

JOIN_MAX = 10.0  # seconds for an answer
ASKS_MAX = 4 * HOPS_MAX  # questions that begin at one door


class NotLetIn(NetworkError):
    """Somebody answered, and it was no."""


class Question:
    """The owner of a link over which a node asks to be let in."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self.told: list[Member] = []  # members that did not fit the answer

    def opened(self, link: Link) -> None:
        """Whoever asks speaks first."""

    def received(self, link: Link, frames: list[Frame]) -> None:
        for frame in frames:
            if isinstance(frame, Tell) and len(self.told) < MEMBERS_MAX:
                self.told += frame.members
                continue
            if not isinstance(frame, Welcome | Elsewhere | Refused):
                raise OutOfPlace(f"{type(frame).__name__} in answer to a Join")
            if isinstance(frame, Welcome):
                frame = structs.replace(frame, members=(*self.told, *frame.members))
            if not self.answer.done():
                self.answer.set_result(frame)

    def closed(self, link: Link, reason: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(NetworkError(f"{link.address}: {reason}"))


class Newcomer:
    """A node that wants a place."""

    def __init__(self, net: Net, tls: Identity | None, state: State, address: str, overlay: str = MESH) -> None:
        self.net = net
        self.tls = tls
        self.state = state
        self.address = address  # where others will reach it
        self.overlay = overlay  # of the cluster that it wants, or begins

    async def begin(self, join: str | None) -> tuple[Roster, Welcome | None]:
        """My own place again, a new one, or the first of a new cluster; and the welcome, if somebody let me in."""
        name, mine = self.state.name, self.state.identity()
        if mine is not None and overlay_of(mine.cluster) != self.overlay:
            its = overlay_of(mine.cluster)
            raise StateError(f"{self.state.label}: it is of a cluster with {kind(its)}; {remedy(its)}")
        doors = [join] if join else [m.address for m in self.state.members() if not m.left] if mine else []
        welcome = await self.knock(doors)
        if welcome is not None:
            lot = later(welcome.lot, mine.lot) if mine and mine.place == welcome.place else welcome.lot
            incarnation = max(welcome.incarnation, mine.incarnation if mine and mine.place == welcome.place else 0)
            cluster, place = welcome.cluster, welcome.place
        elif mine is not None:
            cluster, place, incarnation, lot = mine.cluster, mine.place, mine.incarnation, mine.lot
        else:
            cluster, place, incarnation, lot = named(self.overlay, secrets.token_hex(8)), 0, 0, WHOLE
        self.state.settle(cluster, place, incarnation, lot)
        me = Member(place, incarnation, self.address, name, False, lot)
        roster = Roster(cluster, me, self.state.keep, self.state.vacancies(), self.state.lasting)
        remembered = self.state.members() if mine is not None and mine.place == place else []
        told = (*remembered, *(welcome.members if welcome else ()))
        self.state.remember(roster.hear(m for m in told if m.place != place))
        return roster, welcome

    async def knock(self, doors: Iterable[str]) -> Welcome | None:
        """Ask at one door after the other. None when I come back and nobody is there, or when there is no door."""
        mine = self.state.identity()
        join = Join(self.address, named(self.overlay))
        if mine:
            join = Join(self.address, mine.cluster, mine.place, mine.incarnation - 1)
        trouble: NetworkError | None = None
        for door in doors:
            try:
                return await self.ask_around(door, join)
            except NotLetIn:
                raise
            except NetworkError as error:
                trouble = error
        if mine is None and trouble is not None:
            raise trouble
        return None

    async def ask_around(self, door: str, join: Join) -> Welcome:
        """Beginning at a door, and wherever I am sent."""
        address, hops, pause, why = door, 0, PAUSE_LEAST, "it sends me in circles"
        for _ in range(ASKS_MAX):
            try:
                answer = await self.ask(address, structs.replace(join, hops=hops))
            except NetworkError as error:
                if address == door:
                    raise
                why = f"it sends me to one that is not there: {error}"
                await asyncio.sleep(pause)
                address, hops, pause = (
                    door,
                    HOPS_MAX,
                    min(2 * pause, PAUSE_MOST),
                )  # let it find another, or do it itself
                continue
            match answer:
                case Welcome():
                    return answer
                case Elsewhere():
                    address, hops = answer.address, hops + 1
                case Refused():
                    raise NotLetIn(f"{address}: not let in: {answer.reason}")
        raise NotLetIn(f"{door}: not let in: {why}; try again later, or through another member")

    async def ask(self, address: str, question: Join) -> Frame:
        asking = Question()
        link = await self.net.dial(address, asking, self.tls, DIAL_MAX)
        link.accept()  # its roster may be large
        link.send(question)
        try:
            return await asyncio.wait_for(asking.answer, JOIN_MAX)
        except TimeoutError:
            raise NetworkError(f"{address}: no answer within {JOIN_MAX:g} s") from None
        finally:
            link.close("asked and answered")


def answer(
    roster: Roster, live: Collection[NodeId], join: Join, link: Link, tls: Identity | None
) -> Welcome | Elsewhere | Refused:
    """What a member says to a node that wants to be let in; `live` are those that it has a link to."""
    if tls is not None and not link.is_node:
        return Refused(f"a client's certificate ({link.peer}): members have a node's")
    its, wanted = overlay_of(roster.cluster), overlay_of(join.cluster)
    if wanted != its:
        return Refused(f"this cluster has {kind(its)}, not {kind(wanted)}; {remedy(its)}")
    if join.cluster not in (named(its), roster.cluster):
        return Refused(f"this is cluster {roster.cluster!r}, not {join.cluster!r}")
    if join.place >= 0:
        return roster.readmit(link.peer, join.place, join.incarnation, live)
    return roster.admit(link.peer, live, join.hops)
