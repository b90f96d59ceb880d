"""Membership of VCube-PS: how a node joins a topic and leaves it, and what it says of that to others.

Source:   de Araujo et al. 2018 (VCube-PS), Algorithm 1; the waves of joiners and leavers of Algorithm 2.
Promises: a joiner knows all members, and they know it, before it is told its start cut; whoever leaves has settled what
          it published.
Departs:  V1-V4, see vcube.py.
"""

from __future__ import annotations

from abc import abstractmethod

from trellis.errors import UnexpectedEvent
from trellis.machine import Place
from trellis.protocols.overlays.vcube_membership import (
    CUTTING,
    DRAINING,
    IN,
    JOINING,
    LEAVING,
    RANK,
    Membership,
)
from trellis.protocols.overlays.vcube_packets import Answer, AnswerBelow, Cut, Refuse, State, Sub, Uns, Wave
from trellis.protocols.overlays.vcube_repair import Repair
from trellis.protocols.overlays.vcube_tree import Tree
from trellis.protocols.overlays.vcube_waves import Gathering, Waves
from trellis.protocols.parts.hierarchy import in_tree
from trellis.protocols.parts.seen import Seen
from trellis.protocols.parts.view import GONE, MEMBER, Rank, View
from trellis.words import Message, MessageId, NodeId, Topic, Vector, merge


class Changes(Waves):
    """SUB, CUT and UNS."""

    def __init__(self, place: Place, batch: int, repair: int, keep: int) -> None:
        super().__init__(place)
        self.repair = Repair(self, repair, keep, batch)
        self.tree = Tree(self)
        self.versions: dict[Topic, int] = {}  # my membership changes so far, per topic
        self.topics: dict[Topic, Membership] = {}  # absent: OUT
        self.left: dict[Topic, Vector] = {}  # what I knew of a topic when I left it
        self.lives: dict[NodeId, int] = {}  # the newest incarnation that I met, of those beyond the first; my own, too
        if place.incarnation:
            self.lives[self.me] = place.incarnation

    @abstractmethod
    def take(self, state: Membership, message: Message) -> bool:
        """Hand a message up unless it came before; whether it was."""

    def take_or_skip(self, state: Membership, message: Message) -> None:
        if not self.take(state, message):
            self.note("skip", message.id, count=message.count)

    # Joining

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """Membership from before the run: everybody is a member of version 1 in everybody's view."""
        if in_tree(topic):
            self.tree.upon_standing(topic, members)
        elif self.me in members:
            self.stand(topic, members)

    def stand(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        self.versions[topic] = 1
        self.topics[topic] = Membership(View.standing(self.me, members, self.reach), IN)
        self.repair.begin(topic, {})

    def join(self, topic: Topic) -> None:
        """Algorithm 1, lines 4-8: start with a view of myself, and tell every node."""
        state = self.topics[topic] = Membership(View(self.me, self.reach), JOINING)
        state.departed = dict(self.left.get(topic, {}))
        state.fresh = in_tree(topic) and self.tree.is_fresh(topic)
        rank = self.change_rank(topic, JOINING)
        height = self.dimension
        self.launch(Sub(self.change_id(topic), height, rank), None, self.everybody(height), None)

    def upon_sub_answered(self, topic: Topic, answers: Gathering) -> None:
        """Everybody who takes part knows me now and I know them: ask what they have delivered."""
        state = self.topics[topic]
        state.view.update(answers.ranks.values())
        merge(state.departed, answers.vector)
        if in_tree(topic):
            state.awaits = self.tree.join_below(topic, answers.topics)
        rank = self.change_rank(topic, CUTTING)
        self.introduce(topic, state)
        self.launch_change(Cut(self.change_id(topic), self.dimension, rank), state)

    def upon_cut_answered(self, topic: Topic, answers: Gathering) -> None:
        """What nobody had delivered by then was published after everybody knew me: it will come to me."""
        state = self.topics[topic]
        cut: Vector = {}
        if not state.fresh:
            merge(cut, state.departed)
            merge(cut, answers.vector)
        if state.awaits and self.tree.is_waiting(state):
            state.cut = cut
        else:
            self.enter(topic, state, cut)

    def enter(self, topic: Topic, state: Membership, cut: Vector) -> None:
        state.phase = IN
        state.cut = None
        state.seen = Seen(cut)
        self.repair.begin(topic, cut)
        self.repair.stir(topic)
        self.above.joined(topic, cut)
        early, state.early = state.early, []
        for message in early:
            if state.is_in():
                self.take_or_skip(state, message)
            else:  # the application has changed its mind, and I left at once
                self.note("skip", message.id, count=message.count)
        if in_tree(topic):
            self.tree.entered(topic, state)

    def introduce(self, topic: Topic, state: Membership) -> None:
        """My SUB went by way of others, and one of them may have had no link to a member that I have one to."""
        for node in self.reach if self.repair.delay else ():
            if node != self.me:
                self.ask_where_it_stands(node, topic, state)

    def ask_where_it_stands(self, node: NodeId, topic: Topic, state: Membership) -> None:
        """It may take part where I have not heard of it. No wave comes back to me without its word."""
        if self.repair.delay:
            state.view.silent[node] = None
        self.tell_state(node, topic)

    # Leaving

    def leave(self, topic: Topic) -> None:
        """Algorithm 1, lines 10-14. I go on forwarding until my own messages are settled."""
        state = self.topics[topic]
        state.phase = DRAINING
        self.depart_if_drained(topic, state)

    def depart_if_drained(self, topic: Topic, state: Membership) -> None:
        if state.phase is DRAINING and not state.queue and not state.outstanding:
            self.repair.log.age()  # whoever lacks something asks me now or never
            rank = self.change_rank(topic, LEAVING)
            self.launch_change(Uns(self.change_id(topic), self.dimension, rank, self.knows(topic)), state)

    def upon_uns_answered(self, topic: Topic) -> None:
        self.left[topic] = self.knows(topic)
        del self.topics[topic]  # waves under way keep the view that they need
        self.repair.end(topic)
        self.above.departed(topic)
        if in_tree(topic):
            self.tree.look_again()

    # What I say of myself

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

    def tell_state(self, to: NodeId, topic: Topic, asks: bool = False, reply: bool = False) -> None:
        vector = self.repair.vector(self.topics[topic])
        self.send(to, State(self.state_id(topic), self.rank(topic), vector, asks, reply))

    def state_id(self, topic: Topic) -> MessageId:
        return MessageId(self.origin, topic, 0)

    # Waves of others

    def launch_change(self, change: Wave, state: Membership) -> None:
        """To all members by the tree, and by myself to those who are joining: the members may not know them yet."""
        tree = state.view.tree(change.height)
        self.launch(change, None, tree + state.view.direct(besides=tree), state.view)

    def upon_sub(self, sender: NodeId, sub: Sub) -> None:
        """Lines 41-42, 72: every node passes it on; whoever takes part remembers the joiner."""
        topic = sub.id.topic
        if in_tree(topic):
            self.tree.meet(topic)
        state = self.topics.get(topic)
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
            self.repair.compare_with_leaver(state, change)
            merge(state.departed, change.vector)
        state.view.update([change.rank])
        self.launch(change, sender, state.view.tree(change.height), state.view)

    def cannot_serve(self, state: Membership, height: int) -> bool:
        return state.phase is LEAVING or (state.phase is JOINING and height > 0)

    def refuse(self, sender: NodeId, packet: Wave) -> None:
        topic = packet.id.topic
        self.send(sender, Refuse(packet.id, packet.height, self.rank(topic), self.knows(topic)))
        for message in packet.messages:
            self.note("skip", message.id, count=message.count)

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
        if isinstance(packet, Sub) and in_tree(topic):
            topics = pending.topics | dict.fromkeys(self.tree.below(topic))
            if topics:
                return AnswerBelow(packet.id, packet.height, tuple(ranks.values()), vector, tuple(sorted(topics)))
        return Answer(packet.id, packet.height, tuple(ranks.values()), vector)
