"""From the tables of an ingest to a scenario: follow graphs and availability traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from trellis.errors import TraceError
from trellis.scenario.availability import Comings, Session, comings
from trellis.scenario.following import following
from trellis.scenario.model import Explicit
from trellis.scenario.section import NODES_MAX

SECOND = 1_000_000  # every time of an ingest is in microseconds


class Graph(NamedTuple):
    """Who follows whom, as a scenario has it."""

    users: int
    subscriptions: Explicit


def read_following(path: Path) -> Graph:
    """What `trellis ingest follows` wrote."""
    users = nodes_of(path, "follows")
    follower, followee = columns(path, "follows", "subscriptions", "node", "topic")
    return Graph(users, following(zip(follower, followee, strict=True), users))


def read_comings(
    path: Path, seconds: float, since: float | None = None, nodes: int | None = None, rounds: int | None = None
) -> Comings:
    """What `trellis ingest avt` wrote, in rounds of so many seconds, from `since` seconds of the trace on."""
    known = nodes_of(path, "avt")
    if nodes is not None and nodes > known:
        raise TraceError(f"{path}: {known} nodes; {nodes} were asked for; use at most {known}")
    length = max(1, round(seconds * SECOND))
    sessions = map(Session, *columns(path, "avt", "sessions", "node", "start", "end"))
    begin = None if since is None else round(since * SECOND)
    return comings(sessions, known if nodes is None else nodes, length, begin, rounds)


def nodes_of(path: Path, kind: str) -> int:
    (numbers,) = columns(path, kind, "nodes", "node")
    if not numbers or len(numbers) > NODES_MAX:
        raise TraceError(f"{path}: {len(numbers)} nodes; a scenario has 1 to {NODES_MAX}; sample the trace")
    return len(numbers)


def columns(path: Path, kind: str, table: str, *names: str) -> Sequence[list[int]]:
    """Columns of whole numbers, without a gap."""
    try:
        found = pq.read_table(path / table, columns=list(names))
        cells = [found.column(name) for name in names]
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise TraceError(f"{path}: no table of {table} in it ({type(error).__name__}); ingest {kind} first") from error
    if any(not pa.types.is_integer(column.type) or column.null_count for column in cells):
        raise TraceError(f"{path}: its table of {table} is not one of ours; ingest {kind} first")
    return [column.to_pylist() for column in cells]
