"""Sorting in a block of memory: keys, or the entries of a calendar by their keys."""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block

KEY, WHAT, ENTRY = 0, 1, 2  # an entry: by what it comes (its key), and what it is about


@inlined
def insert(m: Block, low: int, high: int) -> None:
    """Insertion sort, for what is nearly in order."""
    for k in range(low + 1, high + 1):
        key, at = m[k], k
        while at > low and m[at - 1] > key:
            m[at] = m[at - 1]
            at -= 1
        m[at] = key


@inlined
def insert_entries(m: Block, first: int, count: int) -> None:
    """The same for whole entries; what has the same key keeps its order."""
    for e in range(first + ENTRY, first + count * ENTRY, ENTRY):
        key = m[e + KEY]
        if m[e - ENTRY + KEY] > key:
            at, what = e, m[e + WHAT]
            while at > first and m[at - ENTRY + KEY] > key:
                m[at + KEY], m[at + WHAT] = m[at - ENTRY + KEY], m[at - ENTRY + WHAT]
                at -= ENTRY
            m[at + KEY], m[at + WHAT] = key, what


@compiled
def quicksort(m: Block, stack: int, start: int, count: int) -> None:
    """In place, with a little room for a stack: what NumPy has needs memory of its own, and kernels have none."""
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
