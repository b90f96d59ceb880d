"""A trace in memory: one Arrow table, its digest, and the recorder that hosts write to.

Promises: two runs with the same rows have the same digest, whatever engine, machine or library version made them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trellis.trace.rows import COLUMNS, Row, arrow_schema, arrow_type
from trellis.words import MessageId, NodeId, Time

Numbers = npt.NDArray[np.int64]
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
            hasher.update(rank[codes].astype("<i8").tobytes())
        return hasher.hexdigest()


class Recorder:
    """Collects what a host sees, as it is: a run must not wait for its trace.

    The log has an entry per row, in order. A packet that is sent: ("send", at, node, packet, to, leaves the queue,
    arrives). A packet that arrives: the place of its "send" in the log, and nothing more. Anything else: (kind, at,
    node, id, batch, barrier).
    """

    def __init__(self) -> None:
        self.log: list[int | tuple[Any, ...]] = []

    def happened(self, kind: str, at: Time, node: NodeId, id: MessageId, batch: int = 0, barrier: int = 0) -> None:
        self.log.append((kind, at, node, id, batch, barrier))

    def trace(self) -> Trace:
        """Lay the log out as columns."""
        sendings, arrivals, others = [], [], []
        sent_rows, received_rows, other_rows = [], [], []
        for row, entry in enumerate(self.log):
            if isinstance(entry, int):
                arrivals.append(entry)
                received_rows.append(row)
            elif entry[0] == "send":
                sendings.append(entry)
                sent_rows.append(row)
            else:
                others.append(entry)
                other_rows.append(row)
        sent, received, other = numbers(sent_rows), numbers(received_rows), numbers(other_rows)
        ids, kinds, packet_kinds = Codes[MessageId](), Codes[str](["send", "receive"]), Codes[str]([""])
        blank = {"packet": 0, "peer": -1, "wait": 0, "batch": 0, "barrier": 0, "kind": 0, "at": 0, "node": 0, "id": 0}
        cells = {name: np.full(len(self.log), value, np.int64) for name, value in blank.items()}

        _, at, node, packets, to, departure, arrival = transposed(sendings, 7)
        cells["id"][sent] = ids.of([packet.id for packet in packets])
        cells["packet"][sent] = packet_kinds.of([packet.kind for packet in packets])
        cells["batch"][sent] = numbers([len(packet.messages) for packet in packets])
        cells["at"][sent], cells["node"][sent], cells["peer"][sent] = map(numbers, (at, node, to))
        cells["wait"][sent] = numbers(departure) - cells["at"][sent]

        cells["kind"][received] = 1
        sending = numbers(arrivals)  # the row in which each was sent
        for name, of_sending in (
            ("id", "id"),
            ("packet", "packet"),
            ("batch", "batch"),
            ("node", "peer"),
            ("peer", "node"),
        ):
            cells[name][received] = cells[of_sending][sending]
        due = np.zeros(len(self.log), np.int64)
        due[sent] = numbers(arrival)
        cells["at"][received] = due[sending]

        kind, at, node, id, batch, barrier = transposed(others, 6)
        cells["kind"][other], cells["id"][other] = kinds.of(kind), ids.of(id)
        for name, column in (("at", at), ("node", node), ("batch", batch), ("barrier", barrier)):
            cells[name][other] = numbers(column)
        return Trace(table(cells, ids.known(), kinds.known(), packet_kinds.known()))


def table(cells: dict[str, Numbers], ids: list[MessageId], kinds: list[str], packet_kinds: list[str]) -> pa.Table:
    """Columns from coded cells: ids and words are looked up once each, not once per row."""
    topics = sorted({id.topic for id in ids})
    topic_code = {topic: code for code, topic in enumerate(topics)}
    of_id = np.array([(topic_code[i.topic], *i.origin, i.seq) for i in ids], np.int64).reshape(-1, 4)[cells["id"]]
    cells |= {name: of_id[:, column] for column, name in enumerate(("topic", "source", "incarnation", "seq"))}
    cells["position"] = np.arange(len(of_id), dtype=np.int64)
    words = {"kind": kinds, "packet": packet_kinds, "topic": topics}
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(cells[c.name].astype(np.int32)), pa.array(words[c.name], pa.string()))
        if c.type is str
        else pa.array(cells[c.name]).cast(arrow_type(c))
        for c in COLUMNS
    ]
    return pa.table(arrays, schema=arrow_schema())


class Codes(Generic[T]):
    """Small numbers for values, in the order in which they first come."""

    def __init__(self, first: Iterable[T] = ()) -> None:
        self.codes: dict[T, int] = {value: code for code, value in enumerate(first)}

    def of(self, values: Sequence[T]) -> Numbers:
        for value in dict.fromkeys(values):
            self.codes.setdefault(value, len(self.codes))
        return numbers(list(map(self.codes.__getitem__, values)))

    def known(self) -> list[T]:
        return list(self.codes)


def transposed(rows: list[Any], width: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def numbers(values: Sequence[int]) -> Numbers:
    return np.array(values, np.int64)


def trace_of(rows: list[Row]) -> Trace:
    """A trace from rows, for tests and examples; positions are numbered anew."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
    arrays = [
        pa.array(values, pa.string()).dictionary_encode() if c.type is str else pa.array(values, arrow_type(c))
        for c, values in zip(COLUMNS, columns, strict=True)
    ]
    arrays[0] = pa.array(range(len(rows)), pa.int64())
    return Trace(pa.table(arrays, schema=arrow_schema()))
