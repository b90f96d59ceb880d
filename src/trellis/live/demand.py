"""Links on demand: as many as the machines of a node use, however large the cluster is.

Promises: between two members there is one link at most. Whoever a machine has something to say to is dialled, and what
          it says waits meanwhile, in a queue with a bound; what does not fit is lost, and counted. The machines hear
          `Restore` with the life of a member before anything comes from it, and `Suspect` when a link to it broke, when
          it cannot be dialled, when it left, or when that life is over: nothing that was sent over a link is lost
          without it. A link over which machines said nothing for a while is let go by both ends, and nobody is told:
          nothing is broken.
          What is new of the roster reaches everybody: it is told on over all links; who links anew, and then twice a
          second, compares checksums; every node keeps TIES links whatever its machines do, and now and then looks up
          somebody by chance, those too who could not be reached before. So also the halves of a cluster find
          each other again.
Assumes:  machines that make do with lost packets, and talk to few at a time (`Overlay.links_on_demand`).

How a link is let go. Whoever finds it idle says `Part` and nothing more over it. The other answers `Part` as its last
word, so that all it said before has come; then the first says `Part` once more and closes. If the link ends in any
other way something may have been lost, and its member is suspected. Meanwhile what the machines say waits for the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from random import Random

from trellis.effects import Send
from trellis.errors import NetworkError
from trellis.live.codec import OutOfPlace, encode
from trellis.live.frames import Carry, Frame, Part, Pulse, Welcome
from trellis.live.net import Net
from trellis.live.node import OPTIONS, Host
from trellis.live.peers import DIAL_MAX, PAUSE_LEAST, PAUSE_MOST, Greeting, Peer, Peers, tell
from trellis.live.places import Member
from trellis.live.roster import Roster
from trellis.live.tls import Identity
from trellis.live.transport import Link, Owner
from trellis.words import NodeId

log = logging.getLogger("trellis.live")

CONTACTS = 8  # members that the machines are told of without a link
TIES = 2  # links that a node keeps whatever its machines do
KEPT_MAX = 4  # idle links that others keep with it; beyond that they are asked to look elsewhere
IDLE, IDLE_ROUNDS = 1.0, 3  # a link is idle after so many seconds, and so many rounds of the overlay
PULSE = 0.5  # seconds between two signs of life over a link
SILENCE_MAX = 2.0  # seconds without one after which it is taken for broken
LOOK = 5.0  # seconds between two members that are looked up by chance
DIALS_MAX = 3  # attempts, within DIAL_MAX seconds, before a member is suspected
WAITING_MAX = 256  # packets that wait for one member
WAITING_BYTES_MAX = 2 << 20  # and their bytes
WAITING_BYTES_ALL = 16 << 20  # the same for all members together

ASKED, ANSWERED = "asked", "answered"  # how far both ends are with letting a link go


class OnDemand(Peers):
    """One node's links, where not every two members are linked."""

    def __init__(self, net: Net, tls: Identity | None, roster: Roster, host: Host, owner: Owner) -> None:
        super().__init__(net, tls, roster, host, owner)
        me = roster.said
        self.luck = Random(f"{roster.cluster} {me.place} {me.incarnation}")
        period = OPTIONS.get(host.linked, {}).get("period", 0) / 1e6
        self.idle = max(IDLE, IDLE_ROUNDS * period)
        self.ties: dict[NodeId, None] = {}  # whom I keep a link with, or dial for that
        self.waiting_bytes = 0
        self.ticked = self.looked = self.now
        self.ticking: asyncio.TimerHandle | None = None

    @property
    def now(self) -> float:
        return self.host.loop.time()

    # Beginning and end

    async def begin(self, welcome: Welcome | None) -> None:
        """Tell the machines whom they can talk to, and wait until one member has heard of me, if anybody is there."""
        for member in self.luck.sample(others := self.others(), len(others)):
            self.introduce(member)
        self.seek(welcome.reached if welcome is not None else ())
        self.tick()
        while not self.closed and not self.known and self.others():
            self.changed.clear()
            await self.changed.wait()

    def missing(self) -> list[NodeId]:
        return [member.place for member in self.others()]

    async def reach_somebody(self) -> None:
        limit = self.now + DIAL_MAX
        while not self.known and self.others() and self.now < limit:
            self.seek()
            await asyncio.sleep(PAUSE_LEAST)

    def close(self, reason: str) -> None:
        super().close(reason)
        if self.ticking is not None:
            self.ticking.cancel()
        for peer in self.wanted.values():
            self.empty(peer)

    # Whom the machines know

    def others(self) -> list[Member]:
        return [member for member in self.roster.present() if member.place != self.roster.me]

    def introduce(self, member: Member) -> None:
        """A member that the machines may talk to, unless they know enough. The first word to it makes the link."""
        known, peer = self.host.reached, self.wanted.get(member.place)
        if len(known) < CONTACTS and member.place not in known and (peer is None or not peer.suspected):
            self.host.restore(member.place, member.incarnation)

    def want(self, member: Member) -> None:
        """Something is new of a member: it came, or left, or began another life."""
        if member.place == self.roster.me or self.closed:
            return
        told = self.host.reached.get(member.place)
        if told is not None and (member.left or member.incarnation > told) and self.link_to(member.place) is None:
            self.give_up(self.peer(member.place))
        elif not member.left:
            self.introduce(member)
        self.changed.set()

    def give_up(self, peer: Peer) -> None:
        """What was said to it, and what waits for it, may be lost."""
        self.host.tally.dropped += len(peer.waiting)
        self.empty(peer)
        peer.suspected = True
        self.host.suspect(peer.place)

    # What the machines say

    def post(self, what: Send, stack: str, at: int) -> None:
        """Over a link, or into the queue for one."""
        if what.to == self.roster.me or self.closed:
            return
        peer, frame = self.peer(what.to), Carry(stack, at, what.packet)
        if peer.link is not None and not peer.parting:
            peer.used = self.now
            peer.link.send(frame, what.can_wait)
        elif self.hold(peer, frame):
            if peer.link is None:
                self.begin_dialling(peer)
        else:
            self.host.tally.dropped += 1

    def hold(self, peer: Peer, frame: Carry) -> bool:
        """Keep it for the next link, if there is room, and if the last attempt did not fail just now."""
        if peer.link is None and peer.dialling is None and self.now < peer.not_before:
            return False
        size = sum(map(len, encode(frame)))
        full = len(peer.waiting) >= WAITING_MAX or peer.waiting_bytes + size > WAITING_BYTES_MAX
        if full or self.waiting_bytes + size > WAITING_BYTES_ALL:
            return False
        peer.waiting.append(frame)
        peer.waiting_bytes += size
        self.waiting_bytes += size
        return True

    def empty(self, peer: Peer) -> list[Carry]:
        """What waited for it waits no more."""
        waited = list(peer.waiting)
        peer.waiting.clear()
        self.waiting_bytes -= peer.waiting_bytes
        peer.waiting_bytes = 0
        return waited

    # Dialling

    async def dial(self, peer: Peer) -> None:
        """A few times; then nobody is there."""
        pause, limit = PAUSE_LEAST, self.now + DIAL_MAX
        try:
            for _ in range(DIALS_MAX):
                if await self.try_once(peer) or self.now > limit:
                    break
                await asyncio.sleep(pause)
                pause *= 2
        finally:
            peer.dialling = None
        if peer.link is None and not self.closed:
            self.be_lost(peer)

    async def try_once(self, peer: Peer) -> bool:
        """Whether there is nothing left to try. Of a newcomer others may have told before the roster did."""
        member = self.roster.members.get(peer.place)
        if peer.link is None and member is not None and not member.left:
            try:
                await self.dial_once(peer, member)
            except (NetworkError, TimeoutError) as error:
                log.debug("place %d: %s", peer.place, error)
        return peer.link is not None or self.closed or (member is not None and member.left)

    def be_lost(self, peer: Peer) -> None:
        """It cannot be dialled. Whoever counted on it is told."""
        place = peer.place
        peer.not_before = self.now + PAUSE_MOST
        told = place in self.host.reached
        self.host.tally.suspicions += told
        if told or peer.waiting:
            self.give_up(peer)
        self.ties.pop(place, None)
        self.changed.set()
        if place not in self.roster.members:
            del self.wanted[place]
        self.seek()

    async def find(self, place: NodeId) -> None:
        peer = self.peer(place)
        self.begin_dialling(peer)
        if peer.dialling is not None:
            await asyncio.wait([peer.dialling])

    # Links

    def check_only_link(self, mine: Greeting | None, place: NodeId, incarnation: int) -> None:
        super().check_only_link(mine, place, incarnation)
        peer = self.wanted.get(place)
        if mine is None and peer is not None and peer.link is not None and peer.link.reason is None:
            fresh = peer.link.dialled and self.now - peer.stood < DIAL_MAX
            if fresh and self.roster.me < place and self.host.reached.get(place) == incarnation:
                # A hello that crossed mine, and was read after the answer to mine. Had it lost my link meanwhile, I
                # would hear of that as well, and it tries again.
                raise OutOfPlace(f"place {place}: the link that I dialled stands; there is one between two members")

    def stand(self, peer: Peer, link: Link, incarnation: int) -> None:
        """First what waited; for another life than it was meant for, it is lost."""
        place = peer.place
        peer.stood = peer.heard = peer.used = self.now
        peer.not_before = peer.told = 0.0
        peer.parting, peer.kept, peer.differs = "", False, True
        link.send(self.pulse(place))
        told = self.host.reached.get(place)
        if told is not None and told != incarnation:
            self.give_up(peer)
        for frame in self.empty(peer):
            link.send(frame)
        peer.suspected = False
        if told != incarnation:
            self.host.restore(place, incarnation)

    def drop(self, peer: Peer, reason: str, goodbye: bool = False) -> None:
        """The link to a peer is over, and not as both wanted: it is suspected, and dialled unless it said goodbye."""
        link, peer.link = peer.link, None
        if link is None:
            return
        del self.known[link]
        link.close(reason)
        peer.parting = ""
        self.ties.pop(peer.place, None)
        self.host.tally.suspicions += not goodbye
        self.give_up(peer)
        if goodbye:
            peer.not_before = self.now + PAUSE_MOST
        else:
            self.begin_dialling(peer)

    def heard(self, place: NodeId, frames: Sequence[Frame]) -> None:
        peer = self.wanted[place]
        peer.heard = self.now
        if any(type(frame) is Carry for frame in frames):
            peer.used = peer.heard

    def live(self) -> Collection[NodeId]:
        return self.known.values()

    def open_links(self) -> list[Link]:
        return [link for link, place in self.known.items() if not self.wanted[place].parting]

    def unreachable(self, place: NodeId) -> bool:
        """Nobody knows of all others whom they reach. That it could not be dialled from here must do."""
        return place not in self.live()

    # Letting go

    def ask_to_part(self, peer: Peer) -> None:
        assert peer.link is not None
        peer.parting = ASKED
        peer.link.send(Part())

    def upon_part(self, peer: Peer) -> None:
        assert peer.link is not None
        if peer.parting != ANSWERED:
            peer.link.send(Part())
        if not peer.parting:
            peer.parting = ANSWERED
            self.ties.pop(peer.place, None)
            return
        link, peer.link, peer.parting = peer.link, None, ""
        del self.known[link]
        link.quiet = True
        link.close("nothing was said over it")
        self.ties.pop(peer.place, None)
        if peer.waiting:
            self.begin_dialling(peer)

    # Signs of life

    def pulse(self, place: NodeId) -> Pulse:
        return Pulse(self.roster.sum(), place in self.ties)

    def upon_word(self, place: NodeId, frame: Pulse | Part) -> None:
        peer = self.wanted[place]
        if isinstance(frame, Part):
            self.upon_part(peer)
        else:
            self.upon_pulse(peer, frame)

    def upon_pulse(self, peer: Peer, pulse: Pulse) -> None:
        """If it knows others than I when its link is new, or for longer than news is on its way: all that I know."""
        assert peer.link is not None
        peer.kept = pulse.keep
        differed, peer.differs = peer.differs, pulse.sum != self.roster.sum()
        if differed and peer.differs and not peer.parting and self.now >= peer.told + PULSE / 2:
            peer.told = self.now
            tell(peer.link, self.roster.all_news())

    def tick(self) -> None:
        now = self.now
        self.ticking = self.host.loop.call_later(PULSE, self.tick)
        if now - self.ticked > 2 * PULSE:  # who was asleep itself accuses nobody
            for peer in self.wanted.values():
                peer.heard = now
        self.ticked = now
        for link, place in list(self.known.items()):
            peer = self.wanted[place]
            if now - peer.heard > SILENCE_MAX:
                self.drop(peer, f"nothing came over it for {SILENCE_MAX:g} s")
            elif not peer.parting:
                link.send(self.pulse(place))
        self.seek()
        self.let_idle_go(now)
        if now - self.looked > LOOK:
            self.looked = now
            if (chosen := self.somebody()) is not None:
                self.begin_dialling(self.peer(chosen))

    def let_idle_go(self, now: float) -> None:
        """All but my ties, and those of others as long as they are not many."""
        linked = (self.wanted[place] for place in self.known.values() if place not in self.ties)
        idle = [peer for peer in linked if not peer.parting and now - peer.used >= self.idle]
        kept = sorted((peer for peer in idle if peer.kept), key=lambda peer: peer.used, reverse=True)
        for peer in [*(peer for peer in idle if not peer.kept), *kept[KEPT_MAX:]]:
            self.ask_to_part(peer)

    def seek(self, first: Collection[NodeId] = ()) -> None:
        """See to my ties: links that are used anyhow, else those I have, else others by chance; of the first, if any.

        Over links that are used news reaches all that machines reach; the others are found by looking around.
        """
        if self.closed:
            return
        now, dialled = self.now, [place for place in self.ties if self.link_to(place) is None]
        linked = [self.wanted[place] for place in self.known.values() if not self.wanted[place].parting]
        linked.sort(key=lambda peer: (now - peer.used >= self.idle, peer.place not in self.ties))
        self.ties = dict.fromkeys([*(peer.place for peer in linked), *dialled][:TIES])
        while len(self.ties) < TIES and (chosen := self.somebody(first)) is not None:
            first = ()
            self.ties[chosen] = None
            self.begin_dialling(self.peer(chosen))

    def somebody(self, among: Collection[NodeId] = ()) -> NodeId | None:
        """A member by chance that I have no link to, and did not try just now."""
        free = [member.place for member in self.others() if self.is_free(self.wanted.get(member.place))]
        chosen = [place for place in free if place in among] or free
        return self.luck.choice(chosen) if chosen else None

    def is_free(self, peer: Peer | None) -> bool:
        return peer is None or (peer.link is None and peer.dialling is None and self.now >= peer.not_before)
