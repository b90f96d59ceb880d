"""A trace in memory: one Arrow table, its digest, and the recorder that hosts write to.

Promises: two runs with the same rows have the same digest, whatever engine, machine or library version made them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trellis.trace.rows import COLUMNS, Row, arrow_schema, arrow_type
from trellis.words import MessageId, NodeId, Packet, Time

Numbers = npt.NDArray[np.int64]


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


PACKET_CELLS = 8  # at, node, id, packet, peer, wait, batch, arrival
OTHER_CELLS = 6  # kind, at, node, id, batch, barrier


class Recorder:
    """Collects what a host sees, as whole numbers in flat lists: a run must not wait for its trace.

    A packet is written once, when it is sent; its arrival only adds its number to `order`, which keeps the order of
    all rows: 2n for the sending of packet n, 2n + 1 for its arrival, -1 - n for the n-th row of another kind.
    """

    def __init__(self) -> None:
        self.order: list[int] = []
        self.packets: list[int] = []
        self.packets_count = 0
        self.others: list[int] = []
        self.others_count = 0
        self.ids: dict[MessageId, int] = {}
        self.kinds: dict[str, int] = {"send": 0, "receive": 1}
        self.packet_kinds: dict[str, int] = {"": 0}

    def sent(self, at: Time, node: NodeId, packet: Packet, to: NodeId, departure: Time, arrival: Time) -> int:
        """A packet enters the outgoing queue. The number that comes back is for `order` when it arrives."""
        number = self.packets_count
        self.packets_count = number + 1
        id, kind = packet.id, packet.kind
        code = self.ids.get(id)
        if code is None:
            code = self.ids[id] = len(self.ids)
        word = self.packet_kinds.get(kind)
        if word is None:
            word = self.packet_kinds[kind] = len(self.packet_kinds)
        self.packets += (at, node, code, word, to, departure - at, len(packet.messages), arrival)
        number += number
        self.order.append(number)
        return number + 1

    def happened(self, kind: str, at: Time, node: NodeId, id: MessageId, batch: int = 0, barrier: int = 0) -> None:
        code = self.ids.setdefault(id, len(self.ids))
        word = self.kinds.setdefault(kind, len(self.kinds))
        self.others += (word, at, node, code, batch, barrier)
        self.others_count += 1
        self.order.append(-self.others_count)

    def trace(self) -> Trace:
        """Lay the rows out as columns."""
        order = np.array(self.order, np.int64)
        packets = np.array(self.packets, np.int64).reshape(-1, PACKET_CELLS)
        others = np.array(self.others, np.int64).reshape(-1, OTHER_CELLS)
        other, sent, received = order < 0, (order >= 0) & (order % 2 == 0), (order >= 0) & (order % 2 == 1)
        cells = {name: np.zeros(len(order), np.int64) for name in ("at", "node", "id", "packet", "wait", "batch")}
        cells |= {"peer": np.full(len(order), -1, np.int64), "kind": received.astype(np.int64)}
        cells["barrier"] = np.zeros(len(order), np.int64)
        for name, column in (("kind", 0), ("at", 1), ("node", 2), ("id", 3), ("batch", 4), ("barrier", 5)):
            cells[name][other] = others[-1 - order[other], column]
        out, back = packets[order[sent] // 2], packets[order[received] // 2]
        for name, column in (("at", 0), ("node", 1), ("id", 2), ("packet", 3), ("peer", 4), ("wait", 5), ("batch", 6)):
            cells[name][sent] = out[:, column]
        for name, column in (("at", 7), ("node", 4), ("id", 2), ("packet", 3), ("peer", 1), ("batch", 6)):
            cells[name][received] = back[:, column]
        return Trace(self.table(cells))

    def table(self, cells: dict[str, Numbers]) -> pa.Table:
        """Ids and words looked up once each, not once per row."""
        ids = list(self.ids)
        topics = sorted({id.topic for id in ids})
        topic_code = {topic: code for code, topic in enumerate(topics)}
        of_id = np.array([(topic_code[i.topic], *i.origin, i.seq) for i in ids], np.int64).reshape(-1, 4)
        looked_up = of_id[cells["id"]]
        cells |= {name: looked_up[:, k] for k, name in enumerate(("topic", "source", "incarnation", "seq"))}
        cells["position"] = np.arange(len(cells["id"]), dtype=np.int64)
        words = {"kind": list(self.kinds), "packet": list(self.packet_kinds), "topic": topics}
        arrays = [
            pa.DictionaryArray.from_arrays(
                pa.array(cells[c.name].astype(np.int32)), pa.array(words[c.name], pa.string())
            )
            if c.type is str
            else pa.array(cells[c.name]).cast(arrow_type(c))
            for c in COLUMNS
        ]
        return pa.table(arrays, schema=arrow_schema())


def trace_of(rows: list[Row]) -> Trace:
    """A trace from rows, for tests and examples; positions are numbered anew."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
    arrays = [
        pa.array(values, pa.string()).dictionary_encode() if c.type is str else pa.array(values, arrow_type(c))
        for c, values in zip(COLUMNS, columns, strict=True)
    ]
    arrays[0] = pa.array(range(len(rows)), pa.int64())
    return Trace(pa.table(arrays, schema=arrow_schema()))
