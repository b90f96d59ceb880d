"""How a message goes through a vine, compiled. Answers to overlays/vine_spreading.py, and to the ways of each overlay.

A passage stays when it is over: what is left of it is whether the message came, and whether its node remembers that.
"""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import asking, hashing, mail, neighbours, parted, relays, ring, taking
from trellis.sim.fast.vine.tables import (
    A_LIFE,
    A_NODE,
    A_TOPIC,
    ACTION,
    ACTIVE,
    ALL_LIVES,
    ASKED,
    ASKERS,
    AT_ACTIONS,
    AT_FORMER,
    AT_LIST,
    AT_PASSAGE_SLOTS,
    AT_PASSAGES,
    BORN,
    CAME,
    COVERING,
    FIRST_ASKER,
    FIRST_CHILD,
    FIRST_PASSAGE,
    FIRST_PASSED,
    FORMER_COUNT,
    FORMER_STRIDE,
    HAVE,
    IN_PASSAGES,
    KNOWN_COUNT,
    L_NEXT,
    L_NODE,
    LAST_ASKER,
    LAST_PASSAGE,
    LAST_PASSED,
    LIFE,
    MARK,
    NOW,
    OVERLAY,
    OWN,
    P_KEY,
    P_MESSAGE,
    P_NEXT,
    P_STATE,
    PAIR,
    PASSAGE,
    PASSAGE_COUNT,
    PASSED,
    PASSED_COUNT,
    RENDEZVOUS,
    ROOM_PASSAGE_SLOTS,
    ROUND,
    ROW,
    SOURCE,
    SOURCES,
    SOURCES_MAX,
    SPOKE,
    VERSION,
    WAITING,
    WHO,
    free_link,
    link_at,
    mark_of,
    new_link,
    new_stamp,
    node,
    rows_of,
    somebody_takes,
    takes,
)

KEPT = 24  # rounds in which a message on its way can be pulled
AGAIN = 4  # rounds until it is pulled again
ASKERS_MAX = 1024
PASSED_MAX = 16_384  # messages that a node remembers; and those on their way


@inlined
def action(m: Block, message: int) -> int:
    return m[AT_ACTIONS] + message * ACTION


@inlined
def passage_of(m: Block, me: int, message: int) -> int:
    """Where a message's passage through the node whose turn it is is, or NONE if there never was one in this life."""
    found = hashing.find(m, m[AT_PASSAGE_SLOTS], m[ROOM_PASSAGE_SLOTS], message * m[ALL_LIVES] + m[OWN])
    return m[AT_PASSAGES] + found * PASSAGE if found != NONE else NONE


@compiled
def begin_passage(m: Block, me: int, message: int, state: int) -> int:
    """The youngest of this node's."""
    key, n = message * m[ALL_LIVES] + m[OWN], node(m, me)
    slot = hashing.slot_of(m, m[AT_PASSAGE_SLOTS], m[ROOM_PASSAGE_SLOTS] - 1, key)
    if not m[slot]:
        m[slot], m[slot + 1] = key + 1, m[IN_PASSAGES]
        m[IN_PASSAGES] += 1
        p = m[AT_PASSAGES] + m[slot + 1] * PASSAGE
        m[p + P_KEY], m[p + P_MESSAGE], m[p + P_STATE] = key, message, 0
    record = m[slot + 1]
    p = m[AT_PASSAGES] + record * PASSAGE
    m[p + P_STATE] = (m[p + P_STATE] & HAVE) | ACTIVE | state
    m[p + BORN] = m[p + ASKED] = m[ROUND]
    m[p + SOURCES] = m[p + ASKERS] = 0
    m[p + P_NEXT] = m[p + FIRST_ASKER] = m[p + LAST_ASKER] = NONE
    if m[n + LAST_PASSAGE] == NONE:
        m[n + FIRST_PASSAGE] = record
    else:
        m[m[AT_PASSAGES] + m[n + LAST_PASSAGE] * PASSAGE + P_NEXT] = record
    m[n + LAST_PASSAGE] = record
    m[n + PASSAGE_COUNT] += 1
    return p


@compiled
def publish(m: Block, rows: Block, me: int, message: int) -> None:
    """The application's call; what it says while it is joining has to wait."""
    out.write(rows, m[NOW], 0, out.PUBLISH, me, message, 0, -1, 0, 0)
    if m[LIFE] and taking.is_joining(m, me, m[action(m, message) + A_TOPIC]):
        taking.keep_early(m, me, message)
    else:
        spread(m, rows, me, message)


@compiled
def spread(m: Block, rows: Block, me: int, message: int) -> None:
    """Without an order, delivered here at once."""
    now = m[NOW]
    out.write(rows, now, 0, out.SPREAD, me, message, 0, -1, 0, 0)
    out.write(rows, now, 0, out.DELIVER, me, message, 0, -1, 0, 0)
    begin_passage(m, me, message, CAME | HAVE)
    make_room(m, me)
    notify(m, rows, me, message, NONE)


# Where a notification goes on


@inlined
def put(m: Block, stamp: int, count: int, other: int) -> int:
    """Each once."""
    k = mark_of(m, other)
    if m[k + MARK] == stamp:
        return count
    m[k + MARK] = stamp
    m[m[AT_LIST] + count] = other
    return count + 1


@compiled
def fellows(m: Block, me: int, code: int, stamp: int) -> int:
    """Neighbours that take a topic, then those who were neighbours lately; how many."""
    n, first, count = node(m, me), rows_of(m, me), 0
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        if m[row + SPOKE] and m[row + VERSION] and somebody_takes(m, m[row + WHO], code):
            count = put(m, stamp, count, m[row + WHO])
    former = m[AT_FORMER] + me * m[FORMER_STRIDE]
    for at in range(former, former + m[n + FORMER_COUNT] * PAIR, PAIR):
        if m[at + 1] > m[ROUND] and somebody_takes(m, m[at], code) and neighbours.find(m, me, m[at]) == NONE:
            count = put(m, stamp, count, m[at])
    return count


@compiled
def path(m: Block, me: int, code: int, stamp: int, count: int) -> int:
    """The next nodes of a relay path, up and down, if I am on one; whom I have asked still carries it."""
    c = relays.carried(m, me, code)
    count = next_to_me(m, me, code, c, stamp, count)
    if c != NONE or (takes(m, me, code) and asking.is_gateway(m, me, code)):
        hop = ring.hop(m, me, code)
        if hop != NONE:
            count = put(m, stamp, count, hop)
    asked = asking.asked(m, me, code)
    return put(m, stamp, count, asked) if asked != NONE else count


@inlined
def next_to_me(m: Block, me: int, code: int, c: int, stamp: int, count: int) -> int:
    """Those below me, and who was next to me lately."""
    link = m[c + FIRST_CHILD] if c != NONE else NONE
    while link != NONE:
        count = put(m, stamp, count, m[link_at(m, link) + L_NODE])
        link = m[link_at(m, link) + L_NEXT]
    return parted.put_lately(m, me, code, stamp, count)


@compiled
def notify(m: Block, rows: Block, me: int, message: int, but: int) -> None:
    code, stamp, count = m[action(m, message) + A_TOPIC], new_stamp(m), 0
    if m[OVERLAY] != RENDEZVOUS:
        count = fellows(m, me, code, stamp)
    if m[OVERLAY] != COVERING:
        count = path(m, me, code, stamp, count)
    for k in range(m[AT_LIST], m[AT_LIST] + count):
        if m[k] != but:
            mail.send(m, rows, me, m[k], mail.NOTIFY, message, message, 0)


@compiled
def concerns(m: Block, me: int, message: int, p: int) -> bool:
    """Whether it is for me and did not come yet, or for somebody behind me."""
    code = m[action(m, message) + A_TOPIC]
    if takes(m, me, code):
        if m[LIFE] and taking.is_before_my_time(m, me, message):
            return False
        return p == NONE or not m[p + P_STATE] & HAVE
    if m[OVERLAY] == COVERING:
        return False
    return relays.carried(m, me, code) != NONE or parted.put_lately(m, me, code, new_stamp(m), 0) > 0


# Packets


@compiled
def upon_notify(m: Block, rows: Block, me: int, sender: int, message: int) -> None:
    p = passage_of(m, me, message)
    if p != NONE and m[p + P_STATE] & ACTIVE:
        if not m[p + P_STATE] & CAME and m[p + SOURCES] < SOURCES_MAX and not has_source(m, p, sender):
            m[p + SOURCE + m[p + SOURCES]] = sender
            m[p + SOURCES] += 1
        return
    if p != NONE and m[p + P_STATE] & PASSED:
        return
    is_mine = m[action(m, message) + A_NODE] == me and m[action(m, message) + A_LIFE] == m[LIFE]
    if is_mine or not concerns(m, me, message, p):
        return
    p = begin_passage(m, me, message, WAITING)
    m[p + SOURCE], m[p + SOURCES] = sender, 1
    mail.send(m, rows, me, sender, mail.PULL, message, message, 0)
    notify(m, rows, me, message, sender)
    make_room(m, me)


@inlined
def has_source(m: Block, p: int, sender: int) -> bool:
    k, end = p + SOURCE, p + SOURCE + m[p + SOURCES]
    while k < end and m[k] != sender:
        k += 1
    return k < end


@compiled
def upon_pull(m: Block, rows: Block, me: int, sender: int, message: int) -> None:
    p = passage_of(m, me, message)
    if p == NONE or not m[p + P_STATE] & ACTIVE:
        return
    if m[p + P_STATE] & CAME:
        mail.send(m, rows, me, sender, mail.EVENT, message, message, 0)
        return
    link = m[p + FIRST_ASKER]
    while link != NONE:
        if m[link_at(m, link) + L_NODE] == sender:
            return
        link = m[link_at(m, link) + L_NEXT]
    if m[p + ASKERS] < ASKERS_MAX:
        link = new_link(m, sender, 0)
        if m[p + FIRST_ASKER] == NONE:
            m[p + FIRST_ASKER] = link
        else:
            m[link_at(m, m[p + LAST_ASKER]) + L_NEXT] = link
        m[p + LAST_ASKER] = link
        m[p + ASKERS] += 1


@compiled
def upon_pulled(m: Block, rows: Block, me: int, message: int) -> None:
    p = passage_of(m, me, message)
    if p == NONE or not m[p + P_STATE] & ACTIVE or m[p + P_STATE] & CAME:
        out.write(rows, m[NOW], 0, out.SKIP, me, message, 0, -1, 0, 0)
        return
    m[p + P_STATE] = (m[p + P_STATE] | CAME) & ~WAITING
    if takes(m, me, m[action(m, message) + A_TOPIC]) and not m[p + P_STATE] & HAVE and taking.is_for_me(m, me, message):
        m[p + P_STATE] |= HAVE
        out.write(rows, m[NOW], 0, out.DELIVER, me, message, 0, -1, 0, 0)
    else:
        out.write(rows, m[NOW], 0, out.SKIP, me, message, 0, -1, 0, 0)
    link = m[p + FIRST_ASKER]
    while link != NONE:
        after = m[link_at(m, link) + L_NEXT]
        mail.send(m, rows, me, m[link_at(m, link) + L_NODE], mail.EVENT, message, message, 0)
        free_link(m, link)
        link = after
    m[p + FIRST_ASKER] = m[p + LAST_ASKER] = NONE
    m[p + ASKERS] = 0


@compiled
def hand_over(m: Block, rows: Block, n: int, me: int, code: int) -> None:
    """What came while I was joining the topic."""
    record = m[n + FIRST_PASSAGE]
    while record != NONE:
        p = m[AT_PASSAGES] + record * PASSAGE
        message = m[p + P_MESSAGE]
        came = m[action(m, message) + A_TOPIC] == code and m[p + P_STATE] & (CAME | HAVE) == CAME
        if came and not taking.is_before_my_time(m, me, message):
            m[p + P_STATE] |= HAVE
            out.write(rows, m[NOW], 0, out.DELIVER, me, message, 0, -1, 0, 0)
        record = m[p + P_NEXT]


# A round begins


@compiled
def begin_round(m: Block, rows: Block, me: int) -> None:
    """Pull again what did not come; forget what is over."""
    n, now = node(m, me), m[ROUND]
    record = m[n + FIRST_PASSAGE]
    while record != NONE:
        p = m[AT_PASSAGES] + record * PASSAGE
        if m[p + P_STATE] & WAITING and now - m[p + ASKED] >= AGAIN:
            m[p + ASKED] = now
            first = m[p + SOURCE]
            for k in range(p + SOURCE, p + SOURCE + m[p + SOURCES] - 1):
                m[k] = m[k + 1]
            m[p + SOURCE + m[p + SOURCES] - 1] = first
            mail.send(m, rows, me, m[p + SOURCE], mail.PULL, m[p + P_MESSAGE], m[p + P_MESSAGE], 0)
        record = m[p + P_NEXT]
    while m[n + FIRST_PASSAGE] != NONE:
        p = m[AT_PASSAGES] + m[n + FIRST_PASSAGE] * PASSAGE
        if now - m[p + BORN] <= KEPT:
            return
        forget(m, n, p)


@compiled
def make_room(m: Block, me: int) -> None:
    n = node(m, me)
    while m[n + PASSAGE_COUNT] > PASSED_MAX:
        forget(m, n, m[AT_PASSAGES] + m[n + FIRST_PASSAGE] * PASSAGE)


@compiled
def forget(m: Block, n: int, p: int) -> None:
    """The oldest. What never came may be told of again; of the others, so many are remembered."""
    record = m[n + FIRST_PASSAGE]
    m[n + FIRST_PASSAGE] = m[p + P_NEXT]
    if m[p + P_NEXT] == NONE:
        m[n + LAST_PASSAGE] = NONE
    m[n + PASSAGE_COUNT] -= 1
    link = m[p + FIRST_ASKER]
    while link != NONE:
        after = m[link_at(m, link) + L_NEXT]
        free_link(m, link)
        link = after
    is_over = not m[p + P_STATE] & WAITING
    m[p + P_STATE] &= HAVE
    if is_over:
        m[p + P_STATE] |= PASSED
        m[p + P_NEXT] = NONE
        if m[n + LAST_PASSED] == NONE:
            m[n + FIRST_PASSED] = record
        else:
            m[m[AT_PASSAGES] + m[n + LAST_PASSED] * PASSAGE + P_NEXT] = record
        m[n + LAST_PASSED] = record
        m[n + PASSED_COUNT] += 1
        if m[n + PASSED_COUNT] > PASSED_MAX:
            q = m[AT_PASSAGES] + m[n + FIRST_PASSED] * PASSAGE
            m[q + P_STATE] &= HAVE
            m[n + FIRST_PASSED] = m[q + P_NEXT]
            m[n + PASSED_COUNT] -= 1
