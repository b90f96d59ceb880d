"""What a run is counted by that keeps no rows: whole numbers, from which metrics/measures.py has the same measures.

Promises: what is counted is what the rows would have said, so `tell` takes a row and writes it or counts it. All are
          exact: sums, sums of squares in two words, and how often each delay came up.

Of a message it is remembered who has heard it first when, and who delivered it (CELLS): one number for each node, from
when it is spread until nobody can hear or deliver it any more. That is when no packet of it is on its way, it waits
nowhere, and it is settled, if the overlay ever says so. What is left at the end is counted then (`close`).

A message that is never settled is owed to whoever stays from before it was published to the end. That is known at the
end only, so each place counts what it would be owed, and forgets it when it leaves.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast.applications import TOPICS
from trellis.sim.fast.barriers import AT_WAVES, QUEUE, SOURCE, TOPIC, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room, roomier, table

CELLS = Table(32, 1)  # per slab and node: when it first heard of the message, and what became of it there
DELIVERED, DUE, FATE_BITS = 1, 2, 2
HEARD = 1 << FATE_BITS  # from here on: the time from its publication, plus one
MESSAGES = Table(33, 5)  # per wave
BORN, STAMP = 0, 1  # when it was published: the time, and as which one of publications and confirmations
SLAB, WAITING, MARKS = 2, 3, 4  # the slab plus one; at how many nodes it waits for its turn
SPREAD, OVER, SETTLED = 1, 2, 4  # marks; over: no packet of it is on its way
DELAYS = Table(34, 2)  # a hash table: how often each delay by the order came up
DELAY, TIMES = 0, 1  # the delay, or 0 where there is none: those without delay are counted apart
SENDERS = Table(35, 3)  # per node
WAITED, PUBS, MET = 0, 1, 2  # over all packets; PUB packets, and how long those waited
MEMBERS = Table(36, 5)  # a node on a topic: topic * nodes + node
INSIDE, SINCE, ASKED = 0, 1, 2  # by its application's last word; as STAMP and time plus one, 0 if there is none
OWED, GOT = 3, 4  # messages that are owed to it if it stays
SENT = Table(37, 1)  # per kind of packet

PARTS = [CELLS, MESSAGES, DELAYS, SENDERS, MEMBERS, SENT]
AT_CELLS, AT_MESSAGES, AT_DELAYS, AT_SENDERS, AT_MEMBERS, AT_SENT = (base(part.number) for part in PARTS)
MESSAGE, SLOT, SENDER, PLACE = MESSAGES.width, DELAYS.width, SENDERS.width, MEMBERS.width
ROOM_CELLS, ROOM_DELAYS = room(CELLS.number), room(DELAYS.number)
IN_CELLS, IN_DELAYS = CELLS.number, DELAYS.number
KINDS = 16  # of packets, at most

COUNTING, SETTLES, PUB = (counter(n) for n in range(48, 51))  # whether it counts; what the kernel does; a code
CLOCK, USED_SLABS, FREE_SLAB, DISTINCT = (counter(n) for n in range(51, 55))
PUBLISHED, DELIVERIES, AT_ONCE, STRAYS, ALL_OWED, ALL_MADE = (counter(n) for n in range(55, 61))
BEYOND = counter(61)  # something that there are no numbers for: see TOO_LONG and NO_SLAB
TOO_LONG, NO_SLAB = 1, 2
# Numbers in sum: how many, their sum, that of their squares (the second word counts FULL of the first), the extremes.
COUNT, SUM, SQUARES, FULL_SQUARES, LEAST, MOST, SUMS = range(7)
RECEPTION, DELIVERY, RELAYED, CONFIRMATION, WAIT = TALLIED = [counter(62 + SUMS * n) for n in range(5)]
LONG, FULL = 1 << 31, 1 << 62


def rooms(waves: int, nodes: int, topics: int, slabs: int) -> dict[Table, int]:
    return {
        CELLS: slabs * nodes,
        MESSAGES: waves,
        DELAYS: 1 << 13,
        SENDERS: nodes,
        MEMBERS: nodes * topics,
        SENT: KINDS,
    }


def begin(m: Block, settles: bool, pub: int, members: Block) -> None:
    """These places are confirmed from before the run."""
    m[COUNTING], m[SETTLES], m[PUB], m[FREE_SLAB], m[CLOCK] = 1, settles, pub, NONE, 1
    table(m, MEMBERS)[members, INSIDE] = table(m, MEMBERS)[members, SINCE] = 1
    for sums in TALLIED:
        m[sums + LEAST] = FULL


def grown(old: Block, tables: list[Table]) -> Block:
    """Twice the room for delays."""
    new = roomier(old, tables, {DELAYS: 2 * int(old[ROOM_DELAYS])})
    table(new, DELAYS)[:] = 0
    rehash(new, old)
    return new


@inlined
def tell(
    m: Block,
    rows: Block,
    at: int,
    wait: int,
    kind: int,
    node: int,
    id: int,
    packet: int,
    peer: int,
    batch: int,
    barrier: int,
) -> None:
    """A row, as `lines.write` has it."""
    out.write(rows, at, wait, kind, node, id, packet, peer, batch, barrier)
    if m[COUNTING]:
        if kind == out.SEND:
            sent(m, wait, node, packet)
        elif kind == out.RECEIVE:
            if batch:
                received(m, at, node, id, packet, batch)
        elif kind == out.DELIVER:
            delivered(m, at, node, id)
        elif kind == out.PUBLISH:
            published(m, at, id)
        elif kind == out.SPREAD:
            spread(m, id)
        elif kind == out.SETTLE:
            settled(m, id, batch)
        elif kind == out.CONFIRM:
            confirmed(m, at, node, id)
        elif kind == out.SUBSCRIBE:
            changed(m, node, id, 1, at + 1)
        elif kind == out.UNSUBSCRIBE:
            changed(m, node, id, 0, 0)


@inlined
def lacking(m: Block, spread: int, delivered: int) -> int:
    """Which table has too little room if so many messages are spread and so many delivered; NONE if all have enough."""
    if m[COUNTING]:
        if (m[USED_SLABS] + spread) * m[net.NODES] > m[ROOM_CELLS] and (spread > 1 or m[FREE_SLAB] == NONE):
            return IN_CELLS
        if 2 * (m[DISTINCT] + delivered) > m[ROOM_DELAYS]:
            return IN_DELAYS
    return NONE


@inlined
def add(m: Block, sums: int, value: int) -> None:
    """One more number; where its square has no room, the run says so at the end."""
    m[sums + COUNT] += 1
    m[sums + SUM] += value
    if value < LONG:
        m[sums + SQUARES] += value * value
        if m[sums + SQUARES] >= FULL:
            m[sums + SQUARES] -= FULL
            m[sums + FULL_SQUARES] += 1
    else:
        m[BEYOND] |= TOO_LONG
    m[sums + LEAST] = min(m[sums + LEAST], value)
    m[sums + MOST] = max(m[sums + MOST], value)


@inlined
def find(m: Block, delay: int) -> int:
    """Where a delay is counted, or would be."""
    slot = (delay * 0x9E3779B1 >> 8) & (m[ROOM_DELAYS] - 1)
    while True:
        at = m[AT_DELAYS] + slot * SLOT
        if m[at + DELAY] == delay or m[at + DELAY] == 0:
            return at
        slot = (slot + 1) & (m[ROOM_DELAYS] - 1)


@compiled
def rehash(new: Block, old: Block) -> None:
    for slot in range(old[ROOM_DELAYS]):
        here = old[AT_DELAYS] + slot * SLOT
        if old[here + DELAY]:
            at = find(new, old[here + DELAY])
            new[at + DELAY], new[at + TIMES] = old[here + DELAY], old[here + TIMES]


@inlined
def member(m: Block, topic: int, node: int) -> int:
    return m[AT_MEMBERS] + (topic * m[net.NODES] + node) * PLACE


@inlined
def message(m: Block, wave: int) -> int:
    return m[AT_MESSAGES] + wave * MESSAGE


@inlined
def cells(m: Block, r: int) -> int:
    """Where those of a message begin."""
    return m[AT_CELLS] + (m[r + SLAB] - 1) * m[net.NODES]


@inlined
def glance(m: Block, id: int, node: int) -> int:
    """What is remembered of a message at a node, to have it at hand when it comes."""
    r = message(m, id)
    return m[cells(m, r) + node] if m[r + SLAB] else 0


@compiled
def sent(m: Block, wait: int, node: int, packet: int) -> None:
    m[m[AT_SENT] + packet] += 1
    n = m[AT_SENDERS] + node * SENDER
    m[n + WAITED] += wait
    if packet == m[PUB]:
        m[n + PUBS] += 1
        m[n + MET] += wait
    add(m, WAIT, wait)


@compiled
def received(m: Block, at: int, node: int, id: int, packet: int, batch: int) -> None:
    """Of several messages each has a slab: they were published at different times."""
    if packet == m[PUB] and not m[member(m, m[m[AT_WAVES] + id * WAVE + TOPIC], node) + INSIDE]:
        m[STRAYS] += batch
    for _ in range(batch):
        r = message(m, id)
        if m[r + SLAB] == 0:
            m[BEYOND] |= NO_SLAB
            return
        c = cells(m, r) + node
        if m[c] < HEARD:
            m[c] |= (at - m[r + BORN] + 1) << FATE_BITS
        id = m[m[AT_WAVES] + id * WAVE + QUEUE]


@compiled
def delivered(m: Block, at: int, node: int, id: int) -> None:
    m[DELIVERIES] += 1
    r = message(m, id)
    if m[r + SLAB] == 0:
        m[BEYOND] |= NO_SLAB
        return
    c = cells(m, r) + node
    fate = m[c]
    if fate >= HEARD and node != m[m[AT_WAVES] + id * WAVE + SOURCE]:
        first, took = (fate >> FATE_BITS) - 1, at - m[r + BORN]
        add(m, RECEPTION, first)
        add(m, DELIVERY, took)
        if took == first:
            m[AT_ONCE] += 1
        else:
            slot = find(m, took - first)
            if m[slot + DELAY] == 0:
                m[slot + DELAY] = took - first
                m[DISTINCT] += 1
            m[slot + TIMES] += 1
    if not fate & DELIVERED:
        m[c] = fate | DELIVERED
        if fate & DUE:
            m[ALL_MADE] += 1


@compiled
def published(m: Block, at: int, id: int) -> None:
    m[PUBLISHED] += 1
    m[CLOCK] += 1
    r = message(m, id)
    m[r + BORN], m[r + STAMP] = at, m[CLOCK]


@compiled
def spread(m: Block, id: int) -> None:
    r, slab = message(m, id), m[FREE_SLAB]
    m[r + MARKS] = SPREAD
    if slab == NONE:
        slab = m[USED_SLABS]
        m[USED_SLABS] += 1
    else:
        m[FREE_SLAB] = m[m[AT_CELLS] + slab * m[net.NODES]]
    m[r + SLAB] = slab + 1
    for k in range(cells(m, r), cells(m, r) + m[net.NODES]):
        m[k] = 0


@compiled
def settled(m: Block, id: int, batch: int) -> None:
    """What was owed is owed for good, whoever leaves from now on."""
    for _ in range(batch):
        r = message(m, id)
        if m[r + SLAB] and not m[r + MARKS] & SETTLED:
            m[r + MARKS] |= SETTLED
            k, c = member(m, m[m[AT_WAVES] + id * WAVE + TOPIC], 0), cells(m, r)
            for node in range(m[net.NODES]):
                since = m[k + node * PLACE + SINCE]
                if 0 < since < m[r + STAMP]:
                    m[ALL_OWED] += 1
                    m[ALL_MADE] += m[c + node] & DELIVERED
                    m[c + node] |= DUE
            let_go(m, id)
        id = m[m[AT_WAVES] + id * WAVE + QUEUE]


@compiled
def confirmed(m: Block, at: int, node: int, id: int) -> None:
    k = member(m, (-1 - id) % m[TOPICS], node)
    m[CLOCK] += 1
    m[k + INSIDE] = 1
    if m[k + SINCE] == 0:
        m[k + SINCE] = m[CLOCK]
    if m[k + ASKED]:
        add(m, CONFIRMATION, at + 1 - m[k + ASKED])
        m[k + ASKED] = 0


@compiled
def changed(m: Block, node: int, id: int, inside: int, asked: int) -> None:
    """Whoever asks to come or to go has no subscription that stands."""
    k = member(m, (-1 - id) % m[TOPICS], node)
    m[k + INSIDE], m[k + SINCE], m[k + ASKED], m[k + OWED], m[k + GOT] = inside, 0, asked, 0, 0


# What kernels say besides


@inlined
def waits(m: Block, wave: int) -> None:
    """A message waits for its turn somewhere. Where it is dropped instead, it counts as waiting to the end."""
    if m[COUNTING]:
        m[message(m, wave) + WAITING] += 1


@inlined
def waits_no_more(m: Block, wave: int) -> None:
    if m[COUNTING]:
        m[message(m, wave) + WAITING] -= 1
        let_go(m, wave)


@inlined
def over(m: Block, wave: int, batch: int) -> None:
    """No packet of the wave is on its way, nor will be."""
    if m[COUNTING]:
        for _ in range(batch):
            m[message(m, wave) + MARKS] |= OVER
            let_go(m, wave)
            wave = m[m[AT_WAVES] + wave * WAVE + QUEUE]


@compiled
def let_go(m: Block, id: int) -> None:
    """If nobody can hear or deliver it any more."""
    r = message(m, id)
    if m[r + SLAB] and m[r + MARKS] & OVER and not m[r + WAITING] and (m[r + MARKS] & SETTLED or not m[SETTLES]):
        count_out(m, id)


@compiled
def count_out(m: Block, id: int) -> None:
    """Whoever heard it and did not deliver it has passed it on; and whoever stays is owed it. Then forget it."""
    r, nodes = message(m, id), m[net.NODES]
    k, c = member(m, m[m[AT_WAVES] + id * WAVE + TOPIC], 0), cells(m, r)
    for node in range(nodes):
        fate = m[c + node]
        if fate >= HEARD and not fate & DELIVERED:
            add(m, RELAYED, (fate >> FATE_BITS) - 1)
    if not m[r + MARKS] & SETTLED:
        for p in range(k, k + nodes * PLACE, PLACE):
            if 0 < m[p + SINCE] < m[r + STAMP]:
                m[p + OWED] += 1
                m[p + GOT] += m[c + (p - k) // PLACE] & DELIVERED
    m[c], m[FREE_SLAB] = m[FREE_SLAB], m[r + SLAB] - 1
    m[r + SLAB] = 0


@compiled
def close(m: Block, waves: int) -> None:
    """The run is over."""
    for wave in range(waves):
        if m[message(m, wave) + SLAB]:
            count_out(m, wave)


def delays(m: Block) -> dict[int, int]:
    counted = table(m, DELAYS)
    found = {int(delay): int(times) for delay, times in counted[counted[:, DELAY] != 0]}
    if m[AT_ONCE]:
        found[0] = int(m[AT_ONCE])
    return dict(sorted(found.items()))


def barriers(m: Block, used: int, lengths: Block) -> dict[int, int]:
    """Of all messages that were spread: how long their barriers are."""
    was_spread = table(m, MESSAGES)[:used, MARKS] & SPREAD != 0
    sizes, counts = np.unique(lengths[was_spread], return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))
