"""VCube-PS repaired: waves over trees rooted at each publisher, on the virtual hypercube.

Source:   de Araujo et al. 2018 (VCube-PS), Algorithms 1 and 2; `vcube_printed.py` has them to the letter.
Promises: a message published after a subscription was confirmed reaches that subscriber, while others come and go;
          each message arrives once; a joiner is told the cut from which on it misses nothing.
Assumes:  packets between live nodes arrive, in any order. Nodes do not fail (yet).
Departs:  V1 a joiner is a leaf until it knows all members; whoever is given a subtree that it cannot serve refuses
          it, and the sender gives it to the next member.
          V2, V3 a second wave (CUT) gathers what every member has delivered: the joiner's start cut. Whoever is not a
          member any more answers the first wave with what it knew.
          V4 a leaver refuses new waves instead of serving them from an ageing view.
          V5 a window of waves per source and topic; what queues meanwhile goes out as one wave.
          V6 messages count from 1 per topic; membership changes count from -1 downward.
          V7 an incarnation in every id and rank.  V8 what came before is dropped.
          docs/protocols/vcube.md gives the smallest case of each and the argument.

A topic's life at one node:

    OUT --Join--> JOINING --SUB wave answered--> CUTTING --CUT wave answered--> IN
    IN --Leave--> DRAINING --my messages settled--> LEAVING --UNS wave answered--> OUT
"""

from __future__ import annotations

from typing import ClassVar

from trellis.effects import Send
from trellis.errors import UnexpectedEvent
from trellis.machine import Place
from trellis.protocols.layers import GAPLESS, START_CUT, Overlay
from trellis.protocols.overlays.vcube_packets import Ack, Answer, Cut, Pub, Refuse, Sub, Uns, Wave
from trellis.protocols.parts.hypercube import dimension, first
from trellis.protocols.parts.seen import Seen
from trellis.protocols.parts.view import GONE, MEMBER, NEWCOMER, Children, Rank, View, subtree
from trellis.words import Message, MessageId, NodeId, Packet, Topic, Vector, merge

JOINING, CUTTING, IN, DRAINING, LEAVING = "joining", "cutting", "in", "draining", "leaving"

RANK = {
    JOINING: NEWCOMER,
    CUTTING: MEMBER,  # it knows all others, so it can forward
    IN: MEMBER,
    DRAINING: MEMBER,
    LEAVING: GONE,
}


class Pending:
    """A wave that I passed on and that has not come back yet."""

    __slots__ = ("awaiting", "packet", "parent", "view")

    def __init__(self, packet: Wave, parent: NodeId | None, view: View | None, children: Children) -> None:
        self.packet = packet
        self.parent = parent  # None: I am the root
        self.view = view  # by which it is passed on, also after I left; None for SUB, which goes to every node
        self.awaiting = set(children)  # never iterated


class Gathering(Pending):
    """A membership change on its way: its answers say something."""

    __slots__ = ("ranks", "vector")

    def __init__(self, packet: Wave, parent: NodeId | None, view: View | None, children: Children) -> None:
        super().__init__(packet, parent, view, children)
        self.ranks: dict[NodeId, Rank] = {}
        self.vector: Vector = {}


class Membership:
    """What one node keeps of one topic."""

    __slots__ = ("departed", "early", "outstanding", "phase", "queue", "seen", "view")

    def __init__(self, view: View, phase: str) -> None:
        self.phase = phase
        self.view = view
        self.departed: Vector = {}  # what those who left had delivered
        self.seen = Seen()
        self.early: list[Message] = []  # came while I was joining
        self.queue: list[Message] = []  # mine, waiting for the window
        self.outstanding: dict[MessageId, int] = {}  # my waves on their way -> messages in each


class VCube(Overlay):
    """SUB, CUT, UNS and PUB waves with acknowledgements, one tree per source."""

    promise = "every confirmed subscriber gets every message once, whoever joins or leaves; no forwarders that stay"
    source = "VCube-PS (de Araujo et al. 2018), holes V1-V12 closed"
    gives = frozenset({START_CUT, GAPLESS})
    options: ClassVar[dict[str, int]] = {"window": 8, "batch": 256}

    def __init__(self, place: Place, window: int, batch: int) -> None:
        super().__init__(place)
        self.window = window
        self.batch = batch
        self.dimension = dimension(place.size)
        self.population = range(place.size)
        self.versions: dict[Topic, int] = {}  # my membership changes so far, per topic
        self.topics: dict[Topic, Membership] = {}  # absent: OUT
        self.pending: dict[MessageId, Pending] = {}
        self.left: dict[Topic, Vector] = {}  # what I knew of a topic when I left it

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        match packet:
            case Ack():
                self.upon_ack(sender, packet)
            case Pub():
                self.upon_pub(sender, packet)
            case Answer():
                self.upon_answer(sender, packet)
            case Sub():
                self.upon_sub(sender, packet)
            case Cut() | Uns():
                self.upon_change(sender, packet)
            case Refuse():
                self.upon_refuse(sender, packet)
            case _:
                raise UnexpectedEvent(self, packet)

    # Joining and leaving

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """Membership from before the run: everybody is a member of version 1 in everybody's view."""
        if self.me in members:
            self.versions[topic] = 1
            self.topics[topic] = Membership(View.standing(self.me, members), IN)

    def join(self, topic: Topic) -> None:
        """Algorithm 1, lines 4-8: start with a view of myself, and tell every node."""
        state = self.topics[topic] = Membership(View(self.me), JOINING)
        state.departed = dict(self.left.get(topic, {}))
        rank = self.change_rank(topic, JOINING)
        height = self.dimension
        self.launch(Sub(self.change_id(topic), height, rank), None, self.everybody(height), None)

    def upon_sub_answered(self, topic: Topic, answers: Gathering) -> None:
        """Everybody who takes part knows me now and I know them: ask what they have delivered."""
        state = self.topics[topic]
        state.view.update(answers.ranks.values())
        merge(state.departed, answers.vector)
        rank = self.change_rank(topic, CUTTING)
        self.launch_change(Cut(self.change_id(topic), self.dimension, rank), state)

    def upon_cut_answered(self, topic: Topic, answers: Gathering) -> None:
        """What nobody had delivered by then was published after everybody knew me: it will come to me."""
        state = self.topics[topic]
        cut = dict(state.departed)
        merge(cut, answers.vector)
        state.phase = IN
        state.seen = Seen(cut)
        self.above.joined(topic, cut)
        for message in state.early:
            self.take(state, message)
        state.early = []

    def leave(self, topic: Topic) -> None:
        """Algorithm 1, lines 10-14. I go on forwarding until my own messages are settled."""
        state = self.topics[topic]
        state.phase = DRAINING
        self.depart_if_drained(topic, state)

    def depart_if_drained(self, topic: Topic, state: Membership) -> None:
        if state.phase is DRAINING and not state.queue and not state.outstanding:
            rank = self.change_rank(topic, LEAVING)
            self.launch_change(Uns(self.change_id(topic), self.dimension, rank, self.knows(topic)), state)

    def upon_uns_answered(self, topic: Topic) -> None:
        self.left[topic] = self.knows(topic)
        del self.topics[topic]  # waves under way keep the view that they need
        self.above.departed(topic)

    def change_rank(self, topic: Topic, phase: str) -> Rank:
        """Enter a phase that others must hear of."""
        state = self.topics[topic]
        state.phase = phase
        self.versions[topic] = self.versions.get(topic, 0) + 1
        rank = self.rank(topic)
        state.view.update([rank])
        return rank

    def change_id(self, topic: Topic) -> MessageId:
        return MessageId(self.origin, topic, -self.versions[topic])

    def rank(self, topic: Topic) -> Rank:
        """What I say of myself on this topic."""
        state = self.topics.get(topic)
        rank = RANK[state.phase] if state is not None else GONE
        return Rank(self.me, self.place.incarnation, self.versions.get(topic, 0), rank)

    def knows(self, topic: Topic) -> Vector:
        """What I have delivered or skipped, now and in earlier subscriptions, and what those had who told me when they
        left. It is closed under "follows", so a maximum of such vectors is too; and it holds all that I ever published.
        """
        state = self.topics.get(topic)
        if state is None:
            return dict(self.left.get(topic, {}))
        vector = self.above.frontier(topic)
        merge(vector, state.departed)
        return vector

    # Publishing

    def spread(self, message: Message) -> None:
        """Algorithm 2, line 12."""
        state = self.topics[message.id.topic]
        state.queue.append(message)
        self.pump(message.id.topic, state)

    def pump(self, topic: Topic, state: Membership) -> None:
        """Task START_MSG_PROPAGATION: as many waves as the window allows, as many messages as a wave allows."""
        while state.queue and len(state.outstanding) < self.window:
            messages = tuple(state.queue[: self.batch])
            del state.queue[: self.batch]
            id = messages[0].id
            state.outstanding[id] = len(messages)
            height = self.dimension
            self.launch(Pub(id, height, messages), None, state.view.tree(height), state.view)

    def upon_pub_acknowledged(self, id: MessageId) -> None:
        """Line 31: a place in the window is free."""
        state = self.topics[id.topic]
        self.settle(id, state.outstanding.pop(id))
        self.pump(id.topic, state)
        self.depart_if_drained(id.topic, state)

    def upon_pub(self, sender: NodeId, pub: Pub) -> None:
        """Lines 40-53 and 62-68."""
        id, height = pub.id, pub.height
        state = self.topics.get(id.topic)
        if state is None or self.cannot_serve(state, height):
            self.refuse(sender, pub)
            return
        children = state.view.tree(height)
        if children:
            self.launch(pub, sender, children, state.view)
        else:
            self.outbox.append(Send(sender, Ack(id, height)))
        if state.phase is JOINING or state.phase is CUTTING:
            state.early.extend(pub.messages)
        else:
            for message in pub.messages:
                self.take(state, message)

    def take(self, state: Membership, message: Message) -> None:
        """Hand a message up unless it came before (V8) or is at or below my cut."""
        id = message.id
        if state.seen.add(id.origin, id.seq, message.since):
            self.above.arrive(message)
        else:
            self.note("skip", id)

    # Waves

    def everybody(self, height: int) -> Children:
        """CHILDREN(i, *, height)."""
        found = ((first(self.me, s, self.population), s - 1) for s in range(1, height + 1))
        return tuple((j, h) for j, h in found if j is not None)

    def launch_change(self, change: Wave, state: Membership) -> None:
        """To all members by the tree, and by myself to those who are joining: the members may not know them yet."""
        tree = state.view.tree(change.height)
        self.launch(change, None, tree + state.view.direct(besides=tree), state.view)

    def launch(self, packet: Wave, parent: NodeId | None, children: Children, view: View | None) -> None:
        """Pass a wave on; without children it is complete at once."""
        kind = Pending if isinstance(packet, Pub) else Gathering
        pending = kind(packet, parent, view, children)
        if not children:
            self.complete(pending)
            return
        self.pending[packet.id] = pending
        for child, height in children:
            self.send(child, packet.at(height))

    def upon_sub(self, sender: NodeId, sub: Sub) -> None:
        """Lines 41-42, 72: every node passes it on; whoever takes part remembers the joiner."""
        state = self.topics.get(sub.id.topic)
        if state is not None:
            state.view.update([sub.rank])
        self.launch(sub, sender, self.everybody(sub.height), None)

    def upon_change(self, sender: NodeId, change: Cut | Uns) -> None:
        """Line 72."""
        state = self.topics.get(change.id.topic)
        if state is None or self.cannot_serve(state, change.height):
            self.refuse(sender, change)
            return
        if isinstance(change, Uns):
            merge(state.departed, change.vector)
        state.view.update([change.rank])
        self.launch(change, sender, state.view.tree(change.height), state.view)

    def cannot_serve(self, state: Membership, height: int) -> bool:
        return state.phase is LEAVING or (state.phase is JOINING and height > 0)

    def refuse(self, sender: NodeId, packet: Wave) -> None:
        topic = packet.id.topic
        self.send(sender, Refuse(packet.id, packet.height, self.rank(topic), self.knows(topic)))
        for message in packet.messages:
            self.note("skip", message.id)

    def upon_refuse(self, sender: NodeId, refusal: Refuse) -> None:
        """The child cannot serve its subtree: the next member of its cluster takes it over."""
        pending = self.answered(sender, refusal.id, refusal.height)
        if pending is None:
            return
        assert pending.view is not None, "nobody refuses a SUB"
        pending.view.update([refusal.rank])
        if isinstance(pending, Gathering):
            merge(pending.vector, refusal.vector)
        s = subtree(self.me, sender, refusal.height)
        for taker, height in pending.view.takers(s) if s is not None else ():
            pending.awaiting.add((taker, height))
            self.send(taker, pending.packet.at(height))
        self.complete_if_answered(pending)

    def upon_ack(self, sender: NodeId, ack: Ack) -> None:
        """Lines 55-61."""
        pending = self.pending.get(ack.id)
        if pending is None:
            return
        pending.awaiting.discard((sender, ack.height))
        if not pending.awaiting:
            del self.pending[ack.id]
            self.complete(pending)

    def upon_answer(self, sender: NodeId, answer: Answer) -> None:
        """Lines 55-61 for membership changes: gather what the subtree says."""
        pending = self.answered(sender, answer.id, answer.height)
        if isinstance(pending, Gathering):
            for rank in answer.ranks:
                pending.ranks[rank.node] = rank
            merge(pending.vector, answer.vector)
            self.complete_if_answered(pending)

    def answered(self, sender: NodeId, id: MessageId, height: int) -> Pending | None:
        """The wave that waited for this answer; None when none did. One child may answer for two subtrees."""
        pending = self.pending.get(id)
        if pending is None or (sender, height) not in pending.awaiting:
            return None
        pending.awaiting.remove((sender, height))
        return pending

    def complete_if_answered(self, pending: Pending) -> None:
        if not pending.awaiting:
            del self.pending[pending.packet.id]
            self.complete(pending)

    def complete(self, pending: Pending) -> None:
        """The whole subtree has it: tell my parent, or go on if I am the root."""
        packet = pending.packet
        if isinstance(pending, Gathering):
            if pending.parent is not None:
                self.send(pending.parent, self.answer(pending))
            else:
                self.upon_change_answered(packet.id.topic, pending)
        elif pending.parent is not None:
            self.send(pending.parent, Ack(packet.id, packet.height))
        else:
            self.upon_pub_acknowledged(packet.id)

    def upon_change_answered(self, topic: Topic, answers: Gathering) -> None:
        match answers.packet:
            case Sub():
                self.upon_sub_answered(topic, answers)
            case Cut():
                self.upon_cut_answered(topic, answers)
            case Uns():
                self.upon_uns_answered(topic)
            case other:
                raise UnexpectedEvent(self, other)

    def answer(self, pending: Gathering) -> Answer:
        """SENDACKS (lines 95-98): my own word beside my subtree's.

        Every node answers a joiner with what it knows: members when they are asked for it by the CUT, all others, in or
        out of the topic, at once. So each source answers for itself, also when it has left.
        """
        packet, topic = pending.packet, pending.packet.id.topic
        rank = self.rank(topic)
        ranks, vector = dict(pending.ranks), dict(pending.vector)
        if isinstance(packet, Sub) and topic in self.topics:
            ranks[self.me] = rank
        if isinstance(packet, Cut) or (isinstance(packet, Sub) and rank.rank != MEMBER):
            merge(vector, self.knows(topic))
        return Answer(packet.id, packet.height, tuple(ranks.values()), vector)
