"""Peer sampling, compiled. Answers to protocols/parts/sampling.py, and to `exchange_sample` of overlays/vine.py."""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, go_on, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import mail
from trellis.sim.fast.vine.tables import (
    AGE_SHIFT,
    AT_LINE,
    AT_VIEW,
    COUNT,
    FLIP,
    FRESH,
    ID,
    ID_BITS,
    MARK,
    MARK_AT,
    PAIR,
    PLACED,
    POINT,
    ROUND,
    S_A,
    S_B,
    S_NODE,
    S_VERSION,
    SAMPLE,
    SAMPLED,
    SHOWN,
    START,
    VIEW_COUNT,
    VIEW_MAX,
    mark_of,
    new_stamp,
    node,
    some,
    spot,
)

NEW = 16  # rounds in which it looks for others as often as it can


@inlined
def view_of(m: Block, me: int) -> int:
    return m[AT_VIEW] + me * VIEW_MAX * PAIR


@inlined
def profile(m: Block, me: int) -> int:
    """The node whose turn it is with its own profile, as others are told."""
    return me | (m[SHOWN] << ID_BITS)


@compiled
def partner(m: Block, me: int) -> int:
    count = m[node(m, me) + VIEW_COUNT]
    if not count:
        return NONE
    word = go_on(go_on(np.uint64(m[SAMPLED]), me), m[ROUND])
    return m[view_of(m, me) + np.int64(word % np.uint64(count)) * PAIR] & ID


@inlined
def show(m: Block, me: int) -> None:
    """Myself, and all whom I know."""
    mail.tell(m, profile(m, me), 0)
    first = view_of(m, me)
    for v in range(first, first + m[node(m, me) + VIEW_COUNT] * PAIR, PAIR):
        mail.tell(m, m[v], m[ROUND] - m[v + 1])


@compiled
def send_view(m: Block, rows: Block, me: int, to: int, reply: int) -> None:
    mail.begin_letter(m)
    show(m, me)
    mail.end_letter(m, me)
    mail.send(m, rows, me, to, mail.SAMPLE | reply, NONE, m[START], m[COUNT])


@compiled
def exchange(m: Block, rows: Block, me: int) -> None:
    to = partner(m, me)
    if to != NONE and (m[ROUND] <= NEW or m[ROUND] % m[SAMPLE] == 0):
        send_view(m, rows, me, to, 0)


@compiled
def take(m: Block, me: int, start: int, count: int) -> None:
    """Keep the freshest; which of those that are as fresh is a matter of luck."""
    n, view, stamp = node(m, me), view_of(m, me), new_stamp(m)
    total = 0
    for k in range(m[n + VIEW_COUNT]):
        total = put(m, stamp, total, m[view + k * PAIR], m[view + k * PAIR + 1])
    for at in range(mail.letter(m, start), mail.letter(m, start) + count):
        who = m[at] & ((1 << AGE_SHIFT) - 1)
        if who & ID != me:
            total = put(m, stamp, total, who, m[ROUND] - (m[at] >> AGE_SHIFT))
    if total > VIEW_MAX:
        draw_lots(m, me, total)
        total = VIEW_MAX
    else:
        for k in range(total):
            m[m[AT_LINE] + k * PLACED] = k
    m[n + VIEW_COUNT] = total
    for k in range(total):
        s = some(m, m[m[AT_LINE] + k * PLACED])
        m[view + k * PAIR] = m[s + S_NODE] | (m[s + S_VERSION] << ID_BITS)
        m[view + k * PAIR + 1] = m[s + S_A]


@inlined
def put(m: Block, stamp: int, total: int, who: int, spoke: int) -> int:
    """One more of those from whom the view is chosen, or a later word of one."""
    k = mark_of(m, who & ID)
    if m[k + MARK] != stamp:
        m[k + MARK], m[k + MARK_AT] = stamp, total
        s = some(m, total)
        total += 1
    else:
        s = some(m, m[k + MARK_AT])
        later = (who >> ID_BITS >> 1) - (m[s + S_VERSION] >> 1)  # by so many lives
        if later < 0 or (later == 0 and spoke <= m[s + S_A]):
            return total
    m[s + S_NODE], m[s + S_VERSION], m[s + S_A] = who & ID, who >> ID_BITS, spoke
    return total


@compiled
def draw_lots(m: Block, me: int, total: int) -> None:
    """The freshest of them, in that order."""
    salt = np.int64(go_on(go_on(np.uint64(m[FRESH]), me), m[ROUND])) ^ FLIP
    line, kept = m[AT_LINE], 0
    for k in range(total):
        s = some(m, k)
        spoke, luck = m[s + S_A], m[spot(m, m[s + S_NODE]) + POINT] ^ salt
        m[s + S_B] = luck
        at = kept
        while at and is_fresher(m, spoke, luck, m[line + (at - 1) * PLACED]):
            at -= 1
        if at == VIEW_MAX:
            continue
        for b in range(min(kept, VIEW_MAX - 1), at, -1):
            m[line + b * PLACED] = m[line + (b - 1) * PLACED]
        m[line + at * PLACED] = k
        kept = min(kept + 1, VIEW_MAX)


@inlined
def is_fresher(m: Block, spoke: int, luck: int, than: int) -> bool:
    s = some(m, than)
    return spoke > m[s + S_A] or (spoke == m[s + S_A] and luck < m[s + S_B])
