"""Waves on the hypercube: down a tree, and back up when the whole subtree has them.

Source:   VCube-PS, Algorithm 2, lines 40-61 and 95-98 (`vcube.py` says what the waves mean).
Promises: a wave comes back to its root when everybody has it whom the nodes on the way can reach. A node that refuses
          its subtree, or is suspected while it owes an answer, is passed over: the next one of its cluster takes the
          subtree, and nobody waits for the dead. Whoever came back, and may have joined where it could not be heard,
          says first where it stands.
Departs:  a node that is given the same wave again, because its parent was passed over, serves each asker for itself:
          a subtree waits only for smaller ones, so two nodes that ask each other cannot wait for each other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from trellis.effects import Send
from trellis.machine import Place
from trellis.protocols.layers import Overlay
from trellis.protocols.overlays.vcube_packets import Ack, Answer, Pub, Refuse, Wave
from trellis.protocols.parts.hypercube import cluster, dimension, first
from trellis.protocols.parts.reach import Reach
from trellis.protocols.parts.view import Children, Rank, View, subtree
from trellis.words import MessageId, NodeId, Topic, Vector, merge


class Pending:
    """A wave that I passed on for somebody, and that has not come back yet."""

    __slots__ = ("asked", "asker", "awaiting", "packet", "served", "view")

    def __init__(self, packet: Wave, asker: NodeId | None, view: View | None, children: Children) -> None:
        self.packet = packet
        self.asker = asker  # None: I am the root
        self.view = view  # by which it is passed on, also after I left; None for SUB, which goes to every node
        self.awaiting = set(children)
        self.asked = set(children)  # those who have answered included
        self.served = False  # somebody has it


class Gathering(Pending):
    """A membership change on its way: its answers say something."""

    __slots__ = ("ranks", "topics", "vector")

    def __init__(self, packet: Wave, asker: NodeId | None, view: View | None, children: Children) -> None:
        super().__init__(packet, asker, view, children)
        self.ranks: dict[NodeId, Rank] = {}
        self.vector: Vector = {}
        self.topics: dict[Topic, None] = {}  # below that of a SUB


class Waves(Overlay):
    """What passes through a node."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.dimension = dimension(place.size)
        self.reach = Reach(range(0 if place.alone else place.size))
        self.pending: dict[MessageId, list[Pending]] = {}  # mostly one of each

    @abstractmethod
    def upon_returned(self, pending: Pending) -> None:
        """A wave of mine has come back."""

    @abstractmethod
    def answer(self, pending: Gathering) -> Answer:
        """What I and my subtree say to a membership change."""

    def everybody(self, height: int) -> Children:
        """CHILDREN(i, *, height)."""
        return tuple(taker for s in range(1, height + 1) for taker in self.anybody(s))

    def anybody(self, s: int) -> Iterator[tuple[NodeId, int]]:
        j = first(self.me, s, self.reach)
        if j is not None:
            yield j, s - 1

    def launch(self, packet: Wave, asker: NodeId | None, children: Children, view: View | None) -> None:
        """Pass a wave on; without children it has come back at once, unless somebody may turn out to be one."""
        kind = Pending if isinstance(packet, Pub) else Gathering
        pending = kind(packet, asker, view, children)
        if not children and not self.unsure(pending):
            self.complete(pending)
            return
        under_way = self.pending.get(packet.id)
        if under_way is None:
            self.pending[packet.id] = [pending]
        else:  # it was given to me again, for a larger subtree or by somebody else
            under_way.append(pending)
        for child, height in children:
            self.send(child, packet.at(height))

    def upon_ack(self, sender: NodeId, ack: Ack) -> None:
        """Lines 55-61."""
        for pending in self.answered(sender, ack.id, ack.height):
            pending.served = True
            self.complete_if_answered(pending)

    def upon_answer(self, sender: NodeId, answer: Answer) -> None:
        """Lines 55-61 for membership changes: gather what the subtree says."""
        for pending in self.answered(sender, answer.id, answer.height):
            if isinstance(pending, Gathering):
                for rank in answer.ranks:
                    pending.ranks[rank.node] = rank
                merge(pending.vector, answer.vector)
                if answer.topics:
                    pending.topics |= dict.fromkeys(answer.topics)
            self.complete_if_answered(pending)

    def upon_refuse(self, sender: NodeId, refusal: Refuse) -> None:
        """The child cannot serve its subtree: the next member of its cluster takes it over."""
        for pending in self.answered(sender, refusal.id, refusal.height):
            assert pending.view is not None, "nobody refuses a SUB"
            pending.view.update([refusal.rank])
            if isinstance(pending, Gathering):
                merge(pending.vector, refusal.vector)
            pending.asked.discard((sender, refusal.height))  # it may have come back meanwhile, and serve it now
            self.pass_over(pending, sender, refusal.height)
            self.complete_if_answered(pending)

    def answered(self, sender: NodeId, id: MessageId, height: int) -> list[Pending]:
        """The waves that waited for this answer. One child may answer for two subtrees."""
        answer = (sender, height)
        waited = [pending for pending in self.pending.get(id, ()) if answer in pending.awaiting]
        for pending in waited:
            pending.awaiting.remove(answer)
        return waited

    def expect_nothing_of(self, node: NodeId) -> None:
        """A node is suspected: whoever stands next takes its subtrees over, and it is owed no answer."""
        for pending in [pending for under_way in self.pending.values() for pending in under_way]:
            for height in sorted(height for child, height in pending.awaiting if child == node):
                pending.awaiting.remove((node, height))
                self.pass_over(pending, node, height)
            self.complete_if_answered(pending)

    def pass_over(self, pending: Pending, node: NodeId, height: int) -> None:
        s = subtree(self.me, node, height)
        if s is not None:  # else it had a copy for itself alone
            self.give(pending, s)

    def give(self, pending: Pending, s: int) -> None:
        """Whoever takes my cluster s now gets the wave, unless it was asked before."""
        takers = tuple(self.anybody(s) if pending.view is None else pending.view.takers(s))
        for taker in takers:
            if taker not in pending.asked:
                pending.asked.add(taker)
                pending.awaiting.add(taker)
                self.send(taker[0], pending.packet.at(taker[1]))

    def heard(self, topic: Topic, rank: Rank) -> None:
        """A node that came back says where it stands: waves under way go to it too, if it takes part."""
        node, s = rank.node, cluster(self.me, rank.node)
        waves = [p for under_way in self.pending.values() for p in under_way if p.packet.id.topic == topic]
        unsure = [(p, p.view) for p in waves if p.view is not None and node in p.view.silent]
        for _, view in unsure:
            view.update([rank])
            view.silent.pop(node, None)
        for pending, _ in unsure:
            if s <= pending.packet.height:
                self.give(pending, s)
            self.complete_if_answered(pending)

    def unsure(self, pending: Pending) -> bool:
        """Whether somebody in the wave's subtree came back and has not said yet where it stands."""
        view, height = pending.view, pending.packet.height
        return view is not None and any(cluster(self.me, node) <= height for node in view.silent)

    def complete_if_answered(self, pending: Pending) -> None:
        if not pending.awaiting and not self.unsure(pending):
            self.complete(pending)

    def complete(self, pending: Pending) -> None:
        """The whole subtree has it: tell whoever asked me, or go on if I am the root."""
        packet = pending.packet
        under_way = self.pending.get(packet.id)
        if under_way is not None and pending in under_way:
            under_way.remove(pending)
            if not under_way:
                del self.pending[packet.id]
        if pending.asker is None:
            self.upon_returned(pending)
        elif pending.asker not in self.reach:
            return
        elif isinstance(packet, Pub):
            self.outbox.append(Send(pending.asker, Ack(packet.id, packet.height), can_wait=packet.patient))
        else:
            assert isinstance(pending, Gathering)
            self.send(pending.asker, self.answer(pending))

    def views(self) -> list[View]:
        """Of waves under way. The topics' own come on top."""
        return [p.view for under_way in self.pending.values() for p in under_way if p.view is not None]
