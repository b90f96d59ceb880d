"""daMulticast with run-time membership, and with a repair of what gossip missed.

Source:   Baehni, Eugster, Guerraoui, *Data-Aware Multicast*; `damulticast_printed.py` has what its figures show.
Promises: a process knows some of those who subscribe to its topics, and some of the next group above each that is not
          empty, and nobody else: at most ln(S) + c + z entries a group, and ANCHORS more (`parts/company.py`).
          Whoever's subscription is confirmed gets every message that is published later on its topic and on those below
          it, once, also on subtopics that nobody had heard of; and it never gets any other message, not even while
          it joins or leaves. With repair that is certain as long as somebody who has a message stays; without, most of
          them get it.
Assumes:  packets may be lost, or come in any order. A node that cannot be reached is told of (`Suspect`), or is
          silent and forgotten after `limit` rounds.
Departs:  D1-D5 in docs/protocols/damulticast.md: the start of a search, letting go of a group above, leaving, and how
          the size of a group is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import ClassVar

from trellis import draw
from trellis.effects import Held
from trellis.errors import UnexpectedEvent
from trellis.events import Cycle, Timeout
from trellis.machine import Place
from trellis.protocols.layers import CRASHES, GAPLESS, START_CUT, SUBTOPICS, Hearers, Overlay
from trellis.protocols.overlays.damulticast_group import IN, JOINING, LEAVING, Group, Parameters, Uplink
from trellis.protocols.overlays.damulticast_packets import Ask, Digest, Found, Holdings, Refill, Search, Start, Stray
from trellis.protocols.overlays.damulticast_repair import Comparison
from trellis.protocols.overlays.damulticast_search import Bootstrap
from trellis.protocols.overlays.gossip import Gossip, Members, chance
from trellis.protocols.parts.company import ANCHORS, Company, Entry, anchors_of
from trellis.protocols.parts.directory import LISTED, WAITING, places_of
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.protocols.parts.reach import Reach
from trellis.words import Message, MessageId, NodeId, Packet, Topic, Vector

TIMER = "round"
LIMIT = 64  # rounds after which whoever said nothing is forgotten
SLACK = 16  # rounds that a word may take
PATIENCE = 512  # rounds in which the last of a group waits for somebody to come back, before it leaves with what it has


class DaMulticast(Overlay):
    """Groups of subscribers, each linked to the next one above; gossip, and a comparison in every round."""

    promise = "every subscriber of a topic and of those above it gets a message; nobody else ever does"
    source = "daMulticast (Baehni et al. 2004) with run-time membership, and a digest exchange beyond it"
    gives = frozenset({START_CUT, GAPLESS, CRASHES, SUBTOPICS})
    lossy = True
    settles = 160
    options: ClassVar[dict[str, int]] = {
        "c": 5,
        "g": 5,
        "a": 1,
        "z": 3,
        "tau": 1,
        "repair": 1,
        "period": 0,
        "keep": 10_000,
        "hops": 2,
    }

    def __init__(
        self, place: Place, c: int, g: int, a: int, z: int, tau: int, repair: int, period: int, keep: int, hops: int
    ) -> None:
        super().__init__(place)
        self.usual = Parameters(c, g, a, z, tau)
        self.repairs = bool(repair)
        self.period = period  # 0: the host says when a round begins
        self.wants_cycles = not period
        self.tree = Hierarchy.at(place)
        self.reach = Reach(range(place.me, place.me + 1) if place.alone else range(place.size))
        self.suspected: set[NodeId] = set()  # who was there, and cannot be reached; asked for its size only
        self.lives: dict[NodeId, int] = {}
        self.groups: dict[Topic, Group] = {}
        self.brought: dict[Topic, None] = {}  # topics whose messages the layer above takes
        self.comparison = Comparison(self, keep)
        self.bootstrap = Bootstrap(self, hops, LIMIT)
        self.round = 0
        self.turns = 1  # counts what I joined
        self.armed = False
        self.standing: dict[Topic, Members] = {}  # from before the run, until the first event

    @classmethod
    def hearers(cls, standing: Mapping[Topic, Members], place: Place) -> Hearers:
        """Its members, those of the groups next below, and the nodes that remember it or an empty topic above it."""
        tree, everybody = Hierarchy.at(place), Reach(range(place.size))
        places = lru_cache(maxsize=None)(partial(places_of, place.seed, size=place.size, reach=everybody))
        found: Hearers = {topic: {*members, *places(topic)} for topic, members in standing.items()}
        for topic, members in standing.items():
            for branch in tree.direct(topic):
                for above in (branch, *tree.above(branch)):
                    if above in standing:
                        found[above].update(members)
                        break
                    found[topic].update(places(above))
        return found

    @classmethod
    def gives_with(cls, options: Mapping[str, int]) -> frozenset[str]:
        return cls.gives if options.get("repair", 1) else frozenset({CRASHES, SUBTOPICS})

    # Time

    def upon_time(self, event: Timeout | Cycle) -> None:
        self.settle_standing()
        if isinstance(event, Timeout):
            if event.name != TIMER:
                raise UnexpectedEvent(self, event)
            self.set_timer(TIMER, self.period)
        self.round += 1
        self.comparison.log.age()
        self.join_uncovered()
        for group in list(self.groups.values()):
            group.begin_round(self.round)
            self.bootstrap.begin_round(group, self.round)
            if group.phase is IN or (group.phase is LEAVING and group.silent < 0):
                self.comparison.begin_round(group, self.round)
            if group.unheld and self.is_alone(group):
                self.hold(group)
            if group.phase is LEAVING:
                self.depart_if_forgotten(group)
        if self.comparison.refused:
            self.comparison.give_up_refused()
        if self.lives:
            self.comparison.look_for_orphans()
        if self.round % LIMIT == 0:
            self.bootstrap.directory.clear(self.round)

    def arm(self) -> None:
        """Rounds begin at a time of my own."""
        if self.period and not self.armed:
            self.armed = True
            self.set_timer(TIMER, 1 + draw.draw(self.place.seed, draw.ROUND, self.me) % self.period)

    # Membership

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

    def inherit_all(self) -> None:
        """Whatever I have is for the layer above if it takes one that includes it; also what it is about to leave, and
        what it waits for.
        """
        waiting = [group.topic for group in self.groups.values() if group.phase is JOINING]
        for topic in sorted({*self.comparison.account.topics, *waiting}):
            if topic in self.brought or not self.covers(topic):
                continue
            if not self.comparison.has(topic):
                self.comparison.begin(topic, {})
            group = self.groups.get(topic)
            if group is None:
                self.brought[topic] = None
                self.above.inherits(topic, self.upto(topic))
            else:
                self.return_to(group)

    def inherit(self, topic: Topic) -> None:
        """A topic below one of mine of which I had not heard: it is new, and I get it from its beginning on."""
        self.comparison.begin(topic, {})
        self.inherit_all()

    def covers(self, topic: Topic) -> bool:
        """Whether the layer above takes one that includes it."""
        return any(self.tree.includes(one, topic) for one in self.brought)

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
        if self.is_alone(group):  # unless somebody is out of reach, who may want it
            patient = self.round - group.left < PATIENCE and bool(self.suspected)
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

    # Dissemination

    def spread(self, message: Message) -> None:
        self.settle_standing()
        topic = message.id.topic
        if topic not in self.groups:  # I have it with another one; to speak I must be known there
            self.begin_joining(topic)
        group = self.groups[topic]
        self.comparison.add(message)
        group.unheld.append(message)
        if group.phase is JOINING:
            group.queue.append(message)
        else:
            self.pass_on(message, group)

    def pass_on(self, message: Message, group: Group) -> None:
        """Infect, and die."""
        if group.pass_once(message.id):
            for peer, other in self.targets(message, group):
                self.send(peer, Gossip(message.id, (message,), other))

    def targets(self, message: Message, group: Group) -> Iterator[tuple[NodeId, Topic]]:
        """Section 4.3: (1) the supertopic tables, if this process elects itself, and (2) the topic table."""
        size = group.company.size()
        for uplink in group.uplinks:
            above = uplink.topic
            if above is None or chance(self.place, draw.SELECTED, message, uplink.branch) * size >= group.with_.g:
                continue
            for peer in uplink.by_luck():
                if chance(self.place, draw.SELECTED, message, uplink.branch, peer) * len(uplink.known) < group.with_.a:
                    yield peer, above
        for peer in group.company.table():
            yield peer, group.topic

    def upon_gossip(self, sender: NodeId, packet: Gossip) -> None:
        group = self.group_for(sender, packet.group)
        message = packet.messages[0]
        if group is None or group.phase is JOINING or not self.tree.reaches(group.topic, message.id.topic):
            self.note("skip", message.id, count=message.count)  # if it is for me, a comparison will bring it
            return
        if not self.take(message):
            self.note("skip", message.id, count=message.count)
        self.pass_on(message, group)

    def take(self, message: Message) -> bool:
        """Hand a message up unless it came before; whether it was."""
        if message.id.origin == self.origin:
            return False
        if not self.comparison.has(message.id.topic):
            self.inherit(message.id.topic)
        if not self.above.takes(message) or not self.comparison.add(message):  # too much: as if it were lost on the way
            return False
        self.above.arrive(message)
        return True

    # Packets

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        self.settle_standing()
        match packet:
            case Gossip():
                self.upon_gossip(sender, packet)
            case Digest():
                self.comparison.upon_digest(sender, packet)
            case Holdings():
                self.comparison.upon_holdings(sender, packet)
            case Refill():
                self.comparison.upon_refill(sender, packet)
            case Search():
                self.bootstrap.upon_search(sender, packet)
            case Found():
                self.bootstrap.upon_found(sender, packet)
            case Ask():
                self.bootstrap.upon_ask(sender, packet)
            case Start():
                self.bootstrap.upon_start(sender, packet)
            case Stray():
                self.upon_stray(sender, packet)
            case _:
                raise UnexpectedEvent(self, packet)

    def id_of(self, group: Topic) -> MessageId:
        """For a packet that is about a group, not about a message."""
        return MessageId(self.origin, group, 0)

    # For hosts

    def takes_part(self) -> bool:
        return any(group.phase is not LEAVING or not self.is_safe(group) for group in self.groups.values())

    def others_in(self, topic: Topic) -> list[NodeId]:
        group = self.groups.get(topic)
        return sorted(group.company.known) if group is not None else []

    # Crashes

    def upon_suspect(self, node: NodeId) -> None:
        self.settle_standing()
        self.reach.remove(node)
        self.suspected.add(node)
        self.bootstrap.places.clear()
        self.bootstrap.directory.forget(node)
        for group in list(self.groups.values()):
            group.forget(node)
            self.bootstrap.replace(group, node)

    def upon_restore(self, node: NodeId, incarnation: int) -> None:
        if node in self.reach and incarnation > self.lives.get(node, 0):
            self.upon_suspect(node)
        self.reach.add(node)
        self.suspected.discard(node)
        self.lives[node] = incarnation
        self.bootstrap.places.clear()

    # From before the run

    def upon_standing(self, topic: Topic, members: Members) -> None:
        self.standing[topic] = members
        if self.me in members:
            self.arm()

    def settle_standing(self) -> None:
        """As if those who stood at the beginning had found each other: tables are drawn, as in the paper."""
        if not self.standing:
            return
        standing, self.standing = self.standing, {}
        for topic, members in standing.items():
            if self.me in members:
                self.stand(topic, standing)
            self.remember(topic, standing)
        self.inherit_all()

    def stand(self, topic: Topic, standing: dict[Topic, Members]) -> None:
        group = self.new_group(topic)
        group.phase = IN
        members, seed = standing[topic], self.place.seed
        count = group.company.fanout(len(members))
        table = draw.few(seed, draw.TABLE, members, count, self.me, self.me, draw.key_of(topic))
        anchors = [node for node in anchors_of(seed, topic, members) if node != self.me]
        group.company.stand(table, anchors[:ANCHORS], len(members))
        for uplink in group.uplinks:
            above = next((above for above in uplink.scope if above in standing), None)
            if above is not None:
                some = draw.few(seed, draw.SUPERTABLE, standing[above], group.with_.z, self.me, self.me, uplink.key)
                uplink.offer(above, [Entry(node, 0, 1) for node in some])
        self.comparison.begin(topic, {})
        self.brought[topic] = None

    def remember(self, topic: Topic, standing: dict[Topic, Members]) -> None:
        """I may be one of those who remember it, or an empty topic above it."""
        directory, places = self.bootstrap.directory, self.bootstrap.places_of
        if self.me in places(topic):
            for entry in self.some_of(topic, standing[topic], LISTED):
                directory.enrol(topic, entry, self.round)
        for above in self.tree.above(topic):
            if above not in standing and self.me in places(above):
                for entry in self.some_of(topic, standing[topic], WAITING):
                    directory.wait(above, topic, entry, self.round)

    def some_of(self, topic: Topic, members: Members, count: int) -> list[Entry]:
        some = draw.few(self.place.seed, draw.PLACE, members, count, -1, self.me, draw.key_of(topic))
        return [Entry(node, 0, 1) for node in some]
