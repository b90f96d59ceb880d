"""daMulticast as it is printed: a group for the subscribers of each topic, and links from each to the next one above.

Source:   Baehni, Eugster, Guerraoui, *Data-Aware Multicast*, sections 4.2 and 4.3, as simulated in section 6.
Promises: a process knows ln(S) + c others of its group and z of the next group above that is not empty, and nobody
          else. It never gets a message of a topic that it did not subscribe to.
Assumes:  as in the paper's simulation the tables are drawn before the run, and never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from trellis import draw
from trellis.machine import Place
from trellis.protocols.overlays.gossip import Gossiping, Members, chance
from trellis.words import Message, NodeId, Topic


class DaMulticastPrinted(Gossiping):
    """Up with p_sel and p_a, and inside; by everybody who hears of a message for the first time."""

    promise = "most subscribers of a topic and of those above it get a message; nobody else ever does"
    source = "daMulticast (Baehni et al.), sections 4.2-4.3"
    options: ClassVar[dict[str, int]] = {"c": 5, "g": 5, "a": 1, "z": 3}

    def __init__(self, place: Place, c: int, g: int, a: int, z: int) -> None:
        super().__init__(place, c)
        self.g = g
        self.a = a
        self.z = z
        self.supers: dict[Topic, tuple[Topic, Members]] = {}  # by group: the one above, and whom of it I know

    def groups_for(self, topic: Topic) -> Iterable[Topic]:
        return (topic,)

    def supertable(self, group: Topic) -> tuple[Topic, Members]:
        """sTable: z processes of super(T), or of the next topic above it that somebody subscribes to."""
        found = self.supers.get(group)
        if found is None:
            above = next((topic for topic in self.tree.above(group) if self.standing.get(topic)), group)
            others = self.standing[above] if above != group else ()
            found = self.supers[group] = above, self.some_of(others, self.z, draw.SUPERTABLE, group)
        return found

    def entries(self) -> int:
        return sum(len(self.table(group)) + len(self.supertable(group)[1]) for group in self.inside)

    def targets(self, message: Message, group: Topic) -> Iterator[tuple[NodeId, Topic]]:
        """Section 4.3: (1) the supertopic table, if this process elects itself, and (2) the topic table."""
        above, superprocesses = self.supertable(group)
        if superprocesses and chance(self.place, draw.SELECTED, message, group) * len(self.members(group)) < self.g:
            for peer in superprocesses:
                if chance(self.place, draw.SELECTED, message, group, peer) * self.z < self.a:
                    yield peer, above
        yield from super().targets(message, group)
