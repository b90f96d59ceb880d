"""Neighbours that cover topics, compiled. Answers to `select` of overlays/topic_overlay.py.

What a node has in common with a candidate is told in words with a bit for each of its own topics: looked up once, then
what the candidate would cover is counted a word at a time, again and again.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block
from trellis.sim.fast.vine.candidates import choose
from trellis.sim.fast.vine.neighbours import ones
from trellis.sim.fast.vine.tables import (
    AT_BITS,
    AT_COMMON,
    AT_LACKS,
    AT_LINE,
    AT_MINE,
    COVER,
    FIRST_TOPIC,
    FRIEND,
    ID,
    ID_BITS,
    IN_LINE,
    IN_SOME,
    PLACED,
    POINT,
    S_NODE,
    S_OUT,
    S_VERSION,
    TABLE_MAX,
    TOPICS,
    WORDS,
    node,
    some,
    spot,
)

A_WORD = 63  # topics; the sign is left alone
GAIN = 2 * ID_BITS  # where the gain stands in an entry of the heap, before the luck and the place among the candidates


@inlined
def words_for(topics: int) -> int:
    return (topics + A_WORD - 1) // A_WORD


@compiled
def cover(m: Block, me: int) -> None:
    """Greedily; a gain only shrinks, so it is counted again only of whoever seems to be the best."""
    lacking, lacks = m[node(m, me) + TOPICS], m[AT_LACKS]
    words, wanted = words_for(lacking), lacks + lacking
    for k in range(lacking):
        m[lacks + k] = m[COVER]
    for w in range(words):
        m[wanted + w] = (1 << min(A_WORD, lacking - w * A_WORD)) - 1
    salt = (m[spot(m, me) + POINT] & ID) ^ ID  # of those with the same gain the least `node ^ here`: the greatest of it
    heap, size = m[AT_LINE] + m[IN_SOME] * PLACED, 0
    for c in range(m[IN_SOME]):
        s = some(m, c)
        if not m[s + S_OUT] and m[s + S_VERSION] & 1:
            look_up(m, me, m[s + S_NODE], m[AT_COMMON] + c * words, words)
            gain = gain_of(m, m[AT_COMMON] + c * words, wanted, words)
            if gain:
                m[heap + size] = (gain << GAIN) | ((m[s + S_NODE] ^ salt) << ID_BITS) | c
                size += 1
    for at in range((size >> 1) - 1, -1, -1):
        sink(m, heap, size, at)
    while size and lacking and m[IN_LINE] < m[TABLE_MAX]:
        best = m[heap]
        shared = m[AT_COMMON] + (best & ID) * words
        gain = gain_of(m, shared, wanted, words)
        if gain == best >> GAIN:
            choose(m, best & ID, FRIEND)
            lacking -= fill(m, shared, lacks, wanted, words)
            gain = 0
        if gain:
            m[heap] = (gain << GAIN) | (best & ((1 << GAIN) - 1))
        else:
            size -= 1
            m[heap] = m[heap + size]
        sink(m, heap, size, 0)


@inlined
def gain_of(m: Block, shared: int, wanted: int, words: int) -> int:
    found = np.uint64(0)
    for w in range(words):
        found += ones(np.uint64(m[shared + w] & m[wanted + w]))
    return np.int64(found)  # type: ignore[return-value]


@inlined
def fill(m: Block, shared: int, lacks: int, wanted: int, words: int) -> int:
    """One neighbour more for each of these topics; how many have enough now."""
    full = 0
    for w in range(words):
        left = m[shared + w] & m[wanted + w]
        while left:
            bit = left & -left
            left ^= bit
            at = lacks + w * A_WORD + np.int64(ones(np.uint64(bit - 1)))
            m[at] -= 1
            if not m[at]:
                m[wanted + w] ^= bit
                full += 1
    return full


@inlined
def look_up(m: Block, me: int, other: int, shared: int, words: int) -> None:
    """What the node whose turn it is has in common with another one."""
    theirs, first = m[AT_BITS] + other * m[WORDS], m[AT_MINE] + m[node(m, me) + FIRST_TOPIC]
    end = first + m[node(m, me) + TOPICS]
    for w in range(words):
        found = 0
        for bit in range(min(A_WORD, end - first)):
            code = m[first + bit]
            found |= ((m[theirs + (code >> 6)] >> (code & 63)) & 1) << bit
        m[shared + w] = found
        first += A_WORD


@compiled
def sink(m: Block, heap: int, size: int, at: int) -> None:
    """An entry to its place below."""
    entry, child = m[heap + at], 2 * at + 1
    while child < size:
        if child + 1 < size and m[heap + child + 1] > m[heap + child]:
            child += 1
        if m[heap + child] <= entry:
            break
        m[heap + at] = m[heap + child]
        at, child = child, 2 * child + 1
    if at < size:
        m[heap + at] = entry
