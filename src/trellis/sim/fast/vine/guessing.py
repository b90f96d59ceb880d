"""How many nodes there are, as one guesses that was told nothing, compiled. Answers to `count` of overlays/vitis.py and
to protocols/parts/small_world.py, with the logarithm and the exponential function of `draw`.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, exp, go_on, ln
from trellis.sim.fast.memory import Block
from trellis.sim.fast.vine.ring import clockwise
from trellis.sim.fast.vine.tables import (
    AT_FAR,
    BELIEVED,
    FLIP,
    GRACE,
    GRACE_GROWS,
    GRACE_OF,
    SHORTCUTS,
    K,
    life,
)

SLACK, FEW_STEPS = 4, 12
RING = 2.0**64


@compiled
def count(m: Block, me: int, successor: int, predecessor: int) -> None:
    """From the gaps at both sides of me: how far it is to each, clockwise and flipped."""
    inside = np.uint64(clockwise(successor, predecessor))
    found, b = twice_the_ring_over(np.uint64(0) - inside), life(m, me)
    found = max(2, found)
    if m[b + BELIEVED] // 4 <= found <= 4 * m[b + BELIEVED]:
        return
    m[b + BELIEVED] = found
    reach(m, me, found)
    if m[GRACE_GROWS]:
        m[b + GRACE_OF] = m[GRACE] = steps(m[K], found)


@compiled
def twice_the_ring_over(gap: np.uint64) -> int:
    """2**65 // gap, in words of 64 bits."""
    one, all_ones = np.uint64(1), ~np.uint64(0)
    whole = all_ones // gap
    rest = all_ones - whole * gap + one
    if rest == gap:
        whole, rest = whole + one, np.uint64(0)
    return np.int64(whole) * 2 + np.int64(rest >= gap - rest)  # type: ignore[return-value]


@compiled
def steps(links: int, size: int) -> int:
    bits = 0
    while size >> bits:
        bits += 1
    return max(FEW_STEPS, bits * bits // (links + 2))


@compiled
def reach(m: Block, me: int, size: int) -> None:
    """`distances`: how far its shortcuts should go."""
    far = m[AT_FAR] + me * m[K] * 2
    for n in range(m[K]):
        word = go_on(go_on(np.uint64(m[SHORTCUTS]), me), n)
        luck = float(np.int64(word >> np.uint64(11))) * 2.0**-53
        share = exp(ln(float(max(size, 2))) * (luck - 1.0)) * RING
        distance = np.uint64(share) if share < RING else np.uint64(0)
        m[far + 2 * n] = np.int64(distance) ^ FLIP
        m[far + 2 * n + 1] = np.int64(distance // np.uint64(SLACK))
