"""Where the public traces lie, and small files in their formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

TRACES = Path(__file__).parents[2] / "shared" / "data"


def public(name: str) -> Path:
    """A file of the public traces; a test without it is skipped."""
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"the public trace {name} is not in ../shared/data beside the project")
    return path


def text_file(directory: Path, *lines: str, name: str = "trace.txt") -> Path:
    path = directory / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def gzip_file(directory: Path, *lines: str, name: str = "trace.gz") -> Path:
    path = directory / name
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


def tsv(*rows: str) -> list[str]:
    """Rows written with blanks for tabs and `.` for an empty cell."""
    return ["\t".join("" if cell == "." else cell for cell in row.split(" ")) for row in rows]
