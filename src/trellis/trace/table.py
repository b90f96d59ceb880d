"""A trace in memory: one Arrow table, its digest, and the recorder that hosts write to.

Promises: two runs with the same rows have the same digest, whatever engine, machine or library version made them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from trellis.trace.rows import COLUMNS, Row, arrow_schema, arrow_type
from trellis.words import MessageId, NodeId, Time

Record = tuple[Time, NodeId, str, MessageId, str, NodeId, int, int, int]


class Trace:
    """Rows that cannot change any more."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def numbers(self, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """A column of numbers."""
        column = self.table.column(name).to_numpy()
        return np.asarray(column, dtype=np.int64)

    def words(self, name: str) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[str]]:
        """A column of strings as codes and what they stand for."""
        column = self.table.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([], arrow_type(COLUMNS[3]))
        return np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64), column.dictionary.to_pylist()

    def rows(self) -> Iterator[Row]:
        columns = [self.table.column(c.name).to_pylist() for c in COLUMNS]
        return map(Row._make, zip(*columns, strict=True))

    def of_kind(self, *kinds: str) -> Trace:
        """Only the rows of these kinds."""
        codes, names = self.words("kind")
        wanted = np.isin(codes, [names.index(kind) for kind in kinds if kind in names])
        return Trace(self.table.filter(pa.array(wanted)))

    def digest(self) -> str:
        """SHA-256 over the columns: numbers as little-endian 64-bit words, strings as ranks in sorted order."""
        hasher = hashlib.sha256()
        for column in COLUMNS:
            hasher.update(f"{column.name}:{len(self)}\n".encode())
            if column.type is int:
                hasher.update(self.numbers(column.name).astype("<i8").tobytes())
                continue
            codes, names = self.words(column.name)
            used = sorted({names[code] for code in np.unique(codes)})
            rank = np.array([used.index(name) if name in used else -1 for name in names] or [0])
            hasher.update("\n".join(used).encode() + b"\n")
            hasher.update(rank[codes].astype("<i8").tobytes() if len(codes) else b"")
        return hasher.hexdigest()


class Recorder:
    """Collects what a host sees. Appending to `rows` is all that happens during a run."""

    def __init__(self) -> None:
        self.rows: list[Record] = []

    def trace(self) -> Trace:
        """Lay the rows out as columns."""
        if not self.rows:
            return Trace(arrow_schema().empty_table())
        at, node, kind, ids, packet, peer, wait, count, barrier = zip(*self.rows, strict=True)
        columns: dict[str, Any] = {
            "position": np.arange(len(self.rows), dtype=np.int64),
            "at": at,
            "node": node,
            "kind": kind,
            "topic": [id.topic for id in ids],
            "source": [id.source for id in ids],
            "incarnation": [id.incarnation for id in ids],
            "seq": [id.seq for id in ids],
            "packet": packet,
            "peer": peer,
            "wait": wait,
            "count": count,
            "barrier": barrier,
        }
        arrays = [as_arrow(c.type is str, columns[c.name], arrow_type(c)) for c in COLUMNS]
        return Trace(pa.table(arrays, schema=arrow_schema()))


def as_arrow(words: bool, values: Any, type: pa.DataType) -> pa.Array:
    return pa.array(values, pa.string()).dictionary_encode() if words else pa.array(values, type)


def trace_of(rows: list[Row]) -> Trace:
    """A trace from rows written by hand, for tests and examples; positions are numbered anew."""
    recorder = Recorder()
    for row in rows:
        id = MessageId(row.source, row.incarnation, row.topic, row.seq)
        recorder.rows.append((row.at, row.node, row.kind, id, row.packet, row.peer, row.wait, row.count, row.barrier))
    return recorder.trace()
