"""The lines of a public trace, with their numbers.

Promises: every line of the file once, with its right number, whether Spark reads the file in one piece or in many;
          gzip is known by its first bytes, not by its name; what cannot be read (not UTF-8, a torn gzip stream, a
          line without end) comes as a line that says what is wrong with it, so that no error crosses from a worker.
Assumes:  driver and workers see the file under the same path.

A plain file is cut into pieces of PIECE bytes, one per task. A piece owns the lines that begin in it; the pass that
takes the file's digest also counts the line ends before each piece. A gzip file can only be read from its beginning:
it is one piece. Spark's own reader of text would know no line numbers and mend bad UTF-8 silently.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from trellis.errors import PipelineError

MAGIC = b"\x1f\x8b"
PIECE = 32 << 20
LINE_BYTES_MAX = 16 << 20
BATCH = 10_000  # lines
LINES = "line bigint, text string, wrong string"
BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Piece(NamedTuple):
    start: int  # bytes [start, stop) of the file
    stop: int
    first: int  # the number of the first line that begins in it


class Source(NamedTuple):
    path: Path
    zipped: bool
    size: int
    digest: str
    pieces: list[Piece]

    def about(self) -> dict[str, str | int]:
        """Enough to know the file again, wherever it lies."""
        return {"file": self.path.name, "bytes": self.size, "sha256": self.digest}


def found(path: Path, piece: int = PIECE) -> Source:
    """A file that can be read. All that can be known before Spark starts is checked here."""
    try:
        if path.is_dir():
            raise PipelineError(f"{path}: a directory; give one file of the trace")
        if path.exists() and not path.is_file():
            raise PipelineError(f"{path}: not a plain file; give one file of the trace")
        with path.open("rb") as file:
            zipped = file.read(len(MAGIC)) == MAGIC
            file.seek(0)
            digest, pieces = surveyed(file, piece)
    except OSError as error:
        raise PipelineError(f"{path}: cannot be read ({error.strerror}); give the path of a trace") from None
    if not pieces:
        raise PipelineError(f"{path}: the file is empty; give a trace with at least one line")
    if path.suffix == ".gz" and not zipped:
        raise PipelineError(f"{path}: named .gz, but it is not gzip; rename it if it is plain text")
    size = pieces[-1].stop
    return Source(path, zipped, size, digest, [Piece(0, size, 1)] if zipped else pieces)


def surveyed(file: IO[bytes], piece: int) -> tuple[str, list[Piece]]:
    """One pass over the file: its digest, and where its pieces begin, by bytes and by lines."""
    hasher = hashlib.sha256()
    pieces: list[Piece] = []
    ends, last = 0, b"\n"  # line ends so far; the byte before this block
    while block := file.read(piece):
        hasher.update(block)
        start = pieces[-1].stop if pieces else 0
        # Where the byte before is no line end, the line that it belongs to is the former piece's.
        pieces.append(Piece(start, start + len(block), ends + (1 if last == b"\n" else 2)))
        ends += block.count(b"\n")
        last = block[-1:]
    return hasher.hexdigest(), pieces


class LineSource(DataSource):
    """`lines` as Spark sees it: one task per piece, Arrow batches from there."""

    @classmethod
    def name(cls) -> str:
        return "trellis-lines"

    def schema(self) -> str:
        return LINES

    def reader(self, schema: object) -> DataSourceReader:
        return LineReader(self.options["path"], json.loads(self.options["zipped"]), json.loads(self.options["pieces"]))


class LineReader(DataSourceReader):
    def __init__(self, path: str, zipped: bool, pieces: list[list[int]]) -> None:
        self.path = path
        self.zipped = zipped
        self.pieces = pieces

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(piece) for piece in self.pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        start, stop, first = partition.value
        read = read_zipped(self.path) if self.zipped else read_piece(self.path, start, stop)
        return as_batches(decoded(read, first))


def lines(spark: SparkSession, source: Source) -> DataFrame:
    """(line, text, wrong): the lines from 1 on; where `wrong` is not null, it says why `text` cannot be trusted."""
    spark.dataSource.register(LineSource)
    reader = spark.read.format(LineSource.name()).option("path", str(source.path.absolute()))
    return reader.option("zipped", json.dumps(source.zipped)).option("pieces", json.dumps(source.pieces)).load()


def read_zipped(path: str) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        while line := file.readline(LINE_BYTES_MAX):
            yield line


def read_piece(path: str, start: int, stop: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        if start > 0:
            file.seek(start - 1)
            while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
                pass  # the line that began before us
        while file.tell() < stop and (line := file.readline(LINE_BYTES_MAX)):
            yield line


def decoded(read: Iterator[bytes], first: int) -> Iterator[tuple[int, str, str | None]]:
    """Number, text, and what is wrong. Nothing follows a line that is wrong: it will be refused anyway."""
    number = first
    try:
        for number, line in enumerate(read, first):
            if len(line) >= LINE_BYTES_MAX:
                yield number, "", f"longer than {LINE_BYTES_MAX} bytes; it is not a text file of lines"
                return
            text = line.decode("utf-8").rstrip("\r\n")
            yield number, text.removeprefix(BOM) if number == 1 else text, None
            number += 1
    except UnicodeDecodeError as error:
        yield number, "", f"not UTF-8 ({error.reason} at byte {error.start + 1} of the line); convert the file"
    except (EOFError, OSError, zlib.error) as error:
        yield number, "", f"the gzip stream is torn here ({error or 'no reason given'}); get the file again"


def as_batches(rows: Iterator[tuple[int, str, str | None]]) -> Iterator[pa.RecordBatch]:
    block: list[tuple[int, str, str | None]] = []
    for row in rows:
        block.append(row)
        if len(block) == BATCH:
            yield as_batch(block)
            block = []
    if block:
        yield as_batch(block)


def as_batch(block: list[tuple[int, str, str | None]]) -> pa.RecordBatch:
    numbers, texts, wrongs = zip(*block, strict=True)
    return pa.record_batch(
        [pa.array(numbers, pa.int64()), pa.array(texts, pa.string()), pa.array(wrongs, pa.string())],
        names=["line", "text", "wrong"],
    )
