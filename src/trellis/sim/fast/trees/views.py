"""Who subscribes, as each node has heard it. Answers to parts/hypercube.py, and to UPDATE of VCube-PS.

A view is a row: a counter for each node, how many subscribe, and a bit for each id that says whether it does. Above
those a bit for each word of bits says whether it has any, and so on up to a single word: so the first member of a
cluster is found in a word or two. Views that say the same are one row until one of them changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trellis.protocols.parts.hypercube import dimension
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block, Table, base, counter, room, table

NEVER = -(1 << 40)  # no entry of that node
EVERYBODY, NOBODY, STANDING = 0, 1, 2  # rows; the standing ones of all topics follow
USED, DIMENSION, WIDE = (counter(n) for n in range(13, 16))  # wide: numbers of a row
IDS, BARE = counter(94), counter(95)  # words of bits of the lowest level; numbers of a row before what a kernel adds
BITS = 5  # 32 of them are a word
ALL = (1 << BITS) - 1
HOLDERS = Table(8, 2)  # per place: the row that it has, and whether that is its own
ROW, MINE = 0, 1
AT_HOLDERS, HOLDER = base(HOLDERS.number), HOLDERS.width
AT_VIEWS, ROOM = base(9), room(9)


def views(nodes: int) -> Table:
    """A row."""
    return Table(9, nodes + 1 + sum(levels(nodes)))


def levels(nodes: int) -> list[int]:
    """Words of bits, from the lowest level on."""
    found = [(1 << dimension(nodes)) + ALL >> BITS]
    while found[-1] > 1:
        found.append(found[-1] + ALL >> BITS)
    return found


def begin(m: Block, rows: Table, nodes: int) -> None:
    """All places begin with nobody."""
    m[USED], m[DIMENSION], m[WIDE] = STANDING, dimension(nodes), rows.width
    m[IDS], m[BARE] = levels(nodes)[0], views(nodes).width
    table(m, rows)[:STANDING, :nodes] = NEVER
    table(m, HOLDERS)[:, ROW] = NOBODY
    fill(m, rows, EVERYBODY, np.arange(nodes), nodes)


def fill(m: Block, rows: Table, number: int, members: Block, nodes: int, count: int = -1) -> None:
    """A row with these subscribers, from before the run, and their counters."""
    row, at, level = table(m, rows)[number], nodes + 1, members
    row[:nodes] = NEVER
    row[members] = count
    row[nodes] = len(members)
    for words in levels(nodes):
        np.bitwise_or.at(row, at + (level >> BITS), 1 << (level & ALL))
        at, level = at + words, level >> BITS


def stand(m: Block, rows: Table, members: Sequence[int], topic: int, nodes: int, count: int = -1) -> Block:
    """These subscribe from before the run, and have one row for all. What comes back is their places."""
    who, number = np.array(members, np.int64), int(m[USED])
    m[USED] += 1
    fill(m, rows, number, who, nodes, count)
    table(m, HOLDERS)[topic * nodes + who, ROW] = number
    return topic * nodes + who


@inlined
def has_room(m: Block, more: int) -> bool:
    """For so many more rows."""
    return m[USED] + more <= m[ROOM]


@inlined
def row_of(m: Block, place: int) -> int:
    """The address of a place's row."""
    return m[AT_VIEWS] + m[m[AT_HOLDERS] + place * HOLDER + ROW] * m[WIDE]


@compiled
def to_change(m: Block, place: int) -> int:
    """The same, to be changed."""
    h, before = m[AT_HOLDERS] + place * HOLDER, row_of(m, place)
    if not m[h + MINE]:
        m[h + ROW], m[h + MINE] = m[USED], 1
        m[USED] += 1
        v = row_of(m, place)
        for k in range(m[WIDE]):
            m[v + k] = m[before + k]
    return row_of(m, place)


@inlined
def subscribes(m: Block, v: int, nodes: int, node: int) -> int:
    """1 if the node does, by a row, else 0."""
    return (m[v + nodes + 1 + (node >> BITS)] >> (node & ALL)) & 1


@inlined
def has_member(m: Block, place: int, nodes: int, node: int) -> bool:
    return subscribes(m, row_of(m, place), nodes, node) != 0


@compiled
def set_member(m: Block, v: int, nodes: int, node: int, inside: int) -> None:
    if subscribes(m, v, nodes, node) == inside:
        return
    m[v + nodes] += 2 * inside - 1
    at, words, k = v + nodes + 1, m[IDS], node
    while True:
        w = at + (k >> BITS)
        before = m[w]
        m[w] = before ^ (1 << (k & ALL))
        if words == 1 or (before != 0 and m[w] != 0):  # the words above say the same as before
            return
        at, words, k = at + words, (words + ALL) >> BITS, k >> BITS


@inlined
def update(m: Block, place: int, nodes: int, node: int, inside: int, rc: int) -> None:
    """UPDATE: the higher counter holds, on a tie what I had."""
    if rc > m[row_of(m, place) + node]:
        v = to_change(m, place)
        m[v + node] = rc
        set_member(m, v, nodes, node, inside)


@compiled
def forget(m: Block, place: int, nodes: int, node: int) -> None:
    v = to_change(m, place)
    m[v + node] = NEVER
    set_member(m, v, nodes, node, 0)


@compiled
def clear(m: Block, place: int, nodes: int) -> None:
    v = to_change(m, place)
    for k in range(nodes):
        m[v + k] = NEVER
    for k in range(nodes, m[WIDE]):
        m[v + k] = 0


@inlined
def first(m: Block, v: int, nodes: int, i: int, s: int) -> int:
    """The first member of c(i, s), or -1."""
    mirror = i ^ (1 << (s - 1))
    if subscribes(m, v, nodes, mirror):
        return mirror
    return search(m, v + nodes + 1, mirror, s - 1)


@compiled
def search(m: Block, at: int, like: int, height: int) -> int:
    """Of the block of so many bits that has `like` the first member, or -1: of two halves of a block, the one in which
    `like` is goes first.
    """
    words, level = m[IDS], 0
    while height - level * BITS > BITS:
        at, words, level = at + words, (words + ALL) >> BITS, level + 1
    k = like >> (level * BITS)
    found = first_of(m[at + (k >> BITS)], k, height - level * BITS)
    while level and found >= 0:
        level -= 1
        words = level_words(m, level)
        at -= words
        found = (found << BITS) | (first_of(m[at + found], like >> (level * BITS), BITS) & ALL)
    return found


@inlined
def level_words(m: Block, level: int) -> int:
    found = m[IDS]
    for _ in range(level):
        found = (found + ALL) >> BITS
    return found


@inlined
def first_of(word: int, like: int, height: int) -> int:
    """The same in one word, for the block of that word which has `like`: the number of what a bit stands for."""
    start = like & ALL & -(1 << height)
    piece = (word >> start) & ((1 << (1 << height)) - 1)
    if piece == 0:
        return -1
    for bit in range(height - 1, -1, -1):
        half = 1 << bit
        low, high = piece & ((1 << half) - 1), piece >> half
        if ((like >> bit) & 1 and high) or not low:
            piece, start = high, start + half
        else:
            piece = low
    return (like & ~ALL) | start


@inlined
def cluster(i: int, j: int) -> int:
    """The s for which j stands in c(i, s)."""
    x, s = i ^ j, 0
    while x:
        x >>= 1
        s += 1
    return s
