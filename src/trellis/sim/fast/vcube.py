"""VCube-PS repaired, in a block of memory. Answers to protocols/overlays/vcube.py where nobody comes or goes.

Assumes:  links that lose nothing; packets may overtake each other.

The orders are those of orderings/unordered.py and orderings/causal.py. What is kept otherwise than there, and why the
rows are the same:
- A wave is named by its first message. A publisher's messages on a topic are one chain, so a wave is a part of it and
  needs no list of its own.
- Everybody has known all members since before the run: nobody refuses a subtree, and each member is given each wave
  once. So there is neither `seen` nor `asked`, the height of a subtree follows from who asked, and of a wave that was
  passed on there remains who asked and how many answers are missing (slabs.py).
- The barrier is not kept up with each delivery, but worked out when a node speaks (barriers.py).
- What a node has delivered is a row of numbers, one for each node that publishes on the topic. What is parked hangs
  there, too, at the source of what it waits for, the last one first: as a stack is emptied.
"""

from __future__ import annotations

from trellis.protocols.overlays.vcube_packets import WAVE_BYTES_MAX
from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import slabs
from trellis.sim.fast import views as vws
from trellis.sim.fast.barriers import AT_NAMES, AT_WAVES, BARRIER, FOLLOWS, OWN, QUEUE, SEQ, SOURCE, TOPIC, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room

PACKETS = ["", "PUB", "ACK"]
PUB, ACK = 1, 2

PLACES = Table(12, 13)  # a node on a topic: topic * nodes + node
WANTED = 0
PUBLISHED, LAST_SAID = 1, 2  # how many of my messages, and the last one: a chain from the first on
FIRST_QUEUED = 3  # the first one that waits for the window
OUTSTANDING = 4  # my waves on their way
FIRST_UNSETTLED = 5  # the first of my waves that is not settled
UNSETTLED = 6  # how many of those have come back, before an earlier one
WAITERS = 7  # parked
COLUMN = 8  # of the node among those that publish on the topic
SAID = 9  # what a barrier is made of (barriers.py)
COUNT = OWN  # of a wave: messages, from this one on
SLAB = OWN + 1
RETURNED = OWN + 2
WEIGHT = OWN + 3  # of a message: bytes on a wire
FROM = OWN + 4  # the column of its source
KNOWN = Table(13, 1)  # per place, and node that publishes on its topic: the last number delivered, and what is parked
HALF = 32  # bits; the entry that was parked last stands above them, plus one
LOW = (1 << HALF) - 1
WAITS = Table(18, 3)  # parked messages, in chains
MESSAGE, MISSING, BEHIND = 0, 1, 2
IDS = Table(24, 1)  # per topic: bytes of an id on a wire

AT_PLACES, AT_KNOWN, AT_WAITS, AT_IDS = (base(part.number) for part in (PLACES, KNOWN, WAITS, IDS))
PLACE, WAIT = PLACES.width, WAITS.width
ROOM_WAITS, IN_WAITS = room(WAITS.number), WAITS.number
ORDERED, SPEAKERS, USED_WAITS, FREE_WAIT = (counter(n) for n in (20, 23, 28, 32))
WINDOW, BATCH = counter(37), counter(38)


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off what is due until `due` events have happened, or something has no room."""
    while True:
        if m[cal.CURSOR] == m[cal.COUNT]:
            told = app.next_round(m, end, due)
            if told != NONE:
                return told
        while m[cal.CURSOR] < m[cal.COUNT]:
            key = cal.key(m)
            short = lacking(m, rows, key)
            if short != NONE:
                m[app.LACKING] = short
                return app.GROW
            m[cal.CURSOR] += 1
            step(m, rows, key)


@inlined
def lacking(m: Block, rows: Block, key: int) -> int:
    """Which table has too little room for whatever may come of one event; NONE if all have enough."""
    what, came = m[cal.entry(m, key) + cal.WHAT], 1
    if cal.peer_of(key) >= 0:
        w = m[AT_WAVES] + (what >> 1) * WAVE
        topic, came = m[w + TOPIC], m[w + COUNT]
    else:
        topic = m[m[app.AT_ACTIONS] + what * app.ACTION + app.ABOUT]
    p = place(m, topic, cal.node_of(key))
    delivered, sent = came + m[p + WAITERS], m[vws.DIMENSION] + 1
    if not cal.has_room(m, sent + 1):
        return app.IN_CALENDAR
    if not out.has_room(rows, delivered + sent + m[p + UNSETTLED] + 4):
        return app.IN_ROWS
    if m[bar.USED_WAVES] == m[bar.ROOM_WAVES]:
        return bar.IN_WAVES
    if not slabs.has_room(m, 1):
        return slabs.IN_ACKS
    if m[USED_WAITS] + came > m[ROOM_WAITS]:
        return IN_WAITS
    if m[bar.USED_LOGGED] + delivered > m[bar.ROOM_LOGGED]:
        return bar.IN_LOGGED
    if m[bar.USED_NAMES] + m[p + SAID + bar.LOGS] > m[bar.ROOM_NAMES]:
        return bar.IN_NAMES
    return NONE


@inlined
def place(m: Block, topic: int, node: int) -> int:
    return m[AT_PLACES] + (topic * m[net.NODES] + node) * PLACE


@compiled
def step(m: Block, rows: Block, key: int) -> None:
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[cal.entry(m, key) + cal.WHAT]
    if j < 0:
        act(m, rows, now, me, m[app.AT_ACTIONS] + what * app.ACTION)
        return
    wave, is_ack = what >> 1, what & 1
    w = m[AT_WAVES] + wave * WAVE
    p = place(m, m[w + TOPIC], me)
    if is_ack:
        out.write(rows, now, 0, out.RECEIVE, me, wave, ACK, j, 0, 0)
        upon_ack(m, rows, now, me, p, wave)
    else:
        out.write(rows, now, 0, out.RECEIVE, me, wave, PUB, j, m[w + COUNT], 0)
        upon_pub(m, rows, now, me, p, wave, j)


@inlined
def send(m: Block, rows: Block, now: int, me: int, to: int, wave: int, is_ack: int) -> None:
    departure = net.leaves(m, now, me)
    arrival = net.arrives(m, departure, me, to)
    count = 0 if is_ack else m[m[AT_WAVES] + wave * WAVE + COUNT]
    out.write(rows, now, departure - now, out.SEND, me, wave, PUB + is_ack, to, count, 0)
    cal.push(m, arrival, to, me, 2 * wave + is_ack, 0, 0)


# The overlay: publishing


@compiled
def spread(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Behind my others, and as much of them into waves as the window allows."""
    if m[p + FIRST_QUEUED] == NONE:
        m[p + FIRST_QUEUED] = wave
    if m[p + FIRST_UNSETTLED] == NONE:
        m[p + FIRST_UNSETTLED] = wave
    if m[p + LAST_SAID] != NONE:
        m[m[AT_WAVES] + m[p + LAST_SAID] * WAVE + QUEUE] = wave
    m[p + LAST_SAID] = wave
    pump(m, rows, now, me, p)


@compiled
def pump(m: Block, rows: Block, now: int, me: int, p: int) -> None:
    """Task START_MSG_PROPAGATION: as many waves as the window allows, as many messages as a wave allows."""
    while m[p + FIRST_QUEUED] != NONE and m[p + OUTSTANDING] < m[WINDOW]:
        wave = m[p + FIRST_QUEUED]
        w = m[AT_WAVES] + wave * WAVE
        m[w + COUNT] = portion(m, p)
        m[p + FIRST_QUEUED] = after(m, wave)
        m[p + OUTSTANDING] += 1
        m[w + SLAB] = slabs.new_slab(m)
        if not launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
            upon_pub_returned(m, rows, now, me, p, wave)


@inlined
def portion(m: Block, p: int) -> int:
    """How many messages go out as one wave: at least one, else not above the bounds."""
    one, count, size = m[p + FIRST_QUEUED], 0, 0
    while one != NONE:
        size += m[m[AT_WAVES] + one * WAVE + WEIGHT]
        if count and (count == m[BATCH] or size > WAVE_BYTES_MAX):
            break
        count += 1
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]
    return count


@inlined
def after(m: Block, wave: int) -> int:
    """The message behind those of a wave, or NONE."""
    one = wave
    for _ in range(m[m[AT_WAVES] + wave * WAVE + COUNT]):
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]
    return one


@compiled
def upon_pub_returned(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Line 31, without what comes of a free place in the window; and `settle_in_order`."""
    w = m[AT_WAVES] + wave * WAVE
    m[p + OUTSTANDING] -= 1
    m[p + UNSETTLED] += 1
    m[w + RETURNED] = 1
    slabs.give_back(m, m[w + SLAB])
    one = m[p + FIRST_UNSETTLED]
    while one != NONE and m[m[AT_WAVES] + one * WAVE + RETURNED]:
        out.write(rows, now, 0, out.SETTLE, me, one, 0, -1, m[m[AT_WAVES] + one * WAVE + COUNT], 0)
        m[p + UNSETTLED] -= 1
        one = after(m, one)
    m[p + FIRST_UNSETTLED] = one


# The overlay: waves


@compiled
def launch(m: Block, rows: Block, now: int, me: int, p: int, wave: int, asker: int, height: int) -> bool:
    """Pass a wave on; whether there is anybody to pass it to."""
    v, count = vws.row_of(m, (p - m[AT_PLACES]) // PLACE), 0
    for s in range(1, height + 1):
        child = vws.first(m, v, m[net.NODES], me, s)
        if child >= 0:
            send(m, rows, now, me, child, wave, 0)
            count += 1
    if count:
        slab = m[m[AT_WAVES] + wave * WAVE + SLAB]
        m[m[slabs.AT_ACKS] + slab * m[net.NODES] + me] = count | ((asker + 1) << slabs.FEW)
    return count > 0


@compiled
def upon_pub(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int) -> None:
    """Lines 40-53 and 62-68."""
    if not launch(m, rows, now, me, p, wave, j, vws.cluster(me, j) - 1):
        send(m, rows, now, me, j, wave, 1)
    one = wave
    for _ in range(m[m[AT_WAVES] + wave * WAVE + COUNT]):
        upon_arrive(m, rows, now, me, p, one)
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]


@compiled
def upon_ack(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Lines 55-61."""
    a = m[slabs.AT_ACKS] + m[m[AT_WAVES] + wave * WAVE + SLAB] * m[net.NODES] + me
    m[a] -= 1
    if m[a] & slabs.SOME_ACKS:
        return
    asker = (m[a] >> slabs.FEW) - 1
    if asker == NONE:
        upon_pub_returned(m, rows, now, me, p, wave)
        pump(m, rows, now, me, p)
    else:
        send(m, rows, now, me, asker, wave, 1)


# The ordering (layers.py, orderings/causal.py)


@compiled
def act(m: Block, rows: Block, now: int, me: int, a: int) -> None:
    """`upon_publish`: stamp a message of mine, deliver it here and hand it down."""
    topic = m[a + app.ABOUT]
    p = place(m, topic, me)
    if not m[p + WANTED]:
        m[p + SAID + bar.UNSAID] -= 1
        out.write(rows, now, 0, out.REFUSE, me, out.own(m[app.TOPICS], me, topic), 0, -1, 0, 0)
        return
    m[p + PUBLISHED] += 1
    wave = bar.new_wave(m, me, topic, m[p + PUBLISHED], PUB)
    out.write(rows, now, 0, out.PUBLISH, me, wave, 0, -1, 0, 0)
    w = m[AT_WAVES] + wave * WAVE
    bar.follow(m, p + SAID, wave)
    m[w + FROM] = m[p + COLUMN]
    m[w + WEIGHT] = m[a + app.BYTES] + m[m[AT_IDS] + topic] * (1 + m[w + BARRIER])
    out.write(rows, now, 0, out.SPREAD, me, wave, 0, -1, 0, m[w + BARRIER])
    m[p + SAID + bar.UNSAID] -= 1
    deliver_and_remember(m, rows, now, me, p, wave)
    spread(m, rows, now, me, p, wave)


@inlined
def deliver_and_remember(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    out.write(rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
    app.listen(m, now, me, m[m[AT_WAVES] + wave * WAVE + SOURCE])
    bar.log(m, p + SAID, wave)


@inlined
def upon_arrive(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Deliver it, or park it on what is missing. Without order nothing is."""
    if not m[ORDERED]:
        deliver_and_remember(m, rows, now, me, p, wave)
        return
    lacks = missing(m, p, me, wave)
    if lacks != NONE:
        park(m, p, new_wait(m, wave), lacks)
        m[p + WAITERS] += 1
        return
    deliver_and_remember(m, rows, now, me, p, wave)
    free = freed(m, p, wave, NONE)
    if free != NONE:
        deliver_ready(m, rows, now, me, p, free)


@compiled
def deliver_ready(m: Block, rows: Block, now: int, me: int, p: int, free: int) -> None:
    """One delivery can free others."""
    while free != NONE:
        entry = free
        one = m[AT_WAITS] + entry * WAIT
        wave, free = m[one + MESSAGE], m[one + BEHIND]
        lacks = missing(m, p, me, wave)
        if lacks != NONE:
            park(m, p, entry, lacks)
            continue
        m[one + BEHIND] = m[FREE_WAIT]
        m[FREE_WAIT] = entry
        m[p + WAITERS] -= 1
        deliver_and_remember(m, rows, now, me, p, wave)
        free = freed(m, p, wave, free)


@inlined
def known(m: Block, p: int, column: int) -> int:
    return m[AT_KNOWN] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@compiled
def missing(m: Block, p: int, me: int, wave: int) -> int:
    """CHECKCB: the first predecessor, by source and number, that I have not delivered. What I published I delivered."""
    w, found, source, seq = m[AT_WAVES] + wave * WAVE, NONE, 0, 0
    for k in range(m[AT_NAMES] + m[w + FOLLOWS], m[AT_NAMES] + m[w + FOLLOWS] + m[w + BARRIER]):
        d = m[AT_WAVES] + m[k] * WAVE
        if m[d + SOURCE] == me or m[known(m, p, m[d + FROM])] & LOW >= m[d + SEQ]:
            continue
        if found == NONE or m[d + SOURCE] < source or (m[d + SOURCE] == source and m[d + SEQ] < seq):
            found, source, seq = m[k], m[d + SOURCE], m[d + SEQ]
    return found


@inlined
def new_wait(m: Block, wave: int) -> int:
    entry = m[FREE_WAIT]
    if entry == NONE:
        entry = m[USED_WAITS]
        m[USED_WAITS] += 1
    else:
        m[FREE_WAIT] = m[m[AT_WAITS] + entry * WAIT + BEHIND]
    m[m[AT_WAITS] + entry * WAIT + MESSAGE] = wave
    return entry


@inlined
def park(m: Block, p: int, entry: int, lacks: int) -> None:
    """In front of what waits for something of the same source."""
    one, of = m[AT_WAITS] + entry * WAIT, known(m, p, m[m[AT_WAVES] + lacks * WAVE + FROM])
    m[one + MISSING], m[one + BEHIND] = lacks, (m[of] >> HALF) - 1
    m[of] = (m[of] & LOW) | ((entry + 1) << HALF)


@compiled
def freed(m: Block, p: int, wave: int, rest: int) -> int:
    """A message was delivered: what was parked on it, in front of the rest of what is free."""
    w = m[AT_WAVES] + wave * WAVE
    of = known(m, p, m[w + FROM])
    entry, first, last, kept = (m[of] >> HALF) - 1, rest, NONE, NONE
    m[of] = max(m[of] & LOW, m[w + SEQ])
    while entry != NONE:
        one = m[AT_WAITS] + entry * WAIT
        behind = m[one + BEHIND]
        if m[one + MISSING] == wave:
            m[one + BEHIND] = rest
            if last == NONE:
                first = entry
            else:
                m[m[AT_WAITS] + last * WAIT + BEHIND] = entry
            last = entry
        else:
            m[one + BEHIND] = NONE
            if kept == NONE:
                m[of] |= (entry + 1) << HALF
            else:
                m[m[AT_WAITS] + kept * WAIT + BEHIND] = entry
            kept = entry
        entry = behind
    return first
