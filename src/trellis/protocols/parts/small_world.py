"""Far links that make a ring navigable.

Source:   Manku, Bawa, Raghavan, *Symphony* (2003), section 3.1: a node has links over distances x drawn with density
          1 / (x ln n) from [1/n, 1]; with k of them a greedy lookup takes O(log^2 n / k) steps.
Departs:  the distances are drawn once for each node. Vitis writes RANDOM-DISTANCE at each choice (Algorithm 4, line 8);
          drawn anew each time, a link would change in every round, and every relay path over it. For the same reason
          a link that goes nearly as far as it should is kept, though a better one may be known by now (V3 in
          docs/protocols/vitis.md).
"""

from __future__ import annotations

from trellis import draw
from trellis.protocols.parts.ring import MASK, SIZE, Point, distance
from trellis.words import NodeId

SLACK = 4  # a link may be off by a quarter of the distance
FEW_STEPS = 12  # of a lookup in a small world, and as long as others take to see that a way is gone


def near_enough(links: list[tuple[Point, NodeId]], far: int) -> tuple[Point, NodeId] | None:
    """The best of these links, by how far they go, if it is good enough for a distance."""
    best = min(links, key=lambda link: distance(link[0], far), default=None)
    return best if best is not None and distance(best[0], far) <= far // SLACK else None


def steps(count: int, size: int) -> int:
    """How many steps the longest of all lookups may take, where nodes have so many such links (O(log^2 n / k)), and as
    many who chose them; the ring is there in any case.
    """
    return max(FEW_STEPS, size.bit_length() ** 2 // (count + 2))


def distances(seed: int, node: NodeId, count: int, size: int) -> tuple[int, ...]:
    """How far away, clockwise, a node would like to have links."""
    found = []
    for n in range(count):
        luck = draw.unit(draw.draw(seed, draw.SHORTCUT, node, n))
        share = draw.exp(draw.ln(max(size, 2)) * (luck - 1.0))  # of the ring, from 1/n to 1
        found.append(int(share * SIZE) & MASK)
    return tuple(found)
