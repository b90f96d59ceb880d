"""What waves missed: neighbours compare what they have of a topic, and fill each other's gaps.

Source:   ours (anti-entropy after Demers et al. 1987, on the hypercube's own links).
Promises: what one reachable member of a topic has and keeps, all of them have after a while: when a source died in the
          middle of a wave, when a node was cut off or stood still, when two halves of a network meet again. What nobody
          keeps any more is announced as a gap. When nothing new comes, it falls silent.
Assumes:  a member's neighbours (the first member of each of its clusters) connect all members: they do, because each
          half of a block that has members holds a neighbour of every member of the other half.

A node that learnt something new is restless: every `delay` it tells the next of its neighbours where it stands, until
each has been told once since. Whoever is told and has more sends it; whoever has less says so in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.protocols.overlays.vcube_packets import Fill, State
from trellis.protocols.parts.log import Log
from trellis.words import Message, NodeId, Origin, Topic, Vector

if TYPE_CHECKING:
    from trellis.protocols.overlays.vcube import Membership, VCube

FILL_BYTES_MAX = 1 << 19
TIMER = "repair"


class Repair:
    """The part of a node's `vcube` that looks for what is missing."""

    def __init__(self, overlay: VCube, delay: int, keep: int, batch: int) -> None:
        self.overlay = overlay
        self.delay = delay  # 0: never look; for worlds in which nothing fails
        self.batch = batch
        self.log = Log(keep)
        self.turns: dict[Topic, int] = {}  # restless topics -> how many neighbours are still to be told
        self.turn = 0
        self.armed = False
        self.refused: dict[tuple[Topic, Origin], dict[NodeId, int]] = {}  # who cannot help me, and up to which number

    def begin(self, topic: Topic, cut: Vector) -> None:
        if self.delay:
            self.log.begin(topic, cut)
            self.stir(topic)

    def end(self, topic: Topic) -> None:
        self.log.forget(topic)
        self.turns.pop(topic, None)
        for key in [key for key in self.refused if key[0] == topic]:
            del self.refused[key]

    def keep(self, message: Message) -> None:
        """A message came, or is mine."""
        if self.delay:
            self.log.add(message)
            self.stir(message.id.topic)

    def stir(self, topic: Topic) -> None:
        """There is something new: every neighbour must be told once."""
        if not self.delay:
            return
        self.turns[topic] = len(self.neighbours(topic))
        if not self.armed:
            self.armed = True
            self.overlay.set_timer(TIMER, self.delay)

    def upon_time(self) -> None:
        self.armed = False
        self.turn += 1
        for topic in list(self.turns):
            near = self.neighbours(topic)
            if near and self.turns[topic] > 0:
                self.overlay.tell_state(near[self.turn % len(near)], topic)
            self.turns[topic] -= 1
            if self.turns[topic] <= 0:
                del self.turns[topic]
        if self.turns:
            self.armed = True
            self.overlay.set_timer(TIMER, self.delay)

    def neighbours(self, topic: Topic) -> list[NodeId]:
        state = self.overlay.topics[topic]
        return [j for j, _ in state.view.tree(self.overlay.dimension)]

    def vector(self, state: Membership) -> Vector | None:
        """Per origin, up to which number I have everything; None where I owe and am owed nothing."""
        return dict(state.seen.upto) if self.delay and state.is_in() else None

    def compare(self, sender: NodeId, state: Membership, told: State) -> None:
        """Somebody told me where it stands."""
        topic, mine = told.id.topic, self.vector(state)
        if mine is None or told.vector is None:
            return
        self.help(sender, topic, told.vector)
        if any(seq > mine.get(origin, 0) for origin, seq in told.vector.items()):
            self.overlay.tell_state(sender, topic)

    def help(self, sender: NodeId, topic: Topic, vector: Vector) -> None:
        found, size = self.log.beyond(topic, vector), 0
        given: list[Message] = []
        for message in found:
            size += len(message.payload)
            if given and (len(given) >= self.batch or size > FILL_BYTES_MAX):
                break
            given.append(message)
        gone = self.log.gone(topic, vector)
        if given or gone:
            id = self.overlay.state_id(topic)
            self.overlay.send(sender, Fill(id, tuple(given), gone, len(given) < len(found)))

    def upon_fill(self, sender: NodeId, fill: Fill) -> None:
        topic = fill.id.topic
        state = self.overlay.topics.get(topic)
        if state is None or not state.is_in():
            for message in fill.messages:
                self.overlay.note("skip", message.id, count=message.count)
            return
        for message in fill.messages:
            self.overlay.take(state, message)
        for origin, seq in fill.gone.items():
            if seq > state.seen.upto.get(origin, 0):
                self.ask_another(sender, state, topic, origin, seq)
        if fill.more:
            self.overlay.tell_state(sender, topic)

    def ask_another(self, sender: NodeId, state: Membership, topic: Topic, origin: Origin, seq: int) -> None:
        """This one cannot help: ask the next member that was not asked yet. When none is left, it is a gap."""
        refused = self.refused.setdefault((topic, origin), {})
        refused[sender] = seq
        others = [j for j in sorted(state.view.members) if j not in refused and j != self.overlay.me]
        if others:
            self.overlay.tell_state(others[0], topic)
            return
        del self.refused[topic, origin]
        upto, lost = state.seen.upto.get(origin, 0), min(refused.values())
        if lost > upto:
            state.seen.give_up(origin, lost)
            floor = self.log.floor[topic]
            floor[origin] = max(lost, floor.get(origin, 0))
            self.overlay.above.lacks(topic, origin, upto + 1, lost)
            self.stir(topic)
