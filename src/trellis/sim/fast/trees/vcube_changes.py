"""Joining and leaving, in the compiled `vcube`. Answers to overlays/vcube_changes.py."""

from __future__ import annotations

from trellis.protocols.parts.view import GONE, MEMBER, NEWCOMER
from trellis.sim.fast import applications as app
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_WAVES, KIND, QUEUE, SEQ, SOURCE, WAVE
from trellis.sim.fast.jit import compiled, inlined, merged
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import vcube_arrivals as arr
from trellis.sim.fast.trees import vcube_ordering as odr
from trellis.sim.fast.trees import vcube_waves as wvs
from trellis.sim.fast.trees import vcube_words as wrd
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.vcube_records import (
    ACK,
    AFTER,
    AGAIN,
    AT_SAYINGS,
    AT_WAITS,
    BEHIND,
    CAME,
    CUT,
    CUTTING,
    DRAINING,
    FIRST_CAME,
    FIRST_QUEUED,
    FIRST_UNSETTLED,
    FIRST_UNSPREAD,
    FREE_SAYING,
    HALF,
    IN,
    JOINING,
    LEAVING,
    LOW,
    MESSAGE,
    OUT,
    OUTSTANDING,
    PHASE,
    RANK_BITS,
    RANKS,
    SAYING,
    SAYS,
    SPEAKERS,
    SUB,
    TOLD,
    UNDER_WAY,
    UNS,
    UNSETTLED,
    UNSPREAD,
    USED_HOLDERS,
    USED_SAYINGS,
    VERSION,
    VIEW,
    WAIT,
    WAITERS,
    WANTED,
    WHO,
    early,
    give_wait,
    had,
    known,
    new_wave,
    seen,
    send,
    take,
)


@merged
def join_again(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    """The application has changed its mind while I was leaving, or has published something."""
    while m[p + AGAIN]:
        m[p + AGAIN] = 0
        join(m, rows, now, me, p, topic)


@compiled
def join(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    """Start with a view of myself, and tell every node."""
    if m[p + UNDER_WAY]:
        m[p + VIEW], m[p + UNDER_WAY] = m[USED_HOLDERS], 0
        h = m[vws.AT_HOLDERS] + m[p + VIEW] * vws.HOLDER
        m[h + vws.ROW], m[h + vws.MINE] = vws.NOBODY, 0
        m[USED_HOLDERS] += 1
    vws.clear(m, m[p + VIEW], m[net.NODES])
    m[p + FIRST_UNSETTLED], m[p + UNSETTLED] = NONE, 0
    wave = change(m, me, p, topic, JOINING, SUB)
    if not wvs.launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
        upon_sub_answered(m, rows, now, me, p, topic, NONE, NONE, NONE)


@compiled
def upon_sub_answered(
    m: Block, rows: Block, now: int, me: int, p: int, topic: int, vector: int, first: int, last: int
) -> None:
    """Everybody who takes part knows me now and I know them: ask what they have delivered."""
    entry = first
    while entry != NONE:
        one = m[AT_SAYINGS] + entry * SAYING
        wrd.update(m, m[p + VIEW], m[one + WHO], m[one + SAYS])
        entry = m[one + AFTER]
    if first != NONE:
        m[m[AT_SAYINGS] + last * SAYING + AFTER] = m[FREE_SAYING]
        m[FREE_SAYING] = first
    wrd.merge(m, had(m, p, 0), vector)
    wrd.give_vector(m, vector)
    wave = change(m, me, p, topic, CUTTING, CUT)
    if not wvs.launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
        upon_cut_answered(m, rows, now, me, p, topic, NONE)


@compiled
def upon_cut_answered(m: Block, rows: Block, now: int, me: int, p: int, topic: int, vector: int) -> None:
    """What nobody had delivered by then was published after everybody knew me: it will come to me. Then `enter`."""
    for k in range(m[SPEAKERS]):
        m[known(m, p, k)] = m[had(m, p, k)]
    wrd.merge(m, known(m, p, 0), vector)
    wrd.give_vector(m, vector)
    for k in range(m[SPEAKERS]):
        m[seen(m, p, k)] = m[known(m, p, k)]
    joined(m, rows, now, me, p, topic)
    e = early(m, p)
    entry, count, m[e + CAME] = m[e + FIRST_CAME], m[e + CAME], 0
    for _ in range(count):
        wave, behind = m[m[AT_WAITS] + entry * WAIT + MESSAGE], m[m[AT_WAITS] + entry * WAIT + BEHIND]
        give_wait(m, entry)
        arr.take_or_skip(m, rows, now, me, p, wave)
        tal.waits_no_more(m, wave)
        entry = behind


@merged
def joined(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    m[p + PHASE] = IN
    if m[p + WANTED]:
        tal.tell(m, rows, now, 0, out.CONFIRM, me, out.own(m[app.TOPICS], me, topic), 0, -1, 0, 0)
    wave, count, m[p + UNSPREAD] = m[p + FIRST_UNSPREAD], m[p + UNSPREAD], 0
    for _ in range(count):
        w = m[AT_WAVES] + wave * WAVE
        behind, m[w + QUEUE] = m[w + QUEUE], NONE
        odr.stamp_and_spread(m, rows, now, me, p, wave)
        wave = behind
    if not m[p + WANTED]:
        leave(m, rows, now, me, p, topic)


@compiled
def leave(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    """I go on forwarding until my own messages are settled."""
    m[p + PHASE] = DRAINING
    depart_if_drained(m, rows, now, me, p, topic)


@compiled
def depart_if_drained(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    if m[p + PHASE] == DRAINING and m[p + FIRST_QUEUED] == NONE and not m[p + OUTSTANDING]:
        wave = change(m, me, p, topic, LEAVING, UNS)
        m[m[AT_WAVES] + wave * WAVE + TOLD] = wrd.merge_knows(m, p, NONE)
        if not wvs.launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
            upon_uns_answered(m, p)


@compiled
def upon_uns_answered(m: Block, p: int) -> None:
    """I am out, and keep what I know for later."""
    for k in range(m[SPEAKERS]):
        m[had(m, p, k)] = max(m[had(m, p, k)], m[known(m, p, k)] & LOW)
        forget(m, known(m, p, k))
        forget(m, seen(m, p, k))
    m[p + WAITERS], m[p + PHASE] = 0, OUT
    m[p + AGAIN] = 1 if m[p + WANTED] or m[p + UNSPREAD] else 0


@inlined
def forget(m: Block, of: int) -> None:
    """A number, and the chain that hangs there."""
    entry = (m[of] >> HALF) - 1
    while entry != NONE:
        behind = m[m[AT_WAITS] + entry * WAIT + BEHIND]
        give_wait(m, entry)
        entry = behind
    m[of] = 0


@inlined
def change(m: Block, me: int, p: int, topic: int, phase: int, kind: int) -> int:
    """Enter a phase that others must hear of."""
    m[p + PHASE] = phase
    m[p + VERSION] += 1
    wrd.update(m, m[p + VIEW], me, wrd.says_of_me(m, p))
    return new_wave(m, me, p, topic, -m[p + VERSION], kind)


@merged
def upon_change(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int) -> None:
    """Every node passes a SUB on, members the others; whoever takes part remembers what its source says of itself."""
    w = m[AT_WAVES] + wave * WAVE
    kind = m[w + KIND]
    if kind != SUB and arr.cannot_serve(m, p, height):
        arr.refuse(m, rows, now, me, p, wave, j, height)
        return
    if kind == UNS:
        wrd.merge(m, had(m, p, 0), m[w + TOLD])
    if m[p + PHASE] != OUT:
        rank = MEMBER
        if kind != CUT:
            rank = NEWCOMER if kind == SUB else GONE
        wrd.update(m, m[p + VIEW], m[w + SOURCE], (-m[w + SEQ] << RANK_BITS) | rank)
    if not wvs.launch(m, rows, now, me, p, wave, j, height):
        answer(m, rows, now, me, p, wave, j, height, NONE, NONE, NONE)


@compiled
def answer(
    m: Block,
    rows: Block,
    now: int,
    me: int,
    p: int,
    wave: int,
    asker: int,
    height: int,
    vector: int,
    head: int,
    tail: int,
) -> None:
    """SENDACKS (lines 95-98): my own word beside my subtree's."""
    kind, says = m[m[AT_WAVES] + wave * WAVE + KIND], wrd.says_of_me(m, p)
    if kind == SUB and m[p + PHASE] != OUT:
        entry = take(m, USED_SAYINGS, FREE_SAYING, AT_SAYINGS, SAYING, AFTER)
        one = m[AT_SAYINGS] + entry * SAYING
        m[one + WHO], m[one + SAYS], m[one + AFTER] = me, says, NONE
        if head == NONE:
            head = entry
        else:
            m[m[AT_SAYINGS] + tail * SAYING + AFTER] = entry
        tail = entry
    if kind == CUT or (kind == SUB and says & RANKS != MEMBER):
        vector = wrd.merge_knows(m, p, vector)
    chain = ((head + 1) << HALF) | (tail + 1)
    send(m, rows, now, me, asker, wave, ACK, height, vector, chain)
