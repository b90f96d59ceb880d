"""A trace in memory: one Arrow table, its digest, and the recorder that hosts write to.

Promises: two runs with the same rows have the same digest, whatever engine, machine or library version made them.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trellis.errors import TraceError
from trellis.trace.rows import COLUMNS, ONE_BY_ONE, Column, Row, arrow_schema, arrow_type
from trellis.words import MessageId, NodeId, Packet, Time

Numbers = npt.NDArray[np.int64]
Lines = npt.NDArray[np.void]
Cells = npt.NDArray[np.signedinteger[Any]]
T = TypeVar("T")


class Trace:
    """Rows that cannot change any more."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table.combine_chunks()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def numbers(self, name: str) -> Numbers:
        """A column of numbers."""
        return np.asarray(self.table.column(name).to_numpy(), dtype=np.int64)

    def words(self, name: str) -> tuple[Numbers, list[str]]:
        """A column of strings as codes and what they stand for."""
        column = self.table.column(name)
        if column.num_chunks == 0:
            return np.zeros(0, np.int64), []
        chunk = column.chunk(0)
        return np.asarray(chunk.indices.to_numpy(zero_copy_only=False), np.int64), chunk.dictionary.to_pylist()

    def used(self, name: str) -> set[str]:
        """The strings that a column really holds."""
        codes, names = self.words(name)
        return {names[code] for code in np.unique(codes)}

    def rows(self) -> Iterator[Row]:
        return map(Row._make, zip(*(self.cells(column) for column in COLUMNS), strict=True))

    def cells(self, column: Column) -> list[int] | list[str]:
        """One by one; by way of NumPy, because Arrow makes an object of its own of each."""
        if column.type is int:
            found: list[int] = self.numbers(column.name).tolist()
            return found
        codes, names = self.words(column.name)
        return [names[code] for code in codes.tolist()]

    def of_kind(self, *kinds: str) -> Trace:
        """Only the rows of these kinds."""
        codes, names = self.words("kind")
        return self.where(np.isin(codes, [names.index(kind) for kind in kinds if kind in names]))

    def where(self, wanted: npt.NDArray[np.bool_]) -> Trace:
        """Only the rows marked so."""
        return Trace(self.table.filter(pa.array(wanted)))

    def digest(self) -> str:
        return digest_of(len(self), lambda _: [self])


class Untold(Trace):
    """That of a run which kept none: whoever looks at it is told so."""

    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> NoReturn:
        raise TraceError("the run kept no trace; run it with one (trace=True)")


def digest_of(length: int, parts: Callable[[str], Iterable[Trace]]) -> str:
    """SHA-256 over the columns: numbers as little-endian 64-bit words, strings as ranks in sorted order.

    `parts` gives a column's rows piece by piece, so that a trace need not be in memory; it is asked twice for words.
    """
    hasher = hashlib.sha256()
    for column in COLUMNS:
        hasher.update(f"{column.name}:{length}\n".encode())
        if column.type is int:
            for part in parts(column.name):
                hasher.update(part.numbers(column.name).astype("<i8").tobytes())
            continue
        used: list[str] = sorted({word for part in parts(column.name) for word in part.used(column.name)})
        hasher.update("\n".join(used).encode() + b"\n")
        ranks = {name: rank for rank, name in enumerate(used)}
        for part in parts(column.name):
            codes, names = part.words(column.name)
            rank = np.array([ranks.get(name, -1) for name in names] or [0])
            hasher.update(rank[codes].astype("<i8").tobytes())
    return hasher.hexdigest()


class Codes(dict[T, int]):
    """Small numbers for values, in the order in which they are first asked for."""

    def __missing__(self, value: T) -> int:
        code = self[value] = len(self)
        return code


# A row as one line of packed numbers: ids and words are codes.
CODED = ("kind", "node", "id", "packet", "peer", "batch", "barrier")
LINE = np.dtype([("at", "<i8"), ("wait", "<i8"), *((cell, "<i4") for cell in CODED)])
PACK = struct.Struct("<2q7i").pack
SEND, RECEIVE = 0, 1  # codes of the kinds that packets write


class Recorder:
    """Collects what a host sees, at the least cost: a run must not wait for its trace.

    All of an arrival is known when the packet is sent, so its line is made then; the host appends it to `lines` when
    the time has come.
    """

    def __init__(self) -> None:
        self.lines = bytearray()
        self.ids: Codes[MessageId] = Codes()
        self.kinds: Codes[str] = Codes({"send": SEND, "receive": RECEIVE})
        self.packet_kinds: Codes[str] = Codes({"": 0})

    def sent(self, at: Time, node: NodeId, packet: Packet, to: NodeId, departure: Time, arrival: Time) -> bytes:
        """A packet enters the outgoing queue. What comes back is the line of its arrival."""
        id, kind, batch = self.ids[packet.id], self.packet_kinds[packet.kind], packet.batch
        self.lines += PACK(at, departure - at, SEND, node, id, kind, to, batch, 0)
        return PACK(arrival, 0, RECEIVE, to, id, kind, node, batch, 0)

    def happened(
        self, kind: str, at: Time, node: NodeId, id: MessageId, batch: int = 0, barrier: int = 0, peer: NodeId = -1
    ) -> None:
        """Something about the `batch` messages from `id` on, or about `peer`."""
        self.lines += PACK(at, 0, self.kinds[kind], node, self.ids[id], 0, peer, batch, barrier)

    def trace(self) -> Trace:
        """Lay the lines out as columns."""
        lines = np.frombuffer(self.lines, LINE)
        return Trace(one_by_one(table(lines, list(self.ids), list(self.kinds), list(self.packet_kinds))))


class TerseRecorder(Recorder):
    """Leaves out packets that serve no message: what an overlay says to keep itself up is most of a long run."""

    def sent(self, at: Time, node: NodeId, packet: Packet, to: NodeId, departure: Time, arrival: Time) -> bytes:
        if packet.id.seq == 0 and not packet.messages:
            return b""
        return super().sent(at, node, packet, to, departure, arrival)


def one_by_one(table: pa.Table) -> pa.Table:
    """A line about several messages becomes one row for each, where audits want one row per message."""
    codes = table.column("kind").combine_chunks()
    single = np.array([kind in ONE_BY_ONE for kind in codes.dictionary.to_pylist()], bool)
    batch = table.column("batch").to_numpy()
    counted = single[codes.indices.to_numpy()] & (batch > 0) if len(single) else np.zeros(0, bool)
    if not counted.any():
        return table
    times = np.where(counted, batch, 1).astype(np.int64)
    of_row = np.repeat(np.arange(len(times)), times)
    wide = table.take(pa.array(of_row))
    number = np.arange(len(of_row)) - np.repeat(np.cumsum(times) - times, times)
    changed = {
        "position": np.arange(len(of_row)),
        "seq": wide.column("seq").to_numpy() + number,
        "batch": np.where(counted, 0, batch)[of_row].astype(np.int32),
    }
    for name, cells in changed.items():
        column = wide.schema.get_field_index(name)
        wide = wide.set_column(column, wide.schema.field(column), pa.array(cells))
    return wide


def table(lines: Lines, ids: list[MessageId], kinds: list[str], packet_kinds: list[str]) -> pa.Table:
    """Columns from coded cells: ids and words are looked up once each, not once per row."""
    topics = sorted({id.topic for id in ids})
    topic_code = {topic: code for code, topic in enumerate(topics)}
    of_id = np.array([(topic_code[i.topic], *i.origin, i.seq) for i in ids], np.int64).reshape(-1, 4).T
    parts_of_id = dict(zip(("topic", "source", "incarnation", "seq"), of_id, strict=True))
    words = {"kind": kinds, "packet": packet_kinds, "topic": topics}

    def cells(column: Column) -> Cells:
        if column.name == "position":
            return np.arange(len(lines))
        if column.name in parts_of_id:
            return np.asarray(parts_of_id[column.name].astype(column_dtype(column))[lines["id"]])
        return np.asarray(lines[column.name].astype(column_dtype(column)))

    return of_columns({column.name: cells(column) for column in COLUMNS}, words)


def column_dtype(column: Column) -> type[np.signedinteger[Any]]:
    """Words are codes."""
    return np.int64 if column.bits == 64 else np.int32


def of_columns(numbers: Mapping[str, Cells], words: Mapping[str, list[str]]) -> pa.Table:
    """Nothing is copied: the columns must not change any more."""

    def cells(column: Column) -> pa.Array:
        found = pa.array(numbers[column.name])
        if column.type is str:
            return pa.DictionaryArray.from_arrays(found, pa.array(words[column.name], pa.string()))
        return found

    return pa.table([cells(column) for column in COLUMNS], schema=arrow_schema())


def trace_of(rows: list[Row]) -> Trace:
    """A trace from rows, for tests and examples; positions are numbered anew."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
    arrays = [
        pa.array(values, pa.string()).dictionary_encode() if c.type is str else pa.array(values, arrow_type(c))
        for c, values in zip(COLUMNS, columns, strict=True)
    ]
    arrays[0] = pa.array(range(len(rows)), pa.int64())
    return Trace(pa.table(arrays, schema=arrow_schema()))
