"""Ids on a ring, in words of 64 bits. Answers to protocols/parts/ring.py.

A distance is told as its negative: that of half the ring is still a word. So whoever is nearer has the greater number.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine.tables import (
    AT_KNOWN,
    AT_NODES,
    KNOWN_COUNT,
    KNOWN_STRIDE,
    NODE,
    POINT,
    ROW,
    T_POINT,
    WHO,
    node,
    topic,
)


@inlined
def clockwise(start: int, end: int) -> int:
    """As a signed word. Of signed ones the compiler believes that no difference is too large."""
    return np.int64(np.uint64(end) - np.uint64(start))


@inlined
def nearness(one: int, other: int) -> int:
    """Minus the shorter way round."""
    ahead = clockwise(one, other)
    return ahead if ahead < 0 else -ahead


@inlined
def near_topic(m: Block, who: int, code: int) -> int:
    return nearness(m[node(m, who) + POINT], m[topic(m, code) + T_POINT])


@inlined
def hop(m: Block, me: int, code: int) -> int:
    """`Compass.closer`: the neighbour closest to a topic, if it is closer than I am; else NONE. Whoever is closest is
    next to the topic on one of both sides; of two that are as close, the one counterclockwise."""
    to, n = m[topic(m, code) + T_POINT], node(m, me)
    first = m[AT_KNOWN] + me * m[KNOWN_STRIDE]
    best, found = nearness(m[n + POINT], to), NONE
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        ahead = clockwise(m[m[AT_NODES] + m[row + WHO] * NODE + POINT], to)
        near = ahead if ahead < 0 else -ahead
        if near > best or (near == best and found != NONE and ahead > 0):
            best, found = near, m[row + WHO]
    return found
