"""A scenario of gossip on the compiled engine: its groups, who is in them, and what decides with a chance."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from trellis import draw, protocols
from trellis.events import Publish
from trellis.protocols.overlays.gossip import ALL
from trellis.protocols.parts.company import fanout_of
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.scenario.model import Cycles, Faults
from trellis.sim.fast import lines as out
from trellis.sim.fast.gossips import gossip as kernel
from trellis.sim.fast.memory import NONE, Block, Table, table
from trellis.sim.fast.trees import slabs
from trellis.sim.fast.whole import Whole
from trellis.words import Time, Topic

NUMBERS = 1 << 53  # of which `draw.unit` makes floats
NOBODY = np.zeros(0, np.int64)
SLABS = 4  # messages on their way at once, at first


class Group(NamedTuple):
    name: Topic
    members: Block  # ascending
    above: int = NONE  # which group is told as well
    silent_from: int = 0  # with which number and larger ones a process does not tell it


class Gossiping(Whole):
    """One run. Subclasses say what its groups are."""

    packets = kernel.PACKETS
    elects = draw.SELECTED  # what a message's own luck is for

    @abstractmethod
    def groups(self) -> list[Group]:
        """All of them; a message begins where `begins` says."""

    @abstractmethod
    def begins(self) -> int:
        """In the group of its topic, or in one of so many."""

    def go_on(self, end: Time, due: int) -> int:
        return kernel.work(self.block, self.rows, end, due)

    def names(self) -> set[Topic]:
        """The rows of those who are dead are about no topic."""
        faults = self.scenario.faults
        return {""} if isinstance(faults, Faults) and faults.stillborn else set()

    def rooms(self) -> dict[Table, int]:
        nodes, topics = self.nodes, len(self.topics)
        self.options = protocols.LAYERED[self.scenario.stack.overlay].options | self.scenario.stack.options()
        about = self.scenario.about_topics()
        self.tree = Hierarchy({topic: each.supers for topic, each in about.items() if each.supers})
        self.members = {topic: np.array(nodes, np.int64) for topic, nodes in self.standing.items()}
        self.laid = self.groups()
        largest = max(len(group.members) for group in self.laid)
        return {
            kernel.PLACES: nodes * topics,
            kernel.GROUPS: len(self.laid),
            kernel.MEMBERS: sum(len(group.members) for group in self.laid),
            kernel.NAMED: topics,
            kernel.MARKS: largest,
            kernel.PICKED: largest,
            kernel.DEAD: nodes,
            slabs.ACKS: SLABS * nodes,
        }

    def begin_places(self, m: Block) -> None:
        m[kernel.BEGINS] = self.begins()
        slabs.begin(m, self.nodes, False)
        lucks = (draw.TABLE, draw.FANOUT, draw.SUPERTABLE, self.elects, draw.CHANNEL)
        for at, purpose in enumerate(lucks, kernel.TABLE):
            m[at] = signed(draw.draw(self.scenario.seed, purpose))
        table(m, kernel.NAMED)[:, 0] = [signed(draw.key_of(topic)) for topic in self.topics]
        self.begin_groups(m)
        places = table(m, kernel.PLACES).reshape(len(self.topics), self.nodes, -1)
        for topic in {action.event.topic for action in self.plan.actions}:
            for other in self.tree.above(topic):
                places[self.code[topic], self.members.get(other, NOBODY), kernel.WANTS] = kernel.BY_ONE_ABOVE
            places[self.code[topic], self.members[topic], kernel.WANTS] = kernel.ITSELF
        self.begin_channels(m)

    def begin_groups(self, m: Block) -> None:
        groups, members, first = table(m, kernel.GROUPS), table(m, kernel.MEMBERS)[:, 0], 0
        for record, (name, inside, above, silent_from) in zip(groups, self.laid, strict=True):
            size = len(inside)
            members[first : first + size] = inside
            record[:] = first, size, signed(draw.key_of(name)), *fanouts(size, self.options["c"]), above, silent_from
            first += size

    def begin_channels(self, m: Block) -> None:
        """Who is dead and what is lost, as the host of rounds has it; then the first rows."""
        network, faults = self.scenario.network, self.scenario.faults
        loss = network.loss or 0.0 if isinstance(network, Cycles) else 0.0
        share = faults.stillborn or 0.0 if isinstance(faults, Faults) else 0.0
        dead = table(m, kernel.DEAD)[:, 0]
        dead[self.stillborn(share)] = 1
        m[kernel.LOSES], m[kernel.ARRIVES_FROM] = bool(loss) or dead.any(), math.ceil(loss * NUMBERS)
        topics = len(self.topics)
        for topic, members in self.members.items():
            living = members[dead[members] == 0]
            self.rows = out.write_all(self.rows, out.CONFIRM, living, topics, self.code[topic])
        if dead.any():
            self.rows = out.write_all(self.rows, out.CRASH, np.flatnonzero(dead), topics, self.code[""])

    def stillborn(self, share: float) -> Block:
        """Of the nodes that say nothing by plan."""
        speak = {action.node for action in self.plan.actions if isinstance(action.event, Publish)}
        silent = np.setdiff1d(np.arange(self.nodes), np.array(sorted(speak), np.int64))
        lucks = draws(draw.draw(self.scenario.seed, draw.STILLBORN), silent)
        return silent[np.lexsort((silent, lucks))[: round(share * self.nodes)]]


class Printed(Gossiping):
    """daMulticast: the subscribers of each topic, and the next ones above it."""

    def begins(self) -> int:
        return kernel.BY_TOPIC

    def groups(self) -> list[Group]:
        return [self.group(topic) for topic in self.topics]

    def group(self, topic: Topic) -> Group:
        members = self.members.get(topic, NOBODY)
        above = next((self.code[other] for other in self.tree.above(topic) if self.standing.get(other)), NONE)
        return Group(topic, members, above, first_without(len(members), self.options["g"]))

    def begin_groups(self, m: Block) -> None:
        super().begin_groups(m)
        z, a = self.options["z"], self.options["a"]
        m[kernel.KNOWN_ABOVE], m[kernel.UNTOLD_FROM] = z, first_without(z, a)


class Broadcast(Gossiping):
    """Everybody."""

    def begins(self) -> int:
        return kernel.WITH_ALL

    def groups(self) -> list[Group]:
        return [Group(ALL, np.arange(self.nodes))]


class Multicast(Gossiping):
    """Whoever subscribes to a topic or to what includes it."""

    def begins(self) -> int:
        return kernel.BY_TOPIC

    def groups(self) -> list[Group]:
        spoken = {action.event.topic for action in self.plan.actions}
        return [Group(topic, self.all_above(topic) if topic in spoken else NOBODY) for topic in self.topics]

    def all_above(self, topic: Topic) -> Block:
        around = (topic, *self.tree.above(topic))
        return np.unique(np.concatenate([self.members.get(other, NOBODY) for other in around]))


class Hierarchical(Gossiping):
    """Groups that have nothing to do with topics, and then one of as many as there are groups: theirs."""

    elects = draw.ELECTED

    def begins(self) -> int:
        return min(self.options["groups"], self.nodes)

    def groups(self) -> list[Group]:
        count = self.begins()
        inside = [Group(f"{ALL}{n}", np.arange(n, self.nodes, count)) for n in range(count)]
        return [*inside, Group(ALL, np.arange(count))]


def signed(word: int) -> int:
    """As a block has it."""
    return word - (1 << 64) if word >> 63 else word


def first_failing(holds: Callable[[int], bool]) -> int:
    """From which number on something does not hold that holds only for small ones."""
    low, high = 0, NUMBERS
    while low < high:
        middle = (low + high) >> 1
        if holds(middle):
            low = middle + 1
        else:
            high = middle
    return low


@lru_cache(maxsize=1 << 12)
def first_without(size: int, few: int) -> int:
    """From which number on a process is not one of the few of so many, on average."""
    return first_failing(lambda number: draw.unit(number << 11) * size < few)


@lru_cache(maxsize=1 << 12)
def fanouts(size: int, c: int) -> tuple[int, int]:
    """How many a process knows, and from which number on one more."""
    least = fanout_of(size, c, 0.0)
    assert fanout_of(size, c, draw.unit(draw.MASK)) <= least + 1
    return least, first_failing(lambda number: fanout_of(size, c, draw.unit(number << 11)) == least)


def draws(word: int, parts: Block) -> Block:
    """One more part of the key of a draw, for many at once: unsigned words."""
    golden, first, second = (np.uint64(n) for n in (draw.GOLDEN, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    x = (np.uint64(word) ^ parts.astype(np.uint64)) + golden
    x = (x ^ (x >> np.uint64(30))) * first
    x = (x ^ (x >> np.uint64(27))) * second
    return x ^ (x >> np.uint64(31))
