"""Which code made a result: a hash of the sources that decide it.

Promises: equal for equal sources, wherever they are installed; another one as soon as a line of them differs. So the
          rows of two versions are never mixed in one table.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from importlib.resources.abc import Traversable

ROOMS = ("protocols", "scenario", "trace", "sim", "audit", "metrics")


def fingerprint(*more: str) -> str:
    """Of the vocabulary and of everything that runs and measures a scenario; and of more rooms."""
    package = resources.files("trellis")
    files = {entry.name: entry.read_bytes() for entry in package.iterdir() if entry.name.endswith(".py")}
    for room in (*ROOMS, *more):
        files |= sources(package / room, room)
    hasher = hashlib.sha256()
    for name in sorted(files):
        hasher.update(f"{name}:{len(files[name])}\n".encode() + files[name])
    return hasher.hexdigest()[:16]


def sources(room: Traversable, name: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in room.iterdir():
        if entry.is_dir():
            found |= sources(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            found[f"{name}/{entry.name}"] = entry.read_bytes()
    return found
