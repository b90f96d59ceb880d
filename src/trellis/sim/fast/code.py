"""Where compiled kernels are kept: by the state of their sources, so that none is ever older than its source."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path


def fingerprint() -> str:
    """Of all sources of the compiled engine."""
    hasher = hashlib.sha256()
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
