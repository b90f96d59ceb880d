"""Who waits for how many acknowledgements of a wave: one number for each node, a slab for each wave on its way.

Where nothing else is kept there, two nodes share a word: what a run touches most often is half as large then.
"""

from __future__ import annotations

from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room

ACKS = Table(15, 1)  # per slab and node: how many, and who asked plus one; a slab that is free has the next one there
FEW, ASKER_BITS = 8, 21  # bits of how many, and of who asked
SOME_ACKS, ASKERS = (1 << FEW) - 1, (1 << ASKER_BITS) - 1
AT_ACKS, ROOM_ACKS, IN_ACKS = base(ACKS.number), room(ACKS.number), ACKS.number
USED_SLABS, FREE_SLAB = counter(25), counter(30)
WIDE, SHARED = counter(100), counter(101)  # words of a slab; 1 if two nodes share one
HALF = 5  # a half has 32 bits, which is 1 shifted by so many


def words(nodes: int, shared: bool) -> int:
    """Of a slab."""
    return (nodes + 1) // 2 if shared else nodes


def begin(m: Block, nodes: int, shared: bool) -> None:
    m[FREE_SLAB], m[WIDE], m[SHARED] = NONE, words(nodes, shared), shared


@inlined
def has_room(m: Block, more: int) -> bool:
    """For so many slabs."""
    return (m[USED_SLABS] + more) * m[WIDE] <= m[ROOM_ACKS] or (more == 1 and m[FREE_SLAB] != NONE)


@inlined
def new_slab(m: Block) -> int:
    """With nothing that anybody waits for."""
    wide, slab = m[WIDE], m[FREE_SLAB]
    if slab == NONE:
        slab = m[USED_SLABS]
        m[USED_SLABS] += 1
    else:
        m[FREE_SLAB] = m[m[AT_ACKS] + slab * wide]
    for k in range(m[AT_ACKS] + slab * wide, m[AT_ACKS] + (slab + 1) * wide):
        m[k] = 0
    return slab


@inlined
def give_back(m: Block, slab: int) -> None:
    m[m[AT_ACKS] + slab * m[WIDE]] = m[FREE_SLAB]
    m[FREE_SLAB] = slab


@inlined
def word_of(m: Block, slab: int, node: int) -> int:
    """Where a node's number stands, alone or with that of a neighbour."""
    return m[AT_ACKS] + slab * m[WIDE] + (node >> m[SHARED])


@inlined
def await_acks(m: Block, slab: int, node: int, asker: int, count: int) -> None:
    """Once for each node."""
    m[word_of(m, slab, node)] |= (count | ((asker + 1) << FEW)) << ((node & m[SHARED]) << HALF)


@inlined
def asker_of_all(m: Block, slab: int, node: int) -> int:
    """One more has come: who asked, plus one, if it was the last; else -1."""
    a, shift = word_of(m, slab, node), (node & m[SHARED]) << HALF
    m[a] -= 1 << shift
    left = m[a] >> shift
    return -1 if left & SOME_ACKS else (left >> FEW) & ASKERS
