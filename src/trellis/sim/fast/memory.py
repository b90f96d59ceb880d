"""Tables of whole numbers in one block of memory: all that a compiled run has.

Promises: a kernel is given one array and passes it on; a record is named by its *address*, and a field by what is added
          to that: `m[w + SEQ]`. Records refer to each other by their numbers, which stay when a table gets more room;
          addresses do not, so nobody keeps one from event to event.

A block begins with where each table stands, how many records it has room for, and counters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Block = npt.NDArray[np.int64]

NONE = -1  # no record
TABLES = 48  # at most
COUNTERS = 112
LINE = 8  # numbers of a line of the cache: each table begins with one
HEADER = 2 * TABLES + COUNTERS


class Table(NamedTuple):
    """Which one of the block it is, and how many numbers a record has."""

    number: int
    width: int


def base(table: int) -> int:
    """Where the block says where a table begins."""
    return table


def room(table: int) -> int:
    """Where it says how many records there is room for."""
    return TABLES + table


def counter(number: int) -> int:
    return 2 * TABLES + number


def block(tables: Mapping[Table, int]) -> Block:
    """Tables with room for so many records each, all zeros."""
    at = HEADER
    header = np.zeros(HEADER, np.int64)
    for table, records in tables.items():
        header[base(table.number)], header[room(table.number)] = at, records
        at += -(-records * table.width // LINE) * LINE
    found = aligned(at)
    found[:HEADER] = header
    return found


def aligned(size: int) -> Block:
    """So many zeros from where a line of the cache begins."""
    found = np.zeros(size + LINE, np.int64)
    start = -found.ctypes.data // found.itemsize % LINE
    return found[start : start + size]


def table(block: Block, which: Table) -> Block:
    """A table of a block, to be looked at and filled from outside of kernels."""
    start, records = int(block[base(which.number)]), int(block[room(which.number)])
    return block[start : start + records * which.width].reshape(records, which.width)


def roomier(old: Block, tables: list[Table], more: Mapping[Table, int]) -> Block:
    """The same with room for so many records in some tables; what is new there is zero."""
    rooms = {which: more.get(which, int(old[room(which.number)])) for which in tables}
    new = block(rooms)
    new[2 * TABLES : HEADER] = old[2 * TABLES : HEADER]
    for which in tables:
        before = table(old, which)
        table(new, which)[: len(before)] = before
    return new
