"""VCube-PS as printed, in a block of memory. Answers to protocols/overlays/vcube_printed.py, line by line.

Assumes:  links that lose nothing and keep the order of their packets, as its twin does.

What is kept otherwise than there, and why the rows are the same:
- A broadcast (SUB, UNS or PUB) is a number, its *wave*. Its `acks` at all nodes are one slab, given back when no packet
  of the wave is on its way: nobody looks at them again.
- `mem` and the membership information of an ACK are chains that are handed on, not copied. Where a node's view has
  taken in what came before, only what is new is looked at.
- `causal_barrier` is not kept up with each delivery, but worked out when a node speaks (barriers.py).
- Of `last_delvs` and `first_rec` there are columns for nodes that publish only.
- A waiting message remembers the first predecessor that it waits for: those before it stay satisfied, unless what its
  node knows of a source falls back (LAPSES).
- Line 90 asks first whether the node has delivered that very predecessor (TAKEN, a bit): then `last_delvs` is not
  below it, unless it has fallen back since (TRUSTED). So most of `last_delvs` is never looked at. Where nobody ever
  joins or leaves (FIXED) neither it nor `first_rec` is kept: a source's messages come one after the other by the same
  tree, from its first on, and each follows the one before, so they are delivered one after the other.
"""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import (
    AT_NAMES,
    AT_WAVES,
    BARRIER,
    FLYING,
    FOLLOWS,
    IN_LOGGED,
    IN_NAMES,
    IN_WAVES,
    KIND,
    LOGS,
    OWN,
    QUEUE,
    ROOM_LOGGED,
    ROOM_NAMES,
    ROOM_WAVES,
    SEQ,
    SOURCE,
    TOPIC,
    UNSAID,
    USED_LOGGED,
    USED_NAMES,
    USED_WAVES,
    WAVE,
    follow,
    log,
    new_wave,
)
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.slabs import AT_ACKS, FEW, IN_ACKS, SOME_ACKS, give_back, new_slab
from trellis.sim.fast.trees.slabs import has_room as has_slabs

PACKETS = ["", "SUB", "UNS", "PUB", "ACK"]
SUB, UNS, PUB, ACK = 1, 2, 3, 4

PLACES = Table(12, 15)  # a node on a topic: topic * nodes + node
IDLE = 0  # tasks that wait for the queue
FIRST_QUEUED, LAST_QUEUED, QUEUED = 1, 2, 3  # br_queue, a chain of waves
EPOCH = 4  # how often it joined or left
FIRST_WAITING, LAST_WAITING, WAITERS = 5, 6, 7  # not_delvs, a chain
SAID = 8  # what a barrier is made of (barriers.py)
LAPSES = 12  # how often a source fell back behind what was known of it
COLUMN = 13  # of the node among those that publish on the topic, or -1
TRUSTED = 14  # from this wave on, what it has taken it has taken since `last_delvs` last fell back
KNOWN = Table(13, 1)  # per place, and node that publishes on its topic: first_rec and last_delvs, each plus one
HALF = 32  # bits; 0 is none
LOW = (1 << HALF) - 1
ACTING = OWN  # of a wave: its source waits for acknowledgements
SLAB = OWN + 1
GATHERED = Table(23, 3)  # the same, where anybody ever joins: mem
MEM_FIRST, MEM_LAST = 0, 1
SEEN = 2  # the epoch in which the node's view took it in, or -1
MEMBERS = Table(16, 3)  # membership information, in chains
WHO, RC, AFTER = 0, 1, 2
WAITS = Table(18, 4)  # messages that wait, in chains
MESSAGE, MISSING, LAPSE, BEHIND = 0, 1, 2, 3  # the predecessor that it waits for, since so many lapses
SOME = Table(20, 1)  # children of a node, for a moment
IN_TAKEN = 24  # per wave: a bit for each node that has delivered it
BITS = 5  # of a node's number that say which bit of a word is its own

PARTS = [PLACES, KNOWN, GATHERED, MEMBERS, WAITS, SOME]
AT_PLACES, AT_KNOWN, AT_GATHERED, AT_MEMBERS, AT_WAITS, AT_SOME = (base(part.number) for part in PARTS)
AT_TAKEN = base(IN_TAKEN)
PLACE, GATHER, MEMBER, WAIT = PLACES.width, GATHERED.width, MEMBERS.width, WAITS.width
ROOM_MEMBERS, ROOM_WAITS = room(MEMBERS.number), room(WAITS.number)
IN_VIEWS, IN_MEMBERS, IN_WAITS = 9, MEMBERS.number, WAITS.number

ORDERED, SPEAKERS = counter(20), counter(23)
# How many records are in use, and the first of those that are free again.
USED_MEMBERS, USED_WAITS, FREE_MEMBER, FREE_WAIT = (counter(n) for n in (26, 28, 31, 32))
TAKEN = counter(37)  # words of a wave's bits
AHEAD, SUM = counter(38), counter(39)  # up to which entry memory was asked; of what, so that it is not left out
FEW_AHEAD = 32
FIXED = counter(40)  # whether nobody ever joins or leaves
JOINS = counter(34)  # whether anybody ever joins; if not, no ACK has anything to say that others do not know


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off what is due until `due` events have happened, or something has no room."""
    while True:
        key = app.next_key(m, end, due)
        if key < 0:
            return -1 - key
        if m[cal.CURSOR] == 0 or m[cal.CURSOR] >= m[AHEAD]:
            look_ahead(m)
        short = lacking(m, rows, key)
        if short != NONE:
            m[app.LACKING] = short
            return app.GROW
        m[cal.CURSOR] += 1
        step(m, rows, key)


@compiled
def look_ahead(m: Block) -> None:
    """Ask memory for what the next few packets need, all at once: one after the other takes several times as long."""
    first, nodes, total = m[cal.CURSOR], m[net.NODES], 0
    after = min(first + FEW_AHEAD, m[cal.COUNT])
    for k in range(m[cal.AT_ORDER] + first, m[cal.AT_ORDER] + after):
        key = m[k]
        if cal.peer_of(key) >= 0:
            what = m[cal.entry(m, key) + cal.WHAT]
            w, me = m[AT_WAVES] + (what >> 1) * WAVE, cal.node_of(key)
            if what & 1:
                total += m[m[AT_ACKS] + max(m[w + SLAB], 0) * nodes + me]
            elif not m[FIXED]:
                total += m[known(m, place(m, m[w + TOPIC], me), max(column(m, w), 0))]
    m[AHEAD], m[SUM] = after, total


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
    if not vws.has_room(m):
        return IN_VIEWS
    if m[USED_WAVES] == m[ROOM_WAVES]:
        return IN_WAVES
    if not has_slabs(m, waves):
        return IN_ACKS
    if m[USED_MEMBERS] == m[ROOM_MEMBERS] and m[FREE_MEMBER] == NONE:
        return IN_MEMBERS
    if m[USED_WAITS] == m[ROOM_WAITS] and m[FREE_WAIT] == NONE:
        return IN_WAITS
    if m[USED_LOGGED] + waves + waiting > m[ROOM_LOGGED]:
        return IN_LOGGED
    if m[USED_NAMES] + m[p + SAID + LOGS] + waiting + 2 * waves > m[ROOM_NAMES]:
        return IN_NAMES
    return tal.lacking(m, waves, waves + waiting)


@inlined
def place(m: Block, topic: int, node: int) -> int:
    return m[AT_PLACES] + (topic * m[net.NODES] + node) * PLACE


@inlined
def known(m: Block, p: int, column: int) -> int:
    """What a place knows of a publisher."""
    return m[AT_KNOWN] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@inlined
def first_rec(m: Block, of: int) -> int:
    return (m[of] >> HALF) - 1


@inlined
def last_delvs(m: Block, of: int) -> int:
    return (m[of] & LOW) - 1


@inlined
def set_first_rec(m: Block, of: int, seq: int) -> None:
    m[of] = (m[of] & LOW) | ((seq + 1) << HALF)


@inlined
def set_last_delvs(m: Block, of: int, seq: int) -> None:
    m[of] = (m[of] >> HALF << HALF) | (seq + 1)


@inlined
def take(m: Block, me: int, wave: int) -> None:
    """The node has delivered the message."""
    m[m[AT_TAKEN] + wave * m[TAKEN] + (me >> BITS)] |= 1 << (me & ((1 << BITS) - 1))


@inlined
def has_taken(m: Block, p: int, me: int, wave: int) -> bool:
    """Whether it has, for certain, and has forgotten nothing since."""
    word = m[m[AT_TAKEN] + wave * m[TAKEN] + (me >> BITS)]
    return (word >> (me & ((1 << BITS) - 1))) & 1 and wave >= m[p + TRUSTED]


@inlined
def lapse(m: Block, p: int) -> None:
    """`last_delvs` has fallen back."""
    m[p + LAPSES] += 1
    m[p + TRUSTED] = m[USED_WAVES]


@inlined
def column(m: Block, w: int) -> int:
    """Of a wave's source among those that publish on its topic, or -1."""
    return m[place(m, m[w + TOPIC], m[w + SOURCE]) + COLUMN]


@inlined
def is_in(m: Block, p: int, me: int) -> bool:
    return vws.has_member(m, (p - m[AT_PLACES]) // PLACE, m[net.NODES], me)


@inlined
def update(m: Block, p: int, node: int, inside: int, rc: int) -> None:
    vws.update(m, (p - m[AT_PLACES]) // PLACE, m[net.NODES], node, inside, rc)


@compiled
def step(m: Block, rows: Block, key: int) -> None:
    e = cal.entry(m, key)
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[e + cal.WHAT]
    if j < 0:
        act(m, rows, now, me, m[app.AT_ACTIONS] + what * app.ACTION)
        return
    wave, is_ack, head, tail = what >> 1, what & 1, m[e + cal.HEAD], m[e + cal.TAIL]
    w = m[AT_WAVES] + wave * WAVE
    p = place(m, m[w + TOPIC], me)
    m[w + FLYING] -= 1
    packet = ACK if is_ack else m[w + KIND]
    tal.tell(m, rows, now, 0, out.RECEIVE, me, wave, packet, j, 1 if packet == PUB else 0, 0)
    if is_ack:
        upon_ack(m, rows, now, me, p, wave, head, tail)
    else:
        upon_wave(m, rows, now, me, p, wave, j)
    if m[w + FLYING] == 0:
        if m[w + SLAB] != NONE:
            give_back(m, m[w + SLAB])
            m[w + SLAB] = NONE
        tal.over(m, wave, 1)


# Applications (Algorithm 1)


@compiled
def act(m: Block, rows: Block, now: int, me: int, a: int) -> None:
    topic, does = m[a + app.ABOUT], m[a + app.DOES]
    p, own = place(m, topic, me), out.own(m[app.TOPICS], me, topic)
    number, nodes = topic * m[net.NODES] + me, m[net.NODES]
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
        vws.clear(m, number, nodes)
        vws.update(m, number, nodes, me, 1, m[counted])
        m[p + EPOCH] += 1
        m[p + IDLE] += 1
        wave = next_wave(m, me, topic, SUB)
    else:
        tal.tell(m, rows, now, 0, out.UNSUBSCRIBE, me, own, 0, -1, 0, 0)
        vws.forget(m, number, nodes, me)
        m[p + EPOCH] += 1
        wave = next_wave(m, me, topic, UNS)
    if m[p + LAST_QUEUED] == NONE:
        m[p + FIRST_QUEUED] = wave
    else:
        m[m[AT_WAVES] + m[p + LAST_QUEUED] * WAVE + QUEUE] = wave
    m[p + LAST_QUEUED] = wave
    m[p + QUEUED] += 1
    start_msg_propagation(m, rows, now, me, p)


@inlined
def next_wave(m: Block, me: int, topic: int, kind: int) -> int:
    """Lines 7-9."""
    counted = m[app.AT_NODES] + me * app.NODE + app.COUNTER
    wave = new_wave(m, me, topic, m[counted], kind)
    m[m[AT_WAVES] + wave * WAVE + SLAB] = NONE
    m[counted] += 1
    return wave


# Algorithm 2


@compiled
def start_msg_propagation(m: Block, rows: Block, now: int, me: int, p: int) -> None:
    """Lines 13-36."""
    while m[p + IDLE] and m[p + FIRST_QUEUED] != NONE:
        m[p + IDLE] -= 1
        wave = m[p + FIRST_QUEUED]
        w = m[AT_WAVES] + wave * WAVE
        m[p + FIRST_QUEUED] = m[w + QUEUE]
        m[p + QUEUED] -= 1
        if m[p + FIRST_QUEUED] == NONE:
            m[p + LAST_QUEUED] = NONE
        if m[w + KIND] == PUB:
            deliver_mine(m, rows, now, me, p, wave)
        count = children(m, p, me, m[w + KIND], m[vws.DIMENSION])
        for k in range(count):
            send(m, rows, now, me, m[m[AT_SOME] + k], wave, 0, NONE, NONE)
        if count:
            expect(m, w, me, NONE, count)
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
    deliver(m, rows, now, me, wave)
    take(m, me, wave)
    if not m[FIXED]:
        of_me = known(m, p, m[p + COLUMN])
        if first_rec(m, of_me) == NONE:
            set_first_rec(m, of_me, m[w + SEQ])
        set_last_delvs(m, of_me, m[w + SEQ])
    m[p + SAID + UNSAID] -= 1
    log(m, p + SAID, wave)


@inlined
def deliver(m: Block, rows: Block, now: int, me: int, wave: int) -> None:
    """To the application, which may take part in a discussion."""
    tal.tell(m, rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
    app.listen(m, now, me, m[m[AT_WAVES] + wave * WAVE + SOURCE])


@compiled
def broadcast_done(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Lines 31-36."""
    m[p + IDLE] += 1
    w = m[AT_WAVES] + wave * WAVE
    if m[w + KIND] == UNS:
        for k in range(m[SPEAKERS]):
            m[known(m, p, k)] = 0
        m[p + TRUSTED] = m[USED_WAVES]
        if m[p + FIRST_WAITING] != NONE:
            m[m[AT_WAITS] + m[p + LAST_WAITING] * WAIT + BEHIND] = m[FREE_WAIT]
            m[FREE_WAIT] = m[p + FIRST_WAITING]
        m[p + FIRST_WAITING], m[p + LAST_WAITING], m[p + WAITERS] = NONE, NONE, 0
        if m[p + FIRST_QUEUED] == NONE:
            m[p + IDLE] -= 1
    elif m[w + KIND] == PUB:
        tal.tell(m, rows, now, 0, out.SETTLE, me, wave, 0, -1, 1, 0)
    elif is_in(m, p, me) and m[vws.row_of(m, (p - m[AT_PLACES]) // PLACE) + me] == m[w + SEQ]:
        tal.tell(m, rows, now, 0, out.CONFIRM, me, out.own(m[app.TOPICS], me, m[w + TOPIC]), 0, -1, 0, 0)


@compiled
def upon_wave(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int) -> None:
    """Lines 37-53, and 62-74 for SUB, UNS and PUB."""
    w = m[AT_WAVES] + wave * WAVE
    kind = m[w + KIND]
    count = children(m, p, me, kind, vws.cluster(me, j) - 1)
    if count == 0:
        send_acks(m, rows, now, me, j, p, wave, NONE, NONE)
    else:
        expect(m, w, me, j, count)
        for k in range(count):
            send(m, rows, now, me, m[m[AT_SOME] + k], wave, 0, NONE, NONE)
    if not is_in(m, p, me):
        return
    at = column(m, w)
    if kind == PUB:
        if not m[FIXED] and first_rec(m, known(m, p, at)) == NONE:
            set_first_rec(m, known(m, p, at), m[w + SEQ])
        if m[FIXED]:
            take_turn(m, rows, now, me, p, wave)
        else:
            await_turn(m, p, wave)
            check_delivery(m, rows, now, me, p)
    elif kind == SUB:
        update(m, p, m[w + SOURCE], 1, m[w + SEQ])
    else:
        update(m, p, m[w + SOURCE], 0, m[w + SEQ])
        if at != NONE:
            set_first_rec(m, known(m, p, at), NONE)
            m[p + LAPSES] += 1


@compiled
def upon_ack(m: Block, rows: Block, now: int, me: int, p: int, wave: int, head: int, tail: int) -> None:
    """Lines 54-61, 62-74 for ACK, and 31."""
    w = m[AT_WAVES] + wave * WAVE
    at = m[w + SLAB] * m[net.NODES] + me
    a, g = m[AT_ACKS] + at, m[AT_GATHERED] + at * GATHER
    if m[w + SLAB] == NONE or not m[a] & SOME_ACKS:
        recycle(m, head, tail)  # line 55 finds nothing
        return
    first, last = NONE, NONE
    if m[JOINS]:
        if head != NONE:
            if m[g + MEM_FIRST] == NONE:
                m[g + MEM_FIRST] = head
            else:
                m[m[AT_MEMBERS] + m[g + MEM_LAST] * MEMBER + AFTER] = head
            m[g + MEM_LAST] = tail
        first, last = m[g + MEM_FIRST], m[g + MEM_LAST]
    m[a] -= 1
    parent, done = (m[a] >> FEW) - 1, not m[a] & SOME_ACKS
    if done and parent != NONE:
        send_acks(m, rows, now, me, parent, p, wave, first, last)
    if m[JOINS] and is_in(m, p, me):
        entry = head if m[g + SEEN] == m[p + EPOCH] else first
        while entry != NONE:
            one = m[AT_MEMBERS] + entry * MEMBER
            update(m, p, m[one + WHO], 1, m[one + RC])
            entry = m[one + AFTER]
        m[g + SEEN] = m[p + EPOCH]
    if done and parent == NONE:
        recycle(m, first, last)
    if done and m[w + ACTING] and m[w + SOURCE] == me:
        m[w + ACTING] = 0
        broadcast_done(m, rows, now, me, p, wave)
        start_msg_propagation(m, rows, now, me, p)


@inlined
def send_acks(m: Block, rows: Block, now: int, me: int, j: int, p: int, wave: int, head: int, tail: int) -> None:
    """Lines 95-98: what was gathered, and my own entry."""
    at = column(m, m[AT_WAVES] + wave * WAVE)
    if m[JOINS] and is_in(m, p, me) and (at == NONE or first_rec(m, known(m, p, at)) == NONE):
        entry = m[FREE_MEMBER]
        if entry == NONE:
            entry = m[USED_MEMBERS]
            m[USED_MEMBERS] += 1
        else:
            m[FREE_MEMBER] = m[m[AT_MEMBERS] + entry * MEMBER + AFTER]
        one = m[AT_MEMBERS] + entry * MEMBER
        m[one + WHO], m[one + RC], m[one + AFTER] = me, m[vws.row_of(m, (p - m[AT_PLACES]) // PLACE) + me], NONE
        if head == NONE:
            head = entry
        else:
            m[m[AT_MEMBERS] + tail * MEMBER + AFTER] = entry
        tail = entry
    send(m, rows, now, me, j, wave, 1, head, tail)


@inlined
def recycle(m: Block, head: int, tail: int) -> None:
    """A chain of membership information that nobody needs any more."""
    if head != NONE:
        m[m[AT_MEMBERS] + tail * MEMBER + AFTER] = m[FREE_MEMBER]
        m[FREE_MEMBER] = head


@compiled
def send(m: Block, rows: Block, now: int, me: int, to: int, wave: int, is_ack: int, head: int, tail: int) -> None:
    departure = net.leaves(m, now, me)
    arrival = net.arrives(m, departure, me, to)
    w = m[AT_WAVES] + wave * WAVE
    packet = ACK if is_ack else m[w + KIND]
    tal.tell(m, rows, now, departure - now, out.SEND, me, wave, packet, to, 1 if packet == PUB else 0, 0)
    m[w + FLYING] += 1
    cal.push(m, arrival, to, me, 2 * wave + is_ack, head, tail)


@inlined
def expect(m: Block, w: int, me: int, parent: int, count: int) -> None:
    """An element of `acks`; a second one replaces the first."""
    if m[w + SLAB] == NONE:
        m[w + SLAB] = new_slab(m)
    at = m[w + SLAB] * m[net.NODES] + me
    if m[JOINS]:
        g = m[AT_GATHERED] + at * GATHER
        if m[m[AT_ACKS] + at] & SOME_ACKS:
            recycle(m, m[g + MEM_FIRST], m[g + MEM_LAST])
        m[g + MEM_FIRST], m[g + MEM_LAST], m[g + SEEN] = NONE, NONE, -1
    m[m[AT_ACKS] + at] = count | ((parent + 1) << FEW)


@inlined
def children(m: Block, p: int, me: int, kind: int, height: int) -> int:
    """CHILDREN, how many: of everybody for a SUB, else of the subscribers that I know of."""
    v = vws.row_of(m, (p - m[AT_PLACES]) // PLACE)
    if kind == SUB:
        v = m[vws.AT_VIEWS] + vws.EVERYBODY * m[vws.WIDE]
    count = 0
    for s in range(1, height + 1):
        one = vws.first(m, v, m[net.NODES], me, s)
        if one >= 0:
            m[m[AT_SOME] + count] = one
            count += 1
    return count


@inlined
def take_turn(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Lines 64-66 and 83-89 where nobody joins or leaves: those that wait do so until another one is delivered."""
    k = satisfied(m, p, me, wave, 0)
    if k < m[m[AT_WAVES] + wave * WAVE + BARRIER]:
        wait(m, p, wave, k)
        return
    deliver(m, rows, now, me, wave)
    take(m, me, wave)
    log(m, p + SAID, wave)
    check_delivery(m, rows, now, me, p)


@inlined
def await_turn(m: Block, p: int, wave: int) -> None:
    """Lines 64-66. A message that waits already keeps its place."""
    entry = m[p + FIRST_WAITING]
    while entry != NONE:
        if m[m[AT_WAITS] + entry * WAIT + MESSAGE] == wave:
            return
        entry = m[m[AT_WAITS] + entry * WAIT + BEHIND]
    wait(m, p, wave, 0)


@inlined
def wait(m: Block, p: int, wave: int, satisfied: int) -> None:
    """Behind the others; of its predecessors the first so many were delivered."""
    entry = m[FREE_WAIT]
    if entry == NONE:
        entry = m[USED_WAITS]
        m[USED_WAITS] += 1
    else:
        m[FREE_WAIT] = m[m[AT_WAITS] + entry * WAIT + BEHIND]
    one = m[AT_WAITS] + entry * WAIT
    m[one + MESSAGE], m[one + MISSING], m[one + LAPSE], m[one + BEHIND] = wave, satisfied, m[p + LAPSES], NONE
    if m[p + FIRST_WAITING] == NONE:
        m[p + FIRST_WAITING] = entry
    else:
        m[m[AT_WAITS] + m[p + LAST_WAITING] * WAIT + BEHIND] = entry
    m[p + LAST_WAITING] = entry
    m[p + WAITERS] += 1
    tal.waits(m, wave)


@compiled
def check_delivery(m: Block, rows: Block, now: int, me: int, p: int) -> None:
    """Lines 83-89: the first in the order of arrival that can be delivered, again and again."""
    before, entry = NONE, m[p + FIRST_WAITING]
    while entry != NONE:
        one = m[AT_WAITS] + entry * WAIT
        if not check_cb(m, p, me, one):
            before, entry = entry, m[one + BEHIND]
            continue
        wave = m[one + MESSAGE]
        if before == NONE:
            m[p + FIRST_WAITING] = m[one + BEHIND]
        else:
            m[m[AT_WAITS] + before * WAIT + BEHIND] = m[one + BEHIND]
        if m[p + LAST_WAITING] == entry:
            m[p + LAST_WAITING] = before
        m[p + WAITERS] -= 1
        m[one + BEHIND] = m[FREE_WAIT]
        m[FREE_WAIT] = entry
        deliver(m, rows, now, me, wave)
        tal.waits_no_more(m, wave)
        take(m, me, wave)
        if not m[FIXED]:
            w = m[AT_WAVES] + wave * WAVE
            of = known(m, p, column(m, w))
            if last_delvs(m, of) > m[w + SEQ]:
                lapse(m, p)
            set_last_delvs(m, of, m[w + SEQ])
        log(m, p + SAID, wave)
        before, entry = NONE, m[p + FIRST_WAITING]


@inlined
def check_cb(m: Block, p: int, me: int, one: int) -> bool:
    """Lines 90-94."""
    wave = m[one + MESSAGE]
    k = m[one + MISSING] if m[one + LAPSE] == m[p + LAPSES] else 0
    m[one + MISSING], m[one + LAPSE] = satisfied(m, p, me, wave, k), m[p + LAPSES]
    return m[one + MISSING] == m[m[AT_WAVES] + wave * WAVE + BARRIER]


@compiled
def satisfied(m: Block, p: int, me: int, wave: int, k: int) -> int:
    """How many predecessors of a message, from the first on, it need not wait for; `k` of them are known."""
    w = m[AT_WAVES] + wave * WAVE
    first, count = m[AT_NAMES] + m[w + FOLLOWS], m[w + BARRIER]
    if not m[ORDERED]:
        return count
    while k < count and (has_taken(m, p, me, m[first + k]) or not (m[FIXED] or lacks(m, p, m[first + k]))):
        k += 1
    return k


@inlined
def lacks(m: Block, p: int, wave: int) -> bool:
    """Line 92."""
    d = m[AT_WAVES] + wave * WAVE
    of = known(m, p, column(m, d))
    return last_delvs(m, of) < m[d + SEQ] and first_rec(m, of) <= m[d + SEQ]
