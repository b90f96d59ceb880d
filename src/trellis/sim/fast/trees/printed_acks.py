"""Acknowledgements of printed VCube-PS, and what they say of who subscribes. Answers to lines 54-61 and 95-98.

A cluster is a block of ids, and one wave gives each of them to one node only. So no node is given a wave twice, and the
membership information of an ACK is what the nodes of the sender's block put into theirs, each at its own place
(SAID_RC): it need not be carried. When the ACK comes in, all of them have answered. What is gathered so far is the
blocks that have answered, a bit for each.
"""

from __future__ import annotations

from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_WAVES, FLYING, KIND, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.printed_records import (
    ACK,
    JOINED,
    JOINS,
    PUB,
    SLAB,
    column,
    first_rec,
    is_in,
    known,
    number,
    update,
)
from trellis.sim.fast.trees.slabs import ASKER_BITS, FEW, asker_of_all, await_acks, new_slab, word_of

SAID_RC = Table(23, 1)  # per slab and node, if anybody ever joins: the counter of its own entry in its ACK
AT_SAID_RC = base(SAID_RC.number)
ANSWERED = FEW + ASKER_BITS  # from this bit of an element of `acks` on: which clusters have answered


@inlined
def send(m: Block, rows: Block, now: int, me: int, to: int, wave: int, is_ack: int) -> None:
    departure = net.leaves(m, now, me)
    arrival = net.arrives(m, departure, me, to)
    w = m[AT_WAVES] + wave * WAVE
    packet = ACK if is_ack else m[w + KIND]
    tal.tell(m, rows, now, departure - now, out.SEND, me, wave, packet, to, 1 if packet == PUB else 0, 0)
    m[w + FLYING] += 1
    cal.push(m, arrival, to, me, 2 * wave + is_ack)


@inlined
def expect(m: Block, w: int, me: int, parent: int, count: int) -> None:
    """An element of `acks`."""
    await_acks(m, m[w + SLAB], me, parent, count)


@inlined
def begin_acks(m: Block, w: int) -> None:
    """Of a wave that begins."""
    nodes, slab = m[net.NODES], new_slab(m)
    m[w + SLAB] = slab
    if m[JOINS]:
        for k in range(m[AT_SAID_RC] + slab * nodes, m[AT_SAID_RC] + (slab + 1) * nodes):
            m[k] = vws.NEVER


@inlined
def send_acks(m: Block, rows: Block, now: int, me: int, j: int, p: int, wave: int) -> None:
    """Lines 95-98: what was gathered, and my own entry."""
    if m[JOINS]:
        w = m[AT_WAVES] + wave * WAVE
        at = column(m, w)
        if is_in(m, p, me) and (at == NONE or first_rec(m, known(m, p, at)) == NONE):
            m[m[AT_SAID_RC] + m[w + SLAB] * m[net.NODES] + me] = m[vws.row_of(m, number(m, p)) + me]
    send(m, rows, now, me, j, wave, 1)


@inlined
def count_ack(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int) -> int:
    """Lines 54-61, and 62-74 for ACK. Who asked if this was the last one, plus one; else -1."""
    w = m[AT_WAVES] + wave * WAVE
    asked = asker_of_all(m, m[w + SLAB], me)
    if asked > 0:
        send_acks(m, rows, now, me, asked - 1, p, wave)
    if m[JOINS]:
        a, s = word_of(m, m[w + SLAB], me), vws.cluster(me, j)
        m[a] |= 1 << (ANSWERED + s)
        if is_in(m, p, me):
            take_in_acks(m, p, me, wave, s, m[a] >> ANSWERED)
    return asked


@compiled
def take_in_acks(m: Block, p: int, me: int, wave: int, s: int, answered: int) -> None:
    """All that was gathered; only what is new, if my view had the rest when it came."""
    if m[p + JOINED] <= wave:
        take_in(m, p, me, wave, s)
        return
    s = 1
    while answered >> s:
        if (answered >> s) & 1:
            take_in(m, p, me, wave, s)
        s += 1


@inlined
def block_of(me: int, s: int) -> int:
    """The first id of c(me, s)."""
    return (me ^ (1 << (s - 1))) & -(1 << (s - 1))


@inlined
def take_in(m: Block, p: int, me: int, wave: int, s: int) -> None:
    """What those of one cluster have said."""
    nodes, width = m[net.NODES], 1 << (s - 1)
    said, v = m[AT_SAID_RC] + m[m[AT_WAVES] + wave * WAVE + SLAB] * nodes, vws.row_of(m, number(m, p))
    first = block_of(me, s)
    for n in range(first, min(first + width, nodes)):
        if m[said + n] > m[v + n]:
            update(m, p, n, 1, m[said + n])
            v = vws.row_of(m, number(m, p))
