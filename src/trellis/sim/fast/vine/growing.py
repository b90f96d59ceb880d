"""More room for what has too little of it, between two events of a compiled vine."""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.memory import NONE, Block, Table, base, room, roomier, table
from trellis.sim.fast.vine import hashing, mail
from trellis.sim.fast.vine import tables as t

STRIDES = {t.FULL: t.FULL_STRIDE, t.LISTS: t.LIST_STRIDE}  # as much room for each node
HASHED = {t.CARRIED: (t.CARRIED_SLOTS, t.IN_CARRIED), t.PASSAGES: (t.PASSAGE_SLOTS, t.IN_PASSAGES)}


def grown(m: Block, which: int) -> Block:
    """Twice as much; of the pool, what nobody refers to goes first."""
    short = next(part for part in t.PARTS if part.number == which)
    if short == t.POOL and tidied(m):
        return m
    if short in STRIDES:
        return widened(m, short)
    more = {short: 2 * int(m[room(which)])}
    if short == t.OUTBOX:
        more[t.INBOX] = more[short]
    if short in HASHED:
        more[HASHED[short][0]] = 2 * more[short]
    new = roomier(m, t.PARTS, more)
    if short in HASHED:
        slots, count = HASHED[short]
        where, wide = int(new[base(slots.number)]), int(new[room(slots.number)])
        hashing.fill(new, where, wide, int(new[base(which)]), short.width, int(new[count]))
    return new


def widened(m: Block, part: Table) -> Block:
    """Twice as much for each node."""
    nodes, stride = int(m[t.ALL]), int(m[STRIDES[part]])
    new = roomier(m, t.PARTS, {part: 2 * stride * nodes})
    laid = table(new, part)[:, 0].reshape(nodes, 2 * stride)
    laid[:] = 0
    laid[:, :stride] = table(m, part)[:, 0].reshape(nodes, stride)
    new[STRIDES[part]] = 2 * stride
    return new


def tidied(m: Block) -> bool:
    """Move together what is referred to; whether half of the pool is free then."""
    pool, nodes = table(m, t.POOL)[:, 0], table(m, t.NODES)
    known = table(m, t.KNOWN)[:, 0].reshape(-1, t.ROW)
    there = spans(nodes[:, t.FIRST_KNOWN] // t.ROW, nodes[:, t.KNOWN_COUNT])
    beats = []
    sent, came = table(m, t.OUTBOX)[: int(m[t.IN_OUTBOX])], table(m, t.INBOX)[: int(m[t.IN_INBOX])]
    for packets in (sent, came[int(m[t.CURSOR]) :]):
        beats.append((packets, np.flatnonzero(packets[:, t.HEAD] & mail.KINDS == mail.BEAT)))
    asking = nodes[nodes[:, t.ASKING] != NONE, t.ASKING]
    held = [nodes[:, t.PROPOSED], asking, pool[spans(asking + 1, pool[asking])[1::2]]]
    held += [known[there, field] for field in (t.PROPOSALS, t.ASKS)]
    held += [packets[which, field] for packets, which in beats for field in (t.A, t.B)]
    used = np.unique(np.concatenate(held))
    used = used[used != NONE]
    sizes = 1 + pool[used]
    ends = np.cumsum(sizes)
    moved = np.append(ends - sizes, NONE)  # behind the last one: of none
    pool[: int(sizes.sum())] = pool[spans(used, sizes)]
    m[t.IN_POOL] = sizes.sum()

    def now(before: Block) -> Block:
        return moved[np.where(before == NONE, len(used), np.searchsorted(used, before))]

    nodes[:, t.PROPOSED], nodes[:, t.ASKING] = now(nodes[:, t.PROPOSED]), now(nodes[:, t.ASKING])
    asking = nodes[nodes[:, t.ASKING] != NONE, t.ASKING]
    hops = spans(asking + 1, pool[asking])[1::2]
    pool[hops] = now(pool[hops])
    for field in (t.PROPOSALS, t.ASKS):
        known[there, field] = now(known[there, field])
    for packets, which in beats:
        for field in (t.A, t.B):
            packets[which, field] = now(packets[which, field])
    return 2 * int(m[t.IN_POOL]) <= len(pool)


def spans(starts: Block, sizes: Block) -> Block:
    """All places from each start on, so many of each."""
    if not len(starts):
        return np.zeros(0, np.int64)
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1])
