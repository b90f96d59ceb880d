"""How long messages take, from publication to reception and to delivery.

Source:   VCube-PS section 4: latency is averaged over receptions by subscribers; the publisher's own copy takes no time
          and does not count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trellis.trace.table import Numbers, Trace


class Latencies(NamedTuple):
    """One entry per (message, subscriber other than its source), in the same order."""

    reception: Numbers
    delivery: Numbers


def latencies(trace: Trace) -> Latencies:
    """A reception counts where the message is delivered later: forwarders receive but do not subscribe."""
    tables = [spread_out(trace.of_kind(kind)) for kind in ("publish", "receive", "deliver")]
    published, received, delivered = number_messages(tables)
    foreign = delivered.node != delivered.source
    ids, nodes, at = delivered.id[foreign], delivered.node[foreign], delivered.at[foreign]
    born = lookup(published.id, published.at, ids)
    heard = first_reception(received, ids, nodes)
    return Latencies(heard - born, at - born)


def confirmations(trace: Trace) -> Numbers:
    """From each subscription to its confirmation; a standing subscription has none."""
    asked: dict[tuple[int, str], int] = {}
    found = []
    for row in trace.of_kind("subscribe", "confirm", "unsubscribe").rows():
        place = (row.node, row.topic)
        if row.kind == "subscribe":
            asked[place] = row.at
        elif (at := asked.pop(place, None)) is not None and row.kind == "confirm":
            found.append(row.at - at)
    return np.array(found, np.int64)


class Rows(NamedTuple):
    """Rows of one kind, one per message."""

    id: Numbers  # one number per message, the same in all tables
    node: Numbers
    source: Numbers
    at: Numbers


def spread_out(trace: Trace) -> dict[str, Numbers]:
    """The columns; a packet that carries several messages becomes several rows, one that carries none becomes none."""
    columns = {name: trace.numbers(name) for name in ("source", "incarnation", "seq", "node", "at", "batch")}
    columns["topic"] = trace.words("topic")[0]  # codes agree: a filter keeps its column's dictionary
    _, kinds = trace.words("kind")
    if len(trace) and kinds[int(trace.words("kind")[0][0])] == "receive":
        batch = columns["batch"]
        first = np.repeat(np.cumsum(batch) - batch, batch)
        columns = {name: np.repeat(column, batch) for name, column in columns.items()}
        columns["seq"] = columns["seq"] + np.arange(len(first), dtype=np.int64) - first
    return columns


def number_messages(tables: list[dict[str, Numbers]]) -> list[Rows]:
    """Number the messages of several tables alike. Column by column, so that no number grows beyond the rows."""
    code = np.zeros(sum(len(table["at"]) for table in tables), np.int64)
    for name in ("topic", "source", "incarnation", "seq"):
        column = np.unique(np.concatenate([table[name] for table in tables]), return_inverse=True)[1]
        code = np.unique(code * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    ends = np.cumsum([len(table["at"]) for table in tables])
    parts = np.split(code, ends[:-1])
    return [Rows(id, t["node"], t["source"], t["at"]) for id, t in zip(parts, tables, strict=True)]


def lookup(keys: Numbers, values: Numbers, wanted: Numbers) -> Numbers:
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted)
    return np.asarray(values[order][at], np.int64)


def first_reception(received: Rows, ids: Numbers, nodes: Numbers) -> Numbers:
    """When each (message, node) was first received."""
    order = np.lexsort((received.at, received.node, received.id))
    id, node, at = received.id[order], received.node[order], received.at[order]
    new = np.ones(len(id), bool)
    new[1:] = (id[1:] != id[:-1]) | (node[1:] != node[:-1])
    first = {(i, n): t for i, n, t in zip(id[new].tolist(), node[new].tolist(), at[new].tolist(), strict=True)}
    return np.array([first[pair] for pair in zip(ids.tolist(), nodes.tolist(), strict=True)], np.int64)
