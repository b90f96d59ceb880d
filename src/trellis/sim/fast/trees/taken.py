"""Which messages each node has delivered, as bits, and what a message follows as masks for them.

So predecessors whose numbers are near each other are looked at together. Where a node may forget what it delivered its
bits say only what it had once.
"""

from __future__ import annotations

from trellis.sim.fast.barriers import AT_NAMES, AT_WAVES, BARRIER, FOLLOWS, USED_NAMES, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block, Table, base, counter

TAKEN = Table(30, 1)  # per node: a bit for each wave, whether it has delivered it
MASKS = Table(31, 1)  # as long as names: of a message, the words in which its predecessors have bits, and which; then 0
BITS = 5  # of a wave's number that say which bit is its own
BIT = (1 << BITS) - 1
MASK_BITS = 1 << BITS
MASK = (1 << MASK_BITS) - 1
AT_TAKEN, AT_MASKS = base(TAKEN.number), base(MASKS.number)
WORDS = counter(96)  # of a node's bits


def words(waves: int) -> int:
    return (waves >> BITS) + 1


@inlined
def take(m: Block, me: int, wave: int) -> None:
    """The node has delivered the message."""
    m[m[AT_TAKEN] + me * m[WORDS] + (wave >> BITS)] |= 1 << (wave & BIT)


@inlined
def was_taken(m: Block, me: int, wave: int) -> bool:
    return (m[m[AT_TAKEN] + me * m[WORDS] + (wave >> BITS)] >> (wave & BIT)) & 1 != 0


@compiled
def mask(m: Block, wave: int) -> None:
    """What a message follows, once more by words of bits. Names and masks end together."""
    w = m[AT_WAVES] + wave * WAVE
    first = m[AT_MASKS] + m[w + FOLLOWS]
    after = first
    for k in range(m[AT_NAMES] + m[w + FOLLOWS], m[AT_NAMES] + m[w + FOLLOWS] + m[w + BARRIER]):
        at = first
        while at < after and m[at] >> MASK_BITS != m[k] >> BITS:
            at += 1
        if at == after:
            m[at] = m[k] >> BITS << MASK_BITS
            after += 1
        m[at] |= 1 << (m[k] & BIT)
    m[after] = 0
    m[USED_NAMES] += 1


@inlined
def masked(m: Block, me: int, w: int, k: int) -> int:
    """How many words of a message's predecessors, from the first on, have all their bits; `k` are known to."""
    at, mine = m[AT_MASKS] + m[w + FOLLOWS], m[AT_TAKEN] + me * m[WORDS]
    while m[at + k] and not m[at + k] & MASK & ~m[mine + (m[at + k] >> MASK_BITS)]:
        k += 1
    return k


@inlined
def is_all(m: Block, w: int, k: int) -> bool:
    """Whether so many words are all that a message has."""
    return m[m[AT_MASKS] + m[w + FOLLOWS] + k] == 0
