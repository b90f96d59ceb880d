"""Names of topics from outside: what `trellis ingest newsgroups` wrote, or a plain text."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trellis.errors import TraceError
from trellis.protocols.parts.hierarchy import check
from trellis.words import Topic

LINES_MAX = 1 << 20


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
    return [(row["created"] or 0, topic_of(path, names[row["topic"]])) for row in groups]


def listed_names(path: Path) -> list[tuple[int, Topic]]:
    """One name on each line, the first word of it."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: not a text of names ({type(error).__name__}); give one name a line") from error
    if len(lines) > LINES_MAX:
        raise TraceError(f"{path}: {len(lines)} lines; use at most {LINES_MAX}")
    words = [line.split()[0] for line in lines if line.strip()]
    return [(n, topic_of(path, word)) for n, word in enumerate(dict.fromkeys(words))]


def topic_of(path: Path, name: str) -> Topic:
    """comp.lang.python is the topic .comp.lang.python."""
    topic = name if name.startswith(".") else f".{name}"
    try:
        check(topic)
    except Exception as error:
        raise TraceError(f"{path}: {error}") from error
    return topic
