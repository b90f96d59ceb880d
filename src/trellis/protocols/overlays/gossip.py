"""Gossip: whoever hears of a message for the first time tells some others, and forgets it ("infect and die").

Source:   Kermarrec, Massoulie, Ganesh 2003, as daMulticast takes it (section 3.3): each process sends a message to
          ln(S) + c others of its group. The rivals are those of daMulticast, section 5.5.
Promises: with ln(S) + c others, all S processes of a group get a message with probability exp(-exp(-c)) if nothing is
          lost, and most of them otherwise. It relies on no process and on no link.
Assumes:  what each process knows of others (its *tables*) is drawn once, before the run, as in the paper's simulation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

from trellis import draw
from trellis.errors import UnexpectedEvent
from trellis.machine import Place
from trellis.protocols.layers import Overlay
from trellis.protocols.parts.company import fanout_of
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.protocols.parts.seen import Seen
from trellis.words import Message, NodeId, Packet, Topic

Members = tuple[NodeId, ...]  # ascending
NOBODY: Members = ()
ALL: Topic = "*"  # a group of everybody


def chance(place: Place, purpose: int, message: Message, group: Topic, *key: int) -> float:
    """What decides in [0, 1) whether this process does something for a message."""
    id = message.id
    about = (*id.origin, draw.key_of(id.topic), id.seq, draw.key_of(group), place.me, *(1 + part for part in key))
    return draw.unit(draw.draw(place.seed, purpose, *about))


class Gossip(Packet, frozen=True, gc=False, tag="GG"):
    """A message, for those of one group."""

    messages: tuple[Message]  # type: ignore[misc]
    group: Topic
    kind: ClassVar[str] = "GOSSIP"


class Gossiping(Overlay):
    """What all gossip has in common: groups, a table for each, and that a message is passed on once in a group."""

    lossy = True
    options: ClassVar[dict[str, int]] = {"c": 5}

    def __init__(self, place: Place, c: int) -> None:
        super().__init__(place)
        self.c = c
        self.tree = Hierarchy.at(place)
        self.standing: dict[Topic, Members] = {}  # who subscribes to what, as far as it concerns me
        self.inside: dict[Topic, None] = {}  # what I subscribe to
        self.tables: dict[Topic, Members] = {}  # by group; drawn when they are first needed
        self.passed: dict[tuple[Topic, Topic], Seen] = {}  # by group and topic: what I passed on there
        self.delivered: dict[Topic, Seen] = {}

    # Membership, from before the run

    def upon_standing(self, topic: Topic, members: Members) -> None:
        if self.me in members:
            self.inside[topic] = None
        if self.concerns(topic):
            self.standing[topic] = members

    def concerns(self, topic: Topic) -> bool:
        """Whether I may have to know who subscribes to it."""
        return True

    def join(self, topic: Topic) -> None:
        raise UnexpectedEvent(self, topic)

    def leave(self, topic: Topic) -> None:
        raise UnexpectedEvent(self, topic)

    def members(self, group: Topic) -> Members:
        """Of a group to which I belong."""
        return self.standing.get(group, NOBODY)

    def table(self, group: Topic) -> Members:
        """ln(S) + c others of a group, for good."""
        found = self.tables.get(group)
        if found is None:
            members = self.members(group)
            found = self.tables[group] = self.some_of(members, self.fanout(len(members), group), draw.TABLE, group)
        return found

    def fanout(self, size: int, group: Topic) -> int:
        return fanout_of(size, self.c, draw.unit(draw.draw(self.place.seed, draw.FANOUT, self.me, draw.key_of(group))))

    def some_of(self, members: Members, count: int, purpose: int, group: Topic) -> Members:
        """So many of them but myself."""
        return tuple(draw.few(self.place.seed, purpose, members, count, self.me, self.me, draw.key_of(group)))

    def entries(self) -> int:
        """How many processes I know."""
        return sum(map(len, self.tables.values()))

    # Dissemination

    def spread(self, message: Message) -> None:
        for group in self.groups_for(message.id.topic):
            self.pass_on(message, group)

    @abstractmethod
    def groups_for(self, topic: Topic) -> Iterable[Topic]:
        """In which groups a message of mine begins."""

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        if not isinstance(packet, Gossip):
            raise UnexpectedEvent(self, packet)
        self.pass_on(packet.messages[0], packet.group)

    def pass_on(self, message: Message, group: Topic) -> None:
        """Infect, and die."""
        id = message.id
        if not self.passed.setdefault((group, id.topic), Seen({})).add(id.origin, id.seq, message.last):
            return
        self.deliver_once(message)
        for peer, other in self.targets(message, group):
            self.send(peer, Gossip(id, (message,), other))

    def targets(self, message: Message, group: Topic) -> Iterator[tuple[NodeId, Topic]]:
        """To whom it goes on, in which group."""
        return ((peer, group) for peer in self.table(group))

    def deliver_once(self, message: Message) -> None:
        """Unless it is my own, or not for me, or came before by way of another group."""
        id = message.id
        if id.origin == self.origin or not self.is_for_me(id.topic):
            return
        if self.delivered.setdefault(id.topic, Seen({})).add(id.origin, id.seq, message.last):
            if id.topic not in self.inside:
                self.above.inherits(id.topic, {})  # from its beginning on
            self.above.arrive(message)

    def is_for_me(self, topic: Topic) -> bool:
        return any(self.tree.reaches(mine, topic) for mine in self.inside)


class GossipBroadcast(Gossiping):
    """(a): everything goes to everybody, and whoever does not want it has got it all the same."""

    promise = "all nodes gossip every message, whoever wants it"
    source = "daMulticast section 5.5 (a): gossip-based broadcast"

    def concerns(self, topic: Topic) -> bool:
        return False

    def members(self, group: Topic) -> Members:
        return tuple(range(self.place.size))

    def groups_for(self, topic: Topic) -> Iterable[Topic]:
        return (ALL,)

    def entries(self) -> int:
        return len(self.table(ALL))


class GossipMulticast(Gossiping):
    """(b): a group for the publishers of each topic, which whoever subscribes to a topic above it joins as well."""

    promise = "a group for each topic; who subscribes to a topic is in the groups of all topics below it"
    source = "daMulticast section 5.5 (b): gossip-based multicast"

    def members(self, group: Topic) -> Members:
        """Whoever subscribes to it or to what includes it."""
        found: set[NodeId] = set()
        for topic in (group, *self.tree.above(group)):
            found.update(self.standing.get(topic, NOBODY))
        return tuple(sorted(found))

    def groups_for(self, topic: Topic) -> Iterable[Topic]:
        return (topic,)

    def entries(self) -> int:
        """Of all groups that I am in, also those in which nothing was said yet."""
        return sum(len(self.table(topic)) for topic in self.standing if self.is_for_me(topic))


class GossipHierarchical(Gossiping):
    """(c): two levels of groups that have nothing to do with interests."""

    promise = "everybody gossips within a group of a fixed size, and between those"
    source = "daMulticast section 5.5 (c): hierarchical gossip-based broadcast (Kermarrec et al. 2003)"
    options: ClassVar[dict[str, int]] = {"c": 5, "groups": 10}

    def __init__(self, place: Place, c: int, groups: int) -> None:
        super().__init__(place, c)
        self.groups = min(groups, place.size)
        self.mine = f"{ALL}{place.me % self.groups}"

    def concerns(self, topic: Topic) -> bool:
        return False

    def members(self, group: Topic) -> Members:
        if group == self.mine:
            return tuple(range(self.me % self.groups, self.place.size, self.groups))
        return tuple(range(self.groups))  # as many groups

    def groups_for(self, topic: Topic) -> Iterable[Topic]:
        return (self.mine,)

    def table(self, group: Topic) -> Members:
        """Between groups: one process of each of ln(N) + c others."""
        if group == self.mine or group in self.tables:
            return super().table(group)
        mine = self.me % self.groups
        count = self.fanout(self.groups, ALL)
        others = draw.few(self.place.seed, draw.TABLE, range(self.groups), count, mine, self.me, draw.key_of(ALL))
        found = []
        for other in others:
            inside = range(other, self.place.size, self.groups)
            found.append(inside[draw.draw(self.place.seed, draw.TABLE, self.me, other) % len(inside)])
        self.tables[group] = tuple(found)
        return self.tables[group]

    def entries(self) -> int:
        """Of both tables, whether or not I was ever drawn to speak for my group."""
        return len(self.table(self.mine)) + len(self.table(ALL))

    def targets(self, message: Message, group: Topic) -> Iterator[tuple[NodeId, Topic]]:
        """Within my group; and one of its processes, drawn for the message, tells other groups as well."""
        yield from super().targets(message, self.mine)
        inside = self.members(self.mine)
        id = message.id
        word = draw.draw(
            self.place.seed, draw.ELECTED, *id.origin, draw.key_of(id.topic), id.seq, self.me % self.groups
        )
        if self.me == inside[word % len(inside)]:
            yield from ((peer, f"{ALL}{peer % self.groups}") for peer in self.table(ALL))
