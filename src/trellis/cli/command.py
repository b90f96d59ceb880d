"""What all commands share: example text, a progress bar, tables and JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False)

SILENT_SECONDS = 300.0  # in a file, between two lines about one work


class Bar(Protocol):
    def __call__(self, done: float, text: str = "") -> None: ...


def example(*commands: str) -> str:
    """The examples at the end of a command's --help: one on each line, short enough to be copied whole."""
    return escape("\n".join(("Example:", *commands)))


def print_columns(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Values below their names, never cut: lines may be longer than the terminal is wide, as in a pipe."""
    lines = [[str(cell) for cell in line] for line in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        out.print("  ".join(cells).rstrip(), markup=False)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


@contextmanager
def progress(what: str, total: float | None, quiet: bool = False) -> Iterator[Bar]:
    """A bar on the terminal's error stream. Where that is a file there is no bar, but a line now and then, so that
    whoever looks at it can tell how far hours of work have come.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
    began = said = time.monotonic()
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task(what, total=total, text="")

        def update(done: float, text: str = "") -> None:
            nonlocal said
            bar.update(task, completed=done, text=text)
            if not (quiet or err.is_terminal) and (now := time.monotonic()) - said >= SILENT_SECONDS:
                said, took = now, timedelta(seconds=round(now - began))
                far = text or f"{done:,.0f}" + (f" of {total:,.0f}" if total else "")
                err.print(f"{what}: {far}, after {took}", markup=False, soft_wrap=True)

        yield update
