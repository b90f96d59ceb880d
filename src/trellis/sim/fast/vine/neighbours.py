"""Neighbours, compiled. Answers to protocols/parts/neighbours.py, and to the part of overlays/vine.py of that name."""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import mail, relays
from trellis.sim.fast.vine.ring import nearness
from trellis.sim.fast.vine.tables import (
    ASKS,
    AT_BITS,
    AT_FORMER,
    AT_FULL,
    AT_LINE,
    AT_LIST,
    AT_MINE,
    AT_OWNERS,
    AT_SHARED,
    DOUBTFUL,
    FIRST_TOPIC,
    FORMER_COUNT,
    FORMER_STRIDE,
    FULL_COUNT,
    FULL_STRIDE,
    GRACE,
    HEARD,
    KNOWN_COUNT,
    LIMIT,
    NOT,
    PAIR,
    PLACED,
    POINT,
    PROPOSALS,
    RATED,
    RING,
    ROUND,
    ROW,
    SHARED_BITS,
    SHARED_MAX,
    SHARES,
    SHORTCUT,
    SHUN_COUNT,
    SINCE,
    SPOKE,
    STALE,
    T_RATE,
    TABLE_MAX,
    TOPICS,
    VERSION,
    WEIGHT,
    WHO,
    WHY_MINE,
    WHY_THEIRS,
    WORDS,
    node,
    rows_of,
    shunned_by,
    spot,
    topic,
)

FULL_ROUNDS, FULL_MAX = 256, 1024
FORMER_MAX = 256


@inlined
def find(m: Block, me: int, other: int) -> int:
    """Where a neighbour is, or NONE."""
    first = rows_of(m, me)
    for row in range(first, first + m[node(m, me) + KNOWN_COUNT] * ROW, ROW):
        if m[row + WHO] == other:
            return row
    return NONE


@compiled
def add(m: Block, me: int, other: int, version: int) -> int:
    n = node(m, me)
    row = rows_of(m, me) + m[n + KNOWN_COUNT] * ROW
    m[n + KNOWN_COUNT] += 1
    m[n + STALE] = 1
    m[row + WHO], m[row + VERSION] = other, version
    m[row + SINCE] = m[row + HEARD] = m[ROUND]
    m[row + SPOKE], m[row + WHY_MINE], m[row + WHY_THEIRS], m[row + SHARES] = 0, NOT, NOT, 0
    m[row + PROPOSALS] = m[row + ASKS] = NONE
    return row


@compiled
def part_from(m: Block, me: int, other: int) -> None:
    row, n = find(m, me, other), node(m, me)
    if row == NONE:
        return
    asks = m[row + ASKS]
    m[n + KNOWN_COUNT] -= 1
    m[n + STALE] = m[n + DOUBTFUL] = 1
    for k in range(row, rows_of(m, me) + m[n + KNOWN_COUNT] * ROW):
        m[k] = m[k + ROW]
    if asks != NONE:
        relays.hear(m, me, other, asks, NONE)


@compiled
def let_go(m: Block, me: int, other: int) -> None:
    """It is there, but no neighbour any more: it still gets messages for a while."""
    row = find(m, me, other)
    if row != NONE and m[row + SHARES] and m[GRACE]:
        first, n = m[AT_FORMER] + me * m[FORMER_STRIDE], node(m, me)
        drop(m, first, n + FORMER_COUNT, other)
        append(m, first, n + FORMER_COUNT, other, m[ROUND] + m[GRACE])
        if m[n + FORMER_COUNT] > min(m[TABLE_MAX], FORMER_MAX):
            drop(m, first, n + FORMER_COUNT, m[first])
    part_from(m, me, other)


# Pairs: who, and until when


@inlined
def append(m: Block, first: int, count: int, who: int, until: int) -> None:
    at = first + m[count] * PAIR
    m[at], m[at + 1] = who, until
    m[count] += 1


@compiled
def drop(m: Block, first: int, count: int, who: int) -> None:
    """The others keep their order."""
    at, end = first, first + m[count] * PAIR
    while at < end and m[at] != who:
        at += PAIR
    if at < end:
        for k in range(at, end - PAIR):
            m[k] = m[k + PAIR]
        m[count] -= 1


@inlined
def forget_refusals(m: Block, me: int, other: int) -> None:
    """It chose me: so it is there, and has room."""
    n = node(m, me)
    if m[n + SHUN_COUNT]:
        drop(m, shunned_by(m, me), n + SHUN_COUNT, other)
    if m[n + FULL_COUNT]:
        drop(m, m[AT_FULL] + me * m[FULL_STRIDE], n + FULL_COUNT, other)


@compiled
def be_refused(m: Block, me: int, other: int) -> None:
    first, count = m[AT_FULL] + me * m[FULL_STRIDE], node(m, me) + FULL_COUNT
    drop(m, first, count, other)
    append(m, first, count, other, m[ROUND] + FULL_ROUNDS)
    if m[count] > FULL_MAX:
        drop(m, first, count, m[first])


# A round begins


@compiled
def begin_round(m: Block, me: int) -> None:
    """Who is silent is no neighbour any more."""
    n, now, first = node(m, me), m[ROUND], rows_of(m, me)
    silent, named = 0, m[AT_LIST]
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        if now - m[row + HEARD] > m[LIMIT]:
            m[named + silent] = m[row + WHO]
            silent += 1
    shunned = shunned_by(m, me)
    if m[n + SHUN_COUNT]:
        kept = 0
        for at in range(shunned, shunned + m[n + SHUN_COUNT] * PAIR, PAIR):
            if m[at + 1] > now:
                m[shunned + kept * PAIR], m[shunned + kept * PAIR + 1] = m[at], m[at + 1]
                kept += 1
        m[n + SHUN_COUNT] = kept
    if m[n + FULL_COUNT] and now % m[LIMIT] == 0:
        ask_again(m, me)
    for k in range(silent):
        drop(m, shunned, n + SHUN_COUNT, m[named + k])
        append(m, shunned, n + SHUN_COUNT, m[named + k], now + m[LIMIT] + 2)
    for k in range(silent):
        part_from(m, me, m[named + k])


@compiled
def ask_again(m: Block, me: int) -> None:
    """Of those who had no room long ago, as many as I have room for."""
    n, first, rows = node(m, me), m[AT_FULL] + me * m[FULL_STRIDE], rows_of(m, me)
    vacant = m[TABLE_MAX]
    for row in range(rows, rows + m[n + KNOWN_COUNT] * ROW, ROW):
        vacant -= m[row + WHY_MINE] != NOT
    kept = 0
    for at in range(first, first + m[n + FULL_COUNT] * PAIR, PAIR):
        if m[at + 1] <= m[ROUND] and vacant > 0:
            vacant -= 1
        else:
            m[first + kept * PAIR], m[first + kept * PAIR + 1] = m[at], m[at + 1]
            kept += 1
    m[n + FULL_COUNT] = kept


# What two nodes have in common (parts/profiles.py)


@inlined
def in_common(m: Block, me: int, other: int) -> int:
    """The rates of what the node whose turn it is shares with another one."""
    at = m[AT_SHARED] + me * SHARED_MAX + other % SHARED_MAX
    if m[at] >> SHARED_BITS != other + 1:
        m[at] = ((other + 1) << SHARED_BITS) | topics_in_common(m, me, other)
    found = m[at] & ((1 << SHARED_BITS) - 1)
    return rates_of(m, me, other) if found and m[RATED] else found


@inlined
def topics_in_common(m: Block, me: int, other: int) -> int:
    """How many. Words are counted without a sign: then the compiler knows that none is before the beginning, and takes
    many at once."""
    words = np.uint64(m[WORDS])
    mine, theirs = np.uint64(m[AT_BITS]) + np.uint64(me) * words, np.uint64(m[AT_BITS]) + np.uint64(other) * words
    found = np.uint64(0)
    for k in range(words):
        found += ones(np.uint64(m[mine + k]) & np.uint64(m[theirs + k]))
    return np.int64(found)  # type: ignore[return-value]


@inlined
def ones(x: np.uint64) -> np.uint64:
    """How many bits are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def rates_of(m: Block, me: int, other: int) -> int:
    n, found = node(m, other), 0
    first, owners = m[AT_MINE] + m[n + FIRST_TOPIC], m[AT_OWNERS]
    for k in range(first, first + m[n + TOPICS]):
        if m[owners + m[k]] == me + 1:
            found += m[topic(m, m[k]) + T_RATE]
    return found


@inlined
def utility(m: Block, me: int, row: int) -> float:
    """Formula (1), of a neighbour that has spoken."""
    shared = m[row + SHARES]
    if not shared:
        return 0.0
    return shared / max(shared, m[spot(m, me) + WEIGHT] + m[spot(m, m[row + WHO]) + WEIGHT] - shared)


# Those who chose me


@compiled
def make_room(m: Block, rows: Block, me: int) -> None:
    """If too many chose me, those who matter least must choose somebody else."""
    n, first = node(m, me), rows_of(m, me)
    audience = 0
    for row in range(first, first + m[n + KNOWN_COUNT] * ROW, ROW):
        audience += m[row + WHY_MINE] == NOT
    if audience <= m[TABLE_MAX]:
        return
    line, ranked = m[AT_LINE], 0
    for k in range(m[n + KNOWN_COUNT]):
        if m[first + k * ROW + WHY_MINE] == NOT:
            at = ranked
            while at and matters_more(m, me, first + k * ROW, first + m[line + (at - 1) * PLACED] * ROW):
                m[line + at * PLACED] = m[line + (at - 1) * PLACED]
                at -= 1
            m[line + at * PLACED] = k
            ranked += 1
    named = m[AT_LIST]
    for k in range(m[TABLE_MAX], ranked):
        m[named + k] = m[first + m[line + k * PLACED] * ROW + WHO]
    for k in range(m[TABLE_MAX], ranked):
        mail.send(m, rows, me, m[named + k], mail.FULL, NONE, 0, 0)
        let_go(m, me, m[named + k])


@compiled
def matters_more(m: Block, me: int, one: int, other: int) -> bool:
    """The ring first, the closest of it; then shortcuts, the oldest; then by what we have in common."""
    why = m[one + WHY_THEIRS]
    if why != m[other + WHY_THEIRS]:
        return why > m[other + WHY_THEIRS]
    if why == RING:
        here = m[spot(m, me) + POINT]
        a = nearness(m[spot(m, m[one + WHO]) + POINT], here)
        b = nearness(m[spot(m, m[other + WHO]) + POINT], here)
        if a != b:
            return a > b
    elif why == SHORTCUT:
        if m[one + SINCE] != m[other + SINCE]:
            return m[one + SINCE] < m[other + SINCE]
    else:
        x, y = utility(m, me, one), utility(m, me, other)
        if x != y:
            return x > y
    return m[one + WHO] > m[other + WHO]
