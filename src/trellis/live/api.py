"""A node inside a program: `async with trellis.Node(...) as node`.

Promises: what `Bus` promises. A publisher that is faster than its subscribers waits; a reader that is slower is told
          of gaps.
Assumes:  one event loop: a node is not to be called from other threads (see sync.py for scripts).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trellis.errors import LocalProtocolError, NetworkError, TrellisError
from trellis.live import transport
from trellis.live.bus import ORDER, Bus, Topics
from trellis.live.clock import Clock
from trellis.live.courses import Courses
from trellis.live.links import LINKS, bound
from trellis.live.members import Members
from trellis.live.net import Net
from trellis.live.node import Host, haste
from trellis.live.places import Member
from trellis.live.sessions import Sessions
from trellis.live.state import State
from trellis.live.status import report
from trellis.live.subscription import Budget, Subscription
from trellis.live.tls import identity
from trellis.protocols import MESH, check_linked
from trellis.words import NodeId, Topic

if TYPE_CHECKING:
    from trellis.live.record import Journal

log = logging.getLogger("trellis.live")

SETTLE_MAX = 5.0  # seconds in which a node that stops sees its messages settled


class Node(Bus):
    """A member of a cluster: publishes, subscribes, and forwards for others.

    listen     host:port to take links at; port 0 is any free one (`address` says which)
    join       host:port of any member; None: come back to the cluster in `data`, or begin a new one
    data       directory for place and incarnation; None: nothing is kept
    keys, name directory of certificates, and whose (`trellis keys`); plaintext=True instead, on loopback only
    trace      directory for the trace of what happens here, for `trellis audit`
    hasty_buffer, hasty_ttl_ms
               in total order: how many messages it holds back, and each for how long, before it goes on without what is
               missing; that comes tagged, if it does. 0 is no limit; both 0: it waits for as long as it takes
    overlay    how the members of its cluster are linked: "mesh", each to every other; or an overlay whose nodes talk to
               few others, and links are made on demand. The same at all of them
    links      then, how many the overlay may keep here: half of them it chooses, half others do
    """

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        join: str | None = None,
        data: Path | str | None = None,
        keys: Path | str | None = None,
        name: str | None = None,
        plaintext: bool = False,
        trace: Path | str | None = None,
        advertise: str | None = None,
        hasty_buffer: int = 0,
        hasty_ttl_ms: int = 0,
        overlay: str = MESH,
        links: int = LINKS,
        net: Net = transport,
    ) -> None:
        self.listen, self.join, self.advertise, self.net = listen, join, advertise, net
        self.data = Path(data) if data is not None else None
        self.trace = Path(trace) if trace is not None else None
        self.hasty = haste(hasty_buffer, hasty_ttl_ms)
        check_linked(overlay)
        self.overlay = overlay
        self.links = bound(links)
        self.tls = identity(keys, name, plaintext, node=True)
        self.name = self.tls.name if self.tls is not None else ""
        self.courses = Courses(self)
        self.budget = Budget()
        self.sessions = Sessions(self)
        self.members: Members
        self.host: Host
        self.running = False
        self.ending: asyncio.Task[None] | None = None  # from when it has said goodbye
        self.stopped: asyncio.Event = asyncio.Event()
        self.trouble: TrellisError | None = None  # why it had to stop

    # Life

    async def start(self) -> None:
        """Become a member. Returns when the links to all members that are there stand; on demand, when one does."""
        self.stopped.clear()
        self.trouble = self.ending = None
        self.state = State(self.data, self.name)
        self.members = members = Members(self.net, self.tls, self.state, self.overlay)
        try:
            await members.begin(self.listen, self.join, self.advertise)
            self.host = self.make_host(members.roster.said)
        except BaseException:
            members.close("it could not start")
            self.state.close()
            raise
        members.ousted, members.ordered = self.be_ousted, self.courses.be_told_order
        members.clients = self.sessions.attach
        try:
            await members.link_up(self.host)
            if self.trouble is not None:
                raise self.trouble
        except BaseException:
            if self.trouble is None:  # else it has ended already
                self.sessions.close("this node could not start")
                await self.go("it could not start", self.data is None)
            await self.ended()
            raise
        self.running = True
        log.info("place %d, incarnation %d, at %s", self.place, self.incarnation, self.address)

    def make_host(self, me: Member) -> Host:
        clock, journal = Clock(), None
        if self.trace is not None:
            from trellis.live.record import Journal, last_time  # Arrow and NumPy, which others need not load

            clock.hear(last_time(self.trace))
            journal = Journal(self.trace, me.place, me.incarnation, clock.read())
        return Host(
            me.place, me.incarnation, clock, journal, self.courses, self.state, self.hasty, self.overlay, self.links
        )

    async def stop(self, leave: bool | None = None) -> None:
        """Unsubscribe from everything and go. Without a data directory, or with leave=True, the place is given back."""
        if self.running:
            await self.wind_up(leave)
        await self.ended()

    async def ended(self) -> None:
        """Until nothing of it is left, if it has said goodbye."""
        if self.ending is not None:
            await asyncio.shield(self.ending)

    async def wind_up(self, leave: bool | None) -> None:
        self.running = False
        self.sessions.close("this node stops")
        for course in list(self.courses.values()):
            for reader in course.readers:
                reader.close()
            course.readers.clear()
            course.writers.clear()
        try:
            await self.unsubscribe_all()
        finally:  # whoever waits may give up; then it ends at once
            if self.ending is None:  # else it had to give up meanwhile
                for course in self.courses.values():
                    course.fail(NetworkError(f"topic {course.topic!r}: this node stopped before all was settled"))
                self.courses.clear()
                await self.go("it stops", leave if leave is not None else self.data is None)

    async def go(self, reason: str, leave: bool) -> None:
        try:
            if leave:
                await self.members.leave()
        finally:
            self.end(reason)

    async def unsubscribe_all(self) -> None:
        """In good order: what was published is settled before we go, if the others still answer."""
        limit = asyncio.get_running_loop().time() + SETTLE_MAX
        leaving = [self.courses.part(course) for course in self.courses.values()]
        if leaving:
            await asyncio.wait(leaving, timeout=SETTLE_MAX)
        while self.busy() and asyncio.get_running_loop().time() < limit:
            await asyncio.sleep(0.01)

    def busy(self) -> bool:
        """Whether a stack still takes part in a topic."""
        overlays = map(self.host.overlay, self.host.machines)
        return any(overlay.takes_part() for overlay in overlays if overlay is not None)

    def end(self, reason: str) -> None:
        self.running = False
        if self.ending is not None:
            return
        self.members.close(reason)
        self.ending = asyncio.create_task(self.close(self.host.close()))

    async def close(self, journal: Journal | None) -> None:
        """When the last words have left, the trace is laid down for good: by a thread, for it may be much."""
        try:
            try:
                if journal is not None:
                    journal.stop(self.host.clock.read())
            finally:
                await self.members.gone()
                if journal is not None:
                    await asyncio.to_thread(journal.turn_rest)
        finally:
            self.state.close()
            self.stopped.set()

    def be_ousted(self, reason: str) -> None:
        self.give_up(NetworkError(reason))

    def give_up(self, why: TrellisError) -> None:
        """It has to stop at once; whoever uses it learns why."""
        log.error("%s", why)
        self.trouble = why
        for course in self.courses.values():
            course.fail(why)
        self.sessions.close(str(why))
        self.end(str(why))

    # Who and where

    @property
    def address(self) -> str:
        return self.members.address

    @property
    def place(self) -> NodeId:
        return self.members.roster.me

    @property
    def incarnation(self) -> int:
        return self.members.roster.said.incarnation

    # Subscribing

    async def subscribe(self, topics: Topics, order: str = ORDER) -> Subscription:
        return await self.courses.read(self, topics, order)

    async def unsubscribe(self, topic: Topic) -> None:
        await self.courses.let_go(self, topic)

    # Publishing

    async def publish_many(
        self, topic: Topic, payloads: Iterable[bytes], confirm: bool = False, order: str | None = None
    ) -> None:
        outgoing = await self.courses.accept(self, topic, payloads, order, confirm)
        if confirm:
            await outgoing.confirmation()

    def check_running(self) -> None:
        if not self.running:
            raise self.trouble or LocalProtocolError("this node is not running; use it within `async with`")

    async def forget(self, place: NodeId) -> None:
        """A member is gone for good: nobody looks for it any more, and nobody ever stands on its place again."""
        self.check_running()
        await self.members.forget(place)

    def status(self) -> dict[str, Any]:
        """What `trellis status` shows."""
        return report(self)
