"""Who was next to a node on a path lately, compiled. Answers to `former` of protocols/parts/relays.py.

While tables still change, most of what relays do is to part; what was noted is asked for only when a message comes by.
So a node has a log, and finds in it what the dictionaries of its twin would say: of two notes about one topic and one
node the first says in which order it comes, and the last until when it counts. Now and then the log is tidied up, when
its twin forgets, too.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine.tables import (
    AT_CHUNKS,
    AT_LIST,
    AT_NOTES,
    CHUNK,
    CODE,
    CODE_BITS,
    FIRST_CHUNK,
    FREE_CHUNK,
    FREE_CHUNKS,
    GRACE,
    ID,
    ID_BITS,
    IN_CHUNKS,
    LAST_CHUNK,
    MARK,
    MARK_AT,
    N_NEXT,
    N_WHAT,
    NOTE,
    NOTED,
    ROUND,
    SEEN,
    SEEN_AT,
    mark_of,
    new_stamp,
    node,
    topic,
)

UNTIL = CODE_BITS + ID_BITS  # a note is a topic, a node, and until when, in one word
NOTES = CHUNK - 1  # in a chunk, behind the number of the next one


@inlined
def add(m: Block, n: int, what: int) -> None:
    """One more note of a node."""
    place = m[n + NOTED] % NOTES
    if not place:
        new = m[FREE_CHUNK]
        if new == NONE:
            new = m[IN_CHUNKS]
            m[IN_CHUNKS] += 1
        else:
            m[FREE_CHUNK] = m[m[AT_CHUNKS] + new * CHUNK]
            m[FREE_CHUNKS] -= 1
        m[m[AT_CHUNKS] + new * CHUNK] = NONE
        if m[n + NOTED]:
            m[m[AT_CHUNKS] + m[n + LAST_CHUNK] * CHUNK] = new
        else:
            m[n + FIRST_CHUNK] = new
        m[n + LAST_CHUNK] = new
    m[m[AT_CHUNKS] + m[n + LAST_CHUNK] * CHUNK + 1 + place] = what
    m[n + NOTED] += 1


@inlined
def part(m: Block, me: int, code: int, other: int) -> None:
    """It is not next to me on the path any more; for some rounds messages go the old way, too."""
    if m[GRACE]:
        add(m, node(m, me), code | (other << CODE_BITS) | ((m[ROUND] + m[GRACE]) << UNTIL))


@compiled
def put_lately(m: Block, me: int, code: int, stamp: int, count: int) -> int:
    """Those whom a topic's messages still go to, behind so many others in the list; each once."""
    n = node(m, me)
    count_from, chunk, left = count, m[n + FIRST_CHUNK], m[n + NOTED]
    if not left:
        return count
    named = m[AT_LIST]
    while left > 0:  # all of this topic, in the order of their first notes; by the last ones, who counts is marked
        at = m[AT_CHUNKS] + chunk * CHUNK
        for k in range(at + 1, at + 1 + min(left, NOTES)):
            if m[k] & CODE == code:
                other = (m[k] >> CODE_BITS) & ID
                h = mark_of(m, other)
                if m[h + MARK] != stamp:
                    m[h + MARK] = stamp
                    m[named + count] = other
                    count += 1
                m[h + MARK_AT] = 1 if m[k] >> UNTIL > m[ROUND] else NONE
        left -= NOTES
        chunk = m[at]
    kept = count_from
    for k in range(named + count_from, named + count):
        if m[mark_of(m, m[k]) + MARK_AT] != NONE:
            m[named + kept] = m[k]
            kept += 1
        else:
            m[mark_of(m, m[k]) + MARK] = 0
    return kept


@compiled
def begin_round(m: Block, me: int) -> None:
    """Now and then, forget who was next to me lately and is not any more."""
    n = node(m, me)
    if m[n + NOTED] and m[ROUND] % m[GRACE] == 0:
        again(m, n, first_notes(m, n))


@compiled
def first_notes(m: Block, n: int) -> int:
    """Of each topic and node one note, in the order of their first ones, with what their last ones say; how many."""
    stamp, notes, count = new_stamp(m), m[AT_NOTES], 0
    chunk, left = m[n + FIRST_CHUNK], m[n + NOTED]
    while left > 0:
        at = m[AT_CHUNKS] + chunk * CHUNK
        for k in range(at + 1, at + 1 + min(left, NOTES)):
            t = topic(m, m[k] & CODE)
            if m[t + SEEN] != stamp:
                m[t + SEEN], m[t + SEEN_AT] = stamp, NONE
            found = m[t + SEEN_AT]
            while found != NONE and (m[notes + found * NOTE + N_WHAT] ^ m[k]) & ((1 << UNTIL) - 1):
                found = m[notes + found * NOTE + N_NEXT]
            if found == NONE:
                m[notes + count * NOTE + N_NEXT], m[t + SEEN_AT] = m[t + SEEN_AT], count
                found = count
                count += 1
            m[notes + found * NOTE + N_WHAT] = m[k]
        left -= NOTES
        chunk = m[at]
    return count


@inlined
def forget(m: Block, n: int) -> None:
    """All of it."""
    if m[n + NOTED]:
        m[m[AT_CHUNKS] + m[n + LAST_CHUNK] * CHUNK] = m[FREE_CHUNK]
        m[FREE_CHUNK] = m[n + FIRST_CHUNK]
        m[FREE_CHUNKS] += -(-m[n + NOTED] // NOTES)
    m[n + NOTED] = 0


@compiled
def again(m: Block, n: int, count: int) -> None:
    """A new log of those that still count."""
    forget(m, n)
    for k in range(m[AT_NOTES], m[AT_NOTES] + count * NOTE, NOTE):
        if m[k + N_WHAT] >> UNTIL > m[ROUND]:
            add(m, n, m[k + N_WHAT])
