"""Who subscribes, as each node has heard it. Answers to parts/hypercube.py, and to UPDATE of VCube-PS.

A view is a row of counters and a pyramid over all ids: how many subscribers each aligned block has. So the first member
of a cluster is found by going down, one step for each bit. Views that say the same are one row until one of them
changes.
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
HOLDERS = Table(8, 2)  # per place: the row that it has, and whether that is its own
ROW, MINE = 0, 1
AT_HOLDERS, HOLDER = base(HOLDERS.number), HOLDERS.width
AT_VIEWS, ROOM = base(9), room(9)


def views(nodes: int) -> Table:
    """A row: a counter for each node, then the pyramid, whose leaves come last."""
    return Table(9, nodes + (2 << dimension(nodes)))


def begin(m: Block, rows: Table, nodes: int) -> None:
    """All places begin with nobody."""
    m[USED], m[DIMENSION], m[WIDE] = STANDING, dimension(nodes), rows.width
    table(m, rows)[:STANDING, :nodes] = NEVER
    table(m, HOLDERS)[:, ROW] = NOBODY
    fill(m, rows, EVERYBODY, np.arange(nodes), nodes)


def fill(m: Block, rows: Table, number: int, members: Block, nodes: int, count: int = -1) -> None:
    """A row with these subscribers, from before the run, and their counters."""
    row, height = table(m, rows)[number], int(m[DIMENSION])
    row[:nodes] = NEVER
    row[members] = count
    for level in range(height + 1):
        np.add.at(row, nodes + (((1 << height) + members) >> level), 1)


def stand(m: Block, rows: Table, members: Sequence[int], topic: int, nodes: int, count: int = -1) -> Block:
    """These subscribe from before the run, and have one row for all. What comes back is their places."""
    who, number = np.array(members, np.int64), int(m[USED])
    m[USED] += 1
    fill(m, rows, number, who, nodes, count)
    table(m, HOLDERS)[topic * nodes + who, ROW] = number
    return topic * nodes + who


@inlined
def has_room(m: Block) -> bool:
    """For one more row."""
    return m[USED] < m[ROOM]


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


@compiled
def set_member(m: Block, v: int, nodes: int, node: int, inside: int) -> None:
    at = (1 << m[DIMENSION]) + node
    change = inside - m[v + nodes + at]
    if change:
        while at:
            m[v + nodes + at] += change
            at >>= 1


@inlined
def has_member(m: Block, place: int, nodes: int, node: int) -> bool:
    return m[row_of(m, place) + nodes + (1 << m[DIMENSION]) + node] != 0


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
    """The first member of c(i, s), or -1. Of two halves of a block, the one that shares i's bit goes first."""
    width, top = 1 << (s - 1), v + nodes
    if m[top + (1 << m[DIMENSION]) + (i ^ width)] != 0:
        return i ^ width  # where all of these steps would lead
    at = ((1 << m[DIMENSION]) + ((i ^ width) & -width)) >> (s - 1)
    if m[top + at] == 0:
        return -1
    for bit in range(s - 2, -1, -1):
        at = 2 * at + ((i >> bit) & 1)
        if m[top + at] == 0:
            at ^= 1
    return at - (1 << m[DIMENSION])


@inlined
def cluster(i: int, j: int) -> int:
    """The s for which j stands in c(i, s)."""
    x, s = i ^ j, 0
    while x:
        x >>= 1
        s += 1
    return s
