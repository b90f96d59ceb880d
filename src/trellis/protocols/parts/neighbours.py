"""Whom a node has links to, and when it lets them go: a table that it chose, and those who chose it.

Source:   Vitis section III (a routing table of bounded size) and Algorithms 6 and 7 (profiles as heartbeats, ages).
Promises: never more than `table_max` neighbours that this node chose, nor more than `audience_max` others that chose
          it. Whoever has not been heard for more than `limit` rounds is no neighbour any more, and is not chosen again
          because of what others still tell of it.
Departs:  in Algorithm 6 a node sends its profile to those in its table, and lets go of those that it does not hear; but
          links are one-way there, and nobody answers. Here a link is one for both: who was chosen is told so and sends
          its profile back, and events go both ways. So that the number of links stays bounded, a node has room for as
          many who chose it as it may choose itself (Symphony bounds them as well); if there are more, the ring comes
          first, then shortcuts, the oldest of them, then those with the most in common. The others
          are told, and choose somebody else (V1 and V5 in docs/protocols/vitis.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trellis.protocols.parts.gateways import Proposals
from trellis.protocols.parts.profiles import Contact, Profile
from trellis.protocols.parts.relays import NO_ASKS, Asks
from trellis.protocols.parts.ring import Compass, of_node
from trellis.words import NodeId, Topic

# Why somebody was chosen; who matters more has the higher number.
NOT, FRIEND, SHORTCUT, RING = 0, 1, 2, 3

FULL = 256  # rounds in which one does not choose somebody who had no room, and longer unless one is short of neighbours
FULL_MAX = 1024  # nodes of which that is remembered


class Neighbour:
    """One of them, as far as it has told."""

    __slots__ = ("asks", "heard", "mine", "profile", "proposals", "shared", "since", "spoke", "theirs")

    def __init__(self, profile: Profile, now: int) -> None:
        self.profile = profile
        self.since = now
        self.heard = now  # the round in which it spoke last, or was chosen
        self.spoke = False  # whether it ever did
        self.mine = NOT  # why I chose it
        self.theirs = NOT  # why it chose me
        self.proposals: Proposals = {}
        self.shared: frozenset[Topic] = frozenset()  # topics that both of us take
        self.asks: Asks = NO_ASKS


class Neighbours:
    """All of them, of one node."""

    def __init__(self, seed: int, me: NodeId, table_max: int, audience_max: int, limit: int) -> None:
        self.seed = seed
        self.me = me
        self.table_max = table_max
        self.audience_max = audience_max
        self.limit = limit
        self.known: dict[NodeId, Neighbour] = {}
        self.shunned: dict[NodeId, int] = {}  # silent ones: until which round I do not choose them
        self.full: dict[
            NodeId, int
        ] = {}  # who has no room for me: until when at least I choose them for the ring alone
        self.changes = 0  # of who is known
        self.compass_of = -1, Compass(())

    def table(self) -> list[NodeId]:
        """Whom I chose."""
        return [node for node, neighbour in self.known.items() if neighbour.mine]

    def ring(self) -> list[NodeId]:
        """Whom I chose because they are next to me."""
        return [node for node, neighbour in self.known.items() if neighbour.mine == RING]

    def audience(self) -> list[NodeId]:
        """Who chose me, and not I them."""
        return [node for node, neighbour in self.known.items() if not neighbour.mine]

    def contacts(self, now: int) -> list[Contact]:
        """Those whom I have heard myself."""
        return [Contact(one.profile, now - one.heard) for one in self.known.values() if one.spoke]

    def compass(self) -> Compass:
        """By their places on the ring."""
        if self.compass_of[0] != self.changes:
            self.compass_of = self.changes, Compass((of_node(self.seed, node), node) for node in self.known)
        return self.compass_of[1]

    def begin_round(self, now: int) -> list[NodeId]:
        """Algorithm 6, lines 4-5: who is silent, so that nobody need wait for them."""
        silent = [node for node, neighbour in self.known.items() if now - neighbour.heard > self.limit]
        if self.shunned:
            self.shunned = {node: until for node, until in self.shunned.items() if until > now}
        if self.full and now % self.limit == 0:
            self.ask_again(now)
        for node in silent:
            self.shunned[node] = now + self.limit + 2  # others tell of it no longer than that
        return silent

    def ask_again(self, now: int) -> None:
        """Of those who had no room long ago, as many as I have room for: so nobody has to go for one that refuses."""
        vacant = self.table_max - len(self.table())
        long_ago = [node for node, until in self.full.items() if until <= now]
        for node in long_ago[: max(0, vacant)]:
            del self.full[node]

    def choose(self, chosen: Mapping[NodeId, tuple[int, Profile]], now: int) -> list[NodeId]:
        """These and no others; who is no neighbour any more because of it."""
        for node, (why, profile) in chosen.items():
            one = self.known.get(node)
            if one is None:
                one = self.add(node, profile, now)
            one.mine = why
        parted = []
        for node, one in self.known.items():
            if one.mine and node not in chosen:
                one.mine = NOT
                if not one.theirs:
                    parted.append(node)
        return parted

    def add(self, node: NodeId, profile: Profile, now: int) -> Neighbour:
        one = self.known[node] = Neighbour(profile, now)
        self.changes += 1
        return one

    def remove(self, node: NodeId) -> Neighbour | None:
        one = self.known.pop(node, None)
        self.changes += one is not None
        return one

    def shun(self, node: NodeId, until: int) -> None:
        self.shunned[node] = until

    def be_refused(self, node: NodeId, now: int) -> None:
        """It has no room for me."""
        self.full.pop(node, None)
        self.full[node] = now + FULL
        if len(self.full) > FULL_MAX:
            del self.full[next(iter(self.full))]

    def too_many(self, ranked: Iterable[tuple[tuple[int, float], NodeId]]) -> list[NodeId]:
        """Of those who chose me, by how much they matter, the ones for whom there is no room."""
        inside = sorted(ranked, reverse=True)
        return [node for _, node in inside[self.audience_max :]]
