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

from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_WAVES, FLYING, TOPIC, WAVE
from trellis.sim.fast.jit import compiled, inlined, merged
from trellis.sim.fast.memory import NONE, Block, counter
from trellis.sim.fast.trees import slabs
from trellis.sim.fast.trees import vcube_answers as ans
from trellis.sim.fast.trees import vcube_arrivals as arr
from trellis.sim.fast.trees import vcube_changes as chg
from trellis.sim.fast.trees import vcube_ordering as odr
from trellis.sim.fast.trees import vcube_words as wrd
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.vcube_records import (
    ACK,
    CAME,
    COUNT,
    CROWD,
    HEIGHTS,
    IN,
    IN_ASKED,
    IN_HOLDERS,
    IN_PARCELS,
    IN_PENDINGS,
    IN_SAYINGS,
    IN_VECTORS,
    IN_VIEWS,
    IN_WAITS,
    KIND_BITS,
    KINDS,
    MOVES,
    OUT,
    PARCEL_SHIFT,
    PHASE,
    PUB,
    PUBLISHED,
    ROOM_ASKED,
    ROOM_HOLDERS,
    ROOM_PARCELS,
    ROOM_PENDINGS,
    ROOM_SAYINGS,
    ROOM_VECTORS,
    ROOM_WAITS,
    SAID,
    SLAB,
    SPEAKERS,
    TOLD,
    UNSETTLED,
    UNSPREAD,
    USED_ASKED,
    USED_HOLDERS,
    USED_PARCELS,
    USED_PENDINGS,
    USED_SAYINGS,
    USED_VECTORS,
    USED_WAITS,
    WAITERS,
    WANTED,
    WAVE_SHIFT,
    WAVES_MAX,
    WEIGHT,
    early,
    new_wave,
    opened,
    place,
)

AHEAD, SUM = counter(98), counter(99)  # up to which entry memory was asked; of what, so that it is not left out
FEW_AHEAD = 16


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off what is due until `due` events have happened, or something has no room."""
    while True:
        key = app.next_key(m, end, due)
        if key < 0:
            return -1 - key
        if not m[MOVES] and (m[cal.CURSOR] == 0 or m[cal.CURSOR] >= m[AHEAD]):
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
    first, total = m[cal.CURSOR], 0
    after = min(first + FEW_AHEAD, m[cal.COUNT])
    for e in range(m[cal.AT_DUE] + first * cal.ENTRY, m[cal.AT_DUE] + after * cal.ENTRY, cal.ENTRY):
        key, what = m[e + cal.KEY], m[e + cal.WHAT]
        if cal.peer_of(key) >= 0:
            wave, me = (what >> WAVE_SHIFT) & WAVES_MAX, cal.node_of(key)
            if what & KINDS == ACK:
                total += m[slabs.word_of(m, m[m[AT_WAVES] + wave * WAVE + SLAB], me)]
            elif m[tal.COUNTING]:
                total += tal.glance(m, wave, me)
    m[AHEAD], m[SUM] = after, total


@inlined
def lacking(m: Block, rows: Block, key: int) -> int:
    """Which table has too little room for whatever may come of one event; NONE if all have enough."""
    what, came = m[cal.entry(m, key) + cal.WHAT], 1
    if cal.peer_of(key) >= 0:
        w = m[AT_WAVES] + ((what >> WAVE_SHIFT) & WAVES_MAX) * WAVE
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
    if m[bar.USED_NAMES] + m[p + SAID + bar.LOGS] + 2 * m[p + UNSPREAD] + 1 > m[bar.ROOM_NAMES]:
        return bar.IN_NAMES
    short = tal.lacking(m, 1 + m[p + UNSPREAD], delivered + m[p + UNSPREAD])
    return lacking_for_changes(m, sent) if m[MOVES] and short == NONE else short


@inlined
def lacking_for_changes(m: Block, sent: int) -> int:
    if m[vws.USED] + 3 > m[vws.ROOM]:
        return IN_VIEWS
    if m[USED_HOLDERS] + 2 > m[ROOM_HOLDERS]:
        return IN_HOLDERS
    if (m[USED_VECTORS] + 4) * m[SPEAKERS] > m[ROOM_VECTORS]:
        return IN_VECTORS
    if m[USED_SAYINGS] + 2 > m[ROOM_SAYINGS]:
        return IN_SAYINGS
    if m[USED_PARCELS] + sent > m[ROOM_PARCELS]:
        return IN_PARCELS
    return NONE


@merged
def step(m: Block, rows: Block, key: int) -> None:
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[cal.entry(m, key) + cal.WHAT]
    if j < 0:
        a = m[app.AT_ACTIONS] + what * app.ACTION
        act(m, rows, now, me, a)
        chg.join_again(m, rows, now, me, place(m, m[a + app.ABOUT], me), m[a + app.ABOUT])
        return
    kind, height, wave = what & KINDS, (what >> KIND_BITS) & HEIGHTS, (what >> WAVE_SHIFT) & WAVES_MAX
    w = m[AT_WAVES] + wave * WAVE
    p = place(m, m[w + TOPIC], me)
    m[w + FLYING] -= 1
    tal.tell(m, rows, now, 0, out.RECEIVE, me, wave, kind, j, m[w + COUNT] if kind == PUB else 0, 0)
    if kind == PUB:
        arr.upon_pub(m, rows, now, me, p, wave, j, height)
    elif not m[MOVES]:
        ans.upon_ack_of_all(m, rows, now, me, p, wave)
    elif kind >= ACK:
        head, tail = opened(m, (what >> PARCEL_SHIFT) - 1)
        ans.upon_answer(m, rows, now, me, p, wave, j, height, kind, head, tail)
        chg.join_again(m, rows, now, me, p, m[w + TOPIC])
    else:
        chg.upon_change(m, rows, now, me, p, wave, j, height)
    if m[w + FLYING] == 0:
        if m[w + SLAB] != NONE:
            slabs.give_back(m, m[w + SLAB])
            m[w + SLAB] = NONE
        wrd.give_vector(m, m[w + TOLD])
        m[w + TOLD] = NONE
        tal.over(m, wave, m[w + COUNT])


@merged
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
            odr.stamp_and_spread(m, rows, now, me, p, wave)
        else:
            odr.keep_unspread(m, p, wave)
    elif does == app.JOIN:
        tal.tell(m, rows, now, 0, out.SUBSCRIBE, me, own, 0, -1, 0, 0)
        m[p + WANTED] = 1
        if m[p + PHASE] == OUT:
            chg.join(m, rows, now, me, p, topic)
    else:
        tal.tell(m, rows, now, 0, out.UNSUBSCRIBE, me, own, 0, -1, 0, 0)
        m[p + WANTED] = 0
        if m[p + PHASE] == IN:
            chg.leave(m, rows, now, me, p, topic)
