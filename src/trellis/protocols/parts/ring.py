"""Ids on a ring: nodes and topics share one space of 64 bits, and a lookup goes to whoever is closest.

Source:   Vitis section III (ids by a hash function that everybody knows, SHA-1 there, `draw` here) and III-B (greedy
          lookup); the ring of Chord and Symphony.
Promises: where every node knows its successor and its predecessor, a lookup that goes to a closer node at each step
          ends at the node whose id is closest to what is looked for, from wherever it began.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache

from trellis import draw
from trellis.words import NodeId, Topic

SIZE = 1 << 64
MASK = SIZE - 1
HALF = SIZE >> 1

Point = int  # on the ring


@lru_cache(maxsize=1 << 17)
def of_node(seed: int, node: NodeId) -> Point:
    return draw.draw(seed, draw.POSITION, node)


@lru_cache(maxsize=1 << 17)
def of_topic(seed: int, topic: Topic) -> Point:
    return draw.draw(seed, draw.RENDEZVOUS, draw.key_of(topic))


def clockwise(start: Point, end: Point) -> int:
    """How far it is from one to the other in the direction in which ids grow."""
    return (end - start) & MASK


def distance(one: Point, other: Point) -> int:
    """The shorter way round."""
    ahead = (other - one) & MASK
    return ahead if ahead <= HALF else SIZE - ahead


def closest(around: list[tuple[Point, NodeId]], to: Point) -> int:
    """Which of these, in ascending order, is closest; of two that are as close, the one counterclockwise."""
    after = bisect_left(around, (to, 0)) % len(around)
    before = after - 1 if after else len(around) - 1
    return after if distance(around[after][0], to) < distance(around[before][0], to) else before


class Compass:
    """Points in order, to find the closest one quickly. Of two that are as close, the one counterclockwise."""

    def __init__(self, nodes: Iterable[tuple[Point, NodeId]]) -> None:
        self.nodes = sorted(nodes)

    def closer(self, to: Point, than: Point) -> NodeId | None:
        """One step of a greedy lookup: the closest one, if it is closer than the point where I am."""
        if not self.nodes:
            return None
        point, node = self.nodes[closest(self.nodes, to)]
        return node if distance(point, to) < distance(than, to) else None
