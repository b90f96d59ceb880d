"""Bytes as msgpack: what compiled forms count instead of writing it."""

from __future__ import annotations

from trellis.sim.fast.jit import inlined


@inlined
def size_of(number: int) -> int:
    """Of a natural number."""
    if number < 1 << 7:
        return 1
    if number < 1 << 8:
        return 2
    if number < 1 << 16:
        return 3
    return 5 if number < 1 << 32 else 9


@inlined
def size_of_all(many: int) -> int:
    """Before the entries of an array."""
    if many < 1 << 4:
        return 1
    return 3 if many < 1 << 16 else 5
