"""Public traces that some figures need: what `trellis ingest` made of them, brought by the caller.

Promises: a directory that is not such an ingest is refused in one line before anything is run. Its digest goes by what
          is in its files, not by their names or times.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from trellis.errors import PipelineError, TraceError
from trellis.experiments.traces import columns, nodes_of

FOLLOWS, SESSIONS = "follows", "sessions"
Brought = Mapping[str, Path]  # by the name of the kind


class Kind(NamedTuple):
    """One kind of data."""

    ingest: str  # which ingest makes it
    what: str
    tables: dict[str, tuple[str, ...]]


KINDS = {
    FOLLOWS: Kind("follows", "who follows whom", {"subscriptions": ("node", "topic"), "degrees": ("degree", "nodes")}),
    SESSIONS: Kind("avt", "when nodes were up", {"sessions": ("node", "start", "end")}),
}


def missing(needs: tuple[str, ...], brought: Brought) -> str:
    """What to bring, in one line; empty if all is there."""
    lacking = [name for name in needs if name not in brought]
    told = [
        f"bring {KINDS[name].what} with --{name} DIR, what `trellis ingest {KINDS[name].ingest}` wrote"
        for name in lacking
    ]
    return "; ".join(told)


def check(brought: Brought) -> None:
    """That each directory is what it should be."""
    for name, place in brought.items():
        kind = KINDS[name]
        summary = summary_of(place, name)
        if summary.get("ingest") != kind.ingest:
            raise PipelineError(
                f"--{name} {place}: an ingest of {summary.get('ingest')!r}; give what `trellis ingest {kind.ingest}` "
                f"wrote"
            )
        try:
            nodes_of(place, kind.ingest)
            for table, names in kind.tables.items():
                columns(place, kind.ingest, table, *names)
        except TraceError as error:
            raise PipelineError(f"--{name} {error}") from None


def summary_of(place: Path, name: str) -> dict[str, object]:
    try:
        found = json.loads((place / "summary.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise PipelineError(
            f"--{name} {place}: no ingest stands there; give what `trellis ingest {KINDS[name].ingest}` wrote"
        )
    return found


def digest(place: Path) -> str:
    """Of all tables in a directory and its summary."""
    files = [path for path in place.rglob("*") if path.is_file() and not path.name.startswith(".")]
    found = sorted((path.relative_to(place).parts[0], content(path)) for path in files if path.suffix != ".crc")
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]


def content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
