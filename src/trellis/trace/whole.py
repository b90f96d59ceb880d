"""A directory that is there whole or not at all.

Promises: what is written appears by one rename; only what is ours is ever replaced, and it comes back if the new one
          cannot stand there. Whatever the file system says is one clear line, of the caller's kind of error.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trellis.errors import TrellisError

Ours = Callable[[set[str]], bool]  # whether these names are what we write


def check(directory: Path, what: str, ours: Ours, kind: type[TrellisError]) -> None:
    """Whether `what` may be written there: ask before the work, not after it."""
    try:
        if directory.exists() and not directory.is_dir():
            raise kind(f"{directory}: a file stands there; give a new directory")
        found = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
        if found and not ours(found):
            raise kind(f"{directory}: not empty and not {what}; give a new directory")
        place = Path(os.path.realpath(directory)).parent
        while not place.exists():
            place = place.parent
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
            raise kind(f"{directory}: nothing can be written in {place}; give another directory")
    except OSError as error:
        raise cannot_write(directory, error, kind) from None


@contextmanager
def written(directory: Path, kind: type[TrellisError]) -> Iterator[Path]:
    """An empty directory to fill; it becomes `directory` when the block ends well, and is gone when it does not."""
    place = Path(os.path.realpath(directory))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".trellis-", dir=place.parent))
    except OSError as error:
        raise cannot_write(directory, error, kind) from None
    try:
        fresh = aside / "new"
        fresh.mkdir()
        yield fresh
        put(fresh, place, aside / "old")
    except OSError as error:
        raise cannot_write(directory, error, kind) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def put(fresh: Path, place: Path, former: Path) -> None:
    """The former one is moved away, not removed, and comes back if the new one cannot stand there."""
    if place.exists():
        os.rename(place, former)
    try:
        os.rename(fresh, place)
    except OSError:
        if former.exists():
            os.rename(former, place)
        raise


def cannot_write(directory: Path, error: OSError, kind: type[TrellisError]) -> TrellisError:
    return kind(f"{directory}: cannot be written ({error.strerror or error}); give another directory")
