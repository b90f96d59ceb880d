"""What nodes tell each other in the compiled `vcube`: what they have (vectors), and of themselves (parts/view.py).

A vector is a row of numbers, one for each node that publishes on the topic.
"""

from __future__ import annotations

from trellis.protocols.parts.view import GONE, MEMBER, NEWCOMER
from trellis.sim.fast import network as net
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.vcube_records import (
    AT_VECTORS,
    CROWD,
    FREE_VECTOR,
    JOINING,
    LEAVING,
    LOW,
    OUT,
    PHASE,
    RANK_BITS,
    RANKS,
    SPEAKERS,
    USED_VECTORS,
    VERSION,
    had,
    known,
    take,
)


@inlined
def new_vector(m: Block) -> int:
    found = take(m, USED_VECTORS, FREE_VECTOR, AT_VECTORS, m[SPEAKERS], 0)
    for k in range(m[AT_VECTORS] + found * m[SPEAKERS], m[AT_VECTORS] + (found + 1) * m[SPEAKERS]):
        m[k] = 0
    return found


@inlined
def give_vector(m: Block, vector: int) -> None:
    if vector != NONE:
        m[m[AT_VECTORS] + vector * m[SPEAKERS]] = m[FREE_VECTOR]
        m[FREE_VECTOR] = vector


@compiled
def merge(m: Block, into: int, vector: int) -> None:
    """The maximum of each number, at an address."""
    if vector != NONE:
        v = m[AT_VECTORS] + vector * m[SPEAKERS]
        for k in range(m[SPEAKERS]):
            m[into + k] = max(m[into + k], m[v + k])


@compiled
def merge_knows(m: Block, p: int, vector: int) -> int:
    """`knows`: what I have delivered or skipped, now and before, and what those had who told me when they left."""
    if vector == NONE:
        vector = new_vector(m)
    v, mine, before = m[AT_VECTORS] + vector * m[SPEAKERS], known(m, p, 0), had(m, p, 0)
    for k in range(m[SPEAKERS]):
        m[v + k] = max(m[v + k], m[mine + k] & LOW, m[before + k])
    return vector


@inlined
def crowd(m: Block, v: int) -> int:
    """Where a row says how many newcomers there are; then they follow, ascending."""
    return v + m[vws.BARE]


@compiled
def update(m: Block, holder: int, node: int, says: int) -> None:
    """UPDATE: the newer word of each node holds."""
    version, rank = says >> RANK_BITS, says & RANKS
    if version <= m[vws.row_of(m, holder) + node]:
        return
    v = vws.to_change(m, holder)
    m[v + node] = version
    vws.set_member(m, v, m[net.NODES], node, 1 if rank == MEMBER else 0)
    c = crowd(m, v)
    at = c + 1
    while at <= c + m[c] and m[at] < node:
        at += 1
    is_there = at <= c + m[c] and m[at] == node
    if rank == NEWCOMER and not is_there:
        m[c] += 1
        for k in range(c + m[c], at, -1):
            m[k] = m[k - 1]
        m[at] = node
        m[CROWD] = max(m[CROWD], m[c])
    elif rank != NEWCOMER and is_there:
        for k in range(at, c + m[c]):
            m[k] = m[k + 1]
        m[c] -= 1


@inlined
def says_of_me(m: Block, p: int) -> int:
    """`rank`: what I say of myself."""
    phase, rank = m[p + PHASE], MEMBER
    if phase == JOINING:
        rank = NEWCOMER
    elif phase in (OUT, LEAVING):
        rank = GONE
    return (m[p + VERSION] << RANK_BITS) | rank
