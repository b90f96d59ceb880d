"""Far links that make a ring navigable.

Source:   Manku, Bawa, Raghavan, *Symphony* (2003), section 3.1: a node has links over distances x drawn with density
          1 / (x ln n) from [1/n, 1]; with k of them a greedy lookup takes O(log^2 n / k) steps.
Departs:  the distances are drawn once for each node. Vitis writes RANDOM-DISTANCE at each choice (Algorithm 4, line 8);
          drawn anew each time, a link would change in every round, and every relay path over it.
"""

from __future__ import annotations

from trellis import draw
from trellis.protocols.parts.ring import MASK, SIZE
from trellis.words import NodeId


def distances(seed: int, node: NodeId, count: int, size: int) -> tuple[int, ...]:
    """How far away, clockwise, a node would like to have links."""
    found = []
    for n in range(count):
        luck = draw.unit(draw.draw(seed, draw.SHORTCUT, node, n))
        share = draw.exp(draw.ln(max(size, 2)) * (luck - 1.0))  # of the ring, from 1/n to 1
        found.append(int(share * SIZE) & MASK)
    return tuple(found)
