"""Candidates for a node's table, compiled: they lie in `SOME`, neighbours first and in their order; who was chosen
stands in `LINE`, in the order in which they were.
"""

from __future__ import annotations

from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import Block
from trellis.sim.fast.vine.tables import (
    AT_FULL,
    AT_LINE,
    FULL_COUNT,
    FULL_STRIDE,
    IN_LINE,
    MARK,
    MARK_AT,
    PAIR,
    PLACED,
    S_OUT,
    S_WHY,
    mark_of,
    node,
    some,
)


@inlined
def choose(m: Block, which: int, why: int) -> None:
    s = some(m, which)
    m[s + S_OUT], m[s + S_WHY] = 1, why
    m[m[AT_LINE] + m[IN_LINE] * PLACED] = which
    m[IN_LINE] += 1


@inlined
def leave_out_full(m: Block, me: int, stamp: int) -> None:
    """Who has no room for me. Whoever is in the ring was chosen before."""
    first = m[AT_FULL] + me * m[FULL_STRIDE]
    for at in range(first, first + m[node(m, me) + FULL_COUNT] * PAIR, PAIR):
        k = mark_of(m, m[at])
        if m[k + MARK] == stamp:
            m[some(m, m[k + MARK_AT]) + S_OUT] = 1
