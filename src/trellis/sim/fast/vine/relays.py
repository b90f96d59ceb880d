"""What a node carries for others, compiled. Answers to `Relays` of protocols/parts/relays.py."""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import hashing
from trellis.sim.fast.vine.tables import (
    ALL_TOPICS,
    AT_CARRIED,
    AT_CARRIED_SLOTS,
    AT_POOL,
    C_BEFORE,
    C_KEY,
    C_NEXT,
    C_TOPIC,
    CARRIED_COUNT,
    CARRY,
    FIRST_CARRIED,
    FIRST_CHILD,
    FIRST_PART,
    FIRST_PARTED,
    FREE_CARRIED,
    GRACE,
    IN_CARRIED,
    L_NEXT,
    L_NODE,
    L_VALUE,
    LAST_CARRIED,
    LAST_CHILD,
    LEAST,
    NEXT_PARTED,
    ROOM_CARRIED_SLOTS,
    ROUND,
    SEEN,
    SEEN_AT,
    STALE,
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
            m[FREE_CARRIED] = m[m[AT_CARRIED] + record * CARRY + C_NEXT]
        m[slot], m[slot + 1] = key + 1, record
        c = m[AT_CARRIED] + record * CARRY
        m[c + C_KEY], m[c + C_TOPIC] = key, code
        for field in range(LEAST, CARRY):
            m[c + field] = NONE
    return m[AT_CARRIED] + m[slot + 1] * CARRY


@inlined
def carry_no_more(m: Block, c: int) -> None:
    """If nobody is next to me any more, nor was lately."""
    if m[c + FIRST_CHILD] == NONE and m[c + FIRST_PART] == NONE:
        hashing.remove(m, m[AT_CARRIED_SLOTS], m[ROOM_CARRIED_SLOTS] - 1, m[c + C_KEY])
        m[c + C_KEY], m[c + C_NEXT] = NONE, m[FREE_CARRIED]
        m[FREE_CARRIED] = (c - m[AT_CARRIED]) // CARRY


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
                c = carried(m, me, m[k])
                take_out(m, me, c, child)
                part(m, me, m[k], child)
                carry_no_more(m, c)
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
            find_least(m, c)
            return
        link = m[at + L_NEXT]
    link = new_link(m, child, gateway)
    if m[c + FIRST_CHILD] == NONE:
        m[c + FIRST_CHILD] = link
        enlist(m, node(m, me), c)
    else:
        m[link_at(m, m[c + LAST_CHILD]) + L_NEXT] = link
    m[c + LAST_CHILD] = link
    m[c + LEAST] = gateway if m[c + LEAST] == NONE else min(gateway, m[c + LEAST])


@inlined
def find_least(m: Block, c: int) -> None:
    """`gateway_below`: one that stands for all of them; NONE if there is nobody."""
    link, least = m[c + FIRST_CHILD], NONE
    while link != NONE:
        gateway = m[link_at(m, link) + L_VALUE]
        least = gateway if least == NONE else min(gateway, least)
        link = m[link_at(m, link) + L_NEXT]
    m[c + LEAST] = least


@inlined
def enlist(m: Block, n: int, c: int) -> None:
    """A topic that is carried from now on."""
    record = (c - m[AT_CARRIED]) // CARRY
    last = m[n + LAST_CARRIED]
    m[c + C_BEFORE], m[c + C_NEXT] = last, NONE
    if last == NONE:
        m[n + FIRST_CARRIED] = record
    else:
        m[m[AT_CARRIED] + last * CARRY + C_NEXT] = record
    m[n + LAST_CARRIED] = record
    m[n + CARRIED_COUNT] += 1


@compiled
def take_out(m: Block, me: int, c: int, child: int) -> None:
    n = node(m, me)
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
    find_least(m, c)
    if m[c + FIRST_CHILD] != NONE:
        return
    if m[c + C_BEFORE] == NONE:
        m[n + FIRST_CARRIED] = m[c + C_NEXT]
    else:
        m[m[AT_CARRIED] + m[c + C_BEFORE] * CARRY + C_NEXT] = m[c + C_NEXT]
    if m[c + C_NEXT] == NONE:
        m[n + LAST_CARRIED] = m[c + C_BEFORE]
    else:
        m[m[AT_CARRIED] + m[c + C_NEXT] * CARRY + C_BEFORE] = m[c + C_BEFORE]
    m[n + CARRIED_COUNT] -= 1


@compiled
def part(m: Block, me: int, code: int, other: int) -> None:
    """It is not next to me on the path any more; for some rounds messages go the old way, too."""
    if not m[GRACE]:
        return
    c, until = to_carry(m, me, code), m[ROUND] + m[GRACE]
    before, link = NONE, m[c + FIRST_PART]
    while link != NONE:
        at = link_at(m, link)
        if m[at + L_NODE] == other:
            m[at + L_VALUE] = until
            return
        before, link = link, m[at + L_NEXT]
    link = new_link(m, other, until)
    if before == NONE:
        n = node(m, me)
        m[c + FIRST_PART], m[c + NEXT_PARTED] = link, m[n + FIRST_PARTED]
        m[n + FIRST_PARTED] = (c - m[AT_CARRIED]) // CARRY
    else:
        m[link_at(m, before) + L_NEXT] = link


@compiled
def begin_round(m: Block, me: int) -> None:
    """Now and then, forget who was next to me lately and is not any more."""
    n, now = node(m, me), m[ROUND]
    record = m[n + FIRST_PARTED]
    if record == NONE or now % m[GRACE]:
        return
    m[n + FIRST_PARTED] = NONE
    while record != NONE:
        c = m[AT_CARRIED] + record * CARRY
        after = m[c + NEXT_PARTED]
        forget_parts(m, c, now)
        if m[c + FIRST_PART] != NONE:
            m[c + NEXT_PARTED], m[n + FIRST_PARTED] = m[n + FIRST_PARTED], record
        carry_no_more(m, c)
        record = after


@inlined
def forget_parts(m: Block, c: int, now: int) -> None:
    before, link = NONE, m[c + FIRST_PART]
    while link != NONE:
        after = m[link_at(m, link) + L_NEXT]
        if m[link_at(m, link) + L_VALUE] > now:
            before = link
        else:
            if before == NONE:
                m[c + FIRST_PART] = after
            else:
                m[link_at(m, before) + L_NEXT] = after
            free_link(m, link)
        link = after
