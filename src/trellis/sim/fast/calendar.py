"""What is still to happen, in a block of memory. Answers to sim/calendar.py.

Promises: the entries of one time come out by node, kind, peer and number. A sender's packets are pushed in the order of
          their numbers, so their place in the bucket stands for the number.

A bucket is a chain of chunks with a few entries each; a hash table finds it by its time, and a heap has each time once.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room, roomier, table

EMPTY, NEVER = -1, 1 << 62
FIBONACCI = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(20)

# An entry: by what it comes (its key), and what it is about.
KEY, WHAT, HEAD, TAIL, ENTRY = 0, 1, 2, 3, 4
EACH = 7  # entries of a chunk, after the number of the next chunk and of its own entries
NEXT, FULL, FIRST_ENTRY = 0, 1, 4
CHUNKS = Table(0, FIRST_ENTRY + EACH * ENTRY)
SLOTS = Table(1, 3)  # of the hash table
TIME, FIRST, LAST = 0, 1, 2
HEAP, ORDER, DUE, ASIDE, STACK = Table(2, 1), Table(3, 1), Table(4, ENTRY), Table(5, 1), Table(21, 1)
COUNTED = Table(22, 1)  # per node
PARTS = [CHUNKS, SLOTS, HEAP, ORDER, DUE, ASIDE, STACK, COUNTED]

# Where a block has them.
AT_CHUNKS, AT_SLOTS, AT_HEAP, AT_ORDER, AT_DUE, AT_ASIDE, AT_STACK, AT_COUNTED = (base(part.number) for part in PARTS)
CHUNK, SLOT = CHUNKS.width, SLOTS.width
ROOM, SLOTS_ROOM, DUE_ROOM, COUNTED_ROOM = (room(part.number) for part in (CHUNKS, SLOTS, DUE, COUNTED))
FREE, TIMES, NOW, CURSOR, COUNT, UNUSED, PENDING = (counter(n) for n in (0, 1, 2, 3, 4, 5, 36))

# Kinds of entries, as in sim/calendar.py; two bits of a key. An application's entry has a negative peer.
PACKET, APPLICATION = 0, 3
NODE_BITS, PLACE_BITS = 20, 21
PLACES, PEERS = (1 << PLACE_BITS) - 1, (1 << NODE_BITS) - 1
PEER_SHIFT = PLACE_BITS
KIND_SHIFT = PEER_SHIFT + NODE_BITS
NODE_SHIFT = KIND_SHIFT + 2


def rooms(chunks: int, nodes: int) -> dict[Table, int]:
    """Room for so many chunks at once (a power of two)."""
    entries = chunks * EACH
    return {
        CHUNKS: chunks,
        SLOTS: 2 * chunks,
        HEAP: chunks,
        ORDER: entries,
        DUE: entries,
        ASIDE: entries,
        STACK: 128,
        COUNTED: nodes + 1,
    }


def begin(m: Block) -> None:
    m[FREE] = NONE
    table(m, SLOTS)[:, TIME] = EMPTY


def grown(old: Block, tables: list[Table]) -> Block:
    """Twice the room."""
    new = roomier(old, tables, rooms(2 * int(old[ROOM]), int(old[COUNTED_ROOM]) - 1))
    table(new, SLOTS)[:, TIME] = EMPTY
    rehash(new, old)
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


@compiled
def rehash(new: Block, old: Block) -> None:
    """All slots of the one into the other, which has none."""
    for slot in range(old[SLOTS_ROOM]):
        here = old[AT_SLOTS] + slot * SLOT
        if old[here + TIME] != EMPTY:
            at = find(new, old[here + TIME])
            new[at + TIME], new[at + FIRST], new[at + LAST] = old[here + TIME], old[here + FIRST], old[here + LAST]


@inlined
def has_room(m: Block, more: int) -> bool:
    """Whether so many entries can be pushed, each at a time of its own, and worked off at one time."""
    return m[UNUSED] + more <= m[ROOM] and m[PENDING] + more <= m[DUE_ROOM]


@inlined
def key_of(node: int, peer: int) -> int:
    if peer >= 0:
        return (node << NODE_SHIFT) | (PACKET << KIND_SHIFT) | (peer << PEER_SHIFT)
    return (node << NODE_SHIFT) | (APPLICATION << KIND_SHIFT) | ((-1 - peer) << PEER_SHIFT)


@inlined
def new_chunk(m: Block) -> int:
    chunk = m[FREE]
    if chunk == NONE:
        chunk = m[UNUSED]
        m[UNUSED] = chunk + 1
    else:
        m[FREE] = m[m[AT_CHUNKS] + chunk * CHUNK + NEXT]
    c = m[AT_CHUNKS] + chunk * CHUNK
    m[c + NEXT], m[c + FULL] = NONE, 0
    return chunk


@compiled
def push(m: Block, time: int, node: int, peer: int, what: int, head: int, tail: int) -> None:
    at = find(m, time)
    if m[at + TIME] == EMPTY:
        m[at + TIME] = time
        m[at + FIRST] = m[at + LAST] = new_chunk(m)
        sift_up(m, time)
    c = m[AT_CHUNKS] + m[at + LAST] * CHUNK
    if m[c + FULL] == EACH:
        m[c + NEXT] = m[at + LAST] = new_chunk(m)
        c = m[AT_CHUNKS] + m[at + LAST] * CHUNK
    e = c + FIRST_ENTRY + m[c + FULL] * ENTRY
    m[c + FULL] += 1
    m[e + KEY], m[e + WHAT], m[e + HEAD], m[e + TAIL] = key_of(node, peer), what, head, tail
    m[PENDING] += 1


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
def sort(m: Block, count: int) -> None:
    """The keys in `order`. If there are about as many as nodes, they are first laid out by node."""
    order, nodes = m[AT_ORDER], m[COUNTED_ROOM] - 1
    if count * 8 < nodes or count < 24:
        quicksort(m, order, count)
        return
    aside, counted = m[AT_ASIDE], m[AT_COUNTED]
    for k in range(nodes + 1):
        m[counted + k] = 0
    for k in range(count):
        m[counted + (m[order + k] >> NODE_SHIFT) + 1] += 1
    for k in range(nodes):
        m[counted + k + 1] += m[counted + k]
    for k in range(count):
        at = counted + (m[order + k] >> NODE_SHIFT)
        m[aside + m[at]] = m[order + k]
        m[at] += 1
    for k in range(count):
        m[order + k] = m[aside + k]
    insert(m, order, order + count - 1)


@inlined
def insert(m: Block, low: int, high: int) -> None:
    """Insertion sort, for what is nearly in order."""
    for k in range(low + 1, high + 1):
        key, at = m[k], k
        while at > low and m[at - 1] > key:
            m[at] = m[at - 1]
            at -= 1
        m[at] = key


@compiled
def quicksort(m: Block, start: int, count: int) -> None:
    """In place: what NumPy has needs memory of its own, and kernels have none to give."""
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
        insert(m, low, high)


@compiled
def pop(m: Block) -> None:
    """All that is due at the next time, so far, in canonical order."""
    time = m[m[AT_HEAP]]
    at = find(m, time)
    chunk, last = m[at + FIRST], m[at + LAST]
    first = chunk
    sift_down(m)
    drop(m, at)
    order, due, count = m[AT_ORDER], m[AT_DUE], 0
    while chunk != NONE:
        c = m[AT_CHUNKS] + chunk * CHUNK
        for k in range(m[c + FULL]):
            e, d = c + FIRST_ENTRY + k * ENTRY, due + count * ENTRY
            m[order + count] = m[e + KEY] | count
            m[d + WHAT], m[d + HEAD], m[d + TAIL] = m[e + WHAT], m[e + HEAD], m[e + TAIL]
            count += 1
        chunk = m[c + NEXT]
        if count > PLACES:
            raise OverflowError("more than two million entries at one time")
    m[m[AT_CHUNKS] + last * CHUNK + NEXT] = m[FREE]
    m[FREE] = first
    sort(m, count)
    m[NOW], m[CURSOR], m[COUNT] = time, 0, count
    m[PENDING] -= count


@inlined
def next_time(m: Block) -> int:
    return m[m[AT_HEAP]] if m[TIMES] else NEVER


@inlined
def key(m: Block) -> int:
    """Of the next entry that is due."""
    return m[m[AT_ORDER] + m[CURSOR]]


@inlined
def entry(m: Block, key: int) -> int:
    """Where it says what it is about."""
    return m[AT_DUE] + (key & PLACES) * ENTRY


@inlined
def node_of(key: int) -> int:
    return key >> NODE_SHIFT


@inlined
def peer_of(key: int) -> int:
    """Who sent the packet; negative if it is none."""
    if (key >> KIND_SHIFT) & 3:
        return -1
    return (key >> PEER_SHIFT) & PEERS
