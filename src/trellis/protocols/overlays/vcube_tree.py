"""Subtopics on `vcube`: whoever takes part in a topic does in what is below it, from a cut on that misses nothing.

Source:   ours; the tree of topics is daMulticast's (parts/hierarchy.py).
Promises: when a subscription is confirmed, every node that has to do with a topic below it knows the subscriber, or
          will ask it: of a SUB on the one and a SUB on the other at least one finds the other node begun. A topic of
          which nobody had heard by then is taken from its first message on.
Assumes:  a node that ever had to do with a topic does not forget its name.

docs/protocols/vcube.md has the argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trellis.protocols.overlays.vcube_membership import CUTTING, IN, Membership
from trellis.protocols.overlays.vcube_packets import Below, State
from trellis.protocols.parts.hierarchy import ROOT, Hierarchy, depth, in_tree
from trellis.words import MessageId, NodeId, Topic

if TYPE_CHECKING:
    from trellis.protocols.overlays.vcube_changes import Changes


class Tree:
    """The part of a node's `vcube` that knows which topics include which."""

    def __init__(self, overlay: Changes) -> None:
        self.overlay = overlay
        self.names = Hierarchy()
        self.standing: dict[Topic, tuple[NodeId, ...]] = {}

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """From before the run those are members of a topic, too, who are of one that includes it."""
        overlay, self.standing[topic] = self.overlay, members
        for other in [t for t in self.standing if self.names.reaches(topic, t)]:
            above = (*self.names.above(other), other)
            everybody = sorted({node for t in above for node in self.standing.get(t, ())})
            if overlay.me in everybody:
                overlay.stand(other, tuple(everybody))
                if overlay.me not in self.standing[other]:
                    overlay.above.inherits(other, {})

    def known(self) -> list[Topic]:
        """What I have or had to do with."""
        return [topic for topic in (*self.overlay.topics, *self.overlay.left) if in_tree(topic)]

    def below(self, topic: Topic) -> list[Topic]:
        return [other for other in self.known() if self.names.includes(topic, other)]

    def is_fresh(self, topic: Topic) -> bool:
        """Whether I took part in an including topic, and had heard of all that is below it, before I heard of this."""
        if topic in self.overlay.left:
            return False
        phases = [state.phase for t in self.names.above(topic) if (state := self.overlay.topics.get(t)) is not None]
        return CUTTING in phases or IN in phases

    def meet(self, topic: Topic) -> Membership | None:
        """There is such a topic. If it is for me I begin at once, so that whoever told me knows me as a newcomer."""
        if topic not in self.overlay.topics:
            self.overlay.above.learns(topic)
        return self.overlay.topics.get(topic)

    def join_below(self, topic: Topic, others: Iterable[Topic]) -> tuple[Topic, ...]:
        """My SUB came back with what is below its topic. Which of that must stand first."""
        for other in sorted({*others, *self.below(topic)}, key=lambda name: (depth(name), name)):
            self.meet(other)
        topics = self.overlay.topics
        return tuple(t for t in topics if self.names.includes(topic, t) and topics[t].phase is not IN)

    def is_waiting(self, state: Membership) -> bool:
        topics = self.overlay.topics
        return any(topic in topics and topics[topic].phase is not IN for topic in state.awaits)

    def entered(self, topic: Topic, state: Membership) -> None:
        if state.unasked:
            state.unasked = False
            for node in self.overlay.reach:
                if node != self.overlay.me and state.is_in():
                    self.overlay.tell_state(node, topic)
        self.look_again()

    def look_again(self) -> None:
        """A topic stands, or was left: one that includes it may have waited for that."""
        for topic, state in list(self.overlay.topics.items()):
            if state.cut is not None and not self.is_waiting(state):
                self.overlay.enter(topic, state, state.cut)

    # Who was out of reach

    def tell_names(self, node: NodeId, names: Iterable[Topic]) -> None:
        found = tuple(sorted(set(names)))
        if found:
            self.overlay.send(node, Below(MessageId(self.overlay.origin, ROOT, 0), found))

    def upon_below(self, sender: NodeId, told: Below) -> None:
        """What was said on them meanwhile may be kept by somebody who has left since."""
        for topic in sorted(told.topics, key=lambda name: (depth(name), name)):
            self.catch_up(sender, topic)

    def upon_state(self, sender: NodeId, told: State) -> None:
        """Whoever speaks of a topic proves that there is one; whoever is joining it must hear what is below it."""
        topic = told.id.topic
        if topic not in self.overlay.topics:
            self.catch_up(sender, topic)
        if told.vector is None and not told.reply:
            self.tell_names(sender, self.below(topic))

    def catch_up(self, sender: NodeId, topic: Topic) -> None:
        state = self.meet(topic)
        if state is None:
            return
        if state.is_in():
            self.overlay.tell_state(sender, topic)
        else:
            state.unasked = True
