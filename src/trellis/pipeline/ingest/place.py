"""Where an ingest goes: a directory that holds all of its tables, or is not there.

Promises: everything is written aside and put in its place by one rename; only an ingest is ever replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trellis.errors import PipelineError
from trellis.pipeline.ingest.columns import TABLES
from trellis.trace import whole

SUMMARY, MATRIX = "summary.json", "latencies.csv"
OURS = {SUMMARY, MATRIX, *TABLES}


def check(directory: Path) -> None:
    """Whether an ingest may be written there: ask before the work, not after it."""

    def ours(found: set[str]) -> bool:
        return {SUMMARY, "dropped"} <= found <= OURS and is_summary(directory / SUMMARY)

    whole.check(directory, "an ingest", ours, PipelineError)


def is_summary(path: Path) -> bool:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "ingest" in found


def written(directory: Path, write: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Let `write` fill a directory and return the summary; then put it in its place, whole."""
    check(directory)
    with whole.written(directory, PipelineError) as fresh:
        summary = write(fresh)
        (fresh / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return summary
