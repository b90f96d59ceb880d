"""Whom a node asks to carry what, compiled. Answers to `asks` of overlays/vitis.py and to `asks_by_hop`."""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import ring
from trellis.sim.fast.vine.parted import part
from trellis.sim.fast.vine.relays import carried, list_of, move_together
from trellis.sim.fast.vine.tables import (
    ASKING,
    AT_LIST,
    AT_MINE,
    AT_POOL,
    AT_WANTED,
    CODE,
    CODE_BITS,
    FIRST_TOPIC,
    HOLES,
    HOP_COUNT,
    HOP_REF,
    ID,
    IN_POOL,
    LISTED,
    MARK,
    MARK_AT,
    OVERLAY,
    PLACE,
    PROPOSED,
    RENDEZVOUS,
    SEEN,
    T_BYTES,
    TOPICS,
    W_GATEWAY,
    W_HOP,
    W_TOPIC,
    WISH,
    mark_of,
    new_stamp,
    node,
    takes,
    topic,
)

NAMES_MAX, NAME_MORE, NAME_MAX = 1 << 18, 24, 256
FEW = NAMES_MAX // (NAME_MORE + NAME_MAX)  # asks of one hop that fit whatever their names are


@inlined
def is_gateway(m: Block, me: int, code: int) -> bool:
    """Of a topic that I take."""
    if m[OVERLAY] == RENDEZVOUS:
        return True
    proposed = m[node(m, me) + PROPOSED]
    return proposed != NONE and m[m[AT_POOL] + proposed + 1 + m[topic(m, code) + PLACE]] & ID == me


@compiled
def wish(m: Block, me: int) -> int:
    """Topics that I need a path of, each with the gateway that wants it and the next hop; how many."""
    n, at, count = node(m, me), m[AT_WANTED], 0
    first = m[AT_MINE] + m[n + FIRST_TOPIC]
    for k in range(first, first + m[n + TOPICS]):
        if is_gateway(m, me, m[k]) or carried(m, me, m[k]) != NONE:
            m[at + W_TOPIC], m[at + W_GATEWAY] = m[k], me
            at += WISH
            count += 1
    if 2 * m[n + HOLES] > m[n + LISTED]:
        move_together(m, me)
    first = list_of(m, me)
    for k in range(first, first + m[n + LISTED]):
        if m[k] != NONE and not takes(m, me, m[k] & CODE):
            m[at + W_TOPIC], m[at + W_GATEWAY] = m[k] & CODE, m[k] >> CODE_BITS
            at += WISH
            count += 1
    known = ring.lay_out(m, me)
    for w in range(m[AT_WANTED], at, WISH):
        m[w + W_HOP] = ring.closer(m, me, known, m[w + W_TOPIC])
    return count


@compiled
def ask(m: Block, me: int) -> None:
    """`asks`: group what I need by the next hop, and part from those whom I do not ask any more."""
    n, stamp, pool = node(m, me), new_stamp(m), m[AT_POOL]
    count, hops, named = wish(m, me), 0, m[AT_LIST]
    for w in range(m[AT_WANTED], m[AT_WANTED] + count * WISH, WISH):
        if m[w + W_HOP] != NONE:
            h = mark_of(m, m[w + W_HOP])
            if m[h + MARK] != stamp:
                m[h + MARK], m[h + HOP_COUNT] = stamp, 0
                m[named + hops] = m[w + W_HOP]
                hops += 1
            m[h + HOP_COUNT] += 1
    for k in range(hops):
        h = mark_of(m, m[named + k])
        m[h + HOP_REF], m[h + MARK_AT] = m[IN_POOL], 0
        m[pool + m[IN_POOL]] = 2 * m[h + HOP_COUNT]
        m[IN_POOL] += 1 + 2 * m[h + HOP_COUNT]
    for w in range(m[AT_WANTED], m[AT_WANTED] + count * WISH, WISH):
        if m[w + W_HOP] != NONE:
            h = mark_of(m, m[w + W_HOP])
            k = pool + m[h + HOP_REF] + 1 + 2 * m[h + MARK_AT]
            m[k], m[k + 1] = m[w + W_TOPIC], m[w + W_GATEWAY]
            m[h + MARK_AT] += 1
    for k in range(hops):
        fit(m, m[mark_of(m, m[named + k]) + HOP_REF])
    part_from_hops(m, me, stamp)
    m[n + ASKING] = m[IN_POOL]
    m[pool + m[IN_POOL]] = 2 * hops
    m[IN_POOL] += 1
    for k in range(hops):
        m[pool + m[IN_POOL]], m[pool + m[IN_POOL] + 1] = m[named + k], m[mark_of(m, m[named + k]) + HOP_REF]
        m[IN_POOL] += 2


@compiled
def fit(m: Block, asks: int) -> None:
    """As many as a packet has room for."""
    at = m[AT_POOL] + asks
    if m[at] <= 2 * FEW:
        return
    size = 0
    for k in range(1, 1 + m[at], 2):
        size += m[topic(m, m[at + k]) + T_BYTES]
        if size > NAMES_MAX:
            m[at] = k - 1
            return


@compiled
def part_from_hops(m: Block, me: int, stamp: int) -> None:
    """Whom I do not ask any more; whom I ask for the same as before is told so by the same reference."""
    n, pool = node(m, me), m[AT_POOL]
    asking = m[n + ASKING]
    if asking == NONE:
        return
    for k in range(pool + asking + 1, pool + asking + 1 + m[pool + asking], 2):
        hop, before = m[k], pool + m[k + 1]
        h = mark_of(m, hop)
        mine = new_stamp(m)
        if m[h + MARK] == stamp:
            now = pool + m[h + HOP_REF]
            if same(m, before, now):
                m[h + HOP_REF] = before - pool
                continue
            for a in range(now + 1, now + 1 + m[now], 2):
                m[topic(m, m[a]) + SEEN] = mine
        for a in range(before + 1, before + 1 + m[before], 2):
            if m[topic(m, m[a]) + SEEN] != mine:
                part(m, me, m[a], hop)


@inlined
def same(m: Block, one: int, other: int) -> bool:
    """Two records of the pool, by their addresses."""
    k, size = 0, m[one] + 1
    while k < size and m[one + k] == m[other + k]:
        k += 1
    return k == size


@compiled
def asked(m: Block, me: int, code: int) -> int:
    """Whom I have asked to carry a topic, or NONE."""
    pool, asking = m[AT_POOL], m[node(m, me) + ASKING]
    if asking != NONE:
        for k in range(pool + asking + 1, pool + asking + 1 + m[pool + asking], 2):
            asks = pool + m[k + 1]
            for a in range(asks + 1, asks + 1 + m[asks], 2):
                if m[a] == code:
                    return m[k]
    return NONE


@compiled
def asked_of(m: Block, me: int, stamp: int) -> None:
    """Mark all whom I ask, each with what."""
    n, pool = node(m, me), m[AT_POOL]
    asking = m[n + ASKING]
    if asking != NONE:
        for k in range(pool + asking + 1, pool + asking + 1 + m[pool + asking], 2):
            h = mark_of(m, m[k])
            m[h + MARK], m[h + HOP_REF] = stamp, m[k + 1]
