"""The event-driven host when things break: nodes crash, come back and stand still, links are cut, packets are lost.

Promises: as `host.py`, and what RELIABILITY of the live runtime gives: a link is a row of sessions. Within one, packets
          arrive; when it breaks, what is on its way may be lost, each end notices at a time of its own (`Suspect`), and
          a new session begins (`Restore` at both) only after both have noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from trellis import draw
from trellis.effects import Effect, Send
from trellis.events import Event, Receive, Restore, Suspect
from trellis.scenario.model import Crash, Faults, Pause, Scenario, Sever
from trellis.sim.calendar import APPLICATION, FAULT, LINK, PACKET, TIMER, Entry
from trellis.sim.host import BUILD
from trellis.sim.mortal import Breaks, MortalHost, Starts
from trellis.words import MessageId, NodeId, Packet, Time

Pair = tuple[NodeId, NodeId]


class Cuts(msgspec.Struct, frozen=True):
    """The link to a peer breaks."""

    until: Time  # not before this may it stand again


class Connects(msgspec.Struct, frozen=True):
    """A new session with a peer begins, if both are there and nothing stands against it."""


class Wire:
    """The link between two nodes."""

    __slots__ = ("barred", "broken", "cutoff", "session", "suspects")

    def __init__(self) -> None:
        self.session = 0
        self.broken = False
        self.cutoff: Time = 0  # once it is broken: what arrives later is lost
        self.suspects: dict[NodeId, Time] = {}  # when each end notices
        self.barred: Time = 0  # no new session before this


class FaultyHost(MortalHost):
    """All nodes of one run in which something fails."""

    def __init__(self, scenario: Scenario, build: BUILD | None = None) -> None:
        assert isinstance(scenario.faults, Faults)
        self.faults = scenario.faults
        self.wires: dict[Pair, Wire] = {}
        self.sessions: dict[tuple[NodeId, int], int] = {}  # packet -> the session in which it was sent
        self.still_until = [0] * scenario.nodes.count
        self.losses = self.faults.losses()
        self.tries: Counter[tuple[str, MessageId]] = Counter()  # packets of a kind that may be lost, for one message
        self.told: dict[int, tuple[int, int]] = {}  # of a Suspect or Restore: the session and the node's life it is for
        super().__init__(scenario, build)

    def begin(self) -> None:
        super().begin()
        for fault in self.faults.events:
            match fault:
                case Crash():
                    self.foresee(fault)
                case Pause():
                    self.push(fault.at, fault.node, FAULT, -1, fault)
                case Sever():
                    self.push(fault.at, fault.node, FAULT, fault.other, Cuts(fault.at + fault.span))

    def work_off(self, entries: list[Entry]) -> None:
        for entry in entries:
            node, kind = entry[0], entry[1]
            if kind == FAULT:
                self.befall(node, entry[2], entry[4])
            elif node in self.dead:
                continue
            elif self.now < self.still_until[node]:
                self.calendar.push(self.still_until[node], entry)
            else:
                self.happen(entry)

    def happen(self, entry: Entry) -> None:
        node, kind, peer, number, event, line = entry
        if kind == PACKET:
            if not self.arrives(peer, node, number):
                return
            self.recorder.lines += line
        elif kind == APPLICATION:
            self.act(node, event)
            return
        elif not (self.runs_out(node, event, number) if kind == TIMER else self.notices(node, peer, number, event)):
            return
        self.carry_out(node, self.machines[node].step(self.now, event))

    # Links

    def wire(self, a: NodeId, b: NodeId) -> Wire:
        return self.wires.setdefault((min(a, b), max(a, b)), Wire())

    def carry_out(self, node: NodeId, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self.post(node, effect)
            else:
                super().carry_out(node, [effect])

    def post(self, node: NodeId, effect: Send) -> None:
        departure, arrival, number = self.network.times(self.now, node, effect.to)
        line = self.recorder.sent(self.now, node, effect.packet, effect.to, departure, arrival)
        wire = self.wire(node, effect.to)
        if not wire.broken and not self.is_lost(effect.packet):
            self.sessions[node, number] = wire.session
            self.calendar.push(arrival, (effect.to, PACKET, node, number, Receive(node, effect.packet), line))

    def is_lost(self, packet: Packet) -> bool:
        """Its luck depends on what it is about and on how often that was tried: not on the rest of the traffic."""
        share = self.losses.get(packet.kind)
        if share is None or not packet.for_ordering:
            return False
        self.tries[packet.kind, packet.id] += 1
        id, kind, nth = packet.id, draw.key_of(packet.kind), self.tries[packet.kind, packet.id]
        word = draw.draw(self.scenario.seed, draw.LOSS, kind, *id.origin, draw.key_of(id.topic), id.seq, nth)
        return draw.unit(word) < share

    def arrives(self, sender: NodeId, node: NodeId, number: int) -> bool:
        wire = self.wire(sender, node)
        if self.sessions.pop((sender, number)) != wire.session:
            return False
        return not wire.broken or (self.now <= wire.cutoff and self.now < wire.suspects.get(node, self.now + 1))

    def luck(self, a: NodeId, b: NodeId, what: int) -> int:
        """A time from 1 to `notice`, for one session of one link as one end sees it."""
        word = draw.draw(self.scenario.seed, draw.NOTICE, a, b, self.wire(a, b).session, what)
        return draw.between(word, 1, self.faults.notice)

    def cut(self, a: NodeId, b: NodeId, until: Time) -> None:
        """The link breaks now; each end notices in its own time, a node that stands still when it goes on."""
        wire = self.wire(a, b)
        wire.barred = max(wire.barred, until)
        if not wire.broken:
            wire.broken = True
            wire.cutoff = self.now + self.luck(a, b, 0)
            wire.suspects = {}
            for end, other in ((a, b), (b, a)):
                if end not in self.dead:
                    at = max(self.now, self.still_until[end]) + self.luck(end, other, 1 + (end > other))
                    wire.suspects[end] = at
                    self.tell(at, end, Suspect(other))
        self.try_again(a, b)

    def try_again(self, a: NodeId, b: NodeId) -> None:
        wire = self.wire(a, b)
        ready = max([self.now, wire.barred, self.still_until[a], self.still_until[b], *wire.suspects.values()])
        self.push(ready + self.luck(a, b, 3), a, FAULT, b, Connects())

    def connect(self, a: NodeId, b: NodeId) -> None:
        wire = self.wire(a, b)
        if not wire.broken or {a, b} & self.dead:
            return
        if self.now <= max(wire.barred, self.still_until[a], self.still_until[b], *wire.suspects.values(), 0):
            self.try_again(a, b)
            return
        wire.session += 1
        wire.broken = False
        wire.suspects = {}
        for end, other in ((a, b), (b, a)):
            self.tell(self.now, end, Restore(other, self.incarnations[other]))

    def tell(self, at: Time, node: NodeId, event: Suspect | Restore) -> None:
        self.push(at, node, LINK, event.node, event)
        self.told[self.pushed] = (self.wire(node, event.node).session, self.incarnations[node])

    def notices(self, node: NodeId, peer: NodeId, number: int, event: Event) -> bool:
        """Whether it still holds; then a row says what the machine is about to be told."""
        wire, suspects = self.wire(node, peer), isinstance(event, Suspect)
        if self.told.pop(number) != (wire.session, self.incarnations[node]) or wire.broken != suspects:
            return False
        kind = "suspect" if suspects else "restore"
        life = MessageId((peer, self.incarnations[peer]), "", 0)
        self.recorder.happened(kind, self.now, node, life, peer=peer)
        return True

    # Nodes

    def befall(self, node: NodeId, peer: NodeId, event: object) -> None:
        match event:
            case Breaks() if node not in self.dead:
                self.crash(node)
            case Starts() if node in self.dead:
                self.start(node)
            case Pause() if node not in self.dead:
                self.stand_still(node, event.span)
            case Cuts() if not {node, peer} & self.dead:
                self.cut(node, peer, event.until)
            case Connects():
                self.connect(node, peer)

    def others(self, node: NodeId) -> list[NodeId]:
        return [j for j in range(self.scenario.nodes.count) if j != node and j not in self.dead]

    def crash(self, node: NodeId) -> None:
        self.end_life(node)
        for other in self.others(node):
            wire = self.wire(node, other)
            wire.suspects.pop(node, None)
            self.cut(node, other, self.now)

    def start(self, node: NodeId) -> None:
        self.still_until[node] = 0
        self.begin_life(node)
        for other in self.others(node):
            self.wire(node, other).suspects.pop(node, None)
            self.try_again(node, other)
        self.subscribe_again(node)

    def stand_still(self, node: NodeId, span: Time) -> None:
        """Peers that notice before it goes on give it up, and let it in again after."""
        self.still_until[node] = self.now + span
        for other in self.others(node):
            if self.luck(other, node, 4) < span:
                self.cut(node, other, self.still_until[node])
