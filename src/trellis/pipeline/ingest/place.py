"""Where an ingest goes: a directory that holds all of its tables, or is not there.

Promises: everything is written aside and put in its place by one rename; only an ingest is ever replaced.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trellis.errors import PipelineError
from trellis.pipeline.ingest.columns import TABLES
from trellis.pipeline.tables import put

SUMMARY, MATRIX = "summary.json", "latencies.csv"
OURS = {SUMMARY, MATRIX, *TABLES}


def check(directory: Path) -> None:
    """Whether an ingest may be written there: ask before the work, not after it."""
    try:
        if directory.exists() and not directory.is_dir():
            raise PipelineError(f"{directory}: a file stands there; give a new directory")
        there = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
        if there and not ({SUMMARY, "dropped"} <= there <= OURS and is_summary(directory / SUMMARY)):
            raise PipelineError(f"{directory}: not empty and not an ingest; give a new directory")
        above = Path(os.path.realpath(directory)).parent
        while not above.exists():
            above = above.parent
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise PipelineError(f"{directory}: nothing can be written in {above}; give another directory")
    except OSError as error:
        raise cannot_write(directory, error) from None


def is_summary(path: Path) -> bool:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "ingest" in found


def written(directory: Path, write: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Let `write` fill a directory and return the summary; then put it in its place, whole."""
    check(directory)
    place = Path(os.path.realpath(directory))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".trellis-", dir=place.parent))
    except OSError as error:
        raise cannot_write(directory, error) from None
    try:
        fresh = aside / "new"
        fresh.mkdir()
        summary = write(fresh)
        (fresh / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        put(fresh, place, aside / "old")
    except OSError as error:
        raise cannot_write(directory, error) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return summary


def cannot_write(directory: Path, error: OSError) -> PipelineError:
    return PipelineError(f"{directory}: cannot be written ({error.strerror or error}); give another directory")
