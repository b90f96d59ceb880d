"""Every example runs as it stands, and prints what its last lines say."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "live").glob("*.py"))
PAIR = {"subscriber", "publisher"}  # for two terminals
ALONE = [path for path in EXAMPLES if path.stem not in PAIR]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def expected(source: str) -> list[str]:
    """The comment at the end."""
    lines = source.splitlines()
    first = next(n for n in range(len(lines), 0, -1) if not lines[n - 1].startswith("# "))
    return [line.removeprefix("# ") for line in lines[first:]]


def run_program(source: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", source, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(path: Path) -> None:
    said = expected(path.read_text())
    assert said
    assert run_program(path) == said


def test_two_programs_in_two_terminals_print_what_they_say() -> None:
    subscriber, publisher = (ROOT / "examples" / "live" / f"{name}.py" for name in ("subscriber", "publisher"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-W", "error", subscriber, address]
    reading = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        assert reading.stdout is not None
        first = reading.stdout.readline()
        assert first, reading.communicate()[1]
        assert run_program(publisher, address) == expected(publisher.read_text())
        rest, trouble = reading.communicate(timeout=30)
    finally:
        reading.kill()
    assert (first + rest).splitlines() == expected(subscriber.read_text())
    assert (trouble, reading.returncode) == ("", 0)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_ten_to_twenty_lines(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines()[1:] if line.strip() and not line.startswith("#")]
    assert 8 <= len(lines) <= 20


def test_there_is_an_example_for_each_thing_to_do() -> None:
    alone = {"embedded", "remote", "script", "batches", "confirm", "gap", "keys", "reconnect", "several", "tree"}
    assert {path.stem for path in EXAMPLES} == alone | PAIR
