"""Waves of printed VCube-PS: SUB, UNS and PUB down their trees. Answers to lines 13-53 and 62-74."""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import (
    AT_WAVES,
    BARRIER,
    KIND,
    QUEUE,
    SEQ,
    SOURCE,
    TOPIC,
    UNSAID,
    USED_WAVES,
    WAVE,
    follow,
    log,
)
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import printed_acks as ack
from trellis.sim.fast.trees import printed_ordering as odr
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.printed_records import (
    ACTING,
    ALL_QUEUED,
    COLUMN,
    FIRST_QUEUED,
    FIXED,
    IDLE,
    LAPSES,
    LAST_QUEUED,
    ORDERED,
    PUB,
    QUEUED,
    SAID,
    SPEAKERS,
    SUB,
    TRUSTED,
    UNS,
    column,
    first_rec,
    is_in,
    known,
    number,
    set_first_rec,
    set_last_delvs,
    update,
)
from trellis.sim.fast.trees.taken import mask, take


@compiled
def start_msg_propagation(m: Block, rows: Block, now: int, me: int, p: int) -> None:
    """Lines 13-36."""
    while m[p + IDLE] and m[p + FIRST_QUEUED] != NONE:
        m[p + IDLE] -= 1
        wave = m[p + FIRST_QUEUED]
        w = m[AT_WAVES] + wave * WAVE
        m[p + FIRST_QUEUED] = m[w + QUEUE]
        m[p + QUEUED] -= 1
        m[ALL_QUEUED] -= 1
        if m[p + FIRST_QUEUED] == NONE:
            m[p + LAST_QUEUED] = NONE
        if m[w + KIND] == PUB:
            deliver_mine(m, rows, now, me, p, wave)
        count = forward(m, rows, now, me, p, wave, m[vws.DIMENSION])
        if count:
            ack.begin_acks(m, w)
            ack.expect(m, w, me, NONE, count)
            m[w + ACTING] = 1
        else:
            broadcast_done(m, rows, now, me, p, wave)
            tal.over(m, wave, 1)


@compiled
def deliver_mine(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Lines 16-22. The barrier: what I have delivered since I last spoke, but for what one of those followed."""
    w = m[AT_WAVES] + wave * WAVE
    follow(m, p + SAID, wave)
    tal.tell(m, rows, now, 0, out.SPREAD, me, wave, 0, -1, 0, m[w + BARRIER])
    odr.deliver(m, rows, now, me, wave)
    if m[ORDERED]:
        mask(m, wave)
        take(m, me, wave)
    if not m[FIXED]:
        of_me = known(m, p, m[p + COLUMN])
        if first_rec(m, of_me) == NONE:
            set_first_rec(m, of_me, m[w + SEQ])
        set_last_delvs(m, of_me, m[w + SEQ])
    m[p + SAID + UNSAID] -= 1
    log(m, p + SAID, wave)


@compiled
def broadcast_done(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Lines 31-36."""
    m[p + IDLE] += 1
    w = m[AT_WAVES] + wave * WAVE
    if m[w + KIND] == UNS:
        for k in range(m[SPEAKERS]):
            m[known(m, p, k)] = 0
        m[p + TRUSTED] = m[USED_WAVES]
        odr.forget_waiting(m, p)
        if m[p + FIRST_QUEUED] == NONE:
            m[p + IDLE] -= 1
    elif m[w + KIND] == PUB:
        tal.tell(m, rows, now, 0, out.SETTLE, me, wave, 0, -1, 1, 0)
    elif is_in(m, p, me) and m[vws.row_of(m, number(m, p)) + me] == m[w + SEQ]:
        tal.tell(m, rows, now, 0, out.CONFIRM, me, out.own(m[app.TOPICS], me, m[w + TOPIC]), 0, -1, 0, 0)


@inlined
def upon_wave(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int) -> None:
    """Lines 37-53, and 62-74 for SUB, UNS and PUB."""
    w = m[AT_WAVES] + wave * WAVE
    kind = m[w + KIND]
    count = forward(m, rows, now, me, p, wave, vws.cluster(me, j) - 1)
    if count:
        ack.expect(m, w, me, j, count)
    else:
        ack.send_acks(m, rows, now, me, j, p, wave)
    if not is_in(m, p, me):
        return
    if kind == PUB:
        if not m[FIXED]:
            of = known(m, p, column(m, w))
            if first_rec(m, of) == NONE:
                set_first_rec(m, of, m[w + SEQ])
        if not m[ORDERED]:
            odr.deliver(m, rows, now, me, wave)
            log(m, p + SAID, wave)
        elif m[FIXED]:
            odr.take_turn(m, rows, now, me, p, wave)
        else:
            odr.await_turn(m, p, wave)
            odr.check_delivery(m, rows, now, me, p)
    elif kind == SUB:
        update(m, p, m[w + SOURCE], 1, m[w + SEQ])
    else:
        update(m, p, m[w + SOURCE], 0, m[w + SEQ])
        at = column(m, w)
        if at != NONE:
            set_first_rec(m, known(m, p, at), NONE)
            m[p + LAPSES] += 1


@inlined
def upon_ack(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int) -> None:
    """Lines 54-74 for ACK, and 31."""
    w = m[AT_WAVES] + wave * WAVE
    if ack.count_ack(m, rows, now, me, p, wave, j) == 0 and m[w + ACTING]:
        m[w + ACTING] = 0
        broadcast_done(m, rows, now, me, p, wave)
        start_msg_propagation(m, rows, now, me, p)


@inlined
def forward(m: Block, rows: Block, now: int, me: int, p: int, wave: int, height: int) -> int:
    """To CHILDREN: of everybody for a SUB, else of the subscribers that I know of. How many there are."""
    v = vws.row_of(m, number(m, p))
    if m[m[AT_WAVES] + wave * WAVE + KIND] == SUB:
        v = m[vws.AT_VIEWS] + vws.EVERYBODY * m[vws.WIDE]
    count = 0
    for s in range(1, height + 1):
        one = vws.first(m, v, m[net.NODES], me, s)
        if one >= 0:
            ack.send(m, rows, now, me, one, wave, 0)
            count += 1
    return count
