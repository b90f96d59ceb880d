"""Who waits for how many acknowledgements of a wave: one number for each node, a slab for each wave on its way."""

from __future__ import annotations

from trellis.sim.fast import network as net
from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room

ACKS = Table(15, 1)  # per slab and node: how many, and who asked plus one; a slab that is free has the next one there
FEW = 8  # bits of how many
SOME_ACKS = (1 << FEW) - 1
AT_ACKS, ROOM_ACKS, IN_ACKS = base(ACKS.number), room(ACKS.number), ACKS.number
USED_SLABS, FREE_SLAB = counter(25), counter(30)


@inlined
def has_room(m: Block, more: int) -> bool:
    """For so many slabs."""
    return (m[USED_SLABS] + more) * m[net.NODES] <= m[ROOM_ACKS] or (more == 1 and m[FREE_SLAB] != NONE)


@inlined
def new_slab(m: Block) -> int:
    """With nothing that anybody waits for."""
    nodes, slab = m[net.NODES], m[FREE_SLAB]
    if slab == NONE:
        slab = m[USED_SLABS]
        m[USED_SLABS] += 1
    else:
        m[FREE_SLAB] = m[m[AT_ACKS] + slab * nodes]
    for k in range(m[AT_ACKS] + slab * nodes, m[AT_ACKS] + (slab + 1) * nodes):
        m[k] = 0
    return slab


@inlined
def give_back(m: Block, slab: int) -> None:
    m[m[AT_ACKS] + slab * m[net.NODES]] = m[FREE_SLAB]
    m[FREE_SLAB] = slab
