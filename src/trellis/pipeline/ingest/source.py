"""The lines of a public trace, with their numbers.

Promises: every line of the file once, with its right number, whether Spark reads the file in one piece or in many;
          gzip is known by its first bytes, not by its name; what cannot be read (not UTF-8, a torn gzip stream, a
          line without end) comes as a line that says what is wrong with it, so that no error crosses from a worker.
Assumes:  driver and workers see the file under the same path.

A plain file is cut into pieces of PIECE bytes. A piece owns the lines that begin in it; a first pass counts the line
ends before each piece. A gzip file can only be read from its beginning: it is one piece.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from trellis.errors import PipelineError

MAGIC = b"\x1f\x8b"
PIECE = 32 << 20
LINE_BYTES_MAX = 16 << 20
BATCH = 10_000  # lines
LINES = "line bigint, text string, wrong string"
PIECES = "start bigint, stop bigint, first bigint"
BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Source(NamedTuple):
    path: Path
    zipped: bool
    size: int
    digest: str

    def about(self) -> dict[str, str | int]:
        """Enough to know the file again, wherever it lies."""
        return {"file": self.path.name, "bytes": self.size, "sha256": self.digest}


def found(path: Path) -> Source:
    """A file that can be read. All that can be known before Spark starts is checked here."""
    try:
        if path.is_dir():
            raise PipelineError(f"{path}: a directory; give one file of the trace")
        if path.exists() and not path.is_file():
            raise PipelineError(f"{path}: not a plain file; give one file of the trace")
        hasher = hashlib.sha256()
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
            file.seek(0)
            while block := file.read(1 << 20):
                hasher.update(block)
    except OSError as error:
        raise PipelineError(f"{path}: cannot be read ({error.strerror}); give the path of a trace") from None
    if not start:
        raise PipelineError(f"{path}: the file is empty; give a trace with at least one line")
    zipped = start == MAGIC
    if path.suffix == ".gz" and not zipped:
        raise PipelineError(f"{path}: named .gz, but it is not gzip; rename it if it is plain text")
    return Source(path, zipped, path.stat().st_size, hasher.hexdigest())


def lines(spark: SparkSession, source: Source, piece: int = PIECE) -> DataFrame:
    """(line, text, wrong): the lines from 1 on; where `wrong` is not null, it says why `text` cannot be trusted."""
    path = str(source.path.absolute())
    cuts = [0] if source.zipped else list(range(0, source.size, piece))
    stops = [*cuts[1:], source.size]
    firsts = [1] if len(cuts) == 1 else first_lines(spark, path, cuts, stops)
    pieces = list(zip(cuts, stops, firsts, strict=True))
    return spread_out(spark, pieces).mapInArrow(partial(read_pieces, path, source.zipped), LINES)


def spread_out(spark: SparkSession, pieces: list[tuple[int, int, int]]) -> DataFrame:
    return spark.createDataFrame(pieces, PIECES).repartitionByRange(len(pieces), "start")


def first_lines(spark: SparkSession, path: str, cuts: list[int], stops: list[int]) -> list[int]:
    """The number of the first line that begins in each piece: one more than the line ends before it."""
    shifted = [(max(0, a - 1), b - 1, 0) for a, b in zip(cuts, stops, strict=True)]
    counts = spread_out(spark, shifted).mapInArrow(partial(count_pieces, path), "start bigint, ends bigint").collect()
    ends = [row.ends for row in sorted(counts)]
    return [1, *(before + 2 for before in accumulate(ends[:-1]))]  # the line end just before the piece is its first's


def count_pieces(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start, stop in zip(batch["start"].to_pylist(), batch["stop"].to_pylist(), strict=True):
            ends = 0
            with open(path, "rb") as file:
                file.seek(start)
                while (left := stop - file.tell()) > 0 and (block := file.read(min(left, 1 << 20))):
                    ends += block.count(b"\n")
            yield pa.record_batch({"start": [start], "ends": [ends]})


def read_pieces(path: str, zipped: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for piece in batch.to_pylist():
            read = read_zipped(path) if zipped else read_piece(path, piece["start"], piece["stop"])
            yield from as_batches(decoded(read, piece["first"]))


def read_zipped(path: str) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        yield from ended(io.BufferedReader(file, 1 << 18))  # type: ignore[type-var]


def read_piece(path: str, start: int, stop: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        if start > 0:
            file.seek(start - 1)
            while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
                pass  # the line that began before us
        while file.tell() < stop and (line := file.readline(LINE_BYTES_MAX)):
            yield line


def ended(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(LINE_BYTES_MAX):
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
