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
from typing import ClassVar

from trellis import draw
from trellis.errors import RemoteProtocolError, UnexpectedEvent
from trellis.events import Cycle, Timeout
from trellis.machine import Place
from trellis.protocols.layers import CRASHES, GAPLESS, START_CUT, SUBTOPICS, Hearers
from trellis.protocols.overlays import damulticast_beginning
from trellis.protocols.overlays.damulticast_group import IN, JOINING, LEAVING, Group, Parameters
from trellis.protocols.overlays.damulticast_membership import LIMIT, Membership
from trellis.protocols.overlays.damulticast_packets import Ask, Digest, Found, Holdings, Refill, Search, Start, Stray
from trellis.protocols.overlays.gossip import Gossip, Members, chance
from trellis.words import Message, NodeId, Packet, Topic

TIMER = "round"


class DaMulticast(Membership):
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
        super().__init__(place, Parameters(c, g, a, z, tau), bool(repair), keep, hops)
        self.period = period  # 0: the host says when a round begins
        self.wants_cycles = not period
        self.armed = False

    @classmethod
    def hearers(cls, standing: Mapping[Topic, Members], place: Place) -> Hearers:
        return damulticast_beginning.hearers(standing, place)

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
            known = {node for group in self.groups.values() for node in group.company.known}
            self.comparison.give_up_refused(len(known))
        if self.lives:
            self.comparison.look_for_orphans()
        if self.round % LIMIT == 0:
            self.bootstrap.directory.clear(self.round)

    def arm(self) -> None:
        """Rounds begin at a time of my own."""
        if self.period and not self.armed:
            self.armed = True
            self.set_timer(TIMER, 1 + draw.draw(self.place.seed, draw.ROUND, self.me) % self.period)

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

    # Packets

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        self.settle_standing()
        match packet:
            case Digest() | Holdings() | Ask() | Stray() if packet.me.node != sender:
                raise RemoteProtocolError(f"{packet.kind} of node {packet.me.node} from node {sender}")
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

    # For hosts

    def takes_part(self) -> bool:
        others = [group for group in self.groups.values() if not self.is_alone(group)]
        return any(group.phase is not LEAVING or not self.is_safe(group) for group in others)

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
        if node in self.suspected:
            self.suspected.remove(node)
            self.returned = self.round
        self.lives[node] = incarnation
        self.bootstrap.places.clear()

    # From before the run

    def upon_standing(self, topic: Topic, members: Members) -> None:
        self.beginning.standing[topic] = members
        if self.me in members:
            self.arm()
