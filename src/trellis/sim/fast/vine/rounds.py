"""Rounds in which nodes take their turns, compiled. Answers to sim/cycles.py and to `upon_time` in overlays/vine.py."""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined, merged
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import exchanging, joining, lives, mail, neighbours, parted, sampling, spreading, starting
from trellis.sim.fast.vine.tables import (
    A_AT,
    A_NODE,
    ACTION,
    AFTER,
    ALL,
    ALL_ACTIONS,
    ALL_TOPICS,
    AT_ACTIONS,
    AT_INBOX,
    AT_KNOWN,
    AT_MINE,
    AT_OWNERS,
    AT_POOL,
    AT_SHUNNED,
    BORN_AT,
    CARRIED,
    CHILDREN,
    CHUNK,
    CHUNKS,
    CURSOR,
    CYCLED,
    DONE,
    EARLY_COUNT,
    END_KNOWN,
    END_SHUNNED,
    EVENTS,
    FIRST_KNOWN,
    FIRST_SHUNNED,
    FIRST_TOPIC,
    FREE_CHUNKS,
    FREE_LINKS,
    FULL,
    FULL_COUNT,
    FULL_STRIDE,
    GRACE,
    GRACE_OF,
    GROW,
    HEAD,
    ID,
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
    IS_DEAD,
    JOINING_COUNT,
    KNOWN,
    KNOWN_COUNT,
    LACKING,
    LETTERS,
    LIFE,
    LIFE_OF,
    LINKS,
    LIST_STRIDE,
    LISTED,
    LISTS,
    MOST_STREAMS,
    NEXT_ACTION,
    NOTED,
    NOTES,
    NOW,
    OUTBOX,
    OWN,
    OWN_OF,
    PACKET,
    PAIR,
    PASSAGE_COUNT,
    PASSAGES,
    PLACE,
    POOL,
    PROGRESS,
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
    ROUND,
    ROW,
    SHOWN,
    SHUN_COUNT,
    SHUNNED,
    SIDE,
    TABLE_MAX,
    TOPICS,
    TURN,
    VIEW_MAX,
    A,
    B,
    life,
    node,
    topic,
)

MORE = 64  # of whatever little may come of one event
IN_BOX, IN_LETTER = OUTBOX.number, LETTERS[0].number
NO_POOL, NO_CARRIED, NO_LINKS, NO_PASSAGES = (part.number for part in (POOL, CARRIED, LINKS, PASSAGES))
NO_KNOWN, NO_FULL, NO_SHUNNED, NO_CHUNKS, NO_NOTES, NO_LISTS = (
    part.number for part in (KNOWN, FULL, SHUNNED, CHUNKS, NOTES, LISTS)
)


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off rounds until `due` events have happened, or something has no room."""
    while True:
        if m[TURN] == m[ALL]:
            if not lives.end_round(m, rows):
                return GROW
            if m[EVENTS] >= due:
                return PROGRESS
            if m[NOW] + 1 > end:
                return DONE
            m[NOW] += 1
            mail.turn_over(m)
            m[TURN] = m[CURSOR] = m[CYCLED] = 0
            begin_turn(m, 0)
        while m[TURN] < m[ALL]:
            if not take_turn(m, rows, m[TURN]):
                return GROW
            m[TURN] += 1
            m[CYCLED] = 0
            if m[TURN] < m[ALL]:
                begin_turn(m, m[TURN])


@compiled
def begin_turn(m: Block, me: int) -> None:
    """Which topics are mine, for whoever asks, and in which life I am."""
    n, b = node(m, me), life(m, me)
    m[LIFE], m[OWN], m[GRACE] = m[b + LIFE_OF], m[b + OWN_OF], m[b + GRACE_OF]
    m[SHOWN] = (m[LIFE] << 1) | min(1, m[n + TOPICS])  # whoever takes nothing never had another one
    first = m[AT_MINE] + m[n + FIRST_TOPIC]
    for k in range(m[n + TOPICS]):
        m[m[AT_OWNERS] + m[first + k]] = me + 1
        m[topic(m, m[first + k]) + PLACE] = k


@merged
def take_turn(m: Block, rows: Block, me: int) -> bool:
    """A node's packets, its round, and what its application does; False, and again, if something has no room."""
    b = life(m, me)
    if m[b + IS_DEAD]:
        lives.miss_turn(m, me)
        return True
    born = m[b + BORN_AT]
    while m[CURSOR] < m[node(m, me) + AFTER]:
        if lacks_room(m, rows, me):
            return False
        p = m[AT_INBOX] + m[CURSOR] * PACKET
        m[CURSOR] += 1
        m[EVENTS] += 1
        m[ROUND] = m[NOW] - 1 - born
        receive(m, rows, me, m[p + HEAD], m[p + A], m[p + B])
    m[ROUND] = m[NOW] - born
    if not m[CYCLED] and m[NOW]:
        if lacks_room(m, rows, me):
            return False
        m[CYCLED] = 1
        m[EVENTS] += 1
        cycle(m, rows, me)
    while m[NEXT_ACTION] < m[ALL_ACTIONS]:
        a = m[AT_ACTIONS] + m[NEXT_ACTION] * ACTION
        if m[a + A_AT] != m[NOW] or m[a + A_NODE] != me:
            break
        if lacks_room(m, rows, me):
            return False
        m[NEXT_ACTION] += 1
        m[EVENTS] += 1
        spreading.publish(m, rows, me, m[NEXT_ACTION] - 1)
    return True


@merged
def receive(m: Block, rows: Block, me: int, head: int, a: int, b: int) -> None:
    sender, version, kind = (head >> mail.SENDER_SHIFT) & ID, head >> mail.VERSION_SHIFT, head & mail.KINDS
    if kind >= mail.LOOKUP:
        joining.receive(m, rows, me, sender, kind, a, b)
        return
    mail.arrived(m, rows, me, sender, version >> 1, kind, a if kind >= mail.NOTIFY else NONE)
    if kind == mail.BEAT:
        exchanging.upon_beat(m, rows, me, sender, version, (head >> mail.WHY_SHIFT) & mail.WHYS, a, b)
    elif kind == mail.NOTIFY:
        spreading.upon_notify(m, rows, me, sender, a)
    elif kind == mail.PULL:
        spreading.upon_pull(m, rows, me, sender, a)
    elif kind == mail.EVENT:
        spreading.upon_pulled(m, rows, me, a)
    elif kind == mail.SAMPLE:
        if not head & mail.REPLY:
            sampling.send_view(m, rows, me, sender, mail.REPLY)
        sampling.take(m, me, a, b)
    elif kind == mail.SWAP:
        if not head & mail.REPLY:
            exchanging.send_buffer(m, rows, me, sender, mail.REPLY)
        exchanging.reconsider(m, rows, me, a, b)
    elif neighbours.find(m, me, sender) != NONE:  # FULL
        neighbours.let_go(m, me, sender)
        neighbours.be_refused(m, me, sender)


@merged
def cycle(m: Block, rows: Block, me: int) -> None:
    neighbours.begin_round(m, me)
    parted.begin_round(m, me)
    sampling.exchange(m, rows, me)
    to = exchanging.partner(m, me)
    if to != NONE:
        exchanging.send_buffer(m, rows, me, to, 0)
    exchanging.exchange_profile(m, rows, me)
    if m[life(m, me) + JOINING_COUNT]:
        joining.go_on(m, rows, me)
    spreading.begin_round(m, rows, me)


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
    elif not has_known(m, n, (known + min(m[TABLE_MAX], mail.CONTACTS_MAX + VIEW_MAX) + 2) * ROW):
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
def has_known(m: Block, n: int, needed: int) -> bool:
    return m[n + ROOM_KNOWN] >= needed or moves(m, n + FIRST_KNOWN, needed, AT_KNOWN, IN_KNOWN, END_KNOWN)


@inlined
def has_shunned(m: Block, n: int, needed: int) -> bool:
    return m[n + ROOM_SHUNNED] >= needed or moves(m, n + FIRST_SHUNNED, needed, AT_SHUNNED, IN_SHUNNED, END_SHUNNED)


@compiled
def moves(m: Block, at: int, needed: int, table: int, used: int, end: int) -> bool:
    """A node's part of a table to behind all others, where it gets twice as much room: few nodes have many neighbours.
    False if there is too little there."""
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
