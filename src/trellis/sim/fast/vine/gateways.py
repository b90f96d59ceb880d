"""Who speaks for a cluster, compiled. Answers to protocols/parts/gateways.py.

A proposal is one word: gateway, parent, hops; those of a node lie in the order of its topics.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import ring
from trellis.sim.fast.vine.tables import (
    AT_LIST,
    AT_MINE,
    AT_OWNERS,
    AT_POOL,
    AT_WANTED,
    FIRST_TOPIC,
    ID,
    ID_BITS,
    IN_POOL,
    KNOWN_COUNT,
    MARK,
    PLACE,
    PROPOSALS,
    PROPOSED,
    ROW,
    SHARES,
    STALE,
    TOPICS,
    WHO,
    D,
    mark_of,
    new_stamp,
    node,
    rows_of,
    topic,
)

HOPS = 2 * ID_BITS


@compiled
def propose(m: Block, me: int) -> None:
    """Algorithm 5, for all topics at once; the neighbours by their ids, their topics inside."""
    n, stamp, best, named = node(m, me), new_stamp(m), m[AT_WANTED], m[AT_LIST]
    count, first = m[n + TOPICS], rows_of(m, me)
    if not count:
        return
    own = me | (me << ID_BITS)
    for k in range(count):
        m[best + k] = own
    told = 0
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        m[mark_of(m, m[row + WHO]) + MARK] = stamp
        if m[row + SHARES] and m[row + PROPOSALS] != NONE:
            at = told
            while at and m[m[named + at - 1] + WHO] > m[row + WHO]:
                m[named + at] = m[named + at - 1]
                at -= 1
            m[named + at] = row
            told += 1
    for k in range(told):
        hear(m, me, m[m[named + k] + WHO], m[AT_POOL] + m[m[named + k] + PROPOSALS] + 1, best, stamp)
    keep(m, n, best, count)


@compiled
def hear(m: Block, me: int, other: int, proposals: int, best: int, stamp: int) -> None:
    """What one neighbour proposes, of the topics that both take."""
    n = node(m, other)
    first = m[AT_MINE] + m[n + FIRST_TOPIC]
    for k in range(m[n + TOPICS]):
        code = m[first + k]
        if m[m[AT_OWNERS] + code] != me + 1:
            continue
        t = topic(m, code)
        new, current = m[proposals + k], m[best + m[t + PLACE]]
        parent = (new >> ID_BITS) & ID
        if parent == me or (parent != other and m[mark_of(m, parent) + MARK] == stamp):
            continue
        hops = (new >> HOPS) + 1
        gateway, rival = new & ID, current & ID
        if gateway == rival:
            is_better = hops < current >> HOPS
        else:
            is_better = hops < m[D] and ring.near_topic(m, gateway, code) > ring.near_topic(m, rival, code)
        if is_better:
            m[best + m[t + PLACE]] = gateway | (other << ID_BITS) | (hops << HOPS)


@compiled
def keep(m: Block, n: int, best: int, count: int) -> None:
    """If it is not what was proposed before."""
    pool, before = m[AT_POOL], m[n + PROPOSED]
    if before != NONE:
        k = 0
        while k < count and m[pool + before + 1 + k] == m[best + k]:
            k += 1
        if k == count:
            return
    m[n + PROPOSED] = m[IN_POOL]
    m[pool + m[IN_POOL]] = count
    for k in range(count):
        m[pool + m[IN_POOL] + 1 + k] = m[best + k]
    m[IN_POOL] += 1 + count
    m[n + STALE] = 1
