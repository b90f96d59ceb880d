"""Gossip compiled. Answers to overlays/gossip.py and damulticast_printed.py below orderings/unordered.py, and to the
losses and the stillborn of sim/cycles.py.

Promises: the same rows. All four overlays are one kernel: what a *group* is, and who is in it, stands in its record.

What is kept otherwise than there, and why the rows are the same:
- No tables: whom a process knows is a function of the seed, of itself and of the group. It is drawn anew each time,
  which takes as long as to look it up.
- What a process has passed on, and whether it has delivered it, are bits of one number for each message and process:
  a message goes from its topic's group to the one above and so on, so that its groups are counted, the first being 0.
  The numbers of a message are given back when none of its packets is on its way: then it never comes again.
- What decides with a chance is compared as a whole number with 53 bits: from which one on it does not hold was found
  with the reference's own arithmetic (gossiping.py).
- All messages are numbered one by one, and nobody joins or leaves: of a session there remains whether the application
  wants the topic by itself or by one above, and whether it was told so.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast.jit import compiled, go_on, inlined, merged
from trellis.sim.fast.memory import NONE, Block, Table, base, counter
from trellis.sim.fast.trees import slabs

PACKETS = ["", "GOSSIP"]
GOSSIP = 1

PLACES = Table(12, 3)  # a node on a topic: topic * nodes + node
WANTS, INHERITED, PUBLISHED = 0, 1, 2  # wants: how; whether a row says that it has the topic by one above; messages
NOT, BY_ONE_ABOVE, ITSELF = 0, 1, 2

GROUPS = Table(13, 7)
FIRST, SIZE, KEY = 0, 1, 2  # its members, ascending; its name as part of a draw's key
FANOUT, MORE_FROM = 3, 4  # how many of it a process knows; one more, from this number on
ABOVE, SILENT_FROM = 5, 6  # the next group that somebody is in, or -1; from this number on a process does not tell it
MEMBERS = Table(16, 1)
NAMED = Table(18, 1)  # per topic: its name as part of a draw's key
MARKS = Table(20, 1)  # for draws from a group
PICKED = Table(23, 1)  # what was drawn
DEAD = Table(26, 1)  # per node

SLAB, FLYING, LUCK = bar.OWN, bar.OWN + 1, bar.OWN + 2  # of a message: its bits; packets on their way; for draws

AT_PLACES, AT_GROUPS, AT_MEMBERS, AT_NAMED, AT_MARKS, AT_PICKED, AT_DEAD = (
    base(part.number) for part in (PLACES, GROUPS, MEMBERS, NAMED, MARKS, PICKED, DEAD)
)
PLACE, GROUP = PLACES.width, GROUPS.width
STAMP, KNOWN_ABOVE, UNTOLD_FROM, LOSES, ARRIVES_FROM = (counter(n) for n in range(37, 42))
TABLE, FANOUTS, SUPERTABLE, CHANCE, CHANNEL = (counter(n) for n in range(42, 47))  # draws as far as the seed goes
BEGINS = counter(47)  # where a message begins: in the group of its topic, in that of all, or in one of so many
BY_TOPIC, WITH_ALL = 0, 1
ELEVEN = np.uint64(11)
GROUP_BITS, LEVEL_BITS = 26, 6  # of what an entry of the calendar is about; the message has the others
GROUPS_MAX, LEVELS_MAX = (1 << GROUP_BITS) - 1, (1 << LEVEL_BITS) - 1


@compiled
def work(m: Block, rows: Block, end: int, due: int) -> int:
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
    e, me = cal.entry(m, key), cal.node_of(key)
    if cal.peer_of(key) < 0:
        if m[bar.USED_WAVES] == m[bar.ROOM_WAVES]:
            return bar.IN_WAVES
        if not slabs.has_room(m, 1):
            return slabs.IN_ACKS
        group = first_group(m, m[m[app.AT_ACTIONS] + m[e + cal.WHAT] * app.ACTION + app.ABOUT], me)
    else:
        wave, group, level = unpacked(m[e + cal.WHAT])
        if m[bits(m, wave, me)] & (2 << level):
            group = NONE
    sent = 1 if group == NONE else 1 + told_at_most(m, group)
    if not cal.has_room(m, sent):
        return app.IN_CALENDAR
    if not out.has_room(rows, sent + 4):
        return app.IN_ROWS
    return NONE


@inlined
def unpacked(what: int) -> tuple[int, int, int]:
    """What an entry of the calendar is about: the message, the group, and how far above the first one that is."""
    return what >> (GROUP_BITS + LEVEL_BITS), (what >> LEVEL_BITS) & GROUPS_MAX, what & LEVELS_MAX


@inlined
def told_at_most(m: Block, group: int) -> int:
    g = record(m, group)
    found = min(m[g + FANOUT] + 1, m[g + SIZE])
    if m[g + ABOVE] != NONE:
        found += min(m[KNOWN_ABOVE], m[record(m, m[g + ABOVE]) + SIZE])
    if m[BEGINS] > WITH_ALL:
        every = record(m, m[BEGINS])
        found += min(m[every + FANOUT] + 1, m[every + SIZE])
    return found


@inlined
def record(m: Block, group: int) -> int:
    return m[AT_GROUPS] + group * GROUP


@inlined
def first_group(m: Block, topic: int, me: int) -> int:
    """`groups_for`."""
    if m[BEGINS] == BY_TOPIC:
        return topic
    return me % m[BEGINS]


@inlined
def bits(m: Block, wave: int, me: int) -> int:
    """Where it says what a process did with a message."""
    return m[slabs.AT_ACKS] + m[m[bar.AT_WAVES] + wave * bar.WAVE + SLAB] * m[net.NODES] + me


@merged
def step(m: Block, rows: Block, key: int) -> None:
    now, me, j, e = m[cal.NOW], cal.node_of(key), cal.peer_of(key), cal.entry(m, key)
    if j < 0:
        wave = say(m, rows, now, me, m[m[app.AT_ACTIONS] + m[e + cal.WHAT] * app.ACTION + app.ABOUT])
    else:
        wave, group, level = unpacked(m[e + cal.WHAT])
        m[m[bar.AT_WAVES] + wave * bar.WAVE + FLYING] -= 1
        out.write(rows, now, 0, out.RECEIVE, me, wave, GOSSIP, j, 1, 0)
        pass_on(m, rows, now, me, wave, group, level)
    w = m[bar.AT_WAVES] + wave * bar.WAVE
    if not m[w + FLYING]:
        slabs.give_back(m, m[w + SLAB])


@compiled
def say(m: Block, rows: Block, now: int, me: int, topic: int) -> int:
    """`upon_publish`: whoever speaks stands, so it is spread at once."""
    p = m[AT_PLACES] + (topic * m[net.NODES] + me) * PLACE
    m[p + PUBLISHED] += 1
    wave = bar.new_wave(m, me, topic, m[p + PUBLISHED], GOSSIP)
    w = m[bar.AT_WAVES] + wave * bar.WAVE
    m[w + SLAB], m[w + FLYING] = slabs.new_slab(m), 0
    luck = go_on(go_on(go_on(np.uint64(m[CHANCE]), me), 0), m[m[AT_NAMED] + topic])
    m[w + LUCK] = np.int64(go_on(luck, m[p + PUBLISHED]))
    out.write(rows, now, 0, out.PUBLISH, me, wave, 0, -1, 0, 0)
    out.write(rows, now, 0, out.SPREAD, me, wave, 0, -1, 0, 0)
    out.write(rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
    app.listen(m, now, me, me)
    pass_on(m, rows, now, me, wave, first_group(m, topic, me), 0)
    return wave


@compiled
def pass_on(m: Block, rows: Block, now: int, me: int, wave: int, group: int, level: int) -> None:
    """Infect, and die."""
    b = bits(m, wave, me)
    if m[b] & (2 << level):
        return
    m[b] |= 2 << level
    deliver_once(m, rows, now, me, wave, b)
    if m[record(m, group) + ABOVE] != NONE:
        tell_above(m, rows, now, me, wave, group, level)
    for k in range(draw_table(m, me, group, me)):
        send(m, rows, now, me, m[m[AT_PICKED] + k], wave, group, level)
    if m[BEGINS] > WITH_ALL:
        tell_others(m, rows, now, me, wave, group)


@inlined
def deliver_once(m: Block, rows: Block, now: int, me: int, wave: int, b: int) -> None:
    """Unless it is my own, or not for me, or came before by way of another group."""
    w = m[bar.AT_WAVES] + wave * bar.WAVE
    source, topic = m[w + bar.SOURCE], m[w + bar.TOPIC]
    p = m[AT_PLACES] + (topic * m[net.NODES] + me) * PLACE
    if source == me or m[p + WANTS] == NOT or m[b] & 1:
        return
    m[b] |= 1
    if m[p + WANTS] == BY_ONE_ABOVE and not m[p + INHERITED]:
        m[p + INHERITED] = 1
        out.write(rows, now, 0, out.INHERIT, me, out.own(m[app.TOPICS], me, topic), 0, -1, 0, 0)
    out.write(rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
    app.listen(m, now, me, source)


@compiled
def tell_above(m: Block, rows: Block, now: int, me: int, wave: int, group: int, level: int) -> None:
    """Section 4.3 (1): the supertopic table, if this process elects itself, and of it those that are drawn."""
    g = record(m, group)
    luck = go_on(go_on(np.uint64(m[m[bar.AT_WAVES] + wave * bar.WAVE + LUCK]), m[g + KEY]), me)
    if number(luck) >= m[g + SILENT_FROM]:
        return
    word = go_on(go_on(np.uint64(m[SUPERTABLE]), me), m[g + KEY])
    above = record(m, m[g + ABOVE])
    for k in range(few(m, m[AT_MEMBERS] + m[above + FIRST], m[above + SIZE], m[KNOWN_ABOVE], me, word)):
        peer = m[m[AT_PICKED] + k]
        if number(go_on(luck, 1 + peer)) < m[UNTOLD_FROM]:
            send(m, rows, now, me, peer, wave, m[g + ABOVE], level + 1)


@compiled
def tell_others(m: Block, rows: Block, now: int, me: int, wave: int, mine: int) -> None:
    """If this process was drawn to speak for its group: one process of some other groups."""
    g = record(m, mine)
    luck = go_on(np.uint64(m[m[bar.AT_WAVES] + wave * bar.WAVE + LUCK]), mine)
    if m[m[AT_MEMBERS] + m[g + FIRST] + np.int64(luck % np.uint64(m[g + SIZE]))] != me:
        return
    mine_luck = go_on(np.uint64(m[TABLE]), me)
    for k in range(draw_table(m, me, m[BEGINS], mine)):
        other = m[m[AT_PICKED] + k]
        inside = record(m, other)
        at = np.int64(go_on(mine_luck, other) % np.uint64(m[inside + SIZE]))
        send(m, rows, now, me, m[m[AT_MEMBERS] + m[inside + FIRST] + at], wave, other, 0)


@inlined
def draw_table(m: Block, me: int, group: int, but: int) -> int:
    """`table`: ln(S) + c others of a group."""
    g = record(m, group)
    luck = number(go_on(go_on(np.uint64(m[FANOUTS]), me), m[g + KEY]))
    count = m[g + FANOUT] + (1 if luck >= m[g + MORE_FROM] else 0)
    word = go_on(go_on(np.uint64(m[TABLE]), me), m[g + KEY])
    return few(m, m[AT_MEMBERS] + m[g + FIRST], m[g + SIZE], count, but, word)


@inlined
def number(word: np.uint64) -> np.int64:
    """What `draw.unit` makes a float of."""
    return np.int64(word >> ELEVEN)


@compiled
def few(m: Block, first: int, size: int, count: int, but: int, word: np.uint64) -> int:
    """`draw.few` of those from `first` on, with the key as far as it is drawn; what was found stands in `picked`."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if m[first + middle] < but:
            low = middle + 1
        else:
            high = middle
    hole = low
    if hole < size and m[first + hole] == but:
        size -= 1
    else:
        hole = size
    m[STAMP] += 1
    marks, picked, stamp = m[AT_MARKS], m[AT_PICKED], m[STAMP]
    found = 0
    for turn in range(max(0, size - count), size):
        drawn = np.int64(go_on(word, turn) % np.uint64(turn + 1))
        n = turn if m[marks + drawn] == stamp else drawn
        m[marks + n] = stamp
        m[picked + found] = m[first + n + (1 if n >= hole else 0)]
        found += 1
    return found


@inlined
def send(m: Block, rows: Block, now: int, me: int, to: int, wave: int, group: int, level: int) -> None:
    if m[LOSES] and is_lost(m, me, to):
        out.write(rows, now, 0, out.SEND, me, wave, GOSSIP, to, 1, 0)
        return
    departure = net.leaves(m, now, me)
    arrival = net.arrives(m, departure, me, to)
    out.write(rows, now, departure - now, out.SEND, me, wave, GOSSIP, to, 1, 0)
    cal.push(m, arrival, to, me, (((wave << GROUP_BITS) | group) << LEVEL_BITS) | level)
    m[m[bar.AT_WAVES] + wave * bar.WAVE + FLYING] += 1


@inlined
def is_lost(m: Block, me: int, to: int) -> bool:
    """A packet's luck goes by its number at its sender; one that is not lost has another one when it leaves."""
    q = m[net.AT_OUTGOING] + me * net.QUEUE
    m[q + net.SENT] += 1
    if m[m[AT_DEAD] + to]:
        return True
    return number(go_on(go_on(np.uint64(m[CHANNEL]), me), m[q + net.SENT])) < m[ARRIVES_FROM]
