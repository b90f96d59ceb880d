"""Whom a process of `damulticast` knows, in a block of memory. Answers to parts/company.py and to `Uplink` of
overlays/damulticast_group.py.

Promises: the same processes, heard of in the same rounds, as long as nobody joins anything twice or leaves it: then all
          lives of an entry are the same, and nobody is remembered for having left.

A roll is a run of nodes, ascending, then as many rounds in which they were heard of, lucks, and lucks that are common
to all. The size of a group, and with it how many a process tells, are worked out when somebody was met or forgotten.
"""

from __future__ import annotations

import numpy as np

from trellis.protocols.parts.company import ANCHORS
from trellis.sim.fast.gossips import gossip as gsp
from trellis.sim.fast.jit import compiled, go_on, inlined, ln
from trellis.sim.fast.memory import NONE, Block, Table, base, counter

HOMES = Table(27, 19)  # per node
TOPIC = 0  # whose group it is in, or -1
HAS, YOUNG, PASSED = 1, 2, 3  # messages, as bits: what it has, what of that is new since its last round, passed on
CHANGES, AGREED_ON = 4, 5  # of what it has; after how many of them somebody above had the same
KNOWN, KNOWN_ABOVE = 6, 7  # how many of its fellows, and of the group above
STALE, SIZE, FANOUT = 8, 9, 10  # whether the next two must be worked out anew
BOUNDED, LUCK_BOUND, COMMON_BOUND = 11, 12, 13  # whose luck is below neither of these is not kept
SHARE, MINE = 14, 15  # of one that it knows; its own luck that is common to all
KEY, KEY_ABOVE = 16, 17  # lucks of fellows, and of those above, as far as seed, process and group go
UNANSWERED = 18  # searches

CIRCLES = Table(31, 10 + ANCHORS + 1)  # per topic
LUCK_ANCHOR = 0  # of lucks that are common to all, as far as seed and group go
ROLL_ABOVE, BRANCH = 1, 2  # names of the roll of those above, and of the direct supertopic, as parts of draws' keys
UP = 3  # the direct supertopic, or -1
ITS_OWN, REACHED = 4, 5  # messages, as bits: those of the topic; and of those below it, too
PLACES = 6  # nodes that remember it, or -1
FIRST_ANCHOR = 10  # the fellows that everybody knows, or -1
FELLOWS, UPPERS = Table(28, 1), Table(29, 1)  # rolls, one for each node
ORDER = Table(30, 1)  # places of a roll in the order of some luck
AT_HOMES, AT_FELLOWS, AT_UPPERS, AT_ORDER, AT_CIRCLES = (
    base(part.number) for part in (HOMES, FELLOWS, UPPERS, ORDER, CIRCLES)
)
HOME, CIRCLE = HOMES.width, CIRCLES.width
MOST, MOST_ABOVE, C, Z, LIMIT, ROUND = (counter(n) for n in (13, 14, 15, 20, 23, 26))  # room of a roll; options; now
ONE = np.uint64(1 << 11)
ALL = np.uint64((1 << 64) - 1)
UNIT = 2.0**-53


@inlined
def home(m: Block, me: int) -> int:
    return m[AT_HOMES] + me * HOME


@inlined
def circle(m: Block, topic: int) -> int:
    return m[AT_CIRCLES] + topic * CIRCLE


@inlined
def fellows(m: Block, me: int) -> int:
    return m[AT_FELLOWS] + me * m[MOST] * 4


@inlined
def uppers(m: Block, me: int) -> int:
    return m[AT_UPPERS] + me * m[MOST_ABOVE] * 4


@inlined
def find(m: Block, at: int, count: int, node: int) -> int:
    """Its place in a roll, or where it belongs."""
    low, high = at, at + count
    while low < high:
        middle = (low + high) >> 1
        if m[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low - at


@inlined
def insert(m: Block, at: int, room: int, count: int, k: int) -> None:
    """Make room at a place of a roll."""
    for part in range(4):
        first = at + part * room
        for n in range(first + count, first + k, -1):
            m[n] = m[n - 1]


@inlined
def move(m: Block, at: int, room: int, k: int, to: int) -> None:
    for part in range(4):
        m[at + part * room + to] = m[at + part * room + k]


@compiled
def sort(m: Block, at: int, luck: int, count: int) -> None:
    """The places of a roll by a luck; nodes are ascending, so they decide between two that are the same."""
    order = m[AT_ORDER]
    for k in range(count):
        value, n = np.uint64(m[luck + k]), k
        while n > 0 and np.uint64(m[luck + m[order + n - 1]]) > value:
            m[order + n] = m[order + n - 1]
            n -= 1
        m[order + n] = k


@compiled
def forget_old(m: Block, at: int, room: int, count: int) -> int:
    """Whoever was not heard of for too long; how many are left."""
    since, kept = m[ROUND] - m[LIMIT], 0
    for k in range(count):
        if m[at + room + k] >= since:
            if kept < k:
                move(m, at, room, k, kept)
            kept += 1
    return kept


@compiled
def hear(m: Block, me: int, node: int, heard: int) -> None:
    """A fellow is there: it says so, or others have heard it."""
    if node == me or heard < m[ROUND] - m[LIMIT]:
        return
    h, at, room = home(m, me), fellows(m, me), m[MOST]
    count = m[h + KNOWN]
    k = find(m, at, count, node)
    if k < count and m[at + k] == node:
        m[at + room + k] = max(m[at + room + k], heard)
        return
    luck, common = go_on(np.uint64(m[h + KEY]), node), common_of(m, m[h + TOPIC], node)
    bound, other = np.uint64(m[h + LUCK_BOUND]), np.uint64(m[h + COMMON_BOUND])
    if m[h + BOUNDED] and luck >= bound and common >= other:
        return
    insert(m, at, room, count, k)
    m[at + k], m[at + room + k] = node, heard
    m[at + 2 * room + k], m[at + 3 * room + k] = np.int64(luck), np.int64(common)
    m[h + KNOWN], m[h + STALE], m[h + BOUNDED] = count + 1, 1, 0
    if count + 1 > ANCHORS:
        trim(m, me)


@inlined
def common_of(m: Block, topic: int, node: int) -> np.uint64:
    return go_on(np.uint64(m[circle(m, topic) + LUCK_ANCHOR]), node)


@compiled
def trim(m: Block, me: int) -> None:
    """Keep those who are in the table or are anchors; and know whom I need not meet."""
    h, at, room = home(m, me), fellows(m, me), m[MOST]
    measure(m, me)
    count, table = m[h + KNOWN], min(m[h + FANOUT], m[h + KNOWN])
    marks = m[gsp.AT_MARKS]
    m[gsp.STAMP] += 1
    sort(m, at, at + 2 * room, count)
    for n in range(table):
        m[marks + m[m[AT_ORDER] + n]] = m[gsp.STAMP]
    m[h + LUCK_BOUND] = m[at + 2 * room + m[m[AT_ORDER] + table - 1]]
    sort(m, at, at + 3 * room, count)
    for n in range(ANCHORS):
        m[marks + m[m[AT_ORDER] + n]] = m[gsp.STAMP]
    m[h + COMMON_BOUND] = m[at + 3 * room + m[m[AT_ORDER] + ANCHORS - 1]]
    kept = 0
    for k in range(count):
        if m[marks + k] == m[gsp.STAMP]:
            if kept < k:
                move(m, at, room, k, kept)
            kept += 1
    m[h + KNOWN], m[h + BOUNDED] = kept, 1 if table == m[h + FANOUT] else 0


@compiled
def measure(m: Block, me: int) -> None:
    """The size of the group as I know it, and how many of it I tell."""
    h = home(m, me)
    if not m[h + STALE]:
        return
    m[h + STALE] = 0
    count, size = m[h + KNOWN], 1 + m[h + KNOWN]
    if count >= ANCHORS:
        commons, mine = fellows(m, me) + 3 * m[MOST], np.uint64(m[h + MINE])
        sort(m, fellows(m, me), commons, count)
        last = np.uint64(m[commons + m[m[AT_ORDER] + ANCHORS - 1]])
        before = np.uint64(m[commons + m[m[AT_ORDER] + ANCHORS - 2]])
        if mine < last:
            last = max(mine, before)
        size = max(ANCHORS + 1, np.int64(np.rint((ANCHORS - 1) / (np.float64(gsp.number(last | ONE)) * UNIT))))
    m[h + SIZE], m[h + FANOUT] = size, fanout(m, size, m[h + SHARE])


@inlined
def size_of(m: Block, me: int) -> int:
    measure(m, me)
    return m[home(m, me) + SIZE]


@compiled
def fanout(m: Block, size: int, share: int) -> int:
    """`fanout_of`."""
    whole = np.int64(ln(np.float64(size)) + m[C] + np.float64(share) * UNIT)
    return whole if whole > 1 else 1  # type: ignore[return-value]


@compiled
def hear_above(m: Block, me: int, node: int, heard: int) -> None:
    """One of the group above: those with the smallest luck are kept."""
    if node == me or heard < m[ROUND] - m[LIMIT]:
        return
    h, at, room = home(m, me), uppers(m, me), m[MOST_ABOVE]
    count = m[h + KNOWN_ABOVE]
    k = find(m, at, count, node)
    if k < count and m[at + k] == node:
        m[at + room + k] = max(m[at + room + k], heard)
        return
    insert(m, at, room, count, k)
    m[at + k], m[at + room + k] = node, heard
    m[at + 2 * room + k] = np.int64(go_on(np.uint64(m[h + KEY_ABOVE]), node))
    m[h + KNOWN_ABOVE] = count + 1
    if count + 1 > m[Z]:
        sort(m, at, at + 2 * room, count + 1)
        for n in range(m[m[AT_ORDER] + m[Z]], count):  # it has the largest luck
            move(m, at, room, n + 1, n)
        m[h + KNOWN_ABOVE] = count


@inlined
def begin_round(m: Block, me: int) -> bool:
    """Forget whom I have not heard of; False if nobody is left of those above that I knew."""
    h = home(m, me)
    count, above = m[h + KNOWN], m[h + KNOWN_ABOVE]
    m[h + KNOWN] = forget_old(m, fellows(m, me), m[MOST], count)
    if m[h + KNOWN] < count:
        m[h + STALE], m[h + BOUNDED] = 1, 0
    m[h + KNOWN_ABOVE] = forget_old(m, uppers(m, me), m[MOST_ABOVE], above)
    return m[h + KNOWN_ABOVE] > 0 or above == 0


@compiled
def stand(m: Block, me: int) -> None:
    """What a process knows before the run (`Beginning.stand`): the anchors of its group, a table, and some above."""
    h = home(m, me)
    g, here = gsp.record(m, m[h + TOPIC]), circle(m, m[h + TOPIC])
    key, size = m[g + gsp.KEY], m[g + gsp.SIZE]
    m[h + KEY] = np.int64(go_on(go_on(np.uint64(m[gsp.TABLE]), me), key))
    m[h + KEY_ABOVE] = np.int64(go_on(go_on(np.uint64(m[gsp.TABLE]), me), m[here + ROLL_ABOVE]))
    m[h + MINE] = np.int64(common_of(m, m[h + TOPIC], me))
    m[h + SHARE] = gsp.number(go_on(go_on(np.uint64(m[gsp.FANOUTS]), me), key))
    anchors = 0
    for k in range(ANCHORS + 1):
        node = m[here + FIRST_ANCHOR + k]
        if node != NONE and node != me and anchors < ANCHORS:
            hear(m, me, node, 0)
            anchors += 1
    at, room = fellows(m, me), m[MOST]
    count = fanout(m, size, m[h + SHARE])
    found = gsp.few(m, m[gsp.AT_MEMBERS] + m[g + gsp.FIRST], size, count, me, np.uint64(m[h + KEY]))
    each, rest = ALL // np.uint64(size), ALL % np.uint64(size) + np.uint64(1)  # of 2 ** 64; the luck is n times that
    for n in range(found):
        node = m[m[gsp.AT_PICKED] + n]
        k = find(m, at, m[h + KNOWN], node)
        if k == m[h + KNOWN] or m[at + k] != node:
            insert(m, at, room, m[h + KNOWN], k)
            m[h + KNOWN] += 1
            m[at + k], m[at + room + k] = node, 0
            m[at + 3 * room + k] = np.int64(common_of(m, m[h + TOPIC], node))
        m[at + 2 * room + k] = np.int64(np.uint64(n) * each + np.uint64(n) * rest // np.uint64(size))
    m[h + STALE], m[h + BOUNDED], m[h + AGREED_ON], m[h + CHANGES] = 1, 0, -1, 1
    if m[g + gsp.ABOVE] != NONE:
        above = gsp.record(m, m[g + gsp.ABOVE])
        word = go_on(go_on(np.uint64(m[gsp.SUPERTABLE]), me), m[here + ROLL_ABOVE])
        first = m[gsp.AT_MEMBERS] + m[above + gsp.FIRST]
        for k in range(gsp.few(m, first, m[above + gsp.SIZE], m[Z], me, word)):
            hear_above(m, me, m[m[gsp.AT_PICKED] + k], 0)
