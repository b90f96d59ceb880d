"""Where compiled kernels are kept: by the state of their sources, so that none is ever older than its source."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trellis import draw


def fingerprint() -> str:
    """Of all sources of the compiled engine, and of the draws that it compiles as they are."""
    hasher = hashlib.sha256(Path(draw.__file__).read_bytes())
    here = Path(__file__).parent
    for source in sorted(here.rglob("*.py")):
        hasher.update(source.relative_to(here).as_posix().encode() + b"\0" + source.read_bytes())
    return hasher.hexdigest()[:16]


def kernels_of(asked: str) -> str:
    """Below the directory that was asked for, or the user's cache; if that cannot be written, a passing one."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    place = Path(asked or Path(home) / "trellis") / f"kernels-{fingerprint()}"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return tempfile.mkdtemp(prefix="trellis-kernels-")
    return str(place)


@contextmanager
def alone(place: str, kernel: str) -> Iterator[None]:
    """One process at a time compiles a kernel; whoever waited for it finds what the other one kept."""
    try:
        lock = (Path(place) / f"{kernel}.lock").open("w")
    except OSError:  # others may read what is kept there, but not write
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
