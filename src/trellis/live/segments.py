"""A piece of a node's trace on disk: an append-only segment, and the Parquet part that takes its place.

Promises: a segment can be read alone. Each frame is one write and has a checksum: a tail that was torn by a crash is
          left out, and all frames before it are there. A segment goes only when its part is whole and on disk. What is
          foreign, or damaged before its tail, is one clear TraceError.

`life-<place>-<incarnation>-<number>.rows` is MAGIC and frames; a frame is the length and the CRC-32 of a msgpack body.
The first body is a `Title`, the others are `Leaf`: words that are new in the segment, and lines of packed numbers. A
node that lost its state writes on in the same directory, on another place.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trellis.errors import TraceError
from trellis.trace import store
from trellis.trace.rows import COLUMNS, Column, arrow_schema
from trellis.trace.table import Lines
from trellis.words import NodeId, Topic

MAGIC = b"trellis rows 1\n\0"
ROWS, PART = ".rows", ".parquet"
NAME = re.compile(r"life-(\d{1,18})-(\d{1,18})-(\d{1,18})\.(?:rows|parquet)", re.ASCII)
ABOUT = b"trellis"  # key of a part's metadata
FRAME = struct.Struct("<II")  # bytes of the body, its checksum

# A row as one line. Words are codes, the same ones for all columns; the node is in the title.
LINE = np.dtype(
    [(name, "<i8") for name in ("at", "wait", "seq")]
    + [(name, "<i4") for name in ("kind", "topic", "source", "incarnation", "packet", "peer", "batch", "barrier")]
)
PACK = struct.Struct("<3q8i").pack


class Title(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Which piece of which life of which node this is."""

    node: int
    incarnation: int
    number: int  # pieces of a life count from 0


class Leaf(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What one flush wrote."""

    words: list[str]
    orders: dict[Topic, str]
    lines: bytes


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a part says of itself."""

    title: Title
    orders: dict[Topic, str]


class Piece(NamedTuple):
    """The rows of a segment or a part; `position` counts within it."""

    title: Title
    orders: dict[Topic, str]  # topics whose order was told there
    table: pa.Table


def stem(directory: Path, node: NodeId, incarnation: int, number: int) -> Path:
    return directory / f"life-{node}-{incarnation}-{number:06}"


def place_of(piece: Path) -> NodeId:
    return int(piece.name.split("-")[1])


def framed(body: bytes) -> bytes:
    return FRAME.pack(len(body), crc32(body)) + body


def pieces_in(directory: Path) -> list[Path]:
    """The stems of what is there, life by life; a segment and its part are one piece."""
    found: dict[tuple[int, ...], Path] = {}
    for entry in directory.iterdir():
        if name := NAME.fullmatch(entry.name):
            found[tuple(map(int, name.groups()))] = entry.with_suffix("")
    return [found[key] for key in sorted(found)]


def read(piece: Path) -> Piece | None:
    """The piece of this stem; None for a segment that was torn before its title was whole."""
    part = piece.with_suffix(PART)
    try:
        return read_part(part) if part.exists() else read_segment(piece.with_suffix(ROWS))
    except FileNotFoundError:  # its part has just taken its place
        return read_part(part)


def read_segment(path: Path) -> Piece | None:
    raw = path.read_bytes()
    if not raw.startswith(MAGIC):
        if MAGIC.startswith(raw.rstrip(b"\0")):
            return None
        raise TraceError(f"{path}: does not begin like a segment of a trace; it is not ours, move it elsewhere")
    bodies = frames(path, raw)
    try:
        if (first := next(bodies, None)) is None:
            return None
        title = msgspec.msgpack.decode(first, type=Title)
        leaves = [msgspec.msgpack.decode(body, type=Leaf) for body in bodies]
        lines = np.frombuffer(b"".join(leaf.lines for leaf in leaves), LINE)
        words = [word for leaf in leaves for word in leaf.words]
        orders = {topic: order for leaf in leaves for topic, order in leaf.orders.items()}
        return Piece(title, orders, table(title.node, lines, words))
    except (ValueError, IndexError, msgspec.MsgspecError) as error:
        raise TraceError(f"{path}: not a segment of a trace ({store.brief(error)}); move it elsewhere") from None


def frames(path: Path, raw: bytes) -> Iterator[memoryview]:
    """The whole frames. What is not whole must be the last: a write that a crash has cut off."""
    at, view = len(MAGIC), memoryview(raw)
    while at + FRAME.size <= len(raw):
        length, checksum = FRAME.unpack_from(raw, at)
        end = at + FRAME.size + length
        body = view[at + FRAME.size : end]
        if end > len(raw) or not any(view[at:]):  # a file system may leave zeros where a write was cut off
            return
        if crc32(body) != checksum:
            if not any(view[end:]):
                return
            raise TraceError(f"{path}: damaged at byte {at}, and rows follow; bring it back from a copy")
        yield body
        at = end


def table(node: int, lines: Lines, words: list[str]) -> pa.Table:
    def cells(column: Column) -> pa.Array:
        dtype = np.int64 if column.bits == 64 else np.int32
        if column.name == "position":
            return pa.array(np.arange(len(lines)))
        if column.name == "node":
            return pa.array(np.full(len(lines), node, dtype))
        if column.type is int:
            return pa.array(lines[column.name].astype(dtype))
        used, codes = np.unique(lines[column.name], return_inverse=True)
        names = pa.array([words[code] for code in used.tolist()], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)

    return pa.table([cells(column) for column in COLUMNS], schema=arrow_schema())


def turn(place: Path, about: About, words: list[str], lines: bytearray) -> None:
    """Write the part that takes a segment's place: by arrays, from memory, so that other threads hardly notice."""
    write_part(place, about, table(about.title.node, np.frombuffer(lines, LINE), words))


def write_part(place: Path, about: About, rows: pa.Table) -> None:
    segment, part = place.with_suffix(ROWS), place.with_suffix(PART)
    aside = part.with_name(f".{part.name}")
    with aside.open("wb") as file:
        told = msgspec.json.encode(about)
        pq.write_table(rows.replace_schema_metadata({ABOUT: told}), file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    os.rename(aside, part)
    segment.unlink()


def read_part(path: Path) -> Piece:
    with store.opened(path) as file:
        try:
            about = msgspec.json.decode((file.schema_arrow.metadata or {}).get(ABOUT, b""), type=About)
            rows = file.read()
        except msgspec.MsgspecError as error:
            raise TraceError(f"{path}: not part of a live trace ({store.brief(error)}); move it elsewhere") from None
        except (OSError, ValueError, pa.ArrowException) as error:
            raise store.not_whole(path, error) from None
    return Piece(about.title, about.orders, store.conform(path, rows).table)
