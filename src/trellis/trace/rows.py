"""The columns of a trace, defined once.

Promises: the row type, the NumPy dtype, the Arrow schema and the Spark schema are all derived from `COLUMNS`. Every
          host writes these columns; every audit, metric and figure reads only them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa


class Column(NamedTuple):
    name: str
    type: type  # int or str
    bits: int  # of an int
    about: str


COLUMNS = (
    Column(
        "position", int, 64, "place of the row in its log: rows of one node in this order are what it lived through"
    ),
    Column("at", int, 64, "time"),
    Column("node", int, 32, "where it happened"),
    Column("kind", str, 0, "what happened, one of KINDS"),
    Column("topic", str, 0, "of the message or the membership change"),
    Column("source", int, 32, "who published or changed its membership"),
    Column("incarnation", int, 32, "which life of the source"),
    Column("seq", int, 64, "number of the message on its topic; membership changes may count downward from -1"),
    Column("packet", str, 0, "kind of packet that was sent or received, else empty"),
    Column("peer", int, 32, "the other end of the link, else -1"),
    Column("wait", int, 64, "send: time until the packet left the outgoing queue, its own service included"),
    Column("batch", int, 32, "send, receive, settle, gap: messages concerned, numbered from seq on"),
    Column("barrier", int, 32, "spread: direct predecessors that the message names"),
)

# What can happen. The order here has no meaning.
KINDS = {
    "subscribe": "the application asked to join (a standing subscription has none)",
    "confirm": "the subscription stands: what is published from now on is owed",
    "unsubscribe": "the application asked to leave",
    "inherit": "the node takes part in a topic because one that it subscribed to includes it",
    "publish": "the application published, and was not refused",
    "spread": "the message was stamped with what it follows and handed to the overlay",
    "send": "a packet was put into the outgoing queue",
    "receive": "a packet arrived",
    "deliver": "the message was handed to the application",
    "late": "the message was handed to the application, tagged as out of order",
    "skip": "the message came again, or from before the subscription, and was dropped on purpose",
    "fill": "the message was missed, and brought by somebody who had it",
    "settle": "every confirmed subscriber has these messages",
    "gap": "the application was told that these messages will not come to it any more",
    "refuse": "an application's call was refused",
    "crash": "the node died without a word: its subscriptions and its unsettled messages are over",
    "start": "the node came up, in this incarnation (in a simulated run only after a crash)",
    "stop": "the node left in good order",
    "suspect": "the node holds its peer to be dead, or has lost the link to it",
    "restore": "the node can reach its peer again, or for the first time; incarnation is the peer's",
}

# Kinds with one row per message: a host may write one line for many (`batch`), and the trace has them one by one.
ONE_BY_ONE = frozenset({"publish", "spread", "deliver", "late", "skip", "fill"})
# Kinds of deliveries. What is tagged has no place in any order: audits of an order judge the untagged ones.
DELIVERIES = ("deliver", "late")
# Kinds about a node as a whole. Each of them ends what it was subscribed to; `start` begins its next life.
OF_NODE = ("crash", "stop", "start")


class Row(NamedTuple):
    """One row, as the plain audits read it. The fields are those of COLUMNS (a test holds them together)."""

    position: int
    at: int
    node: int
    kind: str
    topic: str
    source: int
    incarnation: int
    seq: int
    packet: str
    peer: int
    wait: int
    batch: int
    barrier: int


def numpy_dtype() -> np.dtype[np.void]:
    """Strings as codes into their column's dictionary."""
    return np.dtype([(c.name, f"<i{c.bits // 8}" if c.type is int else "<i4") for c in COLUMNS])


def arrow_schema() -> pa.Schema:
    return pa.schema([pa.field(c.name, arrow_type(c), nullable=False) for c in COLUMNS])


def arrow_type(column: Column) -> pa.DataType:
    if column.type is str:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.int64() if column.bits == 64 else pa.int32()


def spark_ddl() -> str:
    """The schema as Spark reads it, without importing Spark."""
    names = {64: "BIGINT", 32: "INT", 0: "STRING"}
    return ", ".join(f"`{c.name}` {names[c.bits]} NOT NULL" for c in COLUMNS)
