"""Searches of daMulticast compiled: a process says now and then that it is there. Answers to
overlays/damulticast_search.py and parts/directory.py.

Promises: the same answers, where nobody joins: then a search goes no further than to those who remember the topic, and
          whoever waits for members of one above need not be remembered.
"""

from __future__ import annotations

import numpy as np

from trellis.protocols.overlays.damulticast_search import TRIES
from trellis.protocols.parts.directory import LISTED
from trellis.protocols.parts.directory import PLACES as REMEMBER
from trellis.sim.fast.gossips import company as com
from trellis.sim.fast.gossips import damulticast_packets as say
from trellis.sim.fast.gossips import gossip as gsp
from trellis.sim.fast.jit import compiled, go_on, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter

LISTS = Table(25, 1 + 2 * (LISTED + 1))  # per topic and node that remembers it: how many; who, and when it spoke
ASKED = Table(15, 1)  # per node, searched topic and place: how often it was asked, or -1
AT_LISTS, AT_ASKED = base(LISTS.number), base(ASKED.number)
LIST = LISTS.width
LEVELS, LISTINGS = counter(31), counter(47)  # how far above is searched; draws as far as the seed goes


@inlined
def asked(m: Block, me: int, level: int, place: int) -> int:
    return m[AT_ASKED] + (me * (m[LEVELS] + 1) + level) * REMEMBER + place


@inlined
def level_of(m: Block, topic: int, wanted: int) -> int:
    """How far above its own a process looks."""
    level = 0
    while topic != wanted:
        topic = m[com.circle(m, topic) + com.UP]
        level += 1
    return level


@compiled
def refresh(m: Block, rows: Block, me: int) -> None:
    """Tell those who remember my topic, and those above it up to the group that I know, that I am still there."""
    topic = m[com.home(m, me) + com.TOPIC]
    wanted, level = topic, 0
    while wanted != NONE:
        look(m, rows, me, wanted, level)
        if wanted == m[gsp.record(m, topic) + gsp.ABOVE]:
            return
        wanted, level = m[com.circle(m, wanted) + com.UP], level + 1


@compiled
def look(m: Block, rows: Block, me: int, wanted: int, level: int) -> None:
    for k in range(REMEMBER):
        if m[com.circle(m, wanted) + com.PLACES + k] != NONE:
            m[asked(m, me, level, k)] = 0
            m[com.home(m, me) + com.UNANSWERED] += 1
    for k in range(REMEMBER):
        if m[asked(m, me, level, k)] >= 0:
            ask_place(m, rows, me, wanted, m[com.circle(m, wanted) + com.PLACES + k])


@compiled
def ask_place(m: Block, rows: Block, me: int, wanted: int, place: int) -> None:
    topic = m[com.home(m, me) + com.TOPIC]
    if place == me:
        upon_search(m, rows, me, me, topic, wanted)
        return
    p = say.new_packet(m)
    m[p + say.ABOUT], m[p + say.WANTED] = topic, wanted
    say.send(m, rows, me, place, say.SEARCH, p + 2)


@compiled
def ask_again(m: Block, rows: Block, me: int) -> None:
    """What was not answered, unless it was asked too often."""
    h = com.home(m, me)
    wanted = m[h + com.TOPIC]
    for level in range(m[LEVELS] + 1):
        for k in range(REMEMBER):
            at = asked(m, me, level, k)
            if m[at] >= 0:
                m[at] += 1
                if m[at] > TRIES:
                    m[at] = NONE
                    m[h + com.UNANSWERED] -= 1
                else:
                    ask_place(m, rows, me, wanted, m[com.circle(m, wanted) + com.PLACES + k])
        wanted = m[com.circle(m, wanted) + com.UP]
        if wanted == NONE:
            return


@inlined
def list_of(m: Block, topic: int, me: int) -> int:
    """What I remember of a topic; I am one of those who do."""
    k = 0
    while m[com.circle(m, topic) + com.PLACES + k] != me:
        k += 1
    return m[AT_LISTS] + (topic * REMEMBER + k) * LIST


@inlined
def enrol(m: Block, s: int, node: int, now: int) -> None:
    """The latest last; of too many the first goes."""
    count, k = m[s], 0
    while k < count and m[s + 1 + 2 * k] != node:
        k += 1
    if k == count:
        count += 1
    for n in range(k, count - 1):
        m[s + 1 + 2 * n], m[s + 2 + 2 * n] = m[s + 3 + 2 * n], m[s + 4 + 2 * n]
    m[s + 2 * count - 1], m[s + 2 * count] = node, now
    if count > LISTED:
        count -= 1
        for n in range(count):
            m[s + 1 + 2 * n], m[s + 2 + 2 * n] = m[s + 3 + 2 * n], m[s + 4 + 2 * n]
    m[s] = count


@compiled
def upon_search(m: Block, rows: Block, me: int, asker: int, group: int, wanted: int) -> None:
    s = list_of(m, wanted, me)
    if wanted == group:
        enrol(m, s, asker, m[com.ROUND])
    p = say.new_packet(m)
    m[p + say.ABOUT], m[p + say.WANTED] = group, wanted
    after = known_members(m, me, asker, wanted, s, p + say.MEMBERS)
    if asker == me:
        upon_found(m, me, me, p)
    else:
        say.send(m, rows, me, asker, say.FOUND, after)


@compiled
def known_members(m: Block, me: int, asker: int, wanted: int, s: int, e: int) -> int:
    """Whom I remember, then myself and my luckiest fellows, if I am one of them; each once, but not the asker."""
    h, count = com.home(m, me), 0
    mine = m[h + com.TOPIC] == wanted and asker != me
    for k in range(m[s]):
        node, at = m[s + 1 + 2 * k], m[s + 2 + 2 * k]
        if node != asker and at >= m[com.ROUND] - m[com.LIMIT]:
            m[e + 1 + 2 * count], m[e + 2 + 2 * count] = node, 0 if mine and node == me else m[com.ROUND] - at
            count += 1
    if mine:
        count = put_once(m, e, count, me, 0)
        at, known = com.fellows(m, me), m[h + com.KNOWN]
        com.sort(m, at, at + 2 * m[com.MOST], known)
        for n in range(min(LISTED, known)):
            k = m[m[com.AT_ORDER] + n]
            if m[at + k] != asker:
                count = put_once(m, e, count, m[at + k], m[com.ROUND] + 1 - m[at + m[com.MOST] + k])
    m[e] = count
    return e + 1 + 2 * count


@inlined
def put_once(m: Block, e: int, count: int, node: int, age: int) -> int:
    for k in range(count):
        if m[e + 1 + 2 * k] == node:
            return count
    m[e + 1 + 2 * count], m[e + 2 + 2 * count] = node, age
    return count + 1


@compiled
def upon_found(m: Block, me: int, j: int, p: int) -> None:
    h, topic, wanted = com.home(m, me), m[p + say.ABOUT], m[p + say.WANTED]
    if wanted == topic:
        say.hear_all(m, me, p + say.MEMBERS)
    elif wanted == m[gsp.record(m, topic) + gsp.ABOVE]:
        say.hear_all_above(m, me, p + say.MEMBERS)
    level = level_of(m, topic, wanted)
    for k in range(REMEMBER):
        at = asked(m, me, level, k)
        if m[com.circle(m, wanted) + com.PLACES + k] == j and m[at] >= 0:
            m[at] = NONE
            m[h + com.UNANSWERED] -= 1


@compiled
def remember(m: Block, topic: int) -> None:
    """Some of a group, by those who remember it, before the run (`Beginning.remember`)."""
    g = gsp.record(m, topic)
    for k in range(REMEMBER):
        me = m[com.circle(m, topic) + com.PLACES + k]
        if me != NONE:
            word = go_on(go_on(np.uint64(m[LISTINGS]), me), m[g + gsp.KEY])
            first = m[gsp.AT_MEMBERS] + m[g + gsp.FIRST]
            for n in range(gsp.few(m, first, m[g + gsp.SIZE], LISTED, NONE, word)):
                enrol(m, list_of(m, topic, me), m[m[gsp.AT_PICKED] + n], 0)
