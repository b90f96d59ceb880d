"""Subscriptions from before the run: as if all who stood at the beginning had found each other.

Source:   daMulticast section 6.1: the tables are drawn before the simulation begins.
Promises: a node is told only what it must know: of its own groups, of the next groups above them, and of topics that it
          remembers for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from trellis import draw
from trellis.machine import Place
from trellis.protocols.layers import Hearers
from trellis.protocols.overlays.damulticast_group import IN
from trellis.protocols.overlays.gossip import Members
from trellis.protocols.parts.company import ANCHORS, Entry, anchors_of
from trellis.protocols.parts.directory import LISTED, WAITING, places_of
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.protocols.parts.reach import Reach
from trellis.words import Topic

if TYPE_CHECKING:
    from trellis.protocols.overlays.damulticast_membership import Membership


def hearers(standing: Mapping[Topic, Members], place: Place) -> Hearers:
    """Of each topic: its members, those of the groups next below, and who remembers it, or an empty topic above it."""
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


class Beginning:
    """What one node was told before the run, until its first event."""

    def __init__(self, overlay: Membership) -> None:
        self.overlay = overlay
        self.standing: dict[Topic, Members] = {}

    def settle(self) -> None:
        standing, self.standing = self.standing, {}
        for topic, members in standing.items():
            if self.overlay.me in members:
                self.stand(topic, standing)
            self.remember(topic, standing)
        self.overlay.inherit_all()

    def stand(self, topic: Topic, standing: dict[Topic, Members]) -> None:
        overlay = self.overlay
        group = overlay.new_group(topic)
        group.phase = IN
        members, seed, me = standing[topic], overlay.place.seed, overlay.me
        count = group.company.fanout(len(members))
        table = draw.few(seed, draw.TABLE, members, count, me, me, draw.key_of(topic))
        anchors = [node for node in anchors_of(seed, topic, members) if node != me]
        group.company.stand(table, anchors[:ANCHORS], len(members))
        for uplink in group.uplinks:
            above = next((above for above in uplink.scope if above in standing), None)
            if above is not None:
                some = draw.few(seed, draw.SUPERTABLE, standing[above], group.with_.z, me, me, uplink.key)
                uplink.offer(above, [Entry(node, 0, 1) for node in some])
        overlay.comparison.begin(topic, {})
        overlay.brought[topic] = None

    def remember(self, topic: Topic, standing: dict[Topic, Members]) -> None:
        """I may be one of those who remember it, or an empty topic above it."""
        overlay, bootstrap = self.overlay, self.overlay.bootstrap
        if overlay.me in bootstrap.places_of(topic):
            for entry in self.some_of(topic, standing[topic], LISTED):
                bootstrap.directory.enrol(topic, entry, overlay.round)
        for above in overlay.tree.above(topic):
            if above not in standing and overlay.me in bootstrap.places_of(above):
                for entry in self.some_of(topic, standing[topic], WAITING):
                    bootstrap.directory.wait(above, topic, entry, overlay.round)

    def some_of(self, topic: Topic, members: Members, count: int) -> list[Entry]:
        seed, me = self.overlay.place.seed, self.overlay.me
        return [Entry(node, 0, 1) for node in draw.few(seed, draw.PLACE, members, count, -1, me, draw.key_of(topic))]
