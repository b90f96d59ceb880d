"""Lines have their right numbers, and what cannot be read says so."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from public_traces import gzip_file, text_file

from trellis.errors import PipelineError
from trellis.pipeline.ingest.source import Piece, decoded, found, lines, read_piece, read_zipped


def numbered(path: Path, piece: int) -> list[tuple[int, str, str | None]]:
    """What the tasks read, piece by piece, without Spark."""
    source = found(path, piece)
    return [row for p in source.pieces for row in decoded(read_piece(str(path), p.start, p.stop), p.first)]


@pytest.mark.parametrize("piece", [1, 2, 3, 4, 5, 7, 11, 64, 1000])
@pytest.mark.parametrize("end", ["", "\n"])
def test_the_pieces_of_a_plain_file_number_its_lines_as_one_reader_would(tmp_path, piece, end):
    text = "\n".join(["a", "", "a long line, longer than some pieces", "ü", "", "", "b"]) + end
    path = tmp_path / "trace"
    path.write_bytes(text.encode())
    expected = [(n, line, None) for n, line in enumerate(text.removesuffix("\n").split("\n"), 1)]
    assert numbered(path, piece) == expected


def test_spark_reads_the_pieces_side_by_side(spark, tmp_path):
    path = text_file(tmp_path, *[f"line {n}" for n in range(1, 1001)])
    source = found(path, 1000)
    assert len(source.pieces) > 5
    assert lines(spark, source).rdd.getNumPartitions() == len(source.pieces)
    rows = lines(spark, source).orderBy("line").collect()
    assert [(row.line, row.text, row.wrong) for row in rows] == [(n, f"line {n}", None) for n in range(1, 1001)]


def test_gzip_is_known_by_its_first_bytes(spark, tmp_path):
    source = found(gzip_file(tmp_path, "a", "b", name="no-suffix"))
    assert source.zipped
    assert source.pieces == [Piece(0, source.size, 1)]
    assert [row.text for row in lines(spark, source).orderBy("line").collect()] == ["a", "b"]


def test_line_ends_of_other_systems_and_a_byte_order_mark_are_no_part_of_a_line(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(b"\xef\xbb\xbfa\tb\r\nc\td\r\n")
    assert [text for _, text, _ in numbered(path, 1000)] == ["a\tb", "c\td"]


def test_a_torn_gzip_stream_is_known_by_the_line_where_it_tears(tmp_path):
    path = tmp_path / "trace.gz"
    path.write_bytes(gzip.compress("".join(f"line {n * n}\n" for n in range(10_000)).encode())[:-2000])
    *whole, (number, _, wrong) = list(decoded(read_zipped(str(path)), 1))
    assert number == len(whole) + 1 > 1000
    assert "the gzip stream is torn here" in wrong


def test_bytes_that_are_not_utf_8_are_known_by_their_line(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(b"a\nb\n\xff\xfe\nd\n")
    assert [(n, wrong and wrong[:9]) for n, _, wrong in numbered(path, 1000)] == [
        (1, None),
        (2, None),
        (3, "not UTF-8"),
    ]


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda path: None, "cannot be read (No such file or directory)"),
        (lambda path: path.mkdir(), "a directory; give one file"),
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (lambda path: path.write_bytes(b"0 1\n"), "named .gz, but it is not gzip"),
    ],
)
def test_a_file_that_is_none_is_refused_before_spark_starts(tmp_path, make, rule):
    path = tmp_path / "trace.gz"
    make(path)
    with pytest.raises(PipelineError, match=r"trace\.gz: ") as refused:
        found(path)
    assert rule in str(refused.value)
