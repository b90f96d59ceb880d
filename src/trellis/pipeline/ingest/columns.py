"""The tables that an ingest writes, each defined once.

Promises: every time is a whole number of microseconds; nodes, topics and publications are dense numbers from 0 in a
          canonical order, and `nodes` and `names` map them back; rows are sorted by the table's key.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


class Column(NamedTuple):
    name: str
    type: str  # as Spark's DDL
    about: str
    may_be_null: bool = False


class Table(NamedTuple):
    key: tuple[str, ...]
    columns: tuple[Column, ...]


TABLES = {
    "nodes": Table(("node",), (Column("node", "bigint", "number"), Column("name", "string", "as the trace has it"))),
    "names": Table(("topic",), (Column("topic", "bigint", "number"), Column("name", "string", "as the trace has it"))),
    "subscriptions": Table(
        ("node", "topic"), (Column("node", "bigint", "who"), Column("topic", "bigint", "to which topic"))
    ),
    "sessions": Table(
        ("node", "start", "end"),
        (
            Column("node", "bigint", "who is up"),
            Column("start", "bigint", "from, in the trace's own time"),
            Column("end", "bigint", "until; the node is up in [start, end)"),
        ),
    ),
    "publications": Table(
        ("id",),
        (
            Column("id", "bigint", "number over all topics: by topic, then seq"),
            Column("topic", "bigint", "on which topic"),
            Column("source", "bigint", "which node published"),
            Column("seq", "bigint", "place in its topic, from 0"),
            Column("at", "bigint", "when"),
            Column("parents", "array<bigint>", "ids that it replies to, ascending; each was published before it"),
            Column("bytes", "bigint", "size, where known", True),
        ),
    ),
    "deliveries": Table(
        ("id", "node"), (Column("id", "bigint", "which publication"), Column("node", "bigint", "who received it"))
    ),
    "latencies": Table(
        ("src", "dst"),
        (
            Column("src", "bigint", "from"),
            Column("dst", "bigint", "to; never src itself"),
            Column("one_way", "bigint", "half of the round trip, at least 1"),
            Column("deviation", "bigint", "half of the round trip's deviation, where known", True),
        ),
    ),
    "topics": Table(
        ("topic",),
        (
            Column("topic", "bigint", "number: by name"),
            Column("parent", "bigint", "the topic above; none at the top", True),
            Column("depth", "int", "parts of the name"),
            Column("state", "string", "group: in the list; removed: was; prefix: only others stand below it"),
            Column("created", "bigint", "since 1970, where known", True),
            Column("removed", "bigint", "since 1970, where known", True),
        ),
    ),
    "degrees": Table(
        ("view", "way", "degree"),
        (
            Column("view", "string", "whole: the graph as it is; sample: what was taken of it"),
            Column("way", "string", "in: followed by so many; out: follows so many"),
            Column("degree", "bigint", "how many, from 0"),
            Column("nodes", "bigint", "users who have so many"),
        ),
    ),
    "dropped": Table(
        ("what", "reason"),
        (
            Column("what", "string", "row, link, session, pair, ..."),
            Column("reason", "string", "why"),
            Column("count", "bigint", "how many"),
            Column("line", "bigint", "the first line of the file where it happened"),
        ),
    ),
}


def ddl(name: str) -> str:
    return ", ".join(f"`{c.name}` {c.type}{'' if c.may_be_null else ' not null'}" for c in TABLES[name].columns)


def shaped(table: DataFrame, name: str) -> DataFrame:
    """Exactly the table's columns, sorted by its key."""
    wanted = TABLES[name]
    cells = [F.col(c.name).cast(c.type).alias(c.name) for c in wanted.columns]
    return table.select(*cells).orderBy(*wanted.key)
