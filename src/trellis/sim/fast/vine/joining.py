"""How a node that came back joins its topics, compiled. Answers to overlays/vine_topics.py.

What it asks and is told is about a topic: a letter that begins with who said it, in which life, and the topic. Vectors
have a number for each stream of the topic (`cuts.py`).
"""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import cuts, mail, neighbours, relays, ring, spreading
from trellis.sim.fast.vine.tables import (
    A_NEXT,
    ASKED_COUNT,
    AT_CUTS,
    AT_LETTERS,
    AT_LIST,
    AT_MINE,
    AT_TAKEN,
    COUNT,
    COVERING,
    EARLY_COUNT,
    FIRST_ASKED,
    FIRST_CHILD,
    FIRST_EARLY,
    FIRST_TOPIC,
    FIRST_WAITS,
    ID,
    ID_BITS,
    JOINING_COUNT,
    KNOWN_COUNT,
    L_NEXT,
    L_NODE,
    L_VALUE,
    LAST_ASKED,
    LAST_EARLY,
    LAST_WAITS,
    LIFE,
    NOW,
    OVERLAY,
    ROUND,
    ROW,
    SIDE,
    SPOKE,
    START,
    T_CUT,
    T_JOINING,
    T_NOBODY,
    TAKES,
    TOPICS,
    UPKEEP,
    WAIT_COUNT,
    WHO,
    free_link,
    life,
    link_at,
    new_link,
    node,
    somebody_takes,
    takes,
)
from trellis.sim.fast.vine.taking import is_in, is_joining, taken

AGAIN, ALONE, SLOW = 4, 12, 40  # rounds
ASKED, ASKED_MAX = 2, 64
STEPS_MAX = 64
ABOUT = 2  # words of a letter before what it says
ROUNDS = 32  # bits; of an ask: when, and behind that one more than when the answer was that it is not ready


# Letters about a topic


@inlined
def begin_letter(m: Block, me: int, code: int) -> None:
    """Of my own."""
    mail.begin_letter(m)
    mail.put(m, me | (m[LIFE] << ID_BITS))
    mail.put(m, code)


@compiled
def send(m: Block, rows: Block, me: int, to: int, kind: int, start: int, count: int) -> None:
    """A letter that was written, or the beginning of one."""
    if m[UPKEEP]:
        at = m[AT_LETTERS + 1 - m[SIDE]] + start
        out.write(rows, m[NOW], 0, out.SEND, me, id_of(m, at), kind, to, 0, 0)
    mail.post(m, me, to, kind, start, count)


@inlined
def id_of(m: Block, letter: int) -> int:
    return mail.own(m, m[letter] & ID, m[letter] >> ID_BITS, m[letter + 1])


@compiled
def receive(m: Block, rows: Block, me: int, sender: int, kind: int, start: int, count: int) -> None:
    at = mail.letter(m, start)
    if m[UPKEEP]:
        out.write(rows, m[NOW], 0, out.RECEIVE, me, id_of(m, at), kind, sender, 0, 0)
    code, says = m[at + 1], at + ABOUT
    if kind == mail.LOOKUP:
        upon_lookup(m, rows, me, sender, at, count - ABOUT)
    elif kind == mail.FOUND:
        upon_found(m, rows, me, at, count)
    elif kind == mail.ASK:
        upon_ask(m, rows, me, sender, code)
    elif kind == mail.START_AT:
        upon_start(m, rows, me, sender, code, says)
    elif not m[says] and is_in(m, me, code) and cuts.is_as_far(m, me, code, says + 1):
        mail.begin_letter(m)
        for k in range(count):
            mail.put(m, 1 if k == ABOUT else m[at + k])
        mail.close_letter(m)
        send(m, rows, me, sender, mail.SUMS, m[START], m[COUNT])


# Looking for somebody who takes it


@compiled
def look(m: Block, rows: Block, me: int, code: int, start: int) -> None:
    """On the way to its rendezvous node; the letter says who I am, and that I am the first on the path."""
    hop = NONE if m[OVERLAY] == COVERING else ring.hop(m, me, code)
    if hop != NONE:
        send(m, rows, me, hop, mail.LOOKUP, start, ABOUT + 1)
    else:
        found(m, rows, me, code, carried_for(m, me, code, me))


@compiled
def carried_for(m: Block, me: int, code: int, asker: int) -> int:
    """Somebody for whom I carry a topic, but the asker: one after the other."""
    c = relays.carried(m, me, code)
    if c == NONE:
        return NONE
    named, count, link = m[AT_LIST], 0, m[c + FIRST_CHILD]
    while link != NONE:
        gateway, at = m[link_at(m, link) + L_VALUE], count
        link = m[link_at(m, link) + L_NEXT]
        while at and m[named + at - 1] > gateway:
            at -= 1
        if gateway == asker or (at and m[named + at - 1] == gateway):
            continue
        for k in range(count, at, -1):
            m[named + k] = m[named + k - 1]
        m[named + at] = gateway
        count += 1
    return m[named + m[ROUND] % count] if count else NONE


@compiled
def upon_lookup(m: Block, rows: Block, me: int, sender: int, at: int, length: int) -> None:
    """A path follows: the joiner, and who passed it on."""
    code, path = m[at + 1], at + ABOUT
    for k in range(path, path + length):
        if m[k] == me:
            return
    inside = is_in(m, me, code)
    other = me if inside else carried_for(m, me, code, m[path])
    hop = ring.hop(m, me, code)
    if other != NONE or hop == NONE or length == STEPS_MAX:
        begin_letter(m, me, code)
        mail.put(m, other)
        mail.put(m, 1 if inside else 0)
        mail.put(m, length - 1)
        for k in range(path, path + length - 1):
            mail.put(m, m[k])
        if inside:
            cuts.tell_frontier(m, me, code)
        mail.close_letter(m)
        send(m, rows, me, sender, mail.FOUND, m[START], m[COUNT])
        return
    mail.begin_letter(m)
    for k in range(at, path + length):
        mail.put(m, m[k])
    mail.put(m, me)
    mail.close_letter(m)
    send(m, rows, me, hop, mail.LOOKUP, m[START], m[COUNT])


@compiled
def upon_found(m: Block, rows: Block, me: int, at: int, count: int) -> None:
    """Who it is, or NONE; whether a vector follows; whom it must still pass, and the vector."""
    code, says = m[at + 1], at + ABOUT
    other, told, length, path = m[says], m[says + 1], m[says + 2], says + 3
    if length:
        to = m[path + length - 1]
        if to != me:
            mail.begin_letter(m)
            for k in range(at, at + count):
                if k == says + 2:
                    mail.put(m, length - 1)
                elif k != path + length - 1:
                    mail.put(m, m[k])
            mail.close_letter(m)
            send(m, rows, me, to, mail.FOUND, m[START], m[COUNT])
    elif is_joining(m, me, code) and told:
        begin(m, rows, me, code, path)
    else:
        found(m, rows, me, code, other)


@compiled
def found(m: Block, rows: Block, me: int, code: int, other: int) -> None:
    """Whoever has joined meanwhile compares what it has."""
    if other in (NONE, me):
        m[taken(m, me, code) + T_NOBODY] += 1
        return
    begin_letter(m, me, code)
    if not is_joining(m, me, code):
        mail.put(m, 0)
        cuts.tell_how_far(m, me, code)
    mail.close_letter(m)
    if is_joining(m, me, code):
        ask(m, rows, me, code, other, m[START])
    else:
        send(m, rows, me, other, mail.SUMS, m[START], m[COUNT])


# Where to begin


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
    send(m, rows, me, other, mail.ASK, start, ABOUT)


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
    begin_letter(m, me, code)
    mail.put(m, 1 if ready else 0)
    if ready:
        cuts.tell_frontier(m, me, code)
    mail.close_letter(m)
    send(m, rows, me, sender, mail.START_AT, m[START], m[COUNT])


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


@compiled
def go_on(m: Block, rows: Block, me: int) -> None:
    """In every round: ask, or begin if there is nobody to ask."""
    first = m[node(m, me) + FIRST_TOPIC]
    for k in range(first, first + m[node(m, me) + TOPICS]):
        if m[m[AT_TAKEN] + k * TAKES + T_JOINING]:
            go_on_joining(m, rows, me, m[m[AT_MINE] + k])


@compiled
def go_on_joining(m: Block, rows: Block, me: int, code: int) -> None:
    waited, t = m[ROUND], taken(m, me, code)
    first, fellows = neighbours.rows_of(m, me), 0
    end = first + m[node(m, me) + KNOWN_COUNT] * ROW
    for row in range(first, end, ROW):
        fellows += m[row + SPOKE] and somebody_takes(m, m[row + WHO], code)
    alone = m[t + T_NOBODY] > 1 and not fellows
    if (waited >= ALONE and (alone or is_first(m, me, t))) or waited >= SLOW:
        begin(m, rows, me, code, NONE)
        return
    begin_letter(m, me, code)
    mail.put(m, me)
    mail.close_letter(m)
    start, left = m[START], ASKED if waited < AGAIN else fellows
    for row in range(first, end, ROW):
        if left and m[row + SPOKE] and somebody_takes(m, m[row + WHO], code):
            left -= 1
            ask(m, rows, me, code, m[row + WHO], start)
    if waited % AGAIN == 0:
        look(m, rows, me, code, start)


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
    begin_letter(m, me, code)
    mail.put(m, 1)
    cuts.tell_frontier(m, me, code)
    mail.close_letter(m)
    start, count, link = m[START], m[COUNT], m[t + FIRST_WAITS]
    while link != NONE:
        after = m[link_at(m, link) + L_NEXT]
        send(m, rows, me, m[link_at(m, link) + L_NODE], mail.START_AT, start, count)
        free_link(m, link)
        link = after
    m[t + FIRST_WAITS] = m[t + LAST_WAITS] = NONE
    m[t + WAIT_COUNT] = 0
