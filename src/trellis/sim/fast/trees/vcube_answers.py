"""Answers to a wave come back, in the compiled `vcube`. Answers to overlays/vcube_waves.py from `upon_answer` on."""

from __future__ import annotations

from trellis.sim.fast import network as net
from trellis.sim.fast.barriers import AT_WAVES, KIND, TOPIC, WAVE
from trellis.sim.fast.jit import inlined, merged
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import slabs
from trellis.sim.fast.trees import vcube_changes as chg
from trellis.sim.fast.trees import vcube_publishing as pub
from trellis.sim.fast.trees import vcube_waves as wvs
from trellis.sim.fast.trees import vcube_words as wrd
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.vcube_records import (
    ACK,
    AFTER,
    ANSWERED,
    ASK,
    ASKER,
    AT_ASKED,
    AT_PENDINGS,
    AT_SAYINGS,
    AT_VECTORS,
    AWAITING,
    BY,
    CUT,
    FIRST_ASKED,
    FIRST_SAYING,
    FREE_ASKED,
    FREE_PENDING,
    HALF,
    HEIGHT,
    HEIGHT_BITS,
    LAST_SAYING,
    LOW,
    NEXT,
    OPEN,
    PENDING,
    PUB,
    REFUSE,
    SAYING,
    SERVED,
    SLAB,
    SPEAKERS,
    SUB,
    THEN,
    UNDER_WAY,
    VECTOR,
    VIEW,
    WHOM,
    send,
)


@merged
def upon_ack_of_all(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """The answer to that. The height of a subtree follows from who asked."""
    asker = slabs.asker_of_all(m, m[m[AT_WAVES] + wave * WAVE + SLAB], me) - 1
    if asker < NONE:
        return
    if asker == NONE:
        pub.upon_pub_returned(m, rows, now, me, p, wave, 1)
        pub.pump(m, rows, now, me, p)
    else:
        send(m, rows, now, me, asker, wave, ACK, vws.cluster(me, asker) - 1, NONE, 0)


@merged
def upon_answer(
    m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int, kind: int, head: int, tail: int
) -> None:
    """`upon_ack`, `upon_answer` and `upon_refuse`. What comes with it is a vector, and a chain or a single word."""
    w = m[AT_WAVES] + wave * WAVE
    first = m[m[slabs.AT_ACKS] + m[w + SLAB] * m[net.NODES] + me] - 1
    pending = first
    while pending != NONE:
        q, entry = m[AT_PENDINGS] + pending * PENDING, wvs.find(m, pending, (j << HEIGHT_BITS) | height)
        if entry != NONE and m[m[AT_ASKED] + entry * ASK + OPEN]:
            m[m[AT_ASKED] + entry * ASK + OPEN] = 0
            if kind == REFUSE:  # it may have come back meanwhile, and serve it now
                m[m[AT_ASKED] + entry * ASK + WHOM] = NONE
            m[q + AWAITING] -= 1
            m[q + ANSWERED] = 1
        pending = m[q + NEXT]
    pending = first
    while pending != NONE:
        q = m[AT_PENDINGS] + pending * PENDING
        behind = m[q + NEXT]
        if m[q + ANSWERED]:
            m[q + ANSWERED] = 0
            if head != NONE and m[w + KIND] != PUB:
                if m[q + VECTOR] == NONE:
                    m[q + VECTOR] = wrd.new_vector(m)
                wrd.merge(m, m[AT_VECTORS] + m[q + VECTOR] * m[SPEAKERS], head)
            if kind == REFUSE:
                wrd.update(m, m[q + BY], j, tail)
                if height == vws.cluster(me, j) - 1:  # else it had a copy for itself alone
                    wvs.give(m, rows, now, me, wave, pending, vws.row_of(m, m[q + BY]), height + 1)
            else:
                m[q + SERVED] = 1
                gather(m, q, tail)
            if m[q + AWAITING] == 0:
                complete(m, rows, now, me, p, wave, pending)
        pending = behind
    wrd.give_vector(m, head)


@inlined
def gather(m: Block, q: int, chain: int) -> None:
    """What a subtree says of itself, behind what others said."""
    if chain:
        head, tail = (chain >> HALF) - 1, (chain & LOW) - 1
        if m[q + FIRST_SAYING] == NONE:
            m[q + FIRST_SAYING] = head
        else:
            m[m[AT_SAYINGS] + m[q + LAST_SAYING] * SAYING + AFTER] = head
        m[q + LAST_SAYING] = tail


@merged
def complete(m: Block, rows: Block, now: int, me: int, p: int, wave: int, pending: int) -> None:
    """The whole subtree has it: tell whoever asked me, or go on if I am the root."""
    w, q = m[AT_WAVES] + wave * WAVE, m[AT_PENDINGS] + pending * PENDING
    at = m[slabs.AT_ACKS] + m[w + SLAB] * m[net.NODES] + me
    if m[at] - 1 == pending:
        m[at] = m[q + NEXT] + 1
    else:
        before = m[AT_PENDINGS] + (m[at] - 1) * PENDING
        while m[before + NEXT] != pending:
            before = m[AT_PENDINGS] + m[before + NEXT] * PENDING
        m[before + NEXT] = m[q + NEXT]
    entry = m[q + FIRST_ASKED]
    while entry != NONE:
        one = m[AT_ASKED] + entry * ASK
        behind = m[one + THEN]
        m[one + THEN] = m[FREE_ASKED]
        m[FREE_ASKED] = entry
        entry = behind
    if m[q + BY] == m[p + VIEW]:
        m[p + UNDER_WAY] -= 1
    asker, height, served, vector = m[q + ASKER], m[q + HEIGHT], m[q + SERVED], m[q + VECTOR]
    first, last = m[q + FIRST_SAYING], m[q + LAST_SAYING]
    m[q + NEXT] = m[FREE_PENDING]
    m[FREE_PENDING] = pending
    kind = m[w + KIND]
    if asker != NONE:
        if kind == PUB:
            send(m, rows, now, me, asker, wave, ACK, height, NONE, 0)
        else:
            chg.answer(m, rows, now, me, p, wave, asker, height, vector, first, last)
    elif kind == PUB:
        pub.upon_pub_returned(m, rows, now, me, p, wave, served)
        pub.pump(m, rows, now, me, p)
        chg.depart_if_drained(m, rows, now, me, p, m[w + TOPIC])
    elif kind == SUB:
        chg.upon_sub_answered(m, rows, now, me, p, m[w + TOPIC], vector, first, last)
    elif kind == CUT:
        chg.upon_cut_answered(m, rows, now, me, p, m[w + TOPIC], vector)
    else:
        wrd.give_vector(m, vector)
        chg.upon_uns_answered(m, p)
