"""VCube-PS repaired, in a block of memory. Answers to protocols/overlays/vcube.py and those it is made of.

Assumes:  links that lose nothing; packets may overtake each other. Nothing fails, so nobody is out of reach or silent.

The orders are those of orderings/unordered.py and orderings/causal.py. What is kept otherwise than there, and why the
rows are the same:
- A wave of messages is named by its first one. A publisher's messages on a topic are one chain, so a wave is a part of
  it and needs no list of its own.
- The phase of a session and that of a membership change in the same steps, so they are one.
- A vector is a row of numbers, one for each node that publishes on the topic. What a node had of a topic when it left
  (`left`) and what it was told by others who left (`departed`) are one such row: the one becomes the other.
- Where nobody comes or goes, nobody refuses a subtree and each member is given each wave once. So there is neither
  `seen` nor a vector, and of a wave that was passed on there remains who asked and how many answers are missing.
- The barrier is not kept up with each delivery, but worked out when a node speaks (barriers.py).
- What is parked hangs at what its node has delivered of the source that it waits for, the last one first: as a stack is
  emptied.
- A wave under way keeps the view by which it is passed on, so whoever joins again meanwhile begins a new one (HOLDERS).
"""

from __future__ import annotations

from trellis.protocols.overlays.vcube_packets import WAVE_BYTES_MAX
from trellis.protocols.parts.view import GONE, MEMBER, NEWCOMER
from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import slabs
from trellis.sim.fast import tally as tal
from trellis.sim.fast import views as vws
from trellis.sim.fast.barriers import (
    AT_NAMES,
    AT_WAVES,
    BARRIER,
    FLYING,
    FOLLOWS,
    KIND,
    OWN,
    QUEUE,
    SEQ,
    SOURCE,
    TOPIC,
    WAVE,
)
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room

PACKETS = ["", "SUB", "CUT", "UNS", "PUB", "ACK", "GONE"]
SUB, CUT, UNS, PUB, ACK, REFUSE = range(1, len(PACKETS))
KIND_BITS, HEIGHT_BITS = 3, 5  # of what an entry of the calendar is about; the wave has the others
KINDS, HEIGHTS = (1 << KIND_BITS) - 1, (1 << HEIGHT_BITS) - 1
RANK_BITS = 2  # of what somebody says of itself; the version has the others
RANKS = (1 << RANK_BITS) - 1

PLACES = Table(12, 21)  # a node on a topic: topic * nodes + node
WANTED = 0
PUBLISHED, LAST_SAID = 1, 2  # how many of my messages, and the last one that was spread: a chain from the first on
FIRST_QUEUED = 3  # the first one that waits for the window
OUTSTANDING = 4  # my waves on their way
FIRST_UNSETTLED = 5  # the first of my waves that is not settled
UNSETTLED = 6  # how many of those have come back, before an earlier one
WAITERS = 7  # parked
COLUMN = 8  # of the node among those that publish on the topic
PHASE = 9
OUT, JOINING, CUTTING, IN, DRAINING, LEAVING = range(6)
VERSION = 10  # my membership changes so far
VIEW = 11  # the holder of mine
AGAIN = 12  # I left, and shall join at once
UNSPREAD, FIRST_UNSPREAD, LAST_UNSPREAD = 13, 14, 15  # published before I was in: how many, and a chain of messages
UNDER_WAY = 16  # waves that are passed on by my view
SAID = 17  # what a barrier is made of (barriers.py)
EARLY = Table(28, 3)  # per place: messages of others that came while I was joining: how many, and a chain
CAME, FIRST_CAME, LAST_CAME = 0, 1, 2
COUNT = OWN  # of a wave: messages, from this one on
SLAB = OWN + 1
RETURNED = OWN + 2
WEIGHT = OWN + 3  # of a message: bytes on a wire
FROM = OWN + 4  # the column of its source
TOLD = OWN + 5  # the vector of an UNS
KNOWN = Table(13, 1)  # per place, and node that publishes on its topic: the last number delivered, and what is parked
HALF = 32  # bits; the entry that was parked last stands above them, plus one
LOW = (1 << HALF) - 1
HAD = Table(20, 1)  # the same: departed, and what I had when I left
SEEN = Table(23, 1)  # the same: up to where all has come, and what came ahead of that
WAITS = Table(18, 3)  # messages that are parked, came early or came ahead, in chains
MESSAGE, MISSING, BEHIND = 0, 1, 2
IDS = Table(24, 1)  # per topic: bytes of an id on a wire
VECTORS = Table(16, 1)  # as many numbers for each as nodes that publish on one topic
SAYINGS = Table(25, 3)  # what members say of themselves, in chains
WHO, SAYS, AFTER = 0, 1, 2
PENDINGS = Table(26, 11)  # waves that somebody passed on, and that have not come back
NEXT, ASKER, HEIGHT, BY, AWAITING, SERVED, FIRST_ASKED, VECTOR, FIRST_SAYING, LAST_SAYING, ANSWERED = range(11)
ASKED = Table(27, 3)  # whom it asked, in chains
WHOM, OPEN, THEN = 0, 1, 2  # node and height, or -1; whether it has not answered

PARTS = [PLACES, EARLY, KNOWN, HAD, SEEN, WAITS, IDS, VECTORS, SAYINGS, PENDINGS, ASKED]
AT_PLACES, AT_EARLY, AT_KNOWN, AT_HAD, AT_SEEN, AT_WAITS, AT_IDS = (base(part.number) for part in PARTS[:7])
AT_VECTORS, AT_SAYINGS, AT_PENDINGS, AT_ASKED = (base(part.number) for part in PARTS[7:])
PLACE, WAIT, SAYING, PENDING, ASK = (part.width for part in (PLACES, WAITS, SAYINGS, PENDINGS, ASKED))
ROOM_WAITS, ROOM_VECTORS, ROOM_SAYINGS, ROOM_PENDINGS, ROOM_ASKED, ROOM_HOLDERS = (
    room(part.number) for part in (WAITS, VECTORS, SAYINGS, PENDINGS, ASKED, vws.HOLDERS)
)
IN_WAITS, IN_VECTORS, IN_SAYINGS, IN_PENDINGS, IN_ASKED, IN_HOLDERS, IN_VIEWS = 18, 16, 25, 26, 27, 8, 9
ORDERED, SPEAKERS, WINDOW, BATCH = (counter(n) for n in (20, 23, 37, 38))
MOVES = counter(34)  # whether anybody ever joins or leaves
CROWD = counter(46)  # the most newcomers that anybody ever knew
USED_HOLDERS = counter(45)
USED_WAITS, USED_VECTORS, USED_SAYINGS, USED_PENDINGS, USED_ASKED = (counter(n) for n in (28, 39, 26, 41, 43))
FREE_WAIT, FREE_VECTOR, FREE_SAYING, FREE_PENDING, FREE_ASKED = (counter(n) for n in (32, 40, 31, 42, 44))


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
        w = m[AT_WAVES] + (what >> (KIND_BITS + HEIGHT_BITS)) * WAVE
        topic, came = m[w + TOPIC], 1 + m[w + COUNT]
    else:
        topic = m[m[app.AT_ACTIONS] + what * app.ACTION + app.ABOUT]
    p = place(m, topic, cal.node_of(key))
    delivered = came + m[p + WAITERS] + m[early(m, p) + CAME]
    launched = 1 + m[p + UNSPREAD] + 2 * m[MOVES]
    sent = launched * (m[vws.DIMENSION] + 1 + m[CROWD])
    if not cal.has_room(m, sent + 1):
        return app.IN_CALENDAR
    if not out.has_room(rows, delivered + sent + m[p + UNSETTLED] + 4 * m[p + UNSPREAD] + 6):
        return app.IN_ROWS
    if m[bar.USED_WAVES] + 4 > m[bar.ROOM_WAVES]:
        return bar.IN_WAVES
    if not slabs.has_room(m, launched):
        return slabs.IN_ACKS
    if m[USED_WAITS] + came > m[ROOM_WAITS]:
        return IN_WAITS
    if m[USED_PENDINGS] + launched > m[ROOM_PENDINGS]:
        return IN_PENDINGS
    if m[USED_ASKED] + sent > m[ROOM_ASKED]:
        return IN_ASKED
    if m[bar.USED_LOGGED] + delivered + m[p + UNSPREAD] > m[bar.ROOM_LOGGED]:
        return bar.IN_LOGGED
    if m[bar.USED_NAMES] + m[p + SAID + bar.LOGS] + m[p + UNSPREAD] > m[bar.ROOM_NAMES]:
        return bar.IN_NAMES
    short = tal.lacking(m, 1 + m[p + UNSPREAD], delivered + m[p + UNSPREAD])
    return lacking_for_changes(m) if m[MOVES] and short == NONE else short


@inlined
def lacking_for_changes(m: Block) -> int:
    if m[vws.USED] + 3 > m[vws.ROOM]:
        return IN_VIEWS
    if m[USED_HOLDERS] + 2 > m[ROOM_HOLDERS]:
        return IN_HOLDERS
    if (m[USED_VECTORS] + 4) * m[SPEAKERS] > m[ROOM_VECTORS]:
        return IN_VECTORS
    if m[USED_SAYINGS] + 2 > m[ROOM_SAYINGS]:
        return IN_SAYINGS
    return NONE


@inlined
def place(m: Block, topic: int, node: int) -> int:
    return m[AT_PLACES] + (topic * m[net.NODES] + node) * PLACE


@inlined
def early(m: Block, p: int) -> int:
    return m[AT_EARLY] + (p - m[AT_PLACES]) // PLACE * EARLY.width


@inlined
def known(m: Block, p: int, column: int) -> int:
    return m[AT_KNOWN] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@inlined
def had(m: Block, p: int, column: int) -> int:
    return m[AT_HAD] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@inlined
def seen(m: Block, p: int, column: int) -> int:
    return m[AT_SEEN] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@inlined
def take(m: Block, used: int, free: int, at: int, width: int, link: int) -> int:
    """A record that was given back, or a new one."""
    found = m[free]
    if found == NONE:
        found = m[used]
        m[used] += 1
    else:
        m[free] = m[m[at] + found * width + link]
    return found


@inlined
def new_wait(m: Block, what: int) -> int:
    entry = take(m, USED_WAITS, FREE_WAIT, AT_WAITS, WAIT, BEHIND)
    m[m[AT_WAITS] + entry * WAIT + MESSAGE], m[m[AT_WAITS] + entry * WAIT + BEHIND] = what, NONE
    return entry


@inlined
def give_wait(m: Block, entry: int) -> None:
    m[m[AT_WAITS] + entry * WAIT + BEHIND] = m[FREE_WAIT]
    m[FREE_WAIT] = entry


@inlined
def new_wave(m: Block, me: int, p: int, topic: int, seq: int, kind: int) -> int:
    wave = bar.new_wave(m, me, topic, seq, kind)
    w = m[AT_WAVES] + wave * WAVE
    m[w + SLAB], m[w + TOLD], m[w + FROM] = NONE, NONE, m[p + COLUMN]
    return wave


@compiled
def step(m: Block, rows: Block, key: int) -> None:
    e = cal.entry(m, key)
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[e + cal.WHAT]
    if j < 0:
        a = m[app.AT_ACTIONS] + what * app.ACTION
        act(m, rows, now, me, a)
        join_again(m, rows, now, me, place(m, m[a + app.ABOUT], me), m[a + app.ABOUT])
        return
    kind, height, wave = what & KINDS, (what >> KIND_BITS) & HEIGHTS, what >> (KIND_BITS + HEIGHT_BITS)
    w = m[AT_WAVES] + wave * WAVE
    p = place(m, m[w + TOPIC], me)
    m[w + FLYING] -= 1
    tal.tell(m, rows, now, 0, out.RECEIVE, me, wave, kind, j, m[w + COUNT] if kind == PUB else 0, 0)
    if kind == PUB:
        upon_pub(m, rows, now, me, p, wave, j, height)
    elif not m[MOVES]:
        upon_ack_of_all(m, rows, now, me, p, wave)
    elif kind >= ACK:
        upon_answer(m, rows, now, me, p, wave, j, height, kind, m[e + cal.HEAD], m[e + cal.TAIL])
        join_again(m, rows, now, me, p, m[w + TOPIC])
    else:
        upon_change(m, rows, now, me, p, wave, j, height)
    if m[w + FLYING] == 0:
        if m[w + SLAB] != NONE:
            slabs.give_back(m, m[w + SLAB])
            m[w + SLAB] = NONE
        give_vector(m, m[w + TOLD])
        m[w + TOLD] = NONE
        tal.over(m, wave, m[w + COUNT])


@compiled
def send(
    m: Block, rows: Block, now: int, me: int, to: int, wave: int, kind: int, height: int, head: int, tail: int
) -> None:
    departure = net.leaves(m, now, me)
    arrival = net.arrives(m, departure, me, to)
    w = m[AT_WAVES] + wave * WAVE
    tal.tell(m, rows, now, departure - now, out.SEND, me, wave, kind, to, m[w + COUNT] if kind == PUB else 0, 0)
    m[w + FLYING] += 1
    cal.push(m, arrival, to, me, (((wave << HEIGHT_BITS) | height) << KIND_BITS) | kind, head, tail)


# Vectors


@inlined
def new_vector(m: Block) -> int:
    found = take(m, USED_VECTORS, FREE_VECTOR, AT_VECTORS, m[SPEAKERS], 0)
    for k in range(m[AT_VECTORS] + found * m[SPEAKERS], m[AT_VECTORS] + (found + 1) * m[SPEAKERS]):
        m[k] = 0
    return found


@inlined
def give_vector(m: Block, vector: int) -> None:
    if vector != NONE:
        m[m[AT_VECTORS] + vector * m[SPEAKERS]] = m[FREE_VECTOR]
        m[FREE_VECTOR] = vector


@compiled
def merge(m: Block, into: int, vector: int) -> None:
    """The maximum of each number, at an address."""
    if vector != NONE:
        v = m[AT_VECTORS] + vector * m[SPEAKERS]
        for k in range(m[SPEAKERS]):
            m[into + k] = max(m[into + k], m[v + k])


@compiled
def merge_knows(m: Block, p: int, vector: int) -> int:
    """`knows`: what I have delivered or skipped, now and before, and what those had who told me when they left."""
    if vector == NONE:
        vector = new_vector(m)
    v, mine, before = m[AT_VECTORS] + vector * m[SPEAKERS], known(m, p, 0), had(m, p, 0)
    for k in range(m[SPEAKERS]):
        m[v + k] = max(m[v + k], m[mine + k] & LOW, m[before + k])
    return vector


# Views (parts/view.py): beside the members, who is joining


@inlined
def crowd(m: Block, v: int) -> int:
    """Where a row says how many newcomers there are; then they follow, ascending."""
    return v + m[net.NODES] + (2 << m[vws.DIMENSION])


@compiled
def update(m: Block, holder: int, node: int, says: int) -> None:
    """UPDATE: the newer word of each node holds."""
    version, rank = says >> RANK_BITS, says & RANKS
    if version <= m[vws.row_of(m, holder) + node]:
        return
    v = vws.to_change(m, holder)
    m[v + node] = version
    vws.set_member(m, v, m[net.NODES], node, 1 if rank == MEMBER else 0)
    c = crowd(m, v)
    at = c + 1
    while at <= c + m[c] and m[at] < node:
        at += 1
    is_there = at <= c + m[c] and m[at] == node
    if rank == NEWCOMER and not is_there:
        m[c] += 1
        for k in range(c + m[c], at, -1):
            m[k] = m[k - 1]
        m[at] = node
        m[CROWD] = max(m[CROWD], m[c])
    elif rank != NEWCOMER and is_there:
        for k in range(at, c + m[c]):
            m[k] = m[k + 1]
        m[c] -= 1


@inlined
def says_of_me(m: Block, p: int) -> int:
    """`rank`: what I say of myself."""
    phase, rank = m[p + PHASE], MEMBER
    if phase == JOINING:
        rank = NEWCOMER
    elif phase in (OUT, LEAVING):
        rank = GONE
    return (m[p + VERSION] << RANK_BITS) | rank


# Waves (vcube_waves.py)


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
def give(m: Block, rows: Block, now: int, me: int, wave: int, pending: int, v: int, s: int) -> None:
    """Whoever takes my cluster s gets the wave, unless it was asked before: its first member, else every newcomer."""
    child = vws.first(m, v, m[net.NODES], me, s)
    if child >= 0:
        if find(m, pending, (child << HEIGHT_BITS) | (s - 1)) == NONE:
            ask(m, rows, now, me, wave, pending, child, s - 1)
    else:
        c = crowd(m, v)
        for k in range(c + 1, c + 1 + m[c]):
            if vws.cluster(me, m[k]) == s and find(m, pending, m[k] << HEIGHT_BITS) == NONE:
                ask(m, rows, now, me, wave, pending, m[k], 0)


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
        m[m[slabs.AT_ACKS] + m[w + SLAB] * m[net.NODES] + me] = count | ((asker + 1) << slabs.FEW)
    return count > 0


@compiled
def upon_ack_of_all(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """The answer to that. The height of a subtree follows from who asked."""
    a = m[slabs.AT_ACKS] + m[m[AT_WAVES] + wave * WAVE + SLAB] * m[net.NODES] + me
    m[a] -= 1
    if m[a] & slabs.SOME_ACKS:
        return
    asker = (m[a] >> slabs.FEW) - 1
    if asker == NONE:
        upon_pub_returned(m, rows, now, me, p, wave, 1)
        pump(m, rows, now, me, p)
    else:
        send(m, rows, now, me, asker, wave, ACK, vws.cluster(me, asker) - 1, NONE, 0)


@compiled
def tell_newcomers(m: Block, rows: Block, now: int, me: int, wave: int, pending: int, v: int) -> None:
    """`direct`: members on the way may not know them yet. None is a child of the tree at another height."""
    c = crowd(m, v)
    for k in range(c + 1, c + 1 + m[c]):
        if m[k] != me and find(m, pending, m[k] << HEIGHT_BITS) == NONE:
            ask(m, rows, now, me, wave, pending, m[k], 0)


@compiled
def upon_answer(
    m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int, kind: int, head: int, tail: int
) -> None:
    """`upon_ack`, `upon_answer` and `upon_refuse`. What comes with it is a vector, and a chain or a single word."""
    w = m[AT_WAVES] + wave * WAVE
    first = m[m[slabs.AT_ACKS] + m[w + SLAB] * m[net.NODES] + me] - 1
    pending = first
    while pending != NONE:
        q, entry = m[AT_PENDINGS] + pending * PENDING, find(m, pending, (j << HEIGHT_BITS) | height)
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
                    m[q + VECTOR] = new_vector(m)
                merge(m, m[AT_VECTORS] + m[q + VECTOR] * m[SPEAKERS], head)
            if kind == REFUSE:
                update(m, m[q + BY], j, tail)
                if height == vws.cluster(me, j) - 1:  # else it had a copy for itself alone
                    give(m, rows, now, me, wave, pending, vws.row_of(m, m[q + BY]), height + 1)
            else:
                m[q + SERVED] = 1
                gather(m, q, tail)
            if m[q + AWAITING] == 0:
                complete(m, rows, now, me, p, wave, pending)
        pending = behind
    give_vector(m, head)


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


@compiled
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
            answer(m, rows, now, me, p, wave, asker, height, vector, first, last)
    elif kind == PUB:
        upon_pub_returned(m, rows, now, me, p, wave, served)
        pump(m, rows, now, me, p)
        depart_if_drained(m, rows, now, me, p, m[w + TOPIC])
    elif kind == SUB:
        upon_sub_answered(m, rows, now, me, p, m[w + TOPIC], vector, first, last)
    elif kind == CUT:
        upon_cut_answered(m, rows, now, me, p, m[w + TOPIC], vector)
    else:
        give_vector(m, vector)
        upon_uns_answered(m, p)


# Publishing (vcube.py)


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
        m[m[AT_WAVES] + wave * WAVE + COUNT] = portion(m, p)
        m[p + FIRST_QUEUED] = after(m, wave)
        m[p + OUTSTANDING] += 1
        if not launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
            upon_pub_returned(m, rows, now, me, p, wave, 0)
            tal.over(m, wave, m[m[AT_WAVES] + wave * WAVE + COUNT])


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
def upon_pub_returned(m: Block, rows: Block, now: int, me: int, p: int, wave: int, served: int) -> None:
    """Line 31, without what comes of a free place in the window; and `settle_in_order`. What nobody else has, though
    there are others, is never settled.
    """
    m[p + OUTSTANDING] -= 1
    top = vws.row_of(m, m[p + VIEW]) + m[net.NODES]
    if not served and m[top + 1] > m[top + (1 << m[vws.DIMENSION]) + me]:
        return
    m[p + UNSETTLED] += 1
    m[m[AT_WAVES] + wave * WAVE + RETURNED] = 1
    one = m[p + FIRST_UNSETTLED]
    while one != NONE and m[m[AT_WAVES] + one * WAVE + RETURNED]:
        tal.tell(m, rows, now, 0, out.SETTLE, me, one, 0, -1, m[m[AT_WAVES] + one * WAVE + COUNT], 0)
        m[p + UNSETTLED] -= 1
        one = after(m, one)
    m[p + FIRST_UNSETTLED] = one


@inlined
def cannot_serve(m: Block, p: int, height: int) -> bool:
    phase = m[p + PHASE]
    return phase in (OUT, LEAVING) or (phase == JOINING and height > 0)


@compiled
def refuse(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int) -> None:
    """The messages of the wave, if it has any, are skipped."""
    send(m, rows, now, me, j, wave, REFUSE, height, merge_knows(m, p, NONE), says_of_me(m, p))
    one = wave
    for _ in range(m[m[AT_WAVES] + wave * WAVE + COUNT]):
        tal.tell(m, rows, now, 0, out.SKIP, me, one, 0, -1, 0, 0)
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]


@compiled
def upon_pub(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int) -> None:
    """Lines 40-53 and 62-68."""
    if cannot_serve(m, p, height):
        refuse(m, rows, now, me, p, wave, j, height)
        return
    if not launch(m, rows, now, me, p, wave, j, height):
        send(m, rows, now, me, j, wave, ACK, height, NONE, 0)
    one, is_early = wave, m[p + PHASE] == JOINING or m[p + PHASE] == CUTTING
    for _ in range(m[m[AT_WAVES] + wave * WAVE + COUNT]):
        if is_early:
            keep_for_later(m, p, one)
        else:
            take_or_skip(m, rows, now, me, p, one)
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]


@inlined
def keep_for_later(m: Block, p: int, wave: int) -> None:
    e, entry = early(m, p), new_wait(m, wave)
    if m[e + CAME] == 0:
        m[e + FIRST_CAME] = entry
    else:
        m[m[AT_WAITS] + m[e + LAST_CAME] * WAIT + BEHIND] = entry
    m[e + LAST_CAME] = entry
    m[e + CAME] += 1
    tal.waits(m, wave)


@compiled
def take_or_skip(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Unless it came before, or I am leaving."""
    if m[p + PHASE] == IN and (not m[MOVES] or see(m, p, wave)):
        upon_arrive(m, rows, now, me, p, wave)
    else:
        tal.tell(m, rows, now, 0, out.SKIP, me, wave, 0, -1, 0, 0)


@compiled
def see(m: Block, p: int, wave: int) -> bool:
    """`Seen.add` (parts/seen.py)."""
    w = m[AT_WAVES] + wave * WAVE
    of, seq = seen(m, p, m[w + FROM]), m[w + SEQ]
    upto, first = m[of] & LOW, (m[of] >> HALF) - 1
    if seq <= upto:
        return False
    entry = first
    while entry != NONE:
        if m[m[AT_WAITS] + entry * WAIT + MESSAGE] == seq:
            return False
        entry = m[m[AT_WAITS] + entry * WAIT + BEHIND]
    if seq > upto + 1:
        entry = new_wait(m, seq)
        m[m[AT_WAITS] + entry * WAIT + BEHIND] = first
        m[of] = ((entry + 1) << HALF) | upto
        return True
    upto = seq
    before, entry = NONE, first
    while entry != NONE:
        one = m[AT_WAITS] + entry * WAIT
        behind = m[one + BEHIND]
        if m[one + MESSAGE] != upto + 1:
            before, entry = entry, behind
            continue
        upto += 1
        if before == NONE:
            first = behind
        else:
            m[m[AT_WAITS] + before * WAIT + BEHIND] = behind
        give_wait(m, entry)
        before, entry = NONE, first
    m[of] = ((first + 1) << HALF) | upto
    return True


# Membership (vcube_changes.py)


@inlined
def change(m: Block, me: int, p: int, topic: int, phase: int, kind: int) -> int:
    """Enter a phase that others must hear of."""
    m[p + PHASE] = phase
    m[p + VERSION] += 1
    update(m, m[p + VIEW], me, says_of_me(m, p))
    return new_wave(m, me, p, topic, -m[p + VERSION], kind)


@inlined
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
    if not launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
        upon_sub_answered(m, rows, now, me, p, topic, NONE, NONE, NONE)


@compiled
def upon_sub_answered(
    m: Block, rows: Block, now: int, me: int, p: int, topic: int, vector: int, first: int, last: int
) -> None:
    """Everybody who takes part knows me now and I know them: ask what they have delivered."""
    entry = first
    while entry != NONE:
        one = m[AT_SAYINGS] + entry * SAYING
        update(m, m[p + VIEW], m[one + WHO], m[one + SAYS])
        entry = m[one + AFTER]
    if first != NONE:
        m[m[AT_SAYINGS] + last * SAYING + AFTER] = m[FREE_SAYING]
        m[FREE_SAYING] = first
    merge(m, had(m, p, 0), vector)
    give_vector(m, vector)
    wave = change(m, me, p, topic, CUTTING, CUT)
    if not launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
        upon_cut_answered(m, rows, now, me, p, topic, NONE)


@compiled
def upon_cut_answered(m: Block, rows: Block, now: int, me: int, p: int, topic: int, vector: int) -> None:
    """What nobody had delivered by then was published after everybody knew me: it will come to me. Then `enter`."""
    for k in range(m[SPEAKERS]):
        m[known(m, p, k)] = m[had(m, p, k)]
    merge(m, known(m, p, 0), vector)
    give_vector(m, vector)
    for k in range(m[SPEAKERS]):
        m[seen(m, p, k)] = m[known(m, p, k)]
    joined(m, rows, now, me, p, topic)
    e = early(m, p)
    entry, count, m[e + CAME] = m[e + FIRST_CAME], m[e + CAME], 0
    for _ in range(count):
        wave, behind = m[m[AT_WAITS] + entry * WAIT + MESSAGE], m[m[AT_WAITS] + entry * WAIT + BEHIND]
        give_wait(m, entry)
        take_or_skip(m, rows, now, me, p, wave)
        tal.waits_no_more(m, wave)
        entry = behind


@compiled
def leave(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    """I go on forwarding until my own messages are settled."""
    m[p + PHASE] = DRAINING
    depart_if_drained(m, rows, now, me, p, topic)


@compiled
def depart_if_drained(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    if m[p + PHASE] == DRAINING and m[p + FIRST_QUEUED] == NONE and not m[p + OUTSTANDING]:
        wave = change(m, me, p, topic, LEAVING, UNS)
        m[m[AT_WAVES] + wave * WAVE + TOLD] = merge_knows(m, p, NONE)
        if not launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
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


@compiled
def upon_change(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int) -> None:
    """Every node passes a SUB on, members the others; whoever takes part remembers what its source says of itself."""
    w = m[AT_WAVES] + wave * WAVE
    kind = m[w + KIND]
    if kind != SUB and cannot_serve(m, p, height):
        refuse(m, rows, now, me, p, wave, j, height)
        return
    if kind == UNS:
        merge(m, had(m, p, 0), m[w + TOLD])
    if m[p + PHASE] != OUT:
        rank = MEMBER
        if kind != CUT:
            rank = NEWCOMER if kind == SUB else GONE
        update(m, m[p + VIEW], m[w + SOURCE], (-m[w + SEQ] << RANK_BITS) | rank)
    if not launch(m, rows, now, me, p, wave, j, height):
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
    kind, says = m[m[AT_WAVES] + wave * WAVE + KIND], says_of_me(m, p)
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
        vector = merge_knows(m, p, vector)
    chain = ((head + 1) << HALF) | (tail + 1)
    send(m, rows, now, me, asker, wave, ACK, height, vector, chain)


# The ordering (layers.py, orderings/causal.py)


@compiled
def act(m: Block, rows: Block, now: int, me: int, a: int) -> None:
    """`upon_subscribe`, `upon_unsubscribe` and `upon_publish`."""
    topic, does = m[a + app.ABOUT], m[a + app.DOES]
    p, own = place(m, topic, me), out.own(m[app.TOPICS], me, topic)
    if (m[p + WANTED] != 0) == (does == app.JOIN):
        if does == app.SAY:
            m[p + SAID + bar.UNSAID] -= 1
        tal.tell(m, rows, now, 0, out.REFUSE, me, own, 0, -1, 0, 0)
    elif does == app.SAY:
        m[p + PUBLISHED] += 1
        wave = new_wave(m, me, p, topic, m[p + PUBLISHED], PUB)
        m[m[AT_WAVES] + wave * WAVE + WEIGHT] = m[a + app.BYTES]
        tal.tell(m, rows, now, 0, out.PUBLISH, me, wave, 0, -1, 0, 0)
        if m[p + PHASE] == IN:
            stamp_and_spread(m, rows, now, me, p, wave)
        else:
            keep_unspread(m, p, wave)
    elif does == app.JOIN:
        tal.tell(m, rows, now, 0, out.SUBSCRIBE, me, own, 0, -1, 0, 0)
        m[p + WANTED] = 1
        if m[p + PHASE] == OUT:
            join(m, rows, now, me, p, topic)
    else:
        tal.tell(m, rows, now, 0, out.UNSUBSCRIBE, me, own, 0, -1, 0, 0)
        m[p + WANTED] = 0
        if m[p + PHASE] == IN:
            leave(m, rows, now, me, p, topic)


@inlined
def keep_unspread(m: Block, p: int, wave: int) -> None:
    if m[p + UNSPREAD] == 0:
        m[p + FIRST_UNSPREAD] = wave
    else:
        m[m[AT_WAVES] + m[p + LAST_UNSPREAD] * WAVE + QUEUE] = wave
    m[p + LAST_UNSPREAD] = wave
    m[p + UNSPREAD] += 1


@compiled
def joined(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    m[p + PHASE] = IN
    if m[p + WANTED]:
        tal.tell(m, rows, now, 0, out.CONFIRM, me, out.own(m[app.TOPICS], me, topic), 0, -1, 0, 0)
    wave, count, m[p + UNSPREAD] = m[p + FIRST_UNSPREAD], m[p + UNSPREAD], 0
    for _ in range(count):
        w = m[AT_WAVES] + wave * WAVE
        behind, m[w + QUEUE] = m[w + QUEUE], NONE
        stamp_and_spread(m, rows, now, me, p, wave)
        wave = behind
    if not m[p + WANTED]:
        leave(m, rows, now, me, p, topic)


@compiled
def stamp_and_spread(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Stamp a message of mine, deliver it here and hand it down."""
    w = m[AT_WAVES] + wave * WAVE
    bar.follow(m, p + SAID, wave)
    m[w + WEIGHT] += m[m[AT_IDS] + m[w + TOPIC]] * (1 + m[w + BARRIER])
    tal.tell(m, rows, now, 0, out.SPREAD, me, wave, 0, -1, 0, m[w + BARRIER])
    m[p + SAID + bar.UNSAID] -= 1
    deliver_and_remember(m, rows, now, me, p, wave)
    spread(m, rows, now, me, p, wave)


@inlined
def deliver_and_remember(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    w = m[AT_WAVES] + wave * WAVE
    if m[ORDERED] or m[MOVES]:
        of = known(m, p, m[w + FROM])
        if m[w + SEQ] > m[of] & LOW:
            m[of] = (m[of] >> HALF << HALF) | m[w + SEQ]
    if m[p + WANTED]:
        tal.tell(m, rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
        app.listen(m, now, me, m[w + SOURCE])
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
        tal.waits(m, wave)
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
        give_wait(m, entry)
        m[p + WAITERS] -= 1
        deliver_and_remember(m, rows, now, me, p, wave)
        tal.waits_no_more(m, wave)
        free = freed(m, p, wave, free)


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
def park(m: Block, p: int, entry: int, lacks: int) -> None:
    """In front of what waits for something of the same source."""
    one, of = m[AT_WAITS] + entry * WAIT, known(m, p, m[m[AT_WAVES] + lacks * WAVE + FROM])
    m[one + MISSING], m[one + BEHIND] = lacks, (m[of] >> HALF) - 1
    m[of] = (m[of] & LOW) | ((entry + 1) << HALF)


@compiled
def freed(m: Block, p: int, wave: int, rest: int) -> int:
    """A message was delivered: what was parked on it, in front of the rest of what is free."""
    of = known(m, p, m[m[AT_WAVES] + wave * WAVE + FROM])
    entry, first, last, kept = (m[of] >> HALF) - 1, rest, NONE, NONE
    m[of] &= LOW
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
