"""Nodes that die and come back, compiled. Answers to sim/mortal.py and to `ChurningHost` of sim/cycles.py.

Who does so when, and of whom it hears then, is known before the run (`comings.py`). Whoever dies keeps what it had
until it comes back: nobody looks at it, but for whom it was a neighbour of in the end.
"""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import guessing, mail, parted, relays, sampling, starting
from trellis.sim.fast.vine.cuts import streams
from trellis.sim.fast.vine.tables import (
    A_AT,
    A_NODE,
    ACTION,
    AFTER,
    ALL,
    ALL_ACTIONS,
    ALL_FATES,
    ALL_TOPICS,
    ASKING,
    AT_ACTIONS,
    AT_CUTS,
    AT_FATES,
    AT_MINE,
    AT_PASSAGES,
    AT_TAKEN,
    BELIEVED,
    BORN_AT,
    BREAKS,
    CURSOR,
    DOUBTFUL,
    EARLY_COUNT,
    EVENTS,
    F_AT,
    F_CONTACT,
    F_CONTACTS,
    F_NODE,
    F_WHAT,
    FATE,
    FIRST_ASKER,
    FIRST_EARLY,
    FIRST_GRACE,
    FIRST_PASSAGE,
    FIRST_PASSED,
    FIRST_TOPIC,
    FIRST_WAITS,
    FORMER_COUNT,
    FULL_COUNT,
    GRACE_OF,
    IN_ROWS,
    IS_DEAD,
    JOINING_COUNT,
    KNOWN_COUNT,
    LACKING,
    LAST_EARLY,
    LAST_PASSAGE,
    LAST_PASSED,
    LAST_WAITS,
    LIFE_OF,
    NEXT_ACTION,
    NEXT_FATE,
    NOW,
    OWN_OF,
    P_NEXT,
    PAIR,
    PASSAGE,
    PASSAGE_COUNT,
    PASSED_COUNT,
    PROPOSED,
    SHUN_COUNT,
    STALE,
    STARTS,
    SUBSCRIBES,
    T_CUT,
    T_JOINING,
    T_NOBODY,
    TAKES,
    TOPICS,
    VIEW_COUNT,
    WAIT_COUNT,
    free_chain,
    life,
    node,
)


@compiled
def end_round(m: Block, rows: Block) -> bool:
    """First some die, then others come up, then those subscribe again; False, and again, if rows have no room."""
    while m[NEXT_FATE] < m[ALL_FATES]:
        f = m[AT_FATES] + m[NEXT_FATE] * FATE
        if m[f + F_AT] > m[NOW]:
            return True
        me, what = m[f + F_NODE], m[f + F_WHAT]
        if not out.has_room(rows, m[node(m, me) + TOPICS] + 1):
            m[LACKING] = IN_ROWS
            return False
        m[NEXT_FATE] += 1
        if what == SUBSCRIBES:
            subscribe_again(m, rows, me)
            continue
        m[EVENTS] += 1
        if what == BREAKS:
            record(m, rows, out.CRASH, me, m[ALL_TOPICS] + 1)
            m[life(m, me) + IS_DEAD] = 1
        elif what == STARTS:
            begin_life(m, me)
            record(m, rows, out.START, me, m[ALL_TOPICS] + 1)
            hear_of_others(m, me, f)
    return True


@inlined
def record(m: Block, rows: Block, kind: int, me: int, code: int) -> None:
    out.write(rows, m[NOW], 0, kind, me, mail.own(m, me, m[life(m, me) + LIFE_OF], code), 0, -1, 0, 0)


@compiled
def miss_turn(m: Block, me: int) -> None:
    """What comes to the dead, and what their applications would do: it counts, and nothing comes of it."""
    m[EVENTS] += m[node(m, me) + AFTER] - m[CURSOR]
    m[CURSOR] = m[node(m, me) + AFTER]
    while m[NEXT_ACTION] < m[ALL_ACTIONS]:
        a = m[AT_ACTIONS] + m[NEXT_ACTION] * ACTION
        if m[a + A_AT] != m[NOW] or m[a + A_NODE] != me:
            break
        m[NEXT_ACTION] += 1
        m[EVENTS] += 1


@compiled
def begin_life(m: Block, me: int) -> None:
    """Back, with nothing but the number of its life."""
    b, n = life(m, me), node(m, me)
    m[b + IS_DEAD], m[b + BORN_AT] = 0, m[NOW]
    m[b + LIFE_OF] += 1
    m[b + OWN_OF] += 1
    m[b + BELIEVED], m[b + GRACE_OF] = m[ALL], m[FIRST_GRACE]
    m[b + JOINING_COUNT], m[b + EARLY_COUNT] = m[n + TOPICS], 0
    guessing.reach(m, me, m[ALL])
    m[n + KNOWN_COUNT] = m[n + VIEW_COUNT] = m[n + FULL_COUNT] = m[n + SHUN_COUNT] = m[n + FORMER_COUNT] = 0
    m[n + PROPOSED] = m[n + ASKING] = NONE
    m[n + DOUBTFUL] = m[n + STALE] = 1
    relays.forget(m, me)
    parted.forget(m, n)
    forget_passages(m, n)
    for t in range(
        m[AT_TAKEN] + m[n + FIRST_TOPIC] * TAKES, m[AT_TAKEN] + (m[n + FIRST_TOPIC] + m[n + TOPICS]) * TAKES, TAKES
    ):
        forget_topic(m, t)


@compiled
def hear_of_others(m: Block, me: int, f: int) -> None:
    """`Restore`: some that are there, as from a bootstrap server."""
    view = sampling.view_of(m, me)
    m[node(m, me) + VIEW_COUNT] = m[f + F_CONTACTS]
    for k in range(m[f + F_CONTACTS]):
        m[view + k * PAIR], m[view + k * PAIR + 1] = m[f + F_CONTACT + k], 0


@compiled
def subscribe_again(m: Block, rows: Block, me: int) -> None:
    """To all that it had. It looks for others in vain: it has no neighbours yet."""
    first = m[node(m, me) + FIRST_TOPIC]
    for k in range(first, first + m[node(m, me) + TOPICS]):
        m[EVENTS] += 1
        code, t = m[m[AT_MINE] + k], m[AT_TAKEN] + k * TAKES
        m[t + T_JOINING] = m[t + T_NOBODY] = 1
        mine = m[AT_CUTS] + m[t + T_CUT]
        for s in range(mine, mine + streams(m, code)):
            m[s] = 0
        record(m, rows, out.SUBSCRIBE, me, code)


# What it had before


@compiled
def forget_passages(m: Block, n: int) -> None:
    """They are found by the number of its life, and so never again."""
    record = m[n + FIRST_PASSAGE]
    while record != NONE:
        p = m[AT_PASSAGES] + record * PASSAGE
        free_chain(m, m[p + FIRST_ASKER])
        record = m[p + P_NEXT]
    m[n + FIRST_PASSAGE] = m[n + LAST_PASSAGE] = m[n + FIRST_PASSED] = m[n + LAST_PASSED] = NONE
    m[n + PASSAGE_COUNT] = m[n + PASSED_COUNT] = 0


@compiled
def forget_topic(m: Block, t: int) -> None:
    starting.forget_asks(m, t)
    free_chain(m, m[t + FIRST_WAITS])
    m[t + FIRST_WAITS] = m[t + LAST_WAITS] = m[t + FIRST_EARLY] = m[t + LAST_EARLY] = NONE
    m[t + WAIT_COUNT] = 0
