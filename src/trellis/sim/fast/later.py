"""Buckets of times that are far off, in a block of memory: a hash table finds them, and a heap has each time once.

A part of calendar.py, which says what a bucket is.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block, Table, base, counter, room

EMPTY = 0
FIBONACCI = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(20)

# A bucket: its first chunk plus one, or 0 if it has none; how many entries it has; where in the chunks the next one
# comes to stand, and how many more its last chunk has room for.
FIRST, LENGTH, PUT, LEFT, BUCKET = 0, 1, 2, 3, 4
SLOTS, HEAP = Table(1, BUCKET + 1), Table(2, 1)
TIME = BUCKET  # plus one
AT_SLOTS, AT_HEAP, SLOTS_ROOM = base(SLOTS.number), base(HEAP.number), room(SLOTS.number)
SLOT = SLOTS.width
TIMES = counter(1)  # in the heap


@inlined
def home(m: Block, time: int) -> int:
    return np.int64((np.uint64(time) * FIBONACCI) >> SHIFT) & (m[SLOTS_ROOM] - 1)


@inlined
def find(m: Block, time: int) -> int:
    """The slot of a time, or where it belongs."""
    slot = home(m, time)
    while True:
        at = m[AT_SLOTS] + slot * SLOT
        if m[at + TIME] == EMPTY or m[at + TIME] == time + 1:
            return at
        slot = (slot + 1) & (m[SLOTS_ROOM] - 1)


@inlined
def move(new: Block, to: int, old: Block, at: int) -> None:
    for k in range(SLOT):
        new[to + k] = old[at + k]


@compiled
def rehash(new: Block, old: Block) -> None:
    """All slots of the one into the other, which has none."""
    for slot in range(old[SLOTS_ROOM]):
        here = old[AT_SLOTS] + slot * SLOT
        if old[here + TIME] != EMPTY:
            move(new, find(new, old[here + TIME] - 1), old, here)


@inlined
def sift_up(m: Block, time: int) -> None:
    heap, k = m[AT_HEAP], m[TIMES]
    m[TIMES] = k + 1
    while k > 0 and m[heap + ((k - 1) >> 1)] > time:
        m[heap + k] = m[heap + ((k - 1) >> 1)]
        k = (k - 1) >> 1
    m[heap + k] = time


@inlined
def sift_down(m: Block) -> None:
    """Take the first time out."""
    heap, size = m[AT_HEAP], m[TIMES] - 1
    m[TIMES] = size
    last, k = m[heap + size], 0
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and m[heap + child + 1] < m[heap + child]:
            child += 1
        if m[heap + child] >= last:
            break
        m[heap + k] = m[heap + child]
        k = child
    m[heap + k] = last


@inlined
def drop(m: Block, at: int) -> None:
    """Empty a slot of the hash table; those after it that were pushed aside come closer."""
    slots, mask = m[AT_SLOTS], m[SLOTS_ROOM] - 1
    hole = (at - slots) // SLOT
    clear(m, at)
    m[at + TIME] = EMPTY
    k = (hole + 1) & mask
    while m[slots + k * SLOT + TIME] != EMPTY:
        here, there = slots + k * SLOT, slots + hole * SLOT
        if ((k - home(m, m[here + TIME] - 1)) & mask) >= ((k - hole) & mask):
            move(m, there, m, here)
            clear(m, here)
            m[here + TIME] = EMPTY
            hole = k
        k = (k + 1) & mask


@inlined
def clear(m: Block, b: int) -> None:
    m[b + FIRST], m[b + LENGTH], m[b + LEFT] = 0, 0, 0
