"""Whom a node chooses, compiled. Answers to `select` of overlays/vitis.py, rendezvous.py and topic_overlay.py.

Candidates are those of `candidates.py`; what covers topics is in `covering.py`.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import covering, guessing
from trellis.sim.fast.vine.candidates import choose, leave_out_full
from trellis.sim.fast.vine.neighbours import in_common
from trellis.sim.fast.vine.ring import clockwise, nearness
from trellis.sim.fast.vine.tables import (
    AT_FAR,
    AT_LINE,
    COVERING,
    FLIP,
    FRIEND,
    IN_LINE,
    IN_SOME,
    KNOWN_COUNT,
    LIFE,
    NOT,
    OVERLAY,
    PLACED,
    POINT,
    RING,
    ROW,
    S_A,
    S_B,
    S_MINE,
    S_NODE,
    S_OUT,
    S_VERSION,
    SHARES,
    SHORTCUT,
    SPOKE,
    TABLE_MAX,
    VITIS,
    WEIGHT,
    WHY_MINE,
    K,
    node,
    rows_of,
    some,
    spot,
)


@compiled
def select(m: Block, me: int, stamp: int) -> None:
    """Algorithm 4."""
    m[IN_LINE] = 0
    if m[OVERLAY] == COVERING:
        leave_out_full(m, me, stamp)
        covering.cover(m, me)
        return
    select_ring(m, me, stamp)
    if m[OVERLAY] == VITIS:
        befriend(m, me)


# The ring and its shortcuts (overlays/vitis.py)


@compiled
def select_ring(m: Block, me: int, stamp: int) -> None:
    """Lines 2-10. `S_A` is how far it is clockwise, flipped."""
    here, successor, predecessor = m[spot(m, me) + POINT], NONE, NONE
    for c in range(m[IN_SOME]):
        s = some(m, c)
        if not m[s + S_OUT]:
            m[s + S_A] = clockwise(here, m[spot(m, m[s + S_NODE]) + POINT]) ^ FLIP
            if successor == NONE or m[s + S_A] < m[some(m, successor) + S_A]:
                successor = c
            if predecessor == NONE or m[s + S_A] > m[some(m, predecessor) + S_A]:
                predecessor = c
    if m[LIFE] and successor != predecessor:
        guessing.count(m, me, m[some(m, successor) + S_A], m[some(m, predecessor) + S_A])
    if successor != NONE:
        choose(m, successor, RING)
        if predecessor != successor:
            choose(m, predecessor, RING)
    leave_out_full(m, me, stamp)
    far = m[AT_FAR] + me * m[K] * 2
    for f in range(far, far + m[K] * 2, 2):
        found = near_enough(m, me, m[f], m[f + 1])
        if found == NONE:
            found = closest(m, m[f])
        if found == NONE:
            return
        choose(m, found, SHORTCUT)


@compiled
def near_enough(m: Block, me: int, far: int, slack: int) -> int:
    """Of the shortcuts that I have, the one that goes nearly as far as it should; of two that do, the shorter one."""
    found, best, first = NONE, 0, rows_of(m, me)
    for c in range(m[node(m, me) + KNOWN_COUNT]):
        s = some(m, c)
        if m[first + c * ROW + WHY_MINE] == SHORTCUT and not m[s + S_OUT]:
            near = nearness(m[s + S_A], far)
            if found == NONE or near > best or (near == best and m[s + S_A] < m[some(m, found) + S_A]):
                found, best = c, near
    return found if found != NONE and best >= -slack else NONE


@compiled
def closest(m: Block, far: int) -> int:
    """`ring.closest` of those that are left: next to the place on one of both sides."""
    after = before = least = most = NONE
    for c in range(m[IN_SOME]):
        s = some(m, c)
        if m[s + S_OUT]:
            continue
        a = m[s + S_A]
        if least == NONE or a < m[some(m, least) + S_A]:
            least = c
        if most == NONE or a > m[some(m, most) + S_A]:
            most = c
        if a >= far:
            if after == NONE or a < m[some(m, after) + S_A]:
                after = c
        elif before == NONE or a > m[some(m, before) + S_A]:
            before = c
    if least == NONE:
        return NONE
    after = least if after == NONE else after
    before = most if before == NONE else before
    is_after = nearness(m[some(m, after) + S_A], far) > nearness(m[some(m, before) + S_A], far)
    return after if is_after else before


# Friends (overlays/vitis.py)


@compiled
def befriend(m: Block, me: int) -> None:
    """Those who have the most in common with me; who is liked as much comes in an order of my own, after those whom I
    have chosen.
    """
    line, first, most = m[AT_LINE], m[IN_LINE], m[TABLE_MAX] - m[IN_LINE]
    weight, salt, kept = m[spot(m, me) + WEIGHT], m[spot(m, me) + POINT] ^ FLIP, 0
    rows, known = rows_of(m, me), m[node(m, me) + KNOWN_COUNT]
    if most <= 0:
        return
    for c in range(m[IN_SOME]):
        s = some(m, c)
        if m[s + S_OUT]:
            continue
        if not m[s + S_VERSION] & 1:
            shared = 0
        elif c < known and m[rows + c * ROW + SPOKE]:
            shared = m[rows + c * ROW + SHARES]
        else:
            shared = in_common(m, me, m[s + S_NODE])
        m[s + S_A], m[s + S_MINE] = shared, c < known and m[rows + c * ROW + WHY_MINE] != NOT
        m[s + S_B] = max(1, shared, weight + m[spot(m, m[s + S_NODE]) + WEIGHT] - shared)
        at = first + kept
        while at > first and is_better(m, s, some(m, m[line + (at - 1) * PLACED]), salt):
            at -= 1
        if at == first + most:
            continue
        for b in range(min(first + kept, first + most - 1), at, -1):
            m[line + b * PLACED] = m[line + (b - 1) * PLACED]
        m[line + at * PLACED] = c
        kept = min(kept + 1, most)
    for k in range(first, first + kept):
        choose(m, m[line + k * PLACED], FRIEND)


@inlined
def is_better(m: Block, one: int, other: int, salt: int) -> bool:
    x, y = m[one + S_A] / m[one + S_B], m[other + S_A] / m[other + S_B]
    if x != y:
        return x > y
    if m[one + S_MINE] != m[other + S_MINE]:
        return m[one + S_MINE] > m[other + S_MINE]
    return m[one + S_NODE] ^ salt < m[other + S_NODE] ^ salt
