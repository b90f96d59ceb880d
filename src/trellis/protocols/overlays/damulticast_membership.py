"""Which groups a process of `damulticast` is in, and which topics the layer above gets of it.

Promises: whoever is in a group gets all topics below it, also those that begin later, and is in no other group for
          that. To speak on a topic it must be in that topic's own group, and looks for it when it first does.
          It leaves a group when what it has is also elsewhere and nobody knows it any more; until then it takes part
          as before, and can come back at once.
"""

from __future__ import annotations

from abc import abstractmethod

from trellis.effects import Held
from trellis.machine import Place
from trellis.protocols.layers import Overlay
from trellis.protocols.overlays.damulticast_beginning import Beginning
from trellis.protocols.overlays.damulticast_group import IN, JOINING, LEAVING, Group, Parameters, Uplink
from trellis.protocols.overlays.damulticast_packets import Stray
from trellis.protocols.overlays.damulticast_repair import Comparison
from trellis.protocols.overlays.damulticast_search import Bootstrap
from trellis.protocols.parts.company import Company, Entry
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.protocols.parts.reach import Reach
from trellis.words import Message, MessageId, NodeId, Topic, Vector

LIMIT = 64  # rounds after which whoever said nothing is forgotten
SLACK = 16  # rounds that a word may take
PATIENCE = 512  # rounds in which the last of a group waits for somebody to come back, before it leaves with what it has


class Membership(Overlay):
    """Groups, and what they bring."""

    def __init__(self, place: Place, usual: Parameters, repairs: bool, keep: int, hops: int) -> None:
        super().__init__(place)
        self.usual = usual
        self.repairs = repairs
        self.tree = Hierarchy.at(place)
        self.reach = Reach(range(place.me, place.me + 1) if place.alone else range(place.size))
        self.suspected: set[NodeId] = set()  # who was there, and cannot be reached; asked for its size only
        self.returned = -LIMIT - 1  # the round in which one of them came back; in a while I may find it again
        self.lives: dict[NodeId, int] = {}
        self.groups: dict[Topic, Group] = {}
        self.brought: dict[Topic, None] = {}  # topics whose messages the layer above takes
        self.comparison = Comparison(self, keep)
        self.bootstrap = Bootstrap(self, hops, LIMIT)
        self.beginning = Beginning(self)
        self.round = 0
        self.turns = 1  # counts what I joined

    @abstractmethod
    def pass_on(self, message: Message, group: Group) -> None:
        """Tell others of the group, unless I have told them."""

    @abstractmethod
    def arm(self) -> None:
        """Let rounds begin."""

    def settle_standing(self) -> None:
        """Before anything else happens."""
        if self.beginning.standing:
            self.beginning.settle()

    def id_of(self, group: Topic) -> MessageId:
        """For a packet that is about a group, not about a message."""
        return MessageId(self.origin, group, 0)

    def new_group(self, topic: Topic) -> Group:
        me = Entry(self.me, self.origin[1], self.turns)
        scopes = [(above, *self.tree.above(above)) for above in self.tree.direct(topic)]
        with_ = self.parameters(topic)
        uplinks = [Uplink(self.place, topic, scope, with_.z, LIMIT) for scope in scopes]
        group = Group(topic, me, with_, Company(self.place, topic, with_.c, LIMIT), uplinks)
        self.groups[topic] = group
        group.begin_round(self.round)
        return group

    def parameters(self, topic: Topic) -> Parameters:
        about = self.place.topics.get(topic)
        return self.usual._replace(**about.options) if about is not None else self.usual

    def join(self, topic: Topic) -> None:
        """If it is below another one of mine I get it already; else I look for its group."""
        self.settle_standing()
        self.arm()
        if self.covers(topic):
            if not self.comparison.has(topic):
                self.comparison.begin(topic, {})
            self.bring(topic)
        else:
            self.begin_joining(topic)

    def begin_joining(self, topic: Topic) -> None:
        self.turns += 1
        self.bootstrap.begin(self.new_group(topic))

    def come_back(self, topic: Topic) -> None:
        """I had not left yet, and have missed nothing."""
        self.return_to(self.groups[topic])
        self.inherit_all()

    def return_to(self, group: Group) -> None:
        """Which I was about to leave, or have not found yet."""
        group.parting = False
        if group.phase is LEAVING:
            self.turns += 1
            group.me = Entry(self.me, self.origin[1], self.turns)
            group.phase = IN
            self.bootstrap.refresh(group)
        self.bring(group.topic)

    def begin_group(self, group: Group) -> None:
        """I know my fellows, and from where on I get everything."""
        topic = group.topic
        group.cuts.setdefault(topic, {})
        for each, cut in sorted(group.cuts.items()):
            if not self.comparison.has(each):  # if another of mine includes it, it is new
                self.comparison.begin(each, {} if self.covers(each) else cut)
        group.phase = IN
        if topic not in self.brought and not group.parting:
            self.bring(topic)
        self.inherit_all()
        queue, group.queue = group.queue, []
        for message in queue:
            self.pass_on(message, group)
        if group.parting:
            group.parting = False
            self.leave(topic)

    def bring(self, topic: Topic) -> None:
        """From now on the layer above gets a topic that it asked for."""
        self.brought[topic] = None
        self.above.joined(topic, self.upto(topic))
        if topic in self.brought:  # unless it has left at once
            self.hand_up(topic)

    def hand_up(self, topic: Topic) -> None:
        """What came while the layer above did not take it, and follows on something that is still to come."""
        for message in self.comparison.ahead(topic):
            self.above.arrive(message)

    def inherit_all(self) -> None:
        """Whatever I have is for the layer above if it takes one that includes it; also what it is about to leave, and
        what it waits for.
        """
        waiting = [group.topic for group in self.groups.values() if group.phase is JOINING]
        for topic in sorted({*self.comparison.account.topics, *waiting}):
            self.inherit_if_covered(topic)

    def inherit_if_covered(self, topic: Topic) -> None:
        if topic in self.brought or not self.covers(topic):
            return
        if not self.comparison.has(topic):
            self.comparison.begin(topic, {})
        group = self.groups.get(topic)
        if group is None:
            self.brought[topic] = None
            self.above.inherits(topic, self.upto(topic))
            self.hand_up(topic)
        else:
            self.return_to(group)

    def inherit(self, topic: Topic) -> None:
        """A topic below one of mine of which I had not heard: it is new, and I get it from its beginning on."""
        self.comparison.begin(topic, {})
        self.inherit_if_covered(topic)

    def take(self, message: Message) -> bool:
        """Hand a message up unless it came before; whether it was."""
        if not self.comparison.has(message.id.topic):
            self.inherit(message.id.topic)
        if message.id.origin == self.origin:  # from an earlier subscription of mine
            self.comparison.add(message)
            return False
        if not self.above.takes(message) or not self.comparison.add(message):  # too much: as if it were lost on the way
            return False
        self.above.arrive(message)
        return True

    def covers(self, topic: Topic) -> bool:
        """Whether the layer above takes one that includes it."""
        return any(one in self.brought for one in self.tree.above(topic))

    def join_uncovered(self) -> None:
        """Topics that a group brought which I left since, and that are wanted for themselves: by a group of their own.
        Until I am in that I get them as before, because leaving takes longer.
        """
        inside = [group.topic for group in self.groups.values() if group.phase is not LEAVING]
        for topic in list(self.brought):
            if topic not in self.groups and not any(self.tree.includes(one, topic) for one in inside):
                self.begin_joining(topic)

    def upto(self, topic: Topic) -> Vector:
        return dict(self.comparison.account.topics[topic].upto)

    def frontiers(self, group: Topic) -> dict[Topic, Vector]:
        """What I have delivered of a group's topics."""
        topics = [topic for topic in self.comparison.account.topics if self.tree.reaches(group, topic)]
        return {topic: self.above.frontier(topic) for topic in sorted(topics)}

    def leave(self, topic: Topic) -> None:
        """I stay in the group until what I have is safe with others and none of them knows me any more: so nobody sends
        me what I do not want.
        """
        self.settle_standing()
        self.brought.pop(topic, None)
        group = self.groups.get(topic)
        if group is None:  # it came with another one
            self.above.departed(topic)
            return
        if group.queue:  # what I said must be told there first
            group.parting = True
            return
        group.phase, group.left, group.agreed, group.silent = LEAVING, self.round, -1, -1
        group.unanswered.clear()
        group.asked.clear()
        for uplink in group.uplinks:
            uplink.agreed = -1
        for node in sorted({*group.company.known, *self.bootstrap.places_of(topic)} - {self.me}):
            self.send(node, Stray(self.id_of(topic), group.me))
        self.bootstrap.directory.strike(topic, group.me)

    def is_safe(self, group: Group) -> bool:
        """Whether what I have is also elsewhere: with a fellow, or if I am the last one, above."""
        if group.company.known:
            return group.agreed >= group.left
        if self.is_alone(group):  # unless somebody was out of reach, who may want it
            awaited = bool(self.suspected) or self.round - self.returned <= LIMIT
            patient = self.round - group.left < PATIENCE and awaited
            return not patient or not self.comparison.has_messages(group.topic)
        return all(uplink.agreed >= group.left for uplink in group.uplinks if uplink.known)

    def depart_if_forgotten(self, group: Group) -> None:
        """First I ask nobody any more, then I wait for the last answers."""
        if group.silent < 0:
            if self.round - group.left > LIMIT and self.is_safe(group):
                group.silent = self.round
        elif self.round - group.silent > SLACK:
            self.depart(group)

    def depart(self, group: Group) -> None:
        del self.groups[group.topic]
        for topic in [topic for topic in self.comparison.account.topics if self.tree.reaches(group.topic, topic)]:
            if not any(self.tree.reaches(other, topic) for other in self.groups):
                self.comparison.end(topic)
        self.above.departed(group.topic)

    def agree(self, group: Group) -> None:
        """A fellow has what I have."""
        group.agreed = self.round
        self.hold(group)

    def hold(self, group: Group) -> None:
        """What I said is with somebody else, too, or there is nobody else."""
        for message in group.unheld:
            self.outbox.append(Held(message.id, message.count))
        group.unheld.clear()

    def is_alone(self, group: Group) -> bool:
        return not group.company.known and not any(uplink.known for uplink in group.uplinks)

    def agree_above(self, group: Group, uplink: Uplink) -> None:
        uplink.agreed, uplink.agreed_on = self.round, self.comparison.account.changes
        if not group.company.known:
            self.hold(group)

    def group_for(self, sender: NodeId, topic: Topic) -> Group | None:
        """My group of this topic; if I am not in it, the sender is told."""
        group = self.groups.get(topic)
        if group is None:
            self.stray(sender, topic)
        return group

    def group_above(self, topic: Topic) -> Group | None:
        """The nearest of my groups that gets what is published on a topic."""
        for above in (topic, *self.tree.above(topic)):
            group = self.groups.get(above)
            if group is not None and group.phase is not JOINING:
                return group
        return None

    def is_joining_above(self, topic: Topic) -> bool:
        return any(above in self.groups for above in self.tree.above(topic))

    def stray(self, to: NodeId, topic: Topic) -> None:
        self.send(to, Stray(self.id_of(topic), Entry(self.me, self.origin[1], self.turns)))

    def upon_stray(self, sender: NodeId, stray: Stray) -> None:
        """It is not in the group, or not in any above it."""
        self.bootstrap.directory.strike(stray.id.topic, stray.me)
        group = self.groups.get(stray.id.topic)
        if group is not None:
            group.company.hear_leave(stray.me)
            self.bootstrap.upon_stray(group, sender)
        for other in self.groups.values():
            for uplink in other.uplinks:
                if stray.id.topic in (other.topic, uplink.topic):
                    uplink.leave(stray.me)
