"""What is still to happen, in a block of memory. Answers to sim/calendar.py.

Promises: the entries of one time come out by node, kind, peer and number. A sender's packets are pushed in the order of
          their numbers, so those of one time stay in the order in which they were pushed.

A bucket is a chain of chunks with a few entries each. What comes soon has its bucket in a ring, by its time modulo the
ring's length, and bits say which of those are in use. What comes later is found by a hash table, and a heap has each of
its times once (later.py). It is never moved into the ring: it was pushed before whatever the ring has of the same time.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.later import (
    AT_HEAP,
    BUCKET,
    EMPTY,
    FIRST,
    HEAP,
    LEFT,
    LENGTH,
    PUT,
    SLOTS,
    TIME,
    TIMES,
    clear,
    drop,
    find,
    rehash,
    sift_down,
    sift_up,
)
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room, roomier, table
from trellis.sim.fast.sorting import ENTRY as ENTRY
from trellis.sim.fast.sorting import KEY as KEY
from trellis.sim.fast.sorting import WHAT as WHAT
from trellis.sim.fast.sorting import insert_entries, quicksort

NEVER = 1 << 62
EACH = 31  # entries of a chunk, after the number of the next chunk
FIRST_ENTRY = 2
CHUNKS = Table(0, FIRST_ENTRY + EACH * ENTRY)
AT_ONCE = 8  # entries that there is room for, for each chunk

RING, NEAR = Table(5, BUCKET), Table(38, 1)
SPAN, WORD_BITS = 1 << 12, 5  # buckets of the ring; 32 of their bits are a word
WORD = (1 << WORD_BITS) - 1
ORDER, DUE, ASIDE, STACK = Table(3, 1), Table(4, ENTRY), Table(21, ENTRY), Table(39, 1)
COUNTED = Table(22, 1)  # per node
PARTS = [CHUNKS, ORDER, DUE, ASIDE, STACK, COUNTED, RING, NEAR]

# Where a block has them.
AT_CHUNKS, AT_ORDER, AT_DUE, AT_ASIDE, AT_STACK, AT_COUNTED, AT_RING, AT_NEAR = (base(part.number) for part in PARTS)
CHUNK = CHUNKS.width
ROOM, DUE_ROOM, COUNTED_ROOM = (room(part.number) for part in (CHUNKS, DUE, COUNTED))
FREE, NOW, CURSOR, COUNT, UNUSED, PENDING = (counter(n) for n in (0, 2, 3, 4, 5, 36))
SOON = counter(92)  # buckets of the ring that are in use

# Kinds of entries, as in sim/calendar.py; two bits of a key. An application's entry has a negative peer.
PACKET, APPLICATION = 0, 3
NODE_BITS, PLACE_BITS = 20, 21
PLACES, PEERS = (1 << PLACE_BITS) - 1, (1 << NODE_BITS) - 1
PEER_SHIFT = PLACE_BITS
KIND_SHIFT = PEER_SHIFT + NODE_BITS
NODE_SHIFT = KIND_SHIFT + 2
FEW = 24  # entries that are sorted one by one


def rooms(chunks: int, nodes: int) -> dict[Table, int]:
    """Room for so many chunks at once (a power of two)."""
    entries = chunks * AT_ONCE
    return {
        CHUNKS: chunks,
        SLOTS: 2 * chunks,
        HEAP: chunks,
        ORDER: entries,
        DUE: entries,
        ASIDE: entries,
        STACK: 128,
        COUNTED: nodes + 1,
        RING: SPAN,
        NEAR: SPAN >> WORD_BITS,
    }


def begin(m: Block) -> None:
    m[FREE] = NONE


def grown(old: Block, tables: list[Table]) -> Block:
    """Twice the room."""
    new = roomier(old, tables, rooms(2 * int(old[ROOM]), int(old[COUNTED_ROOM]) - 1))
    table(new, SLOTS)[:] = 0
    rehash(new, old)
    return new


@inlined
def has_room(m: Block, more: int) -> bool:
    """Whether so many entries can be pushed, each at a time of its own, and worked off at one time."""
    return m[UNUSED] + more <= m[ROOM] and m[PENDING] + more <= m[DUE_ROOM]


@inlined
def is_empty(m: Block) -> bool:
    return m[PENDING] == 0


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
        m[FREE] = m[m[AT_CHUNKS] + chunk * CHUNK]
    m[m[AT_CHUNKS] + chunk * CHUNK] = NONE
    return chunk


@inlined
def last_chunk(m: Block, b: int) -> int:
    return (m[b + PUT] - 1) // CHUNK


@compiled
def widen(m: Block, b: int) -> None:
    """A bucket gets one more chunk."""
    chunk = new_chunk(m)
    if m[b + FIRST]:
        m[m[AT_CHUNKS] + last_chunk(m, b) * CHUNK] = chunk
    else:
        m[b + FIRST] = chunk + 1
    m[b + PUT], m[b + LEFT] = chunk * CHUNK + FIRST_ENTRY, EACH


@compiled
def bucket_of(m: Block, time: int) -> int:
    """The bucket of a time that has none in the ring."""
    if time - m[NOW] < SPAN:
        slot = time & (SPAN - 1)
        m[m[AT_NEAR] + (slot >> WORD_BITS)] |= 1 << (slot & WORD)
        m[SOON] += 1
        return m[AT_RING] + slot * BUCKET
    b = find(m, time)
    if m[b + TIME] == EMPTY:
        m[b + TIME] = time + 1
        sift_up(m, time)
    return b


@inlined
def push(m: Block, time: int, node: int, peer: int, what: int) -> None:
    b = m[AT_RING] + (time & (SPAN - 1)) * BUCKET
    if m[b + FIRST] == 0 or time - m[NOW] >= SPAN:
        b = bucket_of(m, time)
    if m[b + LEFT] == 0:
        widen(m, b)
    e = m[AT_CHUNKS] + m[b + PUT]
    m[e + KEY], m[e + WHAT] = key_of(node, peer), what
    m[b + PUT] += ENTRY
    m[b + LEFT] -= 1
    m[b + LENGTH] += 1
    m[PENDING] += 1


@inlined
def lowest(word: int) -> int:
    """The place of the lowest bit of a word that has one."""
    found = 0
    if not word & 0xFFFF:
        word, found = word >> 16, 16
    if not word & 0xFF:
        word, found = word >> 8, found + 8
    if not word & 0xF:
        word, found = word >> 4, found + 4
    if not word & 0x3:
        word, found = word >> 2, found + 2
    return found + (not word & 1)


@compiled
def next_soon(m: Block) -> int:
    """The first time that has something in the ring."""
    if m[SOON] == 0:
        return NEVER
    now, words = m[NOW], SPAN >> WORD_BITS
    slot = now & (SPAN - 1)
    k = slot >> WORD_BITS
    word = m[m[AT_NEAR] + k] >> (slot & WORD) << (slot & WORD)
    while not word:  # when all around it comes back to the first word, only what is before now is left there
        k = (k + 1) & (words - 1)
        word = m[m[AT_NEAR] + k]
    return now + (((k << WORD_BITS) + lowest(word) - slot) & (SPAN - 1))


@inlined
def next_time(m: Block) -> int:
    soon = next_soon(m)
    return min(soon, m[m[AT_HEAP]]) if m[TIMES] else soon


@inlined
def tally_nodes(m: Block, b: int, counted: int) -> None:
    """How many entries of a bucket each node has."""
    chunk, left = m[b + FIRST] - 1, m[b + LENGTH]
    while left > 0:
        c, many = m[AT_CHUNKS] + chunk * CHUNK, min(left, EACH)
        for e in range(c + FIRST_ENTRY, c + FIRST_ENTRY + many * ENTRY, ENTRY):
            m[counted + (m[e + KEY] >> NODE_SHIFT)] += 1
        chunk, left = m[c], left - many


@inlined
def lay_out(m: Block, b: int, counted: int, due: int) -> None:
    """A bucket's entries, each where its node's next one belongs."""
    chunk, left = m[b + FIRST] - 1, m[b + LENGTH]
    while left > 0:
        c, many = m[AT_CHUNKS] + chunk * CHUNK, min(left, EACH)
        for e in range(c + FIRST_ENTRY, c + FIRST_ENTRY + many * ENTRY, ENTRY):
            at = counted + (m[e + KEY] >> NODE_SHIFT)
            d = due + m[at] * ENTRY
            m[at] += 1
            m[d + KEY], m[d + WHAT] = m[e + KEY], m[e + WHAT]
        chunk, left = m[c], left - many


@inlined
def copy_out(m: Block, b: int, to: int) -> int:
    """A bucket's entries as they are; where they end."""
    chunk, left = m[b + FIRST] - 1, m[b + LENGTH]
    while left > 0:
        c, many = m[AT_CHUNKS] + chunk * CHUNK, min(left, EACH)
        for e in range(c + FIRST_ENTRY, c + FIRST_ENTRY + many * ENTRY, ENTRY):
            m[to + KEY], m[to + WHAT] = m[e + KEY], m[e + WHAT]
            to += ENTRY
        chunk, left = m[c], left - many
    return to


@inlined
def give_back(m: Block, b: int) -> None:
    """Its chunks."""
    if m[b + FIRST]:
        m[m[AT_CHUNKS] + last_chunk(m, b) * CHUNK] = m[FREE]
        m[FREE] = m[b + FIRST] - 1


@compiled
def by_node(m: Block, later: int, soon: int, count: int) -> None:
    """Where there are about as many entries as nodes, they are laid out by node."""
    due, counted, nodes = m[AT_DUE], m[AT_COUNTED], m[COUNTED_ROOM] - 1
    for k in range(counted, counted + nodes + 1):
        m[k] = 0
    if later:
        tally_nodes(m, later, counted + 1)
    tally_nodes(m, soon, counted + 1)
    total = 0
    for k in range(counted, counted + nodes):
        total += m[k]
        m[k] = total
    if later:
        lay_out(m, later, counted, due)
    lay_out(m, soon, counted, due)
    insert_entries(m, due, count)


@compiled
def by_key(m: Block, later: int, soon: int, count: int) -> None:
    """Where there are few."""
    due, aside, order = m[AT_DUE], m[AT_ASIDE], m[AT_ORDER]
    to = due if count <= FEW else aside
    after = to
    if later:
        after = copy_out(m, later, after)
    copy_out(m, soon, after)
    if count <= FEW:
        insert_entries(m, due, count)
        return
    for k in range(count):
        m[order + k] = m[aside + k * ENTRY + KEY] | k
    quicksort(m, m[AT_STACK], order, count)
    for k in range(count):
        e = aside + (m[order + k] & PLACES) * ENTRY
        m[due + k * ENTRY + KEY], m[due + k * ENTRY + WHAT] = m[e + KEY], m[e + WHAT]


@compiled
def pop(m: Block) -> None:
    """All that is due at the next time, so far, in canonical order."""
    time, later, count = next_time(m), 0, 0
    slot = time & (SPAN - 1)
    soon = m[AT_RING] + slot * BUCKET
    if m[TIMES] and m[m[AT_HEAP]] == time:
        later = find(m, time)
        count = m[later + LENGTH]
    count += m[soon + LENGTH]
    if count > PLACES:
        raise OverflowError("more than two million entries at one time")
    if count * 8 < m[COUNTED_ROOM] or count <= FEW:
        by_key(m, later, soon, count)
    else:
        by_node(m, later, soon, count)
    if later:
        sift_down(m)
        give_back(m, later)
        drop(m, later)
    if m[soon + FIRST]:
        give_back(m, soon)
        clear(m, soon)
        m[m[AT_NEAR] + (slot >> WORD_BITS)] &= ~(1 << (slot & WORD))
        m[SOON] -= 1
    m[NOW], m[CURSOR], m[COUNT] = time, 0, count
    m[PENDING] -= count


@inlined
def key(m: Block) -> int:
    """Of the next entry that is due, and its place among them."""
    return m[m[AT_DUE] + m[CURSOR] * ENTRY + KEY] | m[CURSOR]


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
