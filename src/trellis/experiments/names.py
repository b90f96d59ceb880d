"""Names of topics from outside: what `trellis ingest newsgroups` wrote, or a plain text."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trellis.errors import LocalProtocolError, TraceError
from trellis.protocols.parts.hierarchy import check
from trellis.words import Topic

LINES_MAX = 1 << 20
BYTES_MAX = 64 << 20


def read_names(path: Path, late: int) -> tuple[list[Topic], list[Topic]]:
    """The topics, and those of them that came last: by their creation dates, else by their place in the file."""
    dated = dated_names(path) if path.is_dir() else listed_names(path)
    if len(dated) <= late:
        raise TraceError(f"{path}: {len(dated)} topics; at least {late + 1} are needed, if {late} of them appear later")
    by_age = [name for _, name in sorted(dated)]
    return sorted(by_age[: len(by_age) - late]), by_age[len(by_age) - late :]


def dated_names(path: Path) -> list[tuple[int, Topic]]:
    """Of the tables `topics` and `names`: groups, not prefixes nor what was removed."""
    try:
        topics = pq.read_table(path / "topics", columns=["topic", "state", "created"]).to_pylist()
        names = {row["topic"]: row["name"] for row in pq.read_table(path / "names").to_pylist()}
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise TraceError(
            f"{path}: no tables of topics in it ({type(error).__name__}); ingest newsgroups first"
        ) from error
    groups = [row for row in topics if row["state"] == "group" and row["topic"] in names]
    dated = [(row["created"] or 0, names[row["topic"]]) for row in groups]
    if not all(isinstance(created, int) and isinstance(name, str) for created, name in dated):
        raise TraceError(f"{path}: tables of topics without names and dates; ingest newsgroups first")
    return [(created, topic_of(path, name)) for created, name in dated]


def listed_names(path: Path) -> list[tuple[int, Topic]]:
    """One name on each line, the first word of it."""
    try:
        with path.open("rb") as file:  # it may be a pipe, or have no end
            text = file.read(BYTES_MAX + 1)
        if len(text) > BYTES_MAX:
            raise TraceError(f"{path}: more than {BYTES_MAX} bytes; give fewer names")
        lines = text.decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: not a text of names ({type(error).__name__}); give one name a line") from error
    if len(lines) > LINES_MAX:
        raise TraceError(f"{path}: {len(lines)} lines; use at most {LINES_MAX}")
    words = [line.split()[0] for line in lines if line.strip()]
    return [(n, topic) for n, topic in enumerate(dict.fromkeys(topic_of(path, word) for word in words))]


def topic_of(path: Path, name: str) -> Topic:
    """comp.lang.python is the topic .comp.lang.python."""
    topic = name if name.startswith(".") else f".{name}"
    if not topic.isprintable():
        raise TraceError(f"{path}: topic {topic[:32]!r}: it has characters that cannot be printed; leave them out")
    try:
        check(topic)
    except LocalProtocolError as error:
        raise TraceError(f"{path}: {error}") from error
    return topic
