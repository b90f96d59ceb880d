"""An ordering that counts on desks: how its nodes find them, write to them, and do not give up.

Promises: what is written to a desk goes to whoever leads it, as far as that is known here; whoever waits for an answer
          asks again, sooner when something happened (parts/patience.py). A letter to oneself is read after what wrote
          it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from typing import ClassVar

from trellis.errors import UnexpectedEvent
from trellis.events import Cycle, Event, Kept, Receive, Restore, Suspect, Timeout
from trellis.machine import Place
from trellis.protocols.layers import Ordering
from trellis.protocols.parts.bureau import Bureau
from trellis.protocols.parts.desk_packets import WIRE, Ours
from trellis.protocols.parts.groups import Desks
from trellis.protocols.parts.patience import Patience
from trellis.words import NodeId, Origin, Packet, Time

RETRY, EXPIRY = "retry", "expiry"
LEASE = 4  # times the retry: as long as a publisher may be out of reach before its numbers are given up


class Deskbound(Ordering):
    """A node that hosts desks, perhaps, and writes to others."""

    options: ClassVar[dict[str, int]] = {"desks": 3, "block": 0, "copies": 1, "grows": 0, "retry": 0, "lease": 0}
    packets = WIRE
    subtopics = False

    def __init__(
        self, place: Place, rule: str, desks: int, block: int, copies: int, grows: int, retry: int, lease: int
    ) -> None:
        super().__init__(place)
        self.retry = retry
        self.desks = Desks(min(desks, place.size), block=block)
        self.reached: dict[NodeId, None] = {} if place.alone else dict.fromkeys(range(place.size))
        self.lives: dict[NodeId, int] = {}  # the newest incarnation that I met
        self.away: dict[NodeId, Time] = {}  # since when nobody answers there
        self.born: Time = 0
        self.lease = lease
        self.bureau = Bureau(self, self.desks, copies, bool(grows), lease, rule)
        self.letters: deque[tuple[NodeId, Ours]] = deque()  # to be read
        self.reading = False
        self.patience = Patience(retry)

    def upon(self, event: Event) -> None:
        if isinstance(event, Kept):
            self.born = self.now
            self.bureau.recover(event.items)
            self.be_patient()
            self.look_for_the_gone()
        else:
            super().upon(event)

    def upon_own(self, event: Receive | Timeout | Cycle) -> None:
        match event:
            case Receive():
                assert isinstance(event.packet, Ours)
                self.read(event.sender, event.packet)
            case Timeout(name) if name == RETRY:
                self.upon_retry()
            case Timeout(name) if name == EXPIRY:
                self.look_for_the_gone()
            case _:
                raise UnexpectedEvent(self, event)

    @abstractmethod
    def upon_packet(self, sender: NodeId, packet: Ours) -> None:
        """A letter for me, or for a desk of mine."""

    @abstractmethod
    def ask_again(self, desk: int) -> None:
        """Somebody else leads it now: what I asked may be lost."""

    @abstractmethod
    def ask_all_again(self) -> bool:
        """Nothing came for a while; whether I wait for anything."""

    # Links

    def upon_link(self, event: Suspect | Restore) -> None:
        node = event.node
        if isinstance(event, Suspect):
            self.reached.pop(node, None)
            self.away.setdefault(node, self.now)
            self.look_for_the_gone()
        else:
            self.reached[node] = None
            self.away.pop(node, None)
            self.lives[node] = max(event.incarnation, self.lives.get(node, 0))
            self.bureau.upon_restore(node)
        self.patience.changed()
        self.be_patient()

    def is_gone(self, origin: Origin) -> bool:
        """Whether nobody need wait for a publisher any more: its life is over, or it is away for too long."""
        node = origin[0]
        if node == self.me or self.lived_again(origin):
            return self.lived_again(origin)
        since = self.away.get(node, self.born)  # whom I never met may have gone before I came
        return node not in self.reached and self.now - since >= LEASE * self.retry

    def lived_again(self, origin: Origin) -> bool:
        node, incarnation = origin
        return (self.place.incarnation if node == self.me else self.lives.get(node, 0)) > incarnation

    def look_for_the_gone(self) -> None:
        """For a leader that counts subscribers: who was out of reach for as long as a lease is given up."""
        if self.bureau.census is not None:
            delay = self.bureau.census.expire()
            if delay:
                self.set_timer(EXPIRY, delay)

    # Between desks and nodes

    def reaches(self, node: NodeId) -> bool:
        return node == self.me or node in self.reached

    def to_desk(self, desk: int, packet: Packet) -> None:
        self.to_node(self.bureau.leader_of(desk), packet)

    def to_node(self, node: NodeId, packet: Packet) -> None:
        if node == self.me:
            assert isinstance(packet, Ours)
            self.read(self.me, packet)
        elif node in self.reached:
            self.send(node, packet)

    def read(self, sender: NodeId, packet: Ours) -> None:
        """One letter after the other: what one makes me write to myself comes after it."""
        self.letters.append((sender, packet))
        if self.reading:
            return
        self.reading = True
        while self.letters:
            self.upon_packet(*self.letters.popleft())
            if not self.letters:
                self.bureau.tend()
        self.reading = False
        if self.bureau.busy:
            self.be_patient()

    # What was lost on the way is asked for again

    def be_patient(self) -> None:
        delay = self.patience.begin()
        if delay:
            self.set_timer(RETRY, delay)

    def upon_retry(self) -> None:
        self.patience.over()
        waiting = self.ask_all_again() or self.bureau.busy
        self.bureau.send_again(self.patience.tries)
        if waiting:
            self.be_patient()
