"""Records found by a key: open addressing, a slot after the other. A slot is a key plus one, and a record."""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import compiled, inlined, mix
from trellis.sim.fast.memory import NONE, Block

SLOT = 2


@inlined
def home(key: int, mask: int) -> int:
    return np.int64(mix(np.uint64(key)) >> np.uint64(1)) & mask  # type: ignore[return-value]


@inlined
def slot_of(m: Block, slots: int, mask: int, key: int) -> int:
    """Where a key is, or would be."""
    at = home(key, mask)
    while m[slots + at * SLOT] != 0 and m[slots + at * SLOT] != key + 1:
        at = (at + 1) & mask
    return slots + at * SLOT


@inlined
def find(m: Block, slots: int, room: int, key: int) -> int:
    """The record of a key, or NONE."""
    slot = slot_of(m, slots, room - 1, key)
    return m[slot + 1] if m[slot] else NONE


@compiled
def remove(m: Block, slots: int, mask: int, key: int) -> None:
    """Those behind it move up, so that each is still found from its home on."""
    hole = (slot_of(m, slots, mask, key) - slots) // SLOT
    at = hole
    while True:
        at = (at + 1) & mask
        other = slots + at * SLOT
        if m[other] == 0:
            break
        if (at - home(m[other] - 1, mask)) & mask >= (at - hole) & mask:
            m[slots + hole * SLOT], m[slots + hole * SLOT + 1] = m[other], m[other + 1]
            hole = at
    m[slots + hole * SLOT] = 0


@compiled
def fill(m: Block, slots: int, room: int, records: int, width: int, count: int) -> None:
    """Slots for all records that there are; each begins with its key, or NONE if it is free."""
    for k in range(slots, slots + room * SLOT):
        m[k] = 0
    for record in range(count):
        key = m[records + record * width]
        if key == NONE:
            continue
        slot = slot_of(m, slots, room - 1, key)
        m[slot], m[slot + 1] = key + 1, record
