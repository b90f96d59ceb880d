"""Every example runs as it stands, and prints what its last lines say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "live").glob("*.py"))


def expected(source: str) -> list[str]:
    """The comment at the end."""
    lines = source.splitlines()
    first = next(n for n in range(len(lines), 0, -1) if not lines[n - 1].startswith("# "))
    return [line.removeprefix("# ") for line in lines[first:]]


def run_program(source: Path | str) -> list[str]:
    given = [str(source)] if isinstance(source, Path) else ["-c", source]
    done = subprocess.run(
        [sys.executable, "-W", "error", *given],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(path: Path) -> None:
    said = expected(path.read_text())
    assert said
    assert run_program(path) == said


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_ten_to_twenty_lines(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines()[1:] if line.strip() and not line.startswith("#")]
    assert 8 <= len(lines) <= 20


def test_there_is_an_example_for_each_thing_to_do() -> None:
    assert {path.stem for path in EXAMPLES} == {"embedded", "remote", "script", "batches", "confirm", "gap", "keys"}
