"""What is still to happen, in a block of memory. Answers to sim/calendar.py.

Promises: the entries of one time come out by node, kind, peer and number. A sender's packets are pushed in the order of
          their numbers, so their place in the bucket stands for the number.

A bucket is a chain of entries; a hash table finds it by its time, and a heap has each time once.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room, roomier, table

EMPTY, NEVER = -1, 1 << 62
FIBONACCI = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(20)

ENTRIES = Table(0, 6)
NEXT, NODE, PEER, WHAT, HEAD, TAIL = 0, 1, 2, 3, 4, 5  # next: in its bucket, or among those that are free
SLOTS = Table(1, 3)  # of the hash table
TIME, FIRST, LAST = 0, 1, 2
HEAP, ORDER, BUCKET, STACK = Table(2, 1), Table(3, 1), Table(4, 1), Table(5, 1)
PARTS = [ENTRIES, SLOTS, HEAP, ORDER, BUCKET, STACK]

# Where a block has them.
AT_ENTRIES, AT_SLOTS, AT_HEAP, AT_ORDER, AT_BUCKET, AT_STACK = (base(part.number) for part in PARTS)
ENTRY, SLOT = ENTRIES.width, SLOTS.width
ROOM, SLOTS_ROOM = room(ENTRIES.number), room(SLOTS.number)
FREE, TIMES, NOW, CURSOR, COUNT, UNUSED = (counter(n) for n in range(6))

# Kinds of entries, as in sim/calendar.py; two bits of a key. An application's entry has a negative peer.
PACKET, APPLICATION = 0, 3
NODE_BITS, PLACE_BITS = 20, 21
PLACES = (1 << PLACE_BITS) - 1
PEER_SHIFT = PLACE_BITS
KIND_SHIFT = PEER_SHIFT + NODE_BITS
NODE_SHIFT = KIND_SHIFT + 2


def rooms(entries: int) -> dict[Table, int]:
    """Room for so many entries at once (a power of two)."""
    return {ENTRIES: entries, SLOTS: 2 * entries, HEAP: entries, ORDER: entries, BUCKET: entries, STACK: 128}


def begin(m: Block) -> None:
    m[FREE] = NONE
    table(m, SLOTS)[:, TIME] = EMPTY


def grown(old: Block, tables: list[Table]) -> Block:
    """Twice the room."""
    new = roomier(old, tables, rooms(2 * int(old[ROOM])))
    table(new, SLOTS)[:, TIME] = EMPTY
    for slot in table(old, SLOTS):
        if slot[TIME] != EMPTY:
            at = find(new, slot[TIME])
            new[at : at + SLOT] = slot
    return new


@inlined
def home(m: Block, time: int) -> int:
    return np.int64((np.uint64(time) * FIBONACCI) >> SHIFT) & (m[SLOTS_ROOM] - 1)


@inlined
def find(m: Block, time: int) -> int:
    """The slot of a time, or where it belongs."""
    slot = home(m, time)
    while True:
        at = m[AT_SLOTS] + slot * SLOT
        if m[at + TIME] == EMPTY or m[at + TIME] == time:
            return at
        slot = (slot + 1) & (m[SLOTS_ROOM] - 1)


@inlined
def has_room(m: Block, more: int) -> bool:
    """Whether so many entries can be pushed. Those that were never used are counted; free ones are at hand besides."""
    return m[UNUSED] + more <= m[ROOM]


@inlined
def push(m: Block, time: int, node: int, peer: int, what: int, head: int, tail: int) -> None:
    entry = m[FREE]
    if entry == NONE:
        entry = m[UNUSED]
        m[UNUSED] = entry + 1
        e = m[AT_ENTRIES] + entry * ENTRY
    else:
        e = m[AT_ENTRIES] + entry * ENTRY
        m[FREE] = m[e + NEXT]
    m[e + NEXT], m[e + NODE], m[e + PEER] = NONE, node, peer
    m[e + WHAT], m[e + HEAD], m[e + TAIL] = what, head, tail
    at = find(m, time)
    if m[at + TIME] == EMPTY:
        m[at + TIME], m[at + FIRST] = time, entry
        sift_up(m, time)
    else:
        m[m[AT_ENTRIES] + m[at + LAST] * ENTRY + NEXT] = entry
    m[at + LAST] = entry


@compiled
def sift_up(m: Block, time: int) -> None:
    heap, k = m[AT_HEAP], m[TIMES]
    m[TIMES] = k + 1
    while k > 0 and m[heap + ((k - 1) >> 1)] > time:
        m[heap + k] = m[heap + ((k - 1) >> 1)]
        k = (k - 1) >> 1
    m[heap + k] = time


@compiled
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


@compiled
def drop(m: Block, at: int) -> None:
    """Empty a slot of the hash table; those after it that were pushed aside come closer."""
    slots, mask = m[AT_SLOTS], m[SLOTS_ROOM] - 1
    hole = (at - slots) // SLOT
    m[at + TIME] = EMPTY
    k = (hole + 1) & mask
    while m[slots + k * SLOT + TIME] != EMPTY:
        here, there = slots + k * SLOT, slots + hole * SLOT
        if ((k - home(m, m[here + TIME])) & mask) >= ((k - hole) & mask):
            m[there + TIME], m[there + FIRST], m[there + LAST] = m[here + TIME], m[here + FIRST], m[here + LAST]
            m[here + TIME] = EMPTY
            hole = k
        k = (k + 1) & mask


@compiled
def sort(m: Block, start: int, count: int) -> None:
    """Quicksort, in place: what NumPy has needs memory of its own, and kernels have none to give."""
    stack = m[AT_STACK]
    m[stack], m[stack + 1], depth = start, start + count - 1, 2
    while depth:
        depth -= 2
        low, high = m[stack + depth], m[stack + depth + 1]
        while high - low > 16:
            middle = (low + high) >> 1
            if m[middle] < m[low]:
                m[middle], m[low] = m[low], m[middle]
            if m[high] < m[low]:
                m[high], m[low] = m[low], m[high]
            if m[high] < m[middle]:
                m[high], m[middle] = m[middle], m[high]
            pivot, i, j = m[middle], low, high
            while i <= j:
                while m[i] < pivot:
                    i += 1
                while m[j] > pivot:
                    j -= 1
                if i <= j:
                    m[i], m[j] = m[j], m[i]
                    i, j = i + 1, j - 1
            if j - low > high - i:  # the larger part waits: so few are waiting at a time
                m[stack + depth], m[stack + depth + 1] = low, j
                low = i
            else:
                m[stack + depth], m[stack + depth + 1] = i, high
                high = j
            depth += 2
        for k in range(low + 1, high + 1):
            key, at = m[k], k
            while at > low and m[at - 1] > key:
                m[at] = m[at - 1]
                at -= 1
            m[at] = key


@compiled
def pop(m: Block) -> None:
    """All that is due at the next time, so far, in canonical order."""
    time = m[m[AT_HEAP]]
    at = find(m, time)
    entry = m[at + FIRST]
    sift_down(m)
    drop(m, at)
    order, bucket, count = m[AT_ORDER], m[AT_BUCKET], 0
    while entry != NONE:
        if count >> PLACE_BITS:
            raise OverflowError("more than two million entries at one time")
        e = m[AT_ENTRIES] + entry * ENTRY
        peer, kind = m[e + PEER], PACKET
        if peer < 0:
            peer, kind = -1 - peer, APPLICATION
        m[order + count] = (m[e + NODE] << NODE_SHIFT) | (kind << KIND_SHIFT) | (peer << PEER_SHIFT) | count
        m[bucket + count] = entry
        count += 1
        entry = m[e + NEXT]
    sort(m, order, count)
    m[NOW], m[CURSOR], m[COUNT] = time, 0, count


@inlined
def next_time(m: Block) -> int:
    return m[m[AT_HEAP]] if m[TIMES] else NEVER


@inlined
def peek(m: Block) -> int:
    """The address of the next entry of the bucket."""
    return m[AT_ENTRIES] + m[m[AT_BUCKET] + (m[m[AT_ORDER] + m[CURSOR]] & PLACES)] * ENTRY


@inlined
def take(m: Block) -> int:
    """The address of the next entry. It is free from now on: read it before the next push."""
    entry = m[m[AT_BUCKET] + (m[m[AT_ORDER] + m[CURSOR]] & PLACES)]
    m[CURSOR] += 1
    e = m[AT_ENTRIES] + entry * ENTRY
    m[e + NEXT] = m[FREE]
    m[FREE] = entry
    return e
