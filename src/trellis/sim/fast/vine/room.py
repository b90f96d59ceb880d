"""Whether a vine's tables have room for whatever may come of one event; a part of rounds.py."""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import mail, starting
from trellis.sim.fast.vine.tables import (
    AFTER,
    ALL,
    ALL_TOPICS,
    AT_INBOX,
    AT_KNOWN,
    AT_POOL,
    AT_SHUNNED,
    CARRIED,
    CHILDREN,
    CHUNK,
    CHUNKS,
    CURSOR,
    EARLY_COUNT,
    FIRST_KNOWN,
    FIRST_SHUNNED,
    FREE_CHUNKS,
    FREE_LINKS,
    FULL,
    FULL_COUNT,
    FULL_STRIDE,
    HEAD,
    IN_CARRIED,
    IN_CHUNKS,
    IN_KNOWN,
    IN_LETTERS,
    IN_LINKS,
    IN_OUTBOX,
    IN_PASSAGES,
    IN_POOL,
    IN_ROWS,
    IN_SHUNNED,
    JOINING_COUNT,
    KNOWN,
    KNOWN_COUNT,
    LACKING,
    LETTERS,
    LINKS,
    LIST_STRIDE,
    LISTED,
    LISTS,
    MOST_STREAMS,
    NOTED,
    NOTES,
    OUTBOX,
    PACKET,
    PAIR,
    PASSAGE_COUNT,
    PASSAGES,
    POOL,
    ROOM_CARRIED,
    ROOM_CHUNKS,
    ROOM_KNOWN,
    ROOM_LETTERS,
    ROOM_LINKS,
    ROOM_NOTES,
    ROOM_OUTBOX,
    ROOM_PASSAGES,
    ROOM_POOL,
    ROOM_SHUNNED,
    ROW,
    SHUN_COUNT,
    SHUNNED,
    SIDE,
    TABLE_MAX,
    VIEW_MAX,
    WIDE_KNOWN,
    WIDE_SHUNNED,
    B,
    life,
    node,
)

MORE = 64  # of whatever little may come of one event
IN_BOX, IN_LETTER = OUTBOX.number, LETTERS[0].number
NO_POOL, NO_CARRIED, NO_LINKS, NO_PASSAGES = (part.number for part in (POOL, CARRIED, LINKS, PASSAGES))
NO_KNOWN, NO_FULL, NO_SHUNNED, NO_CHUNKS, NO_NOTES, NO_LISTS = (
    part.number for part in (KNOWN, FULL, SHUNNED, CHUNKS, NOTES, LISTS)
)


@inlined
def lacks_room(m: Block, rows: Block, me: int) -> bool:
    """Whether some table has too little room for whatever may come of one event; which one is noted."""
    n, side = node(m, me), 1 - m[SIDE]
    known, topics = m[n + KNOWN_COUNT], m[ALL_TOPICS]
    joins, early = m[life(m, me) + JOINING_COUNT], m[life(m, me) + EARLY_COUNT]
    asks = joins * (known + starting.ASKED_MAX + 2)
    told = (joins + 1) * (m[MOST_STREAMS] + 8)
    sent = (2 + early) * (m[ALL] + 2) + m[n + PASSAGE_COUNT] + asks + MORE
    short = NONE
    if not out.has_room(rows, sent):
        short = IN_ROWS
    elif m[IN_OUTBOX] + sent > m[ROOM_OUTBOX]:
        short = IN_BOX
    elif m[IN_LETTERS + side] + 4 * (known + VIEW_MAX + MORE) + told > m[ROOM_LETTERS + side]:
        short = IN_LETTER + side
    elif m[IN_POOL] + 4 * (topics + m[ALL] + MORE) > m[ROOM_POOL]:
        short = NO_POOL
    elif m[IN_CARRIED] + topics + MORE > m[ROOM_CARRIED]:
        short = NO_CARRIED
    elif m[IN_LINKS] - m[FREE_LINKS] + 2 * topics + asks + MORE > m[ROOM_LINKS]:
        short = NO_LINKS
    elif m[IN_CHUNKS] - m[FREE_CHUNKS] + (m[n + CHILDREN] + 2 * topics) // CHUNK + MORE > m[ROOM_CHUNKS]:
        short = NO_CHUNKS
    elif m[n + NOTED] + m[n + CHILDREN] > m[ROOM_NOTES]:
        short = NO_NOTES
    elif m[IN_PASSAGES] + 1 + early > m[ROOM_PASSAGES]:
        short = NO_PASSAGES
    elif not has_known(m, n, (known + at_once(m[TABLE_MAX]) + 2) * ROW):
        short = NO_KNOWN
    elif (m[n + FULL_COUNT] + 2) * PAIR > m[FULL_STRIDE]:
        short = NO_FULL
    elif not has_shunned(m, n, (m[n + SHUN_COUNT] + known + 2) * PAIR):
        short = NO_SHUNNED
    elif m[n + LISTED] + asks_coming(m, n) > m[LIST_STRIDE]:
        short = NO_LISTS
    if short == NONE:
        return False
    m[LACKING] = short
    return True


@inlined
def at_once(places: int) -> int:
    """How many neighbours one packet may bring, of those that there are places for."""
    return min(places, mail.CONTACTS_MAX + VIEW_MAX)


@inlined
def has_known(m: Block, n: int, needed: int) -> bool:
    return m[n + WIDE_KNOWN] >= needed or moves(m, n + FIRST_KNOWN, needed, AT_KNOWN, IN_KNOWN, ROOM_KNOWN)


@inlined
def has_shunned(m: Block, n: int, needed: int) -> bool:
    return m[n + WIDE_SHUNNED] >= needed or moves(m, n + FIRST_SHUNNED, needed, AT_SHUNNED, IN_SHUNNED, ROOM_SHUNNED)


@compiled
def moves(m: Block, at: int, needed: int, table: int, used: int, end: int) -> bool:
    """A node's part of a table to behind all others, where it gets twice as much room: few nodes have many neighbours.
    False if there is too little there. Where a part begins and how wide it is stand side by side.
    """
    wide = m[at + 1]
    while wide < needed:
        wide *= 2
    if m[used] + wide > m[end]:
        return False
    before, after = m[table] + m[at], m[table] + m[used]
    for k in range(m[at + 1]):
        m[after + k] = m[before + k]
    m[at], m[at + 1] = m[used], wide
    m[used] += wide
    return True


@inlined
def asks_coming(m: Block, n: int) -> int:
    """How many topics the next packet asks a node to carry."""
    p = m[AT_INBOX] + m[CURSOR] * PACKET
    if m[CURSOR] >= m[n + AFTER] or m[p + HEAD] & mail.KINDS != mail.BEAT or m[p + B] == NONE:
        return 0
    return m[m[AT_POOL] + m[p + B]] // 2
