"""Rendezvous routing: a tree for each topic, from every node that takes it to the node that is closest to its id.

Source:   RVR in Vitis section IV, "equivalent to that of Scribe or Bayeux, with fixed node degree", over the same peer
          sampling and T-Man. It knows nothing of what nodes have in common: all links but the ring are shortcuts.
Promises: every message reaches every node that takes its topic, by the tree alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from trellis.machine import Place
from trellis.protocols.overlays.vine import Chosen
from trellis.protocols.overlays.vitis import Routed
from trellis.protocols.parts.profiles import Profile
from trellis.words import NodeId, Topic


class Rendezvous(Routed):
    """Every node that takes a topic is its own gateway."""

    promise = "all who take a topic get its messages, by a tree over a structured overlay that knows no interests"
    source = "RVR in Vitis (Rahimian et al. 2011): Scribe (Castro et al. 2002) over T-Man"

    def __init__(self, place: Place, *, table: int, **options: int) -> None:
        super().__init__(place, k=max(0, table - 2), table=table, **options)

    def select(self, candidates: Mapping[NodeId, Profile]) -> Chosen:
        return self.select_ring(dict(candidates))

    def ways(self, topic: Topic) -> list[NodeId]:
        return self.path(topic)
