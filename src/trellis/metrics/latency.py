"""How long messages take, from publication to reception and to delivery.

Source:   VCube-PS section 4: latency is averaged over receptions by subscribers; the publisher's own copy takes no time
          and does not count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trellis.trace.rows import DELIVERIES
from trellis.trace.table import Numbers, Trace


class Latencies(NamedTuple):
    """One entry per (message, subscriber other than its source), in the same order; then one per forwarder."""

    reception: Numbers
    delivery: Numbers
    relayed: Numbers  # first reception by nodes that do not deliver the message


def latencies(trace: Trace) -> Latencies:
    """A reception counts where the message is delivered later: forwarders receive but do not subscribe.

    A delivery of what was never published or never received has no latency (the audits have a name for it).
    """
    tables = [spread_out(trace.of_kind(*kinds)) for kinds in (("publish",), ("receive",), DELIVERIES)]
    published, received, delivered = number_messages(tables)
    width = 1 + max(int(table.node.max(initial=0)) for table in (published, received, delivered))
    foreign = delivered.node != delivered.source
    ids, nodes, at = delivered.id[foreign], delivered.node[foreign], delivered.at[foreign]
    born, is_born = first_time(published.id, published.at, ids)
    heard, is_heard = first_time(received.id * width + received.node, received.at, ids * width + nodes)
    known = is_born & is_heard
    passed = ~np.isin(received.id * width + received.node, delivered.id * width + delivered.node)
    passing, first = np.unique(received.id[passed] * width + received.node[passed], return_index=True)
    sent, is_sent = first_time(published.id, published.at, passing // width)
    relayed = received.at[passed][first] - sent  # rows are in the order of time, so the first is the earliest
    return Latencies((heard - born)[known], (at - born)[known], relayed[is_sent])


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


def spread_out(trace: Trace, when: str = "at") -> dict[str, Numbers]:
    """The columns; a row about several messages becomes several rows, a packet that carries none becomes none."""
    columns = {name: trace.numbers(name) for name in ("source", "incarnation", "seq", "node", "batch")}
    columns["at"] = trace.numbers(when)
    columns["topic"] = trace.words("topic")[0]  # codes agree: a filter keeps its column's dictionary
    _, kinds = trace.words("kind")
    if len(trace) and kinds[int(trace.words("kind")[0][0])] in ("receive", "settle"):
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


def first_time(keys: Numbers, times: Numbers, wanted: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """When each wanted key first happened, and whether it did."""
    if len(keys) == 0:
        return np.zeros_like(wanted), np.zeros(len(wanted), bool)
    order = np.lexsort((times, keys))
    ordered = keys[order]
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return times[order][at], ordered[at] == wanted
