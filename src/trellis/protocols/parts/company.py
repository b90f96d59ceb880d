"""Whom a process knows of a group: few of many, fairly drawn, and an estimate of how many there are.

Source:   the lightweight membership that daMulticast assumes (section 3.3); what is kept are bottom-k samples (Cohen
          1997): of all processes ever heard of, those with the smallest luck, which is a draw for each.
Promises: at most ln(S) + c + ANCHORS entries, S being the estimated size. By a luck of its own each process keeps
          ln(S) + c of them, a fair sample, its *table*; by a luck that is common to all it keeps ANCHORS, the same
          ones as everybody, whose density says how large the group is. A group of up to ANCHORS others is known
          completely, and its size exactly.
          Whoever is not heard of for `limit` rounds is forgotten by everybody, however long others pass its name on.
Assumes:  the processes of a group tell each other of some of their entries in every round.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta

from trellis import draw
from trellis.machine import Place
from trellis.words import Incarnation, NodeId, Topic, Version

ANCHORS = 16
AGE_MAX = 1 << 20
UNBOUNDED = (1 << 64, 1 << 64)


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """A process that is in a group, as one tells another of it."""

    node: NodeId
    incarnation: Incarnation
    turn: Version  # counts the times that it joined anything, in this life
    age: Annotated[int, Meta(ge=0, le=AGE_MAX)] = 0  # rounds since it was heard of from itself

    @property
    def life(self) -> tuple[int, int]:
        return self.incarnation, self.turn


class Known:
    """What I keep of it."""

    __slots__ = ("common", "heard", "incarnation", "luck", "turn")

    def __init__(self, entry: Entry, heard: int, luck: int, common: int) -> None:
        self.incarnation, self.turn = entry.incarnation, entry.turn
        self.heard = heard  # in which round of mine it was heard of from itself
        self.luck = luck
        self.common = common

    @property
    def life(self) -> tuple[int, int]:
        return self.incarnation, self.turn


class Roll:
    """Processes of one group, by when they were heard of."""

    def __init__(self, place: Place, group: Topic, limit: int) -> None:
        self.me = place.me
        self.seed = place.seed
        self.key = draw.key_of(group)
        self.limit = limit
        self.known: dict[NodeId, Known] = {}
        self.left: dict[NodeId, tuple[tuple[int, int], int]] = {}  # whose leaving I heard of: which life, and when
        self.round = 0

    def begin_round(self, number: int) -> None:
        self.round = number
        since = number - self.limit
        for node in [node for node, known in self.known.items() if known.heard < since]:
            self.forget(node)
        if self.left:
            self.left = {node: told for node, told in self.left.items() if told[1] >= since}

    def hear(self, entry: Entry) -> None:
        """Somebody is there: it says so, or others have heard it."""
        node, heard = entry.node, self.round - entry.age
        if node == self.me or heard < self.round - self.limit:
            return
        known = self.known.get(node)
        if known is not None and known.life >= entry.life:
            if known.life == entry.life and heard > known.heard:
                known.heard = heard
            return
        told = self.left.get(node)
        if told is None or told[0] < entry.life:
            self.meet(node, self.measured(entry, heard))

    def meet(self, node: NodeId, known: Known) -> None:
        """Somebody whom I did not know, or not in this life."""
        self.known[node] = known
        self.trim()

    def measured(self, entry: Entry, heard: int) -> Known:
        node = entry.node
        luck = draw.draw(self.seed, draw.TABLE, self.me, self.key, node)
        return Known(entry, heard, luck, draw.draw(self.seed, draw.ANCHOR, self.key, node))

    def trim(self) -> None:
        """Keep what is worth keeping."""

    def hear_all(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.hear(entry)

    def hear_leave(self, entry: Entry) -> None:
        """It has left, whatever others still say."""
        known = self.known.get(entry.node)
        if known is not None and known.life <= entry.life:
            self.forget(entry.node)
        self.left[entry.node] = entry.life, self.round

    def forget(self, node: NodeId) -> None:
        self.known.pop(node, None)

    def told_of(self, nodes: Iterable[NodeId]) -> tuple[Entry, ...]:
        """What I say of these to others. On its way it grows older by a round: else a name might never be forgotten."""
        found, now = ((node, self.known[node]) for node in nodes), self.round + 1
        return tuple(Entry(n, k.incarnation, k.turn, min(AGE_MAX, now - k.heard)) for n, k in found)

    def by_luck(self) -> list[NodeId]:
        known = self.known
        return sorted(known, key=lambda node: (known[node].luck, node))

    def drawn(self, count: int, purpose: int, *key: int) -> list[NodeId]:
        """Some of them, others each time."""
        return draw.few(self.seed, purpose, sorted(self.known), count, self.me, self.me, self.key, *key)


class Company(Roll):
    """My fellows in a group."""

    def __init__(self, place: Place, group: Topic, c: int, limit: int) -> None:
        super().__init__(place, group, limit)
        self.c = c
        self.mine = draw.draw(self.seed, draw.ANCHOR, self.key, self.me)
        self.estimate: int | None = None  # of its size; None: something changed since
        self.bounds = UNBOUNDED  # whose luck is below neither of these, I do not keep
        self.share = draw.unit(draw.draw(self.seed, draw.FANOUT, self.me, self.key))

    def stand(self, table: Iterable[NodeId], anchors: Iterable[NodeId], size: int) -> None:
        """Begin with a table that was drawn from the whole group: as if its luck had been the smallest."""
        for node in anchors:
            self.hear(Entry(node, 0, 1))
        for n, node in enumerate(table):
            entry = Entry(node, 0, 1)
            self.known[node] = self.measured(entry, self.round)
            self.known[node].luck = (n << 64) // size
        self.estimate, self.bounds = None, UNBOUNDED

    def size(self) -> int:
        """Of the group, with me: exactly while I know all of it, else estimated from the density of the anchors."""
        if self.estimate is None:
            self.estimate = self.estimated()
        return self.estimate

    def estimated(self) -> int:
        if len(self.known) < ANCHORS:
            return 1 + len(self.known)
        last = sorted([self.mine, *(known.common for known in self.known.values())])[ANCHORS - 1]
        return max(ANCHORS + 1, round((ANCHORS - 1) / draw.unit(last | 1 << 11)))

    def fanout(self, size: int) -> int:
        return fanout_of(size, self.c, self.share)

    def table(self) -> list[NodeId]:
        """To whom I tell what I hear: ln(S) + c of them."""
        return self.by_luck()[: self.fanout(self.size())]

    def anchors(self) -> list[NodeId]:
        known = self.known
        return sorted(known, key=lambda node: (known[node].common, node))[:ANCHORS]

    def meet(self, node: NodeId, known: Known) -> None:
        if node in self.known or known.luck < self.bounds[0] or known.common < self.bounds[1]:
            self.estimate, self.bounds = None, UNBOUNDED
            super().meet(node, known)

    def forget(self, node: NodeId) -> None:
        super().forget(node)
        self.estimate, self.bounds = None, UNBOUNDED

    def trim(self) -> None:
        """Keep those who are in the table or are anchors; and know whom I need not meet."""
        if len(self.known) <= ANCHORS:
            return
        table, anchors = self.table(), self.anchors()
        kept = {*table, *anchors}
        for node in [node for node in self.known if node not in kept]:
            del self.known[node]
        if len(table) == self.fanout(self.size()):
            self.bounds = self.known[table[-1]].luck, self.known[anchors[-1]].common


def fanout_of(size: int, c: float, luck: float) -> int:
    """ln(S) + c as a whole number, and on average over all luck in [0, 1) just that; the same on every machine."""
    whole = draw.ln(max(1, size)) + c + luck
    return max(1, int(whole))


@lru_cache(maxsize=1 << 12)
def anchors_of(seed: int, group: Topic, members: tuple[NodeId, ...]) -> tuple[NodeId, ...]:
    """Those of a whole group that everybody knows, one more than a process that is one of them needs."""
    key = draw.key_of(group)
    return tuple(sorted(members, key=lambda node: (draw.draw(seed, draw.ANCHOR, key, node), node))[: ANCHORS + 1])
