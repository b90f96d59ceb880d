"""What applications do, in a block of memory: their plan, and replies in a discussion. Answers to sim/host.py.

What a kernel says when it comes back is here too: that all is done, that it is time to tell how far it is, or that a
table has no room.
"""

from __future__ import annotations

from trellis.sim.fast import calendar as cal
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, TABLES, Block, Table, base, counter

LEAVE, JOIN, SAY = 0, 1, 2

# Why the kernel came back.
DONE, PROGRESS, GROW = 0, 1, 2

ACTIONS = Table(10, 5)  # what applications do, in order; then for each node its reply in a discussion
AT, ACTOR, ABOUT, DOES, BYTES = 0, 1, 2, 3, 4  # bytes: of what is published
NODES = Table(11, 4)
COUNTER, OPENER, THINK, HEARD = 0, 1, 2, 3  # opener of a discussion; how long it thinks, or -1; openings so far
AT_ACTIONS, AT_NODES = base(ACTIONS.number), base(NODES.number)
ACTION, NODE = ACTIONS.width, NODES.width

EVENTS, NEXT_ACTION, ALL_ACTIONS, OPENERS, TOPICS = (counter(n) for n in (16, 17, 18, 19, 22))
LACKING = counter(35)  # which table has no room
IN_CALENDAR, IN_ROWS = cal.CHUNKS.number, TABLES


@compiled
def push_actions(m: Block) -> bool:
    """Those of the next time, if it is theirs."""
    k, last = m[NEXT_ACTION], m[ALL_ACTIONS]
    if k == last:
        return True
    at = m[m[AT_ACTIONS] + k * ACTION + AT]
    if at > cal.next_time(m):
        return True
    after = k
    while after < last and m[m[AT_ACTIONS] + after * ACTION + AT] == at:
        after += 1
    if not cal.has_room(m, after - k):
        return False
    while k < after:
        cal.push(m, at, m[m[AT_ACTIONS] + k * ACTION + ACTOR], -1, k)
        k += 1
    m[NEXT_ACTION] = k
    return True


@compiled
def next_round(m: Block, end: int, due: int) -> int:
    """Take out what is due at the next time. NONE, or why the kernel has to come back instead."""
    if m[EVENTS] >= due:
        return PROGRESS
    if not push_actions(m):
        m[LACKING] = IN_CALENDAR
        return GROW
    if cal.next_time(m) > end:
        return DONE
    cal.pop(m)
    m[EVENTS] += m[cal.COUNT]
    return NONE


@inlined
def next_key(m: Block, end: int, due: int) -> int:
    """Of the next entry that is due; if there is none, -1 minus why the kernel has to come back."""
    if m[cal.CURSOR] == m[cal.COUNT]:
        told = next_round(m, end, due)
        if told != NONE:
            return -1 - told
    return cal.key(m)


@inlined
def listen(m: Block, now: int, me: int, source: int) -> None:
    """The application of a discussion: reply once, after all openings and some thought."""
    if m[OPENERS]:
        n = m[AT_NODES] + me * NODE
        if m[m[AT_NODES] + source * NODE + OPENER] and m[n + THINK] >= 0:
            m[n + HEARD] += 1
            if m[n + HEARD] == m[OPENERS]:
                cal.push(m, now + m[n + THINK], me, -2, m[ALL_ACTIONS] + me)
