"""How a joiner looks for somebody who takes a topic, compiled. Answers to overlays/vine_topics.py, from `look` to
`found`, and to `carried_for` of overlays/vitis.py.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import cuts, letters, mail, relays, ring, starting
from trellis.sim.fast.vine.tables import (
    AT_LIST,
    COUNT,
    COVERING,
    FIRST_CHILD,
    L_NEXT,
    L_VALUE,
    OVERLAY,
    ROUND,
    START,
    T_NOBODY,
    link_at,
)
from trellis.sim.fast.vine.taking import is_in, is_joining, taken

STEPS_MAX = 64  # of a lookup


@compiled
def look(m: Block, rows: Block, me: int, code: int, start: int) -> None:
    """On the way to its rendezvous node; the letter says who I am, and that I am the first on the path."""
    hop = NONE if m[OVERLAY] == COVERING else ring.hop(m, me, code)
    if hop != NONE:
        letters.send(m, rows, me, hop, mail.LOOKUP, start, letters.ABOUT + 1)
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
    code, path = m[at + 1], at + letters.ABOUT
    for k in range(path, path + length):
        if m[k] == me:
            return
    inside = is_in(m, me, code)
    other = me if inside else carried_for(m, me, code, m[path])
    hop = ring.hop(m, me, code)
    if other != NONE or hop == NONE or length == STEPS_MAX:
        letters.begin_letter(m, me, code)
        mail.put(m, other)
        mail.put(m, 1 if inside else 0)
        mail.put(m, length - 1)
        for k in range(path, path + length - 1):
            mail.put(m, m[k])
        if inside:
            cuts.tell_frontier(m, me, code)
        mail.close_letter(m)
        letters.send(m, rows, me, sender, mail.FOUND, m[START], m[COUNT])
        return
    mail.begin_letter(m)
    for k in range(at, path + length):
        mail.put(m, m[k])
    mail.put(m, me)
    mail.close_letter(m)
    letters.send(m, rows, me, hop, mail.LOOKUP, m[START], m[COUNT])


@compiled
def upon_found(m: Block, rows: Block, me: int, at: int, count: int) -> None:
    """Who it is, or NONE; whether a vector follows; whom it must still pass, and the vector."""
    code, says = m[at + 1], at + letters.ABOUT
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
            letters.send(m, rows, me, to, mail.FOUND, m[START], m[COUNT])
    elif is_joining(m, me, code) and told:
        starting.begin(m, rows, me, code, path)
    else:
        found(m, rows, me, code, other)


@compiled
def found(m: Block, rows: Block, me: int, code: int, other: int) -> None:
    """Whoever has joined meanwhile compares what it has."""
    if other in (NONE, me):
        m[taken(m, me, code) + T_NOBODY] += 1
        return
    letters.begin_letter(m, me, code)
    if not is_joining(m, me, code):
        mail.put(m, 0)
        cuts.tell_how_far(m, me, code)
    mail.close_letter(m)
    if is_joining(m, me, code):
        starting.ask(m, rows, me, code, other, m[START])
    else:
        letters.send(m, rows, me, other, mail.SUMS, m[START], m[COUNT])
