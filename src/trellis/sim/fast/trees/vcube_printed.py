"""VCube-PS as printed, in a block of memory. Answers to protocols/overlays/vcube_printed.py, line by line.

Assumes:  links that lose nothing and keep the order of their packets, as its twin does.

What is kept otherwise than there, and why the rows are the same:
- A broadcast (SUB, UNS or PUB) is a number, its *wave*. Its `acks` at all nodes are one slab, given back when no packet
  of the wave is on its way: nobody looks at them again.
- `mem` and the membership information of an ACK are not carried (printed_acks.py).
- `causal_barrier` is not kept up with each delivery, but worked out when a node speaks (barriers.py).
- Of `last_delvs` and `first_rec` there are columns for nodes that publish only, and most of `last_delvs` is never
  looked at (printed_ordering.py).
"""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import (
    AT_WAVES,
    FLYING,
    IN_LOGGED,
    IN_NAMES,
    IN_WAVES,
    KIND,
    LOGS,
    QUEUE,
    ROOM_LOGGED,
    ROOM_NAMES,
    ROOM_WAVES,
    SOURCE,
    TOPIC,
    UNSAID,
    USED_LOGGED,
    USED_NAMES,
    USED_WAVES,
    WAVE,
    new_wave,
)
from trellis.sim.fast.jit import compiled, inlined, merged
from trellis.sim.fast.memory import NONE, Block, counter
from trellis.sim.fast.trees import printed_acks as ack
from trellis.sim.fast.trees import printed_waves as wvs
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.printed_records import (
    ACK,
    ALL_QUEUED,
    ALL_WAITING,
    FIRST_QUEUED,
    FIXED,
    IDLE,
    IN_VIEWS,
    IN_WAITS,
    JOINED,
    JOINS,
    LAST_QUEUED,
    PUB,
    QUEUED,
    ROOM_WAITS,
    SAID,
    SLAB,
    SUB,
    UNS,
    USED_WAITS,
    WAITERS,
    column,
    is_in,
    known,
    number,
    place,
)
from trellis.sim.fast.trees.slabs import IN_ACKS, give_back, word_of
from trellis.sim.fast.trees.slabs import has_room as has_slabs

AHEAD, SUM = counter(38), counter(39)  # up to which entry memory was asked; of what, so that it is not left out
FEW_AHEAD = 16


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off what is due until `due` events have happened, or something has no room."""
    asked, easy = False, False
    while True:
        if m[cal.CURSOR] == m[cal.COUNT]:
            told = app.next_round(m, end, due)
            if told != NONE:
                return told
            asked, m[AHEAD] = False, 0
        if m[cal.CURSOR] >= m[AHEAD]:
            look_ahead(m)
        if not asked:
            asked, easy = True, has_plenty(m, rows)
        key = cal.key(m)
        acts = cal.peer_of(key) < 0
        if acts or not easy:
            short = lacking(m, rows, key)
            if short != NONE:
                m[app.LACKING] = short
                return app.GROW
            asked = not acts  # what it does may take room, and leave something queued
        m[cal.CURSOR] += 1
        step(m, rows, key)


@compiled
def look_ahead(m: Block) -> None:
    """Ask memory for what the next few packets need, all at once: one after the other takes several times as long."""
    first, nodes, total = m[cal.CURSOR], m[net.NODES], 0
    after = min(first + FEW_AHEAD, m[cal.COUNT])
    for e in range(m[cal.AT_DUE] + first * cal.ENTRY, m[cal.AT_DUE] + after * cal.ENTRY, cal.ENTRY):
        key, what = m[e + cal.KEY], m[e + cal.WHAT]
        if cal.peer_of(key) >= 0:
            w, me = m[AT_WAVES] + (what >> 1) * WAVE, cal.node_of(key)
            total += m[word_of(m, m[w + SLAB], me)]
            if m[tal.COUNTING] and not what & 1:
                total += tal.glance(m, what >> 1, me)
            if not m[FIXED]:
                p = place(m, m[w + TOPIC], me)
                v = vws.row_of(m, number(m, p))
                if not what & 1:
                    total += m[known(m, p, max(column(m, w), 0))] + m[v + m[w + SOURCE]]
                elif m[JOINS]:
                    block = ack.block_of(me, vws.cluster(me, cal.peer_of(key)))
                    total += m[v + block] + m[m[ack.AT_SAID_RC] + m[w + SLAB] * nodes + block]
    m[AHEAD], m[SUM] = after, total


@inlined
def has_plenty(m: Block, rows: Block) -> bool:
    """Whether there is room for whatever may come of all packets that are still due now, together. A wave is begun
    once, and a message is delivered once, so what waits or is queued counts once.
    """
    due, waves, wide = m[cal.COUNT] - m[cal.CURSOR], m[ALL_QUEUED], m[vws.DIMENSION] + 2
    delivered = due + waves + m[ALL_WAITING]
    return (
        cal.has_room(m, (due + waves) * wide + delivered)
        and out.has_room(rows, (due + waves) * (wide + 8) + delivered)
        and (m[FIXED] or vws.has_room(m, due))
        and m[USED_WAVES] < m[ROOM_WAVES]
        and (waves == 0 or has_slabs(m, waves))
        and m[USED_WAITS] + due <= m[ROOM_WAITS]
        and m[USED_LOGGED] + delivered <= m[ROOM_LOGGED]
        and (waves == 0 or m[USED_NAMES] + m[USED_LOGGED] + delivered + 2 * waves <= m[ROOM_NAMES])
        and tal.lacking(m, waves, delivered) == NONE
    )


@inlined
def lacking(m: Block, rows: Block, key: int) -> int:
    """Which table has too little room for whatever may come of one event; NONE if all have enough."""
    what = m[cal.entry(m, key) + cal.WHAT]
    if cal.peer_of(key) >= 0:
        topic = m[m[AT_WAVES] + (what >> 1) * WAVE + TOPIC]
    else:
        topic = m[m[app.AT_ACTIONS] + what * app.ACTION + app.ABOUT]
    p = place(m, topic, cal.node_of(key))
    waves, waiting, wide = 1 + m[p + QUEUED], m[p + WAITERS], m[vws.DIMENSION] + 2
    if not cal.has_room(m, waves * wide + waiting + 2):
        return app.IN_CALENDAR
    if not out.has_room(rows, waves * (wide + 6) + waiting + 8):
        return app.IN_ROWS
    if not vws.has_room(m, 1):
        return IN_VIEWS
    if m[USED_WAVES] == m[ROOM_WAVES]:
        return IN_WAVES
    if not has_slabs(m, waves):
        return IN_ACKS
    if m[USED_WAITS] == m[ROOM_WAITS]:
        return IN_WAITS
    if m[USED_LOGGED] + waves + waiting > m[ROOM_LOGGED]:
        return IN_LOGGED
    if m[USED_NAMES] + m[p + SAID + LOGS] + waiting + 2 * waves > m[ROOM_NAMES]:
        return IN_NAMES
    return tal.lacking(m, waves, waves + waiting)


@merged
def step(m: Block, rows: Block, key: int) -> None:
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[cal.entry(m, key) + cal.WHAT]
    if j < 0:
        act(m, rows, now, me, m[app.AT_ACTIONS] + what * app.ACTION)
        return
    wave, is_ack = what >> 1, what & 1
    w = m[AT_WAVES] + wave * WAVE
    p = place(m, m[w + TOPIC], me)
    m[w + FLYING] -= 1
    packet = ACK if is_ack else m[w + KIND]
    tal.tell(m, rows, now, 0, out.RECEIVE, me, wave, packet, j, 1 if packet == PUB else 0, 0)
    if is_ack:
        wvs.upon_ack(m, rows, now, me, p, wave, j)
    else:
        wvs.upon_wave(m, rows, now, me, p, wave, j)
    if m[w + FLYING] == 0:
        give_back(m, m[w + SLAB])
        m[w + SLAB] = NONE
        tal.over(m, wave, 1)


# Applications (Algorithm 1)


@merged
def act(m: Block, rows: Block, now: int, me: int, a: int) -> None:
    topic, does = m[a + app.ABOUT], m[a + app.DOES]
    p, own, nodes = place(m, topic, me), out.own(m[app.TOPICS], me, topic), m[net.NODES]
    counted = m[app.AT_NODES] + me * app.NODE + app.COUNTER
    if is_in(m, p, me) == (does == app.JOIN):
        if does == app.SAY:
            m[p + SAID + UNSAID] -= 1
        tal.tell(m, rows, now, 0, out.REFUSE, me, own, 0, -1, 0, 0)
        return
    if does == app.SAY:
        wave = next_wave(m, me, topic, PUB)
        tal.tell(m, rows, now, 0, out.PUBLISH, me, wave, 0, -1, 0, 0)
    elif does == app.JOIN:
        tal.tell(m, rows, now, 0, out.SUBSCRIBE, me, own, 0, -1, 0, 0)
        vws.clear(m, number(m, p), nodes)
        vws.update(m, number(m, p), nodes, me, 1, m[counted])
        m[p + IDLE] += 1
        wave = next_wave(m, me, topic, SUB)
        m[p + JOINED] = wave
    else:
        tal.tell(m, rows, now, 0, out.UNSUBSCRIBE, me, own, 0, -1, 0, 0)
        vws.forget(m, number(m, p), nodes, me)
        wave = next_wave(m, me, topic, UNS)
    if m[p + LAST_QUEUED] == NONE:
        m[p + FIRST_QUEUED] = wave
    else:
        m[m[AT_WAVES] + m[p + LAST_QUEUED] * WAVE + QUEUE] = wave
    m[p + LAST_QUEUED] = wave
    m[p + QUEUED] += 1
    m[ALL_QUEUED] += 1
    wvs.start_msg_propagation(m, rows, now, me, p)


@inlined
def next_wave(m: Block, me: int, topic: int, kind: int) -> int:
    """Lines 7-9."""
    counted = m[app.AT_NODES] + me * app.NODE + app.COUNTER
    wave = new_wave(m, me, topic, m[counted], kind)
    m[m[AT_WAVES] + wave * WAVE + SLAB] = NONE
    m[counted] += 1
    return wave
