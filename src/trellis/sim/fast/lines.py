"""The trace of a compiled run: rows that kernels write. Answers to `Recorder` in trace/table.py.

Promises: the same rows in the same order. A message or a change of membership is named by its number in the run, and an
          application's own rows by node and topic; both are looked up once, when the run is over.

A row is five words: time, wait, what happened to whom, which message, how many.
"""

from __future__ import annotations

import numpy as np

from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import Block
from trellis.trace.table import LINE, Trace, one_by_one, table
from trellis.words import MessageId, Topic

KINDS = ["send", "receive", "publish", "spread", "deliver", "settle", "confirm", "subscribe", "unsubscribe"]
KINDS += ["refuse", "skip"]
SEND, RECEIVE, PUBLISH, SPREAD, DELIVER, SETTLE, CONFIRM, SUBSCRIBE, UNSUBSCRIBE, REFUSE, SKIP = range(len(KINDS))

# A block of rows begins with how many there are, and whether any are kept at all.
ROWS, KEPT, HEADER = 0, 1, 2
AT, WAIT, WHAT, ID, MANY, WIDTH = 0, 1, 2, 3, 4, 5
PACKET_SHIFT, NODE_SHIFT, PEER_SHIFT = 4, 8, 28  # of `what`; the kind has the lowest bits
BATCH_SHIFT = 32  # of `many`; the barrier has the lowest bits
BYTE, NODE = (1 << 4) - 1, (1 << 20) - 1


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


def write_all(rows: Block, kind: int, nodes: Block, ids: Block) -> None:
    """The same at the beginning of a run, for many nodes, from outside of kernels."""
    first, count = HEADER + int(rows[ROWS]) * WIDTH, len(nodes)
    cells = rows[first : first + count * WIDTH].reshape(count, WIDTH)
    cells[:, WHAT], cells[:, ID] = kind | (nodes << NODE_SHIFT), ids
    rows[ROWS] += count


@inlined
def own(topics: int, node: int, topic: int) -> int:
    """The id of an application's row."""
    return -1 - (node * topics + topic)


def trace(rows: Block, ids: list[MessageId], topics: list[Topic], packets: list[str]) -> Trace:
    cells = rows[HEADER : HEADER + int(rows[ROWS]) * WIDTH].reshape(-1, WIDTH)
    laid = np.zeros(len(cells), LINE)
    laid["at"], laid["wait"] = cells[:, AT], cells[:, WAIT]
    what, many, id = cells[:, WHAT], cells[:, MANY], cells[:, ID].copy()
    laid["kind"], laid["packet"] = what & BYTE, (what >> PACKET_SHIFT) & BYTE
    laid["node"], laid["peer"] = (what >> NODE_SHIFT) & NODE, (what >> PEER_SHIFT) - 1
    laid["batch"], laid["barrier"] = many >> BATCH_SHIFT, many & ((1 << BATCH_SHIFT) - 1)
    own = id < 0
    codes, found = np.unique(-1 - id[own], return_inverse=True)
    id[own] = len(ids) + found
    laid["id"] = id
    named = [MessageId((int(code) // len(topics), 0), topics[int(code) % len(topics)], 0) for code in codes]
    return Trace(one_by_one(table(laid, ids + named, KINDS, packets)))
