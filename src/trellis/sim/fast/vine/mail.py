"""Packets from round to round, and the contacts in them. Answers to sim/cycles.py and the letters of parts/tman.py.

What is sent lies in the order of senders and of each one's packets, since nodes take their turns in that order. Laid
out by receiver it is in the order of the calendar's keys.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, go_on, inlined
from trellis.sim.fast.memory import Block
from trellis.sim.fast.vine.tables import (
    AFTER,
    AGE_SHIFT,
    ALL,
    ALL_TOPICS,
    AT_INBOX,
    AT_LETTERS,
    AT_NODES,
    AT_OUTBOX,
    BYTES,
    CHANNEL,
    CHARS,
    COUNT,
    HEAD,
    ID,
    ID_BITS,
    IN_INBOX,
    IN_LETTERS,
    IN_OUTBOX,
    LIFE,
    LOSS,
    MOST_TOPICS,
    NODE,
    NOW,
    PACKET,
    ROUND,
    SENT,
    SHOWN,
    SIDE,
    START,
    SWAPPED,
    TO,
    TOPICS,
    UPKEEP,
    A,
    B,
    node,
)

PACKETS = ["", "SAMPLE", "SWAP", "BEAT", "FULL", "NOTIFY", "PULL", "EVENT"]
PACKETS += ["LOOKUP", "FOUND-SOME", "ASK-START", "START-AT", "SUMS"]
SAMPLE, SWAP, BEAT, FULL, NOTIFY, PULL, EVENT = range(1, 8)  # from NOTIFY on they serve a message
LOOKUP, FOUND, ASK, START_AT, SUMS = range(8, 13)  # and these a topic: what they say is a letter
KINDS, REPLY, WHY_SHIFT, WHYS, SENDER_SHIFT, VERSION_SHIFT = 15, 16, 5, 3, 8, 8 + ID_BITS  # of the head

AGE_MAX = 1 << 16
CONTACTS_MAX, CONTACT_MORE, NAME_MORE, NAME_MAX = 256, 48, 24, 256  # of parts/tman.py and parts/profiles.py
ROOM = 3 << 18
SAFE = ROOM - CONTACTS_MAX * CONTACT_MORE
FEW = SAFE // (NAME_MORE + NAME_MAX)


@inlined
def is_lost(m: Block, me: int) -> bool:
    """By its number at its sender; one that is not lost has two."""
    n = m[AT_NODES] + me * NODE
    m[n + SENT] += 1
    word = go_on(go_on(np.uint64(m[CHANNEL]), me), m[n + SENT])
    lost = np.int64(word >> np.uint64(11)) < m[LOSS]
    if not lost:
        m[n + SENT] += 1
    return lost


@compiled
def send(m: Block, rows: Block, me: int, to: int, what: int, id: int, a: int, b: int) -> None:
    """`what` is the kind with its reply and its reason; `id` is that of the message, or NONE."""
    kind = what & KINDS
    if id >= 0:
        out.write(rows, m[NOW], 0, out.SEND, me, id, kind, to, kind == EVENT, 0)
    elif m[UPKEEP]:
        out.write(rows, m[NOW], 0, out.SEND, me, own(m, me, m[LIFE], m[ALL_TOPICS]), kind, to, 0, 0)
    post(m, me, to, what, a, b)


@inlined
def post(m: Block, me: int, to: int, what: int, a: int, b: int) -> None:
    if m[LOSS] and is_lost(m, me):
        return
    p = m[AT_OUTBOX] + m[IN_OUTBOX] * PACKET
    m[IN_OUTBOX] += 1
    m[p + TO], m[p + HEAD], m[p + A], m[p + B] = to, (m[SHOWN] << VERSION_SHIFT) | (me << SENDER_SHIFT) | what, a, b


@inlined
def own(m: Block, who: int, life: int, code: int) -> int:
    """The id of what a node says of a topic, of all of them or of itself (`running.py` has the names)."""
    return out.own(m[ALL_TOPICS] + 2, (life << ID_BITS) | who, code)


@inlined
def arrived(m: Block, rows: Block, me: int, sender: int, life: int, kind: int, id: int) -> None:
    """The row of it."""
    if id >= 0:
        out.write(rows, m[NOW], 0, out.RECEIVE, me, id, kind, sender, kind == EVENT, 0)
    elif m[UPKEEP]:
        out.write(rows, m[NOW], 0, out.RECEIVE, me, own(m, sender, life, m[ALL_TOPICS]), kind, sender, 0, 0)


@compiled
def turn_over(m: Block) -> None:
    """What was sent is of this round now: by receiver, in the order in which it was sent."""
    m[IN_LETTERS + m[SIDE]] = 0
    m[SIDE] = 1 - m[SIDE]
    first, count = m[AT_NODES], m[IN_OUTBOX]
    for n in range(first, first + m[ALL] * NODE, NODE):
        m[n + AFTER] = 0
    box, sorted_box = m[AT_OUTBOX], m[AT_INBOX]
    for p in range(box, box + count * PACKET, PACKET):
        m[first + m[p + TO] * NODE + AFTER] += 1
    total = 0
    for n in range(first, first + m[ALL] * NODE, NODE):
        mine = m[n + AFTER]
        m[n + AFTER] = total
        total += mine
    for p in range(box, box + count * PACKET, PACKET):
        n = first + m[p + TO] * NODE
        q = sorted_box + m[n + AFTER] * PACKET
        m[q + TO], m[q + HEAD], m[q + A], m[q + B] = m[p + TO], m[p + HEAD], m[p + A], m[p + B]
        m[n + AFTER] += 1
    m[IN_INBOX], m[IN_OUTBOX] = count, 0


# Letters: contacts, each with the age of what is told of it


@inlined
def letter(m: Block, at: int) -> int:
    """Where a contact of a letter of this round lies."""
    return m[AT_LETTERS + m[SIDE]] + at


@inlined
def begin_letter(m: Block) -> None:
    m[START] = m[IN_LETTERS + 1 - m[SIDE]]
    m[COUNT] = 0


@inlined
def tell(m: Block, who: int, age: int) -> None:
    """One more contact; `who` with the version of its profile."""
    m[m[AT_LETTERS + 1 - m[SIDE]] + m[START] + m[COUNT]] = who | (min(age, AGE_MAX) << AGE_SHIFT)
    m[COUNT] += 1


@inlined
def put(m: Block, word: int) -> None:
    """One more word of a letter that is about a topic."""
    m[m[AT_LETTERS + 1 - m[SIDE]] + m[START] + m[COUNT]] = word
    m[COUNT] += 1


@inlined
def close_letter(m: Block) -> None:
    m[IN_LETTERS + 1 - m[SIDE]] += m[COUNT]


@compiled
def end_letter(m: Block, me: int) -> None:
    """`tman.fitting`: all if a packet has room; else the first, and others from a place on that luck decides."""
    first, count = m[AT_LETTERS + 1 - m[SIDE]] + m[START], m[COUNT]
    if count > CONTACTS_MAX or (count * m[MOST_TOPICS] > FEW and not has_room(m, first, count)):
        word = go_on(go_on(go_on(np.uint64(m[SWAPPED]), me), m[ROUND]), 1)
        rest = max(1, count - 1)
        start = np.int64(word % np.uint64(rest))
        kept, size = 1, size_of(m, m[first])
        for k in range(count - 1):
            contact = m[first + 1 + (start + k) % rest]
            size += size_of(m, contact)
            if size > ROOM or kept == CONTACTS_MAX:
                break
            m[first + count + kept] = contact
            kept += 1
        for k in range(1, kept):
            m[first + k] = m[first + count + k]
        m[COUNT] = kept
    m[IN_LETTERS + 1 - m[SIDE]] += m[COUNT]


@compiled
def has_room(m: Block, first: int, count: int) -> bool:
    topics, chars, size = 0, 0, 0
    for at in range(first, first + count):
        if (m[at] >> ID_BITS) & 1:
            n = node(m, m[at] & ID)
            topics += m[n + TOPICS]
            chars += m[n + CHARS]
        size += size_of(m, m[at])
    return topics <= FEW or 4 * chars + NAME_MORE * topics <= SAFE or size <= ROOM


@inlined
def size_of(m: Block, contact: int) -> int:
    """Whose profile nobody has heard takes no topics, as far as that one knows."""
    return CONTACT_MORE + (m[node(m, contact & ID) + BYTES] if (contact >> ID_BITS) & 1 else 0)
