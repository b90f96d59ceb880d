"""A scenario of `single-root` or `brokers` on the compiled engine: the trees, and whom they feed before the run."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache

import numpy as np

from trellis import protocols
from trellis.protocols.parts.hypercube import dimension, first
from trellis.protocols.parts.relay import root_of
from trellis.sim.fast import barriers as bar
from trellis.sim.fast.memory import NONE, Block, Table, table
from trellis.sim.fast.trees import rooted as kernel
from trellis.sim.fast.whole import Whole
from trellis.words import NodeId, Time, Topic


class Feeding(Whole):
    """One run. Subclasses say who feeds whom."""

    packets = kernel.PACKETS
    counts, settles = True, False

    @abstractmethod
    def root(self, topic: Topic) -> NodeId:
        """Who decides the order of a topic's messages."""

    @abstractmethod
    def feeders(self, topic: Topic) -> Block:
        """Who feeds each node when it is fed; NONE for the root."""

    @abstractmethod
    def fed(self, feeders: Block, members: Block) -> Block:
        """Who is fed from the start if these subscribe, those of one feeder in its order."""

    @abstractmethod
    def asked(self, feeders: Block) -> Block:
        """Whom each node asks when it joins; NONE for those that are fed in any case."""

    def go_on(self, end: Time, due: int) -> int:
        return kernel.go_on(self.block, self.rows, end, due)

    def rooms(self) -> dict[Table, int]:
        topics = len(self.topics)
        return {kernel.PLACES: self.nodes * topics, kernel.ROOTS: topics, kernel.FED: self.nodes * topics}

    def begin_places(self, m: Block) -> None:
        places, said = table(m, kernel.PLACES), kernel.SAID
        chains = [kernel.FIRST_EARLY, kernel.LAST_EARLY, said + bar.LOGGED_LAST]
        places[:, chains] = NONE
        if self.scenario.stack.ordering == "causal":
            places[:, said + bar.UNSAID] = self.unsaid.ravel()
        for code, topic in enumerate(self.topics):
            mine, members = slice(code * self.nodes, (code + 1) * self.nodes), self.standing.get(topic, ())
            table(m, kernel.ROOTS)[code] = self.root(topic)
            self.begin_tree(places[mine], table(m, kernel.FED)[mine, 0], topic, np.array(members, np.int64))
            places[mine, kernel.FIRST_CHILD] += mine.start
        for topic, standing in self.standing.items():
            for node in standing:
                self.confirm(node, self.code[topic])

    def begin_tree(self, places: Block, children: Block, topic: Topic, members: Block) -> None:
        """Each node's children stand together, with room for all that it may feed."""
        feeders = self.feeders(topic)
        most = np.bincount(feeders + 1, minlength=self.nodes + 1)[1:]
        start = np.cumsum(most) - most
        fed = self.fed(feeders, members)
        fed = fed[np.argsort(feeders[fed], kind="stable")]
        count = np.bincount(feeders[fed], minlength=self.nodes)
        children[start[feeders[fed]] + np.arange(len(fed)) - (np.cumsum(count) - count)[feeders[fed]]] = fed
        places[:, kernel.FIRST_CHILD], places[:, kernel.CHILDREN] = start, count
        places[:, kernel.FEEDER] = self.asked(feeders)
        places[members, kernel.PHASE], places[members, kernel.WANTED] = kernel.IN, 1


class SingleRoot(Feeding):
    """The feeder of a node is the one before it on the way from the root."""

    def root(self, topic: Topic) -> NodeId:
        return root_of(self.scenario.seed, topic, self.nodes)

    def feeders(self, topic: Topic) -> Block:
        return tree(self.root(topic), self.nodes)

    def fed(self, feeders: Block, members: Block) -> Block:
        """The heads of those clusters that hold a member: whoever is on the way to one."""
        on_the_way = np.zeros(self.nodes, bool)
        for node in members.tolist():
            while feeders[node] != NONE and not on_the_way[node]:
                on_the_way[node] = True
                node = feeders[node]
        found = np.flatnonzero(on_the_way)
        return found[np.argsort(found ^ feeders[found])]

    def asked(self, feeders: Block) -> Block:
        return feeders


class Brokers(Feeding):
    """Brokers feed each other as a tree of them says, and each feeds its own subscribers."""

    def brokers(self) -> Block:
        options = protocols.OVERLAYS["brokers"].options | self.scenario.stack.options()
        count = min(options["brokers"], self.nodes)
        return np.arange(count) * self.nodes // count

    def root(self, topic: Topic) -> NodeId:
        brokers = self.brokers()
        return int(brokers[root_of(self.scenario.seed, topic, len(brokers))])

    def feeders(self, topic: Topic) -> Block:
        brokers = self.brokers()
        above = tree(root_of(self.scenario.seed, topic, len(brokers)), len(brokers))
        found = brokers[np.searchsorted(brokers, np.arange(self.nodes), side="right") - 1]
        found[brokers] = np.where(above == NONE, NONE, brokers[above])
        return found

    def fed(self, feeders: Block, members: Block) -> Block:
        """First the brokers, in the order of clusters, then the subscribers."""
        brokers = self.brokers()
        below = np.flatnonzero(feeders[brokers] != NONE)
        index = np.searchsorted(brokers, feeders[brokers[below]])
        below = below[np.argsort(below ^ index)]
        return np.concatenate([brokers[below], members[~np.isin(members, brokers)]])

    def asked(self, feeders: Block) -> Block:
        found = feeders.copy()
        found[self.brokers()] = NONE
        return found


@cache
def tree(root: int, size: int) -> Block:
    """The node before each on the way from the root, over all ids; NONE for the root."""
    found = np.full(size, NONE, np.int64)
    todo = [(root, dimension(size))]
    while todo:
        i, height = todo.pop()
        for s in range(1, height + 1):
            j = first(i, s, range(size))
            if j is not None:
                found[j] = i
                todo.append((j, s - 1))
    return found
