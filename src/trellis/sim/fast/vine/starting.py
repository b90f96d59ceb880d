"""From where on a node that came back gets a topic, compiled. Answers to overlays/vine_topics.py: `ask` to `begin`.

Vectors have a number for each stream of the topic (`cuts.py`).
"""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import cuts, letters, mail, spreading
from trellis.sim.fast.vine.tables import (
    A_NEXT,
    ASKED_COUNT,
    AT_CUTS,
    COUNT,
    EARLY_COUNT,
    FIRST_ASKED,
    FIRST_EARLY,
    FIRST_WAITS,
    JOINING_COUNT,
    L_NEXT,
    L_NODE,
    L_VALUE,
    LAST_ASKED,
    LAST_EARLY,
    LAST_WAITS,
    LIFE,
    NOW,
    ROUND,
    START,
    T_CUT,
    T_JOINING,
    T_NOBODY,
    WAIT_COUNT,
    free_link,
    life,
    link_at,
    new_link,
    node,
    takes,
)
from trellis.sim.fast.vine.taking import is_in, taken

AGAIN = 4  # rounds until what was not answered is asked again
ASKED_MAX = 64  # whom a joiner asks, and who waits for it
ROUNDS = 32  # bits; of an ask: when, and behind that one more than when the answer was that it is not ready


@compiled
def ask(m: Block, rows: Block, me: int, code: int, other: int, start: int) -> None:
    t, before = taken(m, me, code), NONE
    link = m[t + FIRST_ASKED]
    while link != NONE and m[link_at(m, link) + L_NODE] != other:
        before, link = link, m[link_at(m, link) + L_NEXT]
    unready = 0
    if link != NONE:
        when = m[link_at(m, link) + L_VALUE]
        if m[ROUND] - (when & ((1 << ROUNDS) - 1)) < AGAIN:
            return
        unready = when >> ROUNDS
        forget(m, t, before, link)
    link = new_link(m, other, m[ROUND] | (unready << ROUNDS))
    if m[t + FIRST_ASKED] == NONE:
        m[t + FIRST_ASKED] = link
    else:
        m[link_at(m, m[t + LAST_ASKED]) + L_NEXT] = link
    m[t + LAST_ASKED] = link
    m[t + ASKED_COUNT] += 1
    if m[t + ASKED_COUNT] > ASKED_MAX:
        forget(m, t, NONE, m[t + FIRST_ASKED])
    letters.send(m, rows, me, other, mail.ASK, start, letters.ABOUT)


@inlined
def forget(m: Block, t: int, before: int, link: int) -> None:
    """One of those whom I asked."""
    after = m[link_at(m, link) + L_NEXT]
    if before == NONE:
        m[t + FIRST_ASKED] = after
    else:
        m[link_at(m, before) + L_NEXT] = after
    if after == NONE:
        m[t + LAST_ASKED] = before
    free_link(m, link)
    m[t + ASKED_COUNT] -= 1


@compiled
def upon_ask(m: Block, rows: Block, me: int, sender: int, code: int) -> None:
    ready = is_in(m, me, code)
    if not ready and takes(m, me, code):
        wait(m, taken(m, me, code), sender)
    letters.begin_letter(m, me, code)
    mail.put(m, 1 if ready else 0)
    if ready:
        cuts.tell_frontier(m, me, code)
    mail.close_letter(m)
    letters.send(m, rows, me, sender, mail.START_AT, m[START], m[COUNT])


@inlined
def wait(m: Block, t: int, other: int) -> None:
    """It will be told when I have joined."""
    link = m[t + FIRST_WAITS]
    while link != NONE and m[link_at(m, link) + L_NODE] != other:
        link = m[link_at(m, link) + L_NEXT]
    if link == NONE and m[t + WAIT_COUNT] < ASKED_MAX:
        link = new_link(m, other, 0)
        if m[t + FIRST_WAITS] == NONE:
            m[t + FIRST_WAITS] = link
        else:
            m[link_at(m, m[t + LAST_WAITS]) + L_NEXT] = link
        m[t + LAST_WAITS] = link
        m[t + WAIT_COUNT] += 1


@compiled
def upon_start(m: Block, rows: Block, me: int, sender: int, code: int, says: int) -> None:
    t = taken(m, me, code)
    if not m[LIFE] or not m[t + T_JOINING]:
        return
    link = m[t + FIRST_ASKED]
    while link != NONE and m[link_at(m, link) + L_NODE] != sender:
        link = m[link_at(m, link) + L_NEXT]
    if link == NONE:
        return
    if m[says]:
        begin(m, rows, me, code, says + 1)
    else:
        at = link_at(m, link) + L_VALUE
        m[at] = (m[at] & ((1 << ROUNDS) - 1)) | ((m[ROUND] + 1) << ROUNDS)


@inlined
def is_first(m: Block, me: int, t: int) -> bool:
    """Whether all whom I have found are joining like me: then one of us begins, and tells the others."""
    link = m[t + FIRST_ASKED]
    if link == NONE:
        return False
    while link != NONE:
        at = link_at(m, link)
        if m[at + L_NODE] < me or (m[at + L_VALUE] >> ROUNDS) - 1 < m[at + L_VALUE] & ((1 << ROUNDS) - 1):
            return False
        link = m[at + L_NEXT]
    return True


@compiled
def begin(m: Block, rows: Block, me: int, code: int, cut: int) -> None:
    """I know from where on I get everything: a vector, or nothing."""
    t, n = taken(m, me, code), node(m, me)
    m[t + T_JOINING] = m[t + T_NOBODY] = 0
    m[life(m, me) + JOINING_COUNT] -= 1
    forget_asks(m, t)
    if cut != NONE:
        mine = m[AT_CUTS] + m[t + T_CUT]
        for k in range(cuts.streams(m, code)):
            m[mine + k] = m[cut + k]
    out.write(rows, m[NOW], 0, out.CONFIRM, me, mail.own(m, me, m[LIFE], code), 0, -1, 0, 0)
    message = m[t + FIRST_EARLY]
    while message != NONE:
        spreading.spread(m, rows, me, message)
        m[life(m, me) + EARLY_COUNT] -= 1
        message = m[spreading.action(m, message) + A_NEXT]
    m[t + FIRST_EARLY] = m[t + LAST_EARLY] = NONE
    tell_those_who_wait(m, rows, me, code, t)
    spreading.hand_over(m, rows, n, me, code)


@inlined
def forget_asks(m: Block, t: int) -> None:
    while m[t + FIRST_ASKED] != NONE:
        forget(m, t, NONE, m[t + FIRST_ASKED])


@compiled
def tell_those_who_wait(m: Block, rows: Block, me: int, code: int, t: int) -> None:
    if m[t + FIRST_WAITS] == NONE:
        return
    letters.begin_letter(m, me, code)
    mail.put(m, 1)
    cuts.tell_frontier(m, me, code)
    mail.close_letter(m)
    start, count, link = m[START], m[COUNT], m[t + FIRST_WAITS]
    while link != NONE:
        after = m[link_at(m, link) + L_NEXT]
        letters.send(m, rows, me, m[link_at(m, link) + L_NODE], mail.START_AT, start, count)
        free_link(m, link)
        link = after
    m[t + FIRST_WAITS] = m[t + LAST_WAITS] = NONE
    m[t + WAIT_COUNT] = 0
