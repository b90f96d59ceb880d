"""Who takes part in a topic, as one node has heard it.

Source:   VCube-PS's `view[t]` and UPDATE (Algorithm 2, lines 75-82).
Departs:  three ranks instead of SUB/UNS: a node is a *newcomer* until it knows all others, so that nobody gives it a
          subtree before it can serve one (V1). A restart counts as newer than anything of the life before (V7).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta

from trellis.protocols.parts.hypercube import block, cluster, first
from trellis.words import Incarnation, NodeId, Version

NEWCOMER = 1  # gets messages, forwards none
MEMBER = 2  # gets and forwards
GONE = 3


class Rank(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """What a node says of itself. The version counts its changes on the topic within one incarnation."""

    node: NodeId
    incarnation: Incarnation
    version: Version
    rank: Annotated[int, Meta(ge=NEWCOMER, le=GONE)]

    def newer_than(self, other: Rank | None) -> bool:
        return other is None or (self.incarnation, self.version) > (other.incarnation, other.version)


Children = tuple[tuple[NodeId, int], ...]  # each with the height of the subtree that it answers for


class View:
    """The newest rank of every node that one node ever heard of on a topic: at most one entry per node."""

    __slots__ = ("i", "members", "newcomers", "ranks", "reach", "shared", "silent", "trees")

    def __init__(self, i: NodeId, reach: Container[NodeId]) -> None:
        self.i = i
        self.reach = reach  # on all topics: whom I cannot reach keeps its rank, and is given nothing
        self.ranks: dict[NodeId, Rank] = {}
        self.members: dict[NodeId, None] = {}  # rank MEMBER, and I reach it; a dict: its order is the same every time
        self.newcomers: dict[NodeId, None] = {}  # rank NEWCOMER, and I reach it
        self.silent: dict[NodeId, None] = {}  # came back, and has not said yet where it stands
        self.shared = False  # `ranks` and `members` are also other nodes': copy before the first change
        self.trees: dict[int, Children] = {}  # by height; forgotten when something changes

    @classmethod
    def standing(cls, i: NodeId, members: tuple[NodeId, ...], reach: Container[NodeId]) -> View:
        """Members from before the run, at version 1. All nodes share the tables until something changes."""
        view = cls(i, reach)
        view.ranks, view.members = standing_tables(members)
        view.shared = True
        return view

    def update(self, ranks: Iterable[Rank]) -> None:
        """UPDATE: the newer word of each node holds."""
        for rank in ranks:
            node = rank.node
            if not rank.newer_than(self.ranks.get(node)):
                continue
            self.own()
            self.ranks[node] = rank
            self.seat(node)

    def seat(self, node: NodeId) -> None:
        """Where a node stands now, by its rank and by whether I can reach it."""
        self.own()
        self.trees.clear()
        self.members.pop(node, None)
        self.newcomers.pop(node, None)
        if node not in self.reach:
            self.silent.pop(node, None)
            return
        rank = self.ranks.get(node)
        if rank is None:
            return
        if rank.rank == MEMBER:
            self.members[node] = None
        elif rank.rank == NEWCOMER:
            self.newcomers[node] = None

    def is_alone(self) -> bool:
        """Whether nobody else takes part, as far as I know; who cannot be reached still takes part."""
        return not any(rank.rank == MEMBER and node != self.i for node, rank in self.ranks.items())

    def own(self) -> None:
        if self.shared:
            self.ranks, self.members, self.shared = dict(self.ranks), dict(self.members), False

    def takers(self, s: int) -> Iterator[tuple[NodeId, int]]:
        """Who takes over my cluster s, each with the height of the subtree that it answers for.

        The first member takes the whole cluster. Where there is none, every newcomer gets a copy of its own: it
        does not know the others yet, so its height is 0.
        """
        taker = first(self.i, s, self.members)
        if taker is not None:
            yield taker, s - 1
        elif self.newcomers:
            ids = block(self.i, s)
            for node in sorted(self.newcomers):
                if node in ids:
                    yield node, 0

    def tree(self, height: int) -> Children:
        """CHILDREN(i, t, height), each with its own height."""
        children = self.trees.get(height)
        if children is None:
            children = self.trees[height] = tuple(taker for s in range(1, height + 1) for taker in self.takers(s))
        return children

    def direct(self, besides: Children) -> Children:
        """Newcomers that I must tell myself, because members on the way may not know them yet."""
        told = {self.i, *(j for j, _ in besides)}
        return tuple((j, 0) for j in sorted(self.newcomers) if j not in told)


@lru_cache(maxsize=256)
def standing_tables(members: tuple[NodeId, ...]) -> tuple[dict[NodeId, Rank], dict[NodeId, None]]:
    return {node: Rank(node, 0, 1, MEMBER) for node in members}, dict.fromkeys(members)


def subtree(i: NodeId, j: NodeId, height: int) -> int | None:
    """The cluster that i gave to j with this height, or None when j got a copy for itself alone."""
    s = cluster(i, j)
    return s if height == s - 1 else None
