"""Ids on a ring, in words of 64 bits. Answers to protocols/parts/ring.py.

A distance is told as its negative: that of half the ring is still a word. So whoever is nearer has the greater number.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine.tables import (
    AT_LINE,
    FLIP,
    KNOWN_COUNT,
    PLACED,
    POINT,
    ROW,
    T_POINT,
    WHO,
    node,
    rows_of,
    spot,
    topic,
)


@inlined
def clockwise(start: int, end: int) -> int:
    """As a signed word. Of signed ones the compiler believes that no difference is too large."""
    return np.int64(np.uint64(end) - np.uint64(start))  # type: ignore[return-value]


@inlined
def nearness(one: int, other: int) -> int:
    """Minus the shorter way round."""
    ahead = clockwise(one, other)
    return ahead if ahead < 0 else -ahead


@inlined
def near_topic(m: Block, who: int, code: int) -> int:
    return nearness(m[spot(m, who) + POINT], m[topic(m, code) + T_POINT])


@compiled
def lay_out(m: Block, me: int) -> int:
    """My neighbours in the order of their points, flipped: a `Compass`; how many."""
    first, count, line = rows_of(m, me), 0, m[AT_LINE]
    for row in range(first, first + m[node(m, me) + KNOWN_COUNT] * ROW, ROW):
        point, at = m[spot(m, m[row + WHO]) + POINT] ^ FLIP, line + count * PLACED
        while at > line and m[at - PLACED] > point:
            m[at], m[at + 1] = m[at - PLACED], m[at - PLACED + 1]
            at -= PLACED
        m[at], m[at + 1] = point, m[row + WHO]
        count += 1
    return count


@inlined
def closer(m: Block, me: int, count: int, code: int) -> int:
    """The same as `hop`, of those who were laid out."""
    if not count:
        return NONE
    line, to = m[AT_LINE], m[topic(m, code) + T_POINT] ^ FLIP
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if m[line + middle * PLACED] < to:
            low = middle + 1
        else:
            high = middle
    after = line + (low if low < count else 0) * PLACED
    before = line + (low - 1 if low else count - 1) * PLACED
    found = after if nearness(m[after], to) > nearness(m[before], to) else before
    return m[found + 1] if nearness(m[found], to) > nearness(m[spot(m, me) + POINT] ^ FLIP, to) else NONE


@inlined
def hop(m: Block, me: int, code: int) -> int:
    """`Compass.closer`: the neighbour closest to a topic, if it is closer than I am; else NONE. Whoever is closest is
    next to the topic on one of both sides; of two that are as close, the one counterclockwise."""
    to, n = m[topic(m, code) + T_POINT], node(m, me)
    first = rows_of(m, me)
    best, found = nearness(m[spot(m, me) + POINT], to), NONE
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        ahead = clockwise(m[spot(m, m[row + WHO]) + POINT], to)
        near = ahead if ahead < 0 else -ahead
        if near > best or (near == best and found != NONE and ahead > 0):
            best, found = near, m[row + WHO]
    return found
