"""What a node carries for others, compiled. Answers to `Relays` of protocols/parts/relays.py."""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import hashing, parted
from trellis.sim.fast.vine.tables import (
    ALL_TOPICS,
    AT_CARRIED,
    AT_CARRIED_SLOTS,
    AT_LISTS,
    AT_POOL,
    C_KEY,
    C_PLACE,
    CARRY,
    CHILDREN,
    CODE,
    CODE_BITS,
    FIRST_CHILD,
    FREE_CARRIED,
    HOLES,
    ID,
    IN_CARRIED,
    L_NEXT,
    L_NODE,
    L_VALUE,
    LAST_CHILD,
    LIST_STRIDE,
    LISTED,
    ROOM_CARRIED_SLOTS,
    SEEN,
    SEEN_AT,
    STALE,
    free_chain,
    free_link,
    link_at,
    new_link,
    new_stamp,
    node,
    topic,
)


@inlined
def carried(m: Block, me: int, code: int) -> int:
    """Where it is noted what a node carries of a topic, or NONE."""
    found = hashing.find(m, m[AT_CARRIED_SLOTS], m[ROOM_CARRIED_SLOTS], me * m[ALL_TOPICS] + code)
    return m[AT_CARRIED] + found * CARRY if found != NONE else NONE


@compiled
def to_carry(m: Block, me: int, code: int) -> int:
    """The same; it is made if there is none."""
    key = me * m[ALL_TOPICS] + code
    slot = hashing.slot_of(m, m[AT_CARRIED_SLOTS], m[ROOM_CARRIED_SLOTS] - 1, key)
    if not m[slot]:
        record = m[FREE_CARRIED]
        if record == NONE:
            record = m[IN_CARRIED]
            m[IN_CARRIED] += 1
        else:
            m[FREE_CARRIED] = m[m[AT_CARRIED] + record * CARRY + C_PLACE]
        m[slot], m[slot + 1] = key + 1, record
        c = m[AT_CARRIED] + record * CARRY
        m[c + C_KEY], m[c + FIRST_CHILD], m[c + LAST_CHILD] = key, NONE, NONE
    return m[AT_CARRIED] + m[slot + 1] * CARRY


@inlined
def list_of(m: Block, me: int) -> int:
    return m[AT_LISTS] + me * m[LIST_STRIDE]


@compiled
def hear(m: Block, me: int, child: int, before: int, asks: int) -> None:
    """It asks for these, and not any more for what it asked before; both are references."""
    old, new, pool = new_stamp(m), new_stamp(m), m[AT_POOL]
    if before != NONE:
        for k in range(pool + before + 1, pool + before + 1 + m[pool + before], 2):
            t = topic(m, m[k])
            m[t + SEEN], m[t + SEEN_AT] = old, m[k + 1]
    if asks != NONE:
        for k in range(pool + asks + 1, pool + asks + 1 + m[pool + asks], 2):
            t = topic(m, m[k])
            if m[t + SEEN] != old or m[t + SEEN_AT] != m[k + 1]:  # else nothing has changed
                put_in(m, me, m[k], child, m[k + 1])
            m[t + SEEN] = new
    if before != NONE:
        for k in range(pool + before + 1, pool + before + 1 + m[pool + before], 2):
            if m[topic(m, m[k]) + SEEN] != new:
                take_out(m, me, m[k], child)
                parted.part(m, me, m[k], child)
    m[node(m, me) + STALE] = 1


@compiled
def put_in(m: Block, me: int, code: int, child: int, gateway: int) -> None:
    """A child; whoever is one already keeps its place."""
    c = to_carry(m, me, code)
    link = m[c + FIRST_CHILD]
    while link != NONE:
        at = link_at(m, link)
        if m[at + L_NODE] == child:
            m[at + L_VALUE] = gateway
            list_least(m, me, code, c)
            return
        link = m[at + L_NEXT]
    link = new_link(m, child, gateway)
    m[node(m, me) + CHILDREN] += 1
    if m[c + FIRST_CHILD] == NONE:
        m[c + FIRST_CHILD], m[c + C_PLACE] = link, m[node(m, me) + LISTED]
        m[node(m, me) + LISTED] += 1
    else:
        m[link_at(m, m[c + LAST_CHILD]) + L_NEXT] = link
    m[c + LAST_CHILD] = link
    list_least(m, me, code, c)


@inlined
def list_least(m: Block, me: int, code: int, c: int) -> None:
    """`gateway_below`: one that stands for all of them."""
    link, least = m[c + FIRST_CHILD], ID
    while link != NONE:
        least = min(m[link_at(m, link) + L_VALUE], least)
        link = m[link_at(m, link) + L_NEXT]
    m[list_of(m, me) + m[c + C_PLACE]] = code | (least << CODE_BITS)


@compiled
def take_out(m: Block, me: int, code: int, child: int) -> None:
    n, c = node(m, me), carried(m, me, code)
    before, link = NONE, m[c + FIRST_CHILD]
    while m[link_at(m, link) + L_NODE] != child:
        before, link = link, m[link_at(m, link) + L_NEXT]
    after = m[link_at(m, link) + L_NEXT]
    if before == NONE:
        m[c + FIRST_CHILD] = after
    else:
        m[link_at(m, before) + L_NEXT] = after
    if after == NONE:
        m[c + LAST_CHILD] = before
    free_link(m, link)
    m[n + CHILDREN] -= 1
    if m[c + FIRST_CHILD] != NONE:
        list_least(m, me, code, c)
        return
    m[list_of(m, me) + m[c + C_PLACE]] = NONE
    m[n + HOLES] += 1
    carry_no_more(m, c)


@inlined
def carry_no_more(m: Block, c: int) -> None:
    hashing.remove(m, m[AT_CARRIED_SLOTS], m[ROOM_CARRIED_SLOTS] - 1, m[c + C_KEY])
    m[c + C_KEY], m[c + C_PLACE] = NONE, m[FREE_CARRIED]
    m[FREE_CARRIED] = (c - m[AT_CARRIED]) // CARRY


@compiled
def forget(m: Block, me: int) -> None:
    """All that a node carried."""
    n, first = node(m, me), list_of(m, me)
    for k in range(first, first + m[n + LISTED]):
        if m[k] != NONE:
            c = carried(m, me, m[k] & CODE)
            free_chain(m, m[c + FIRST_CHILD])
            carry_no_more(m, c)
    m[n + LISTED] = m[n + HOLES] = m[n + CHILDREN] = 0


@compiled
def move_together(m: Block, me: int) -> None:
    """What a node carries, without the places between that are empty."""
    n, first, kept = node(m, me), list_of(m, me), 0
    for k in range(m[n + LISTED]):
        if m[first + k] != NONE:
            if k != kept:
                m[first + kept] = m[first + k]
                m[carried(m, me, m[first + k] & CODE) + C_PLACE] = kept
            kept += 1
    m[n + LISTED], m[n + HOLES] = kept, 0
