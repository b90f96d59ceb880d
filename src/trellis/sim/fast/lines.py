"""The trace of a compiled run: rows that kernels write. Answers to `Recorder` in trace/table.py.

Promises: the same rows in the same order. A message or a change of membership is named by its number in the run, and an
          application's own rows by node and topic; both are looked up when the run is over.

A row is five words: time, wait, what happened to whom, which message, how many.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import Block
from trellis.trace.rows import COLUMNS
from trellis.trace.table import Trace, column_dtype, of_columns, one_by_one
from trellis.words import Topic

KINDS = ["send", "receive", "publish", "spread", "deliver", "settle", "confirm", "subscribe", "unsubscribe"]
KINDS += ["refuse", "skip", "inherit", "crash", "fill", "start"]
SEND, RECEIVE, PUBLISH, SPREAD, DELIVER, SETTLE, CONFIRM, SUBSCRIBE, UNSUBSCRIBE, REFUSE, SKIP = range(11)
INHERIT, CRASH, FILL, START = 11, 12, 13, 14

# A block of rows begins with how many there are, and whether any are kept at all.
ROWS, KEPT, HEADER = 0, 1, 2
AT, WAIT, WHAT, ID, MANY, WIDTH = 0, 1, 2, 3, 4, 5
PACKET_SHIFT, NODE_SHIFT, PEER_SHIFT = 4, 8, 28  # of `what`; the kind has the lowest bits
BATCH_SHIFT = 32  # of `many`; the barrier has the lowest bits
NODE_BITS = 20
BYTE, NODE = (1 << 4) - 1, (1 << NODE_BITS) - 1
AT_ONCE = 1 << 14  # rows laid out together


def lines(room: int, kept: bool) -> Block:
    found = np.zeros(HEADER + (room * WIDTH if kept else 0), np.int64)
    found[KEPT] = kept
    return found


def grown(old: Block) -> Block:
    new = np.zeros(HEADER + 2 * (len(old) - HEADER), np.int64)
    new[: len(old)] = old
    return new


@inlined
def has_room(rows: Block, more: int) -> bool:
    return not rows[KEPT] or HEADER + (rows[ROWS] + more) * WIDTH <= len(rows)


@inlined
def write(
    rows: Block, at: int, wait: int, kind: int, node: int, id: int, packet: int, peer: int, batch: int, barrier: int
) -> None:
    if rows[KEPT]:
        r = HEADER + rows[ROWS] * WIDTH
        rows[ROWS] += 1
        rows[r + AT], rows[r + WAIT], rows[r + ID] = at, wait, id
        rows[r + WHAT] = kind | (packet << PACKET_SHIFT) | (node << NODE_SHIFT) | ((peer + 1) << PEER_SHIFT)
        rows[r + MANY] = (batch << BATCH_SHIFT) | barrier


def write_all(rows: Block, kind: int, nodes: Block, topics: int, topic: int) -> Block:
    """One row at time 0 for the application of each of these nodes, from outside of kernels; in a longer block if this
    one has no room.
    """
    while not has_room(rows, len(nodes)):
        rows = grown(rows)
    if rows[KEPT]:
        first = HEADER + int(rows[ROWS]) * WIDTH
        new = rows[first : first + len(nodes) * WIDTH].reshape(-1, WIDTH)
        new[:, WHAT] = kind | (nodes << NODE_SHIFT)
        new[:, ID] = -1 - (nodes * topics + topic)  # as `own` has it
        rows[ROWS] += len(nodes)
    return rows


@inlined
def own(topics: int, node: int, topic: int) -> int:
    """The id of an application's row; in a later life of its node, that stands above the node's bits."""
    return -1 - (node * topics + topic)


def trace(rows: Block, waves: Block, topics: list[Topic], packets: list[str]) -> Trace:
    """`waves` has the source, the topic and the number of each, and where nodes have several lives, in which it was.
    Some rows at a time, while they are in the cache.
    """
    cells = rows[HEADER : HEADER + int(rows[ROWS]) * WIDTH].reshape(-1, WIDTH)
    found = {column.name: np.zeros(len(cells), column_dtype(column)) for column in COLUMNS}
    found["position"] = np.arange(len(cells))
    source, topic, seq, *lives = (np.ascontiguousarray(column) for column in waves.T)
    for start in range(0, len(cells), AT_ONCE):
        some, here = cells[start : start + AT_ONCE], slice(start, start + AT_ONCE)
        what, id, many = some[:, WHAT], some[:, ID], some[:, MANY]
        of_node, is_own, code = (what >> NODE_SHIFT) & NODE, id < 0, -1 - id
        wave = np.where(is_own, 0, id) if len(waves) else None
        found["at"][here], found["wait"][here], found["node"][here] = some[:, AT], some[:, WAIT], of_node
        found["kind"][here], found["packet"][here] = what & BYTE, (what >> PACKET_SHIFT) & BYTE
        found["peer"][here] = (what >> PEER_SHIFT) - 1
        found["batch"][here], found["barrier"][here] = many >> BATCH_SHIFT, many & ((1 << BATCH_SHIFT) - 1)
        found["topic"][here] = code % len(topics) if wave is None else np.where(is_own, code % len(topics), topic[wave])
        owner = code // len(topics)  # of a packet that serves no message, who sent it
        if lives:
            owner, life = owner & NODE, owner >> NODE_BITS
            found["incarnation"][here] = life if wave is None else np.where(is_own, life, lives[0][wave])
        found["source"][here] = owner if wave is None else np.where(is_own, owner, source[wave])
        found["seq"][here] = 0 if wave is None else np.where(is_own, 0, seq[wave])
    return Trace(one_by_one(of_columns(found, {"kind": KINDS, "packet": packets, "topic": topics})))
