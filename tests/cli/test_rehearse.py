"""trellis rehearse: a tree of names, and one line for what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trellis.experiments import names

FEW = ("--nodes", "20", "--messages", "3")


def text(directory: Path, content: bytes) -> Path:
    path = directory / "names.txt"
    path.write_bytes(content)
    return path


def test_a_text_of_names_is_a_tree_each_name_once_however_it_is_written(trellis, tmp_path: Path) -> None:
    path = text(tmp_path, b"a.b  a comment\r\n\n.a.b\na.c\n")
    assert names.read_names(path, 1) == ([".a.b"], [".a.c"])
    outcome = trellis("rehearse", path, *FEW, "--json")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    assert found["delivered"] == found["owed"] > 0


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "0 topics; at least 1 are needed"),
        (b"\xff\xfe\x00", "not a text of names"),
        (b"a..b", "a part of it is empty"),
        (b".a.", "a part of it is empty"),
        (b".".join([b"a"] * 40), "40 levels; at most 32"),
        (b"x" * 300, "301 bytes; at most 256"),
        (b"a\x00b", "characters that cannot be printed"),
        ("a\u202eb".encode(), "characters that cannot be printed"),
    ],
)
def test_what_is_no_tree_is_refused(refused, tmp_path: Path, content: bytes, complaint: str) -> None:
    assert complaint in refused("rehearse", text(tmp_path, content), *FEW)


def test_a_file_without_end_is_not_read_to_its_end(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "BYTES_MAX", 1 << 16)
    assert "more than 65536 bytes" in refused("rehearse", "/dev/zero", *FEW)


def test_a_directory_with_other_tables_is_refused(refused, tmp_path: Path) -> None:
    assert "no tables of topics" in refused("rehearse", tmp_path, *FEW)
    for name, table in {
        "topics": {"topic": [1, 2], "state": ["group", "group"], "created": ["monday", None]},
        "names": {"topic": [1, 2], "name": ["a.b", "a.c"]},
    }.items():
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(table), tmp_path / name / "part-0.parquet")
    assert "without names and dates" in refused("rehearse", tmp_path, *FEW)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--nodes", 1), ("--rounds", 3), ("--rounds", 100_001), ("--loss", 1), ("--loss", "nan"), ("--loss", -0.1),
     ("--new", -1), ("--new", 2), ("--messages", 0), ("--messages", 1 << 40), ("--each", 0), ("--seed", 1 << 64)],
)  # fmt: skip
def test_numbers_that_make_no_sense_are_refused(refused, tmp_path: Path, option: str, value: object) -> None:
    refused("rehearse", text(tmp_path, b"a.b\na.c\n"), "--nodes", "20", option, value)


def test_too_few_rounds_for_topics_that_appear_are_refused(refused, tmp_path: Path) -> None:
    line = refused("rehearse", text(tmp_path, b"a.b\na.c\n"), *FEW, "--new", "1", "--rounds", "40")
    assert "rounds = 40: somebody speaks in round 42" in line
