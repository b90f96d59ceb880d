"""A wave goes down its tree, in the compiled `vcube`. Answers to `launch` and `give` of overlays/vcube_waves.py."""

from __future__ import annotations

from trellis.sim.fast import network as net
from trellis.sim.fast.barriers import AT_WAVES, KIND, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import slabs
from trellis.sim.fast.trees import vcube_words as wrd
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.vcube_records import (
    ANSWERED,
    ASK,
    ASKER,
    AT_ASKED,
    AT_PENDINGS,
    AWAITING,
    BY,
    CUT,
    FIRST_ASKED,
    FIRST_SAYING,
    FREE_ASKED,
    FREE_PENDING,
    HEIGHT,
    HEIGHT_BITS,
    LAST_SAYING,
    MOVES,
    NEXT,
    OPEN,
    PENDING,
    PUB,
    SERVED,
    SLAB,
    SUB,
    THEN,
    UNDER_WAY,
    UNS,
    USED_ASKED,
    USED_PENDINGS,
    VECTOR,
    VIEW,
    WHOM,
    send,
    take,
)


@compiled
def launch(m: Block, rows: Block, now: int, me: int, p: int, wave: int, asker: int, height: int) -> bool:
    """Pass a wave on, a change of mine also to newcomers by myself; whether there is anybody to pass it to."""
    if not m[MOVES]:
        return launch_to_all(m, rows, now, me, p, wave, asker, height)
    w = m[AT_WAVES] + wave * WAVE
    holder, v = m[p + VIEW], m[vws.AT_VIEWS] + vws.EVERYBODY * m[vws.WIDE]
    if m[w + KIND] == SUB:
        holder = NONE
    else:
        v = vws.row_of(m, holder)
    pending = take(m, USED_PENDINGS, FREE_PENDING, AT_PENDINGS, PENDING, NEXT)
    q = m[AT_PENDINGS] + pending * PENDING
    m[q + NEXT], m[q + ASKER], m[q + HEIGHT], m[q + BY], m[q + FIRST_ASKED] = NONE, asker, height, holder, NONE
    m[q + AWAITING], m[q + SERVED], m[q + ANSWERED] = 0, 0, 0
    m[q + VECTOR], m[q + FIRST_SAYING], m[q + LAST_SAYING] = NONE, NONE, NONE
    for s in range(1, height + 1):
        give(m, rows, now, me, wave, pending, v, s)
    if asker == NONE and (m[w + KIND] == CUT or m[w + KIND] == UNS):
        tell_newcomers(m, rows, now, me, wave, pending, v)
    if not m[q + AWAITING]:
        m[q + NEXT] = m[FREE_PENDING]
        m[FREE_PENDING] = pending
        return False
    if holder != NONE:
        m[p + UNDER_WAY] += 1
    if m[w + SLAB] == NONE:
        m[w + SLAB] = slabs.new_slab(m)
    at = m[slabs.AT_ACKS] + m[w + SLAB] * m[net.NODES] + me
    if m[at] == 0:
        m[at] = pending + 1
    else:  # it was given to me again, for a larger subtree or by somebody else
        q = m[AT_PENDINGS] + (m[at] - 1) * PENDING
        while m[q + NEXT] != NONE:
            q = m[AT_PENDINGS] + m[q + NEXT] * PENDING
        m[q + NEXT] = pending
    return True


@compiled
def launch_to_all(m: Block, rows: Block, now: int, me: int, p: int, wave: int, asker: int, height: int) -> bool:
    """The same where nobody comes or goes: how many answers are missing says all."""
    v, w, count = vws.row_of(m, m[p + VIEW]), m[AT_WAVES] + wave * WAVE, 0
    for s in range(1, height + 1):
        child = vws.first(m, v, m[net.NODES], me, s)
        if child >= 0:
            send(m, rows, now, me, child, wave, PUB, s - 1, NONE, 0)
            count += 1
    if count:
        if m[w + SLAB] == NONE:
            m[w + SLAB] = slabs.new_slab(m)
        slabs.await_acks(m, m[w + SLAB], me, asker, count)
    return count > 0


@compiled
def give(m: Block, rows: Block, now: int, me: int, wave: int, pending: int, v: int, s: int) -> None:
    """Whoever takes my cluster s gets the wave, unless it was asked before: its first member, else every newcomer."""
    child = vws.first(m, v, m[net.NODES], me, s)
    if child >= 0:
        if find(m, pending, (child << HEIGHT_BITS) | (s - 1)) == NONE:
            ask(m, rows, now, me, wave, pending, child, s - 1)
    else:
        c = wrd.crowd(m, v)
        for k in range(c + 1, c + 1 + m[c]):
            if vws.cluster(me, m[k]) == s and find(m, pending, m[k] << HEIGHT_BITS) == NONE:
                ask(m, rows, now, me, wave, pending, m[k], 0)


@compiled
def ask(m: Block, rows: Block, now: int, me: int, wave: int, pending: int, child: int, height: int) -> None:
    q = m[AT_PENDINGS] + pending * PENDING
    entry = take(m, USED_ASKED, FREE_ASKED, AT_ASKED, ASK, THEN)
    one = m[AT_ASKED] + entry * ASK
    m[one + WHOM], m[one + OPEN], m[one + THEN] = (child << HEIGHT_BITS) | height, 1, m[q + FIRST_ASKED]
    m[q + FIRST_ASKED] = entry
    m[q + AWAITING] += 1
    send(m, rows, now, me, child, wave, m[m[AT_WAVES] + wave * WAVE + KIND], height, NONE, 0)


@inlined
def find(m: Block, pending: int, whom: int) -> int:
    """Whom a wave asked, or NONE."""
    entry = m[m[AT_PENDINGS] + pending * PENDING + FIRST_ASKED]
    while entry != NONE and m[m[AT_ASKED] + entry * ASK + WHOM] != whom:
        entry = m[m[AT_ASKED] + entry * ASK + THEN]
    return entry


@compiled
def tell_newcomers(m: Block, rows: Block, now: int, me: int, wave: int, pending: int, v: int) -> None:
    """`direct`: members on the way may not know them yet. None is a child of the tree at another height."""
    c = wrd.crowd(m, v)
    for k in range(c + 1, c + 1 + m[c]):
        if m[k] != me and find(m, pending, m[k] << HEIGHT_BITS) == NONE:
            ask(m, rows, now, me, wave, pending, m[k], 0)
