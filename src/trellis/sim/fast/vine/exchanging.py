"""What neighbours tell each other in every round, compiled. Answers to overlays/vine.py and parts/tman.py."""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, go_on, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import asking, gateways, mail, neighbours, relays, sampling, selecting
from trellis.sim.fast.vine.tables import (
    AGE_SHIFT,
    ASKS,
    AT_LETTERS,
    AT_LINE,
    AT_LIST,
    AT_POOL,
    COUNT,
    COVERING,
    DOUBTFUL,
    HEARD,
    HOP_REF,
    ID,
    ID_BITS,
    IN_LINE,
    IN_SOME,
    KNOWN_COUNT,
    LIMIT,
    MARK,
    MARK_AT,
    NOT,
    OVERLAY,
    PAIR,
    PLACED,
    PROPOSALS,
    PROPOSED,
    ROUND,
    ROW,
    S_NODE,
    S_OUT,
    S_VERSION,
    S_WHY,
    SHARES,
    SHORTCUT,
    SHUN_COUNT,
    SIDE,
    SPOKE,
    STALE,
    START,
    SWAPPED,
    VERSION,
    VERSIONS,
    VIEW_COUNT,
    VITIS,
    WHO,
    WHY_MINE,
    WHY_THEIRS,
    mark_of,
    new_stamp,
    node,
    rows_of,
    shunned_by,
    some,
)

# Tables (Algorithms 2 and 3)


@compiled
def partner(m: Block, me: int) -> int:
    """Of my table, in every other round of those next to me on the ring; at the very beginning there is nobody in it,
    so somebody of the sample.
    """
    first, least = rows_of(m, me), NOT if m[ROUND] % 2 else SHORTCUT
    end = first + m[node(m, me) + KNOWN_COUNT] * ROW
    count = chosen(m, first, end, least)
    if not count and least:
        least = NOT
        count = chosen(m, first, end, least)
    if not count:
        return sampling.partner(m, me)
    which = np.int64(go_on(go_on(np.uint64(m[SWAPPED]), me), m[ROUND]) % np.uint64(count))
    for row in range(first, end, ROW):
        if m[row + WHY_MINE] > least:
            if which == 0:
                return m[row + WHO]
            which -= 1
    return NONE


@inlined
def chosen(m: Block, first: int, end: int, least: int) -> int:
    """How many of these I chose for more than that."""
    count = 0
    for row in range(first, end, ROW):
        count += m[row + WHY_MINE] > least
    return count


@compiled
def send_buffer(m: Block, rows: Block, me: int, to: int, reply: int) -> None:
    """Lines 3-4: a fresh sample, and my table; of each node the freshest word."""
    mail.begin_letter(m)
    sampling.show(m, me)
    stamp, letter = new_stamp(m), m[AT_LETTERS + 1 - m[SIDE]] + m[START]
    for k in range(m[COUNT]):
        at = mark_of(m, m[letter + k] & ID)
        m[at + MARK], m[at + MARK_AT] = stamp, k
    first = rows_of(m, me)
    for row in range(first, first + m[node(m, me) + KNOWN_COUNT] * ROW, ROW):
        if m[row + SPOKE]:
            at, age = mark_of(m, m[row + WHO]), m[ROUND] - m[row + HEARD]
            who = m[row + WHO] | (m[row + VERSION] << ID_BITS)
            if m[at + MARK] != stamp:
                mail.tell(m, who, age)
            elif age < m[letter + m[at + MARK_AT]] >> AGE_SHIFT:
                m[letter + m[at + MARK_AT]] = who | (age << AGE_SHIFT)
    mail.end_letter(m, me)
    mail.send(m, rows, me, to, mail.SWAP | reply, NONE, m[START], m[COUNT])


@inlined
def put(m: Block, stamp: int, who: int, version: int) -> None:
    """One more candidate."""
    k = mark_of(m, who)
    m[k + MARK], m[k + MARK_AT] = stamp, m[IN_SOME]
    s = some(m, m[IN_SOME])
    m[s + S_NODE], m[s + S_VERSION], m[s + S_OUT], m[s + S_WHY] = who, version, 0, NOT
    m[IN_SOME] += 1


@compiled
def gather(m: Block, me: int, start: int, count: int) -> int:
    """All whom I know and am told of, but for those that are silent; the mark that they have."""
    n, stamp, first = node(m, me), new_stamp(m), rows_of(m, me)
    m[IN_SOME] = 0
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        put(m, stamp, m[row + WHO], m[row + VERSION])
    for at in range(mail.letter(m, start), mail.letter(m, start) + count):
        if m[at] >> AGE_SHIFT <= m[LIMIT]:
            who, version = m[at] & ID, (m[at] >> ID_BITS) & VERSIONS
            k = mark_of(m, who)
            if m[k + MARK] != stamp:
                put(m, stamp, who, version)
            elif version > m[some(m, m[k + MARK_AT]) + S_VERSION]:
                m[some(m, m[k + MARK_AT]) + S_VERSION] = version
    view = sampling.view_of(m, me)
    for v in range(view, view + m[n + VIEW_COUNT] * PAIR, PAIR):
        if m[ROUND] - m[v + 1] <= m[LIMIT] and m[mark_of(m, m[v] & ID) + MARK] != stamp:
            put(m, stamp, m[v] & ID, m[v] >> ID_BITS)
    if m[mark_of(m, me) + MARK] == stamp:
        m[some(m, m[mark_of(m, me) + MARK_AT]) + S_OUT] = 1
    shunned = shunned_by(m, me)
    for at in range(shunned, shunned + m[n + SHUN_COUNT] * PAIR, PAIR):
        k = mark_of(m, m[at])
        if m[k + MARK] == stamp:
            m[some(m, m[k + MARK_AT]) + S_OUT] = 1
    return stamp


@compiled
def reconsider(m: Block, rows: Block, me: int, start: int, count: int) -> None:
    """Lines 7-8: my table is what I like best of all whom I know and am told of."""
    stamp, n, first = gather(m, me, start, count), node(m, me), rows_of(m, me)
    before = m[n + KNOWN_COUNT]
    selecting.select(m, me, stamp)
    for k in range(m[IN_LINE]):
        c = m[m[AT_LINE] + k * PLACED]
        s = some(m, c)
        row = first + c * ROW if c < before else neighbours.add(m, me, m[s + S_NODE], m[s + S_VERSION])
        m[row + WHY_MINE] = m[s + S_WHY]
    named, parted = m[AT_LIST], 0
    for c in range(before):
        row = first + c * ROW
        if m[row + WHY_MINE] and not m[some(m, c) + S_WHY]:
            m[row + WHY_MINE] = NOT
            if not m[row + WHY_THEIRS]:
                m[named + parted] = m[row + WHO]
                parted += 1
    for k in range(parted):
        mail.send(m, rows, me, m[named + k], mail.BEAT, NONE, NONE, NONE)
        neighbours.let_go(m, me, m[named + k])
    neighbours.make_room(m, rows, me)


# Profiles (Algorithms 6 and 7)


@compiled
def exchange_profile(m: Block, rows: Block, me: int) -> None:
    n = node(m, me)
    if m[n + DOUBTFUL]:
        m[n + DOUBTFUL] = 0
        if m[OVERLAY] == VITIS:
            gateways.propose(m, me)
    if m[n + STALE] and m[OVERLAY] != COVERING:
        m[n + STALE] = 0
        asking.ask(m, me)
    stamp, first = new_stamp(m), rows_of(m, me)
    asking.asked_of(m, me, stamp)
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        h = mark_of(m, m[row + WHO])
        asks = m[h + HOP_REF] if m[h + MARK] == stamp else NONE
        what = mail.BEAT | (m[row + WHY_MINE] << mail.WHY_SHIFT)
        mail.send(m, rows, me, m[row + WHO], what, NONE, m[n + PROPOSED], asks)


@compiled
def upon_beat(m: Block, rows: Block, me: int, sender: int, version: int, why: int, proposals: int, asks: int) -> None:
    row = neighbours.find(m, me, sender)
    if row == NONE:
        if why == NOT:
            return
        neighbours.forget_refusals(m, me, sender)
        row = neighbours.add(m, me, sender, version)
        m[row + WHY_THEIRS] = why
        hear(m, me, row, version, proposals, asks)
        neighbours.make_room(m, rows, me)
    elif why == NOT and not m[row + WHY_MINE]:
        neighbours.let_go(m, me, sender)
    else:
        m[row + WHY_THEIRS] = why
        hear(m, me, row, version, proposals, asks)


@compiled
def hear(m: Block, me: int, row: int, version: int, proposals: int, asks: int) -> None:
    n, pool, other = node(m, me), m[AT_POOL], m[row + WHO]
    m[row + HEARD], m[row + VERSION] = m[ROUND], version
    if not m[row + SPOKE]:
        m[row + SPOKE] = m[n + DOUBTFUL] = m[n + STALE] = 1
        m[row + SHARES] = neighbours.in_common(m, me, other)
    if proposals != m[row + PROPOSALS]:
        if differ(m, pool, proposals, m[row + PROPOSALS]):
            m[n + DOUBTFUL] = 1
        m[row + PROPOSALS] = proposals
    if asks != m[row + ASKS]:
        if differ(m, pool, asks, m[row + ASKS]):
            relays.hear(m, me, other, m[row + ASKS], asks)
        m[row + ASKS] = asks


@inlined
def differ(m: Block, pool: int, one: int, other: int) -> bool:
    """Two references that are not the same."""
    return one == NONE or other == NONE or not asking.same(m, pool + one, pool + other)
