"""An overlay per topic: nodes are linked so that those who take a topic reach each other without anybody else's help.

Source:   OPT in Vitis section IV, "similar to SpiderCast" (Chockler et al. 2007): a node wants `cover` neighbours for
          each of its topics, and takes greedily whoever covers the most that is not covered yet: links are shared.
Promises: nobody gets what it does not take. With `table` = 0 there is no bound on the links, and every topic is covered
          sooner or later: a graph in which everybody chose three at random hangs together but for bad luck. With a
          bound, what is not covered is not reached, and nobody knows of it: so no order can be kept over it.
Departs:  SpiderCast's views and its random links are not taken over: candidates come from the same peer sampling and
          T-Man as those of the others (section IV). A cover of 3 is SpiderCast's greedy coverage.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import ClassVar

from trellis.machine import Place
from trellis.protocols.layers import CRASHES
from trellis.protocols.overlays.vine import Chosen, Vine
from trellis.protocols.parts.neighbours import FRIEND
from trellis.protocols.parts.profiles import Profile
from trellis.words import NodeId, Topic

UNBOUNDED = 1 << 20


class TopicOverlay(Vine):
    """Links that cover topics, and nothing else."""

    promise = "all who take a topic get its messages if enough links are allowed; nobody else ever does"
    source = "OPT in Vitis (Rahimian et al. 2011): SpiderCast (Chockler et al. 2007) over T-Man"
    options: ClassVar[dict[str, int]] = {"cover": 3, **Vine.options}

    def __init__(self, place: Place, *, cover: int, table: int, **options: int) -> None:
        super().__init__(place, table=table or UNBOUNDED, **options)
        self.cover = cover

    @classmethod
    def gives_with(cls, options: Mapping[str, int]) -> frozenset[str]:
        bounded = options.get("table", cls.options["table"])
        return frozenset({CRASHES}) if bounded else super().gives_with(options)

    def select(self, candidates: Mapping[NodeId, Profile]) -> Chosen:
        """Greedily; who covers as much is liked in an order of my own. A gain only shrinks, so it is counted again only
        of whoever seems to be the best.
        """
        lacking = dict.fromkeys(self.profile.topics, self.cover)
        rest = {node: profile for node, profile in candidates.items() if node not in self.neighbours.full}
        shared = {node: self.profile.topics & profile.topics for node, profile in rest.items()}
        gains = [(-len(topics), node ^ self.here, node) for node, topics in shared.items() if topics]
        heapify(gains)
        chosen: Chosen = {}
        while gains and lacking and len(chosen) < self.neighbours.table_max:
            before, tie, node = heappop(gains)
            gain = sum([topic in lacking for topic in shared[node]])
            if gain < -before:
                if gain:
                    heappush(gains, (-gain, tie, node))
                continue
            chosen[node] = (FRIEND, candidates[node])
            for topic in shared[node]:
                if topic in lacking:
                    lacking[topic] -= 1
                    if not lacking[topic]:
                        del lacking[topic]
        return chosen

    def hop(self, topic: Topic) -> NodeId | None:
        return None

    def carried_for(self, topic: Topic, asker: NodeId) -> NodeId | None:
        return None

    def ways(self, topic: Topic) -> list[NodeId]:
        return [*self.fellows(topic), *self.former_fellows(topic)]
