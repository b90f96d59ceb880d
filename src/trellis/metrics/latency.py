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
    published = keyed(trace.of_kind("publish"), messages=False)
    received = keyed(trace.of_kind("receive"), messages=True)
    delivered = keyed(trace.of_kind("deliver"), messages=False)
    foreign = delivered.node != delivered.source
    ids, nodes, at = delivered.id[foreign], delivered.node[foreign], delivered.at[foreign]
    born = lookup(published.id, published.at, ids)
    heard = first_reception(received, ids, nodes)
    return Latencies(heard - born, at - born)


class Keyed(NamedTuple):
    id: Numbers  # one number per message
    node: Numbers
    source: Numbers
    at: Numbers


def keyed(trace: Trace, messages: bool) -> Keyed:
    """Rows with one number per message; with `messages`, a row per message that a packet carried."""
    topic, _ = trace.words("topic")
    columns = [trace.numbers(name) for name in ("source", "incarnation", "seq", "node", "at")]
    if messages:
        count = trace.numbers("batch")
        start = np.repeat(np.cumsum(count) - count, count)
        offset = np.arange(int(count.sum()), dtype=np.int64) - start
        topic = np.repeat(topic, count)
        columns = [np.repeat(column, count) for column in columns]
        columns[2] = columns[2] + offset
    source, incarnation, seq, node, at = columns
    # Topic codes agree between tables of one trace, because a filter keeps its column's dictionary.
    id = ((topic << 20 | source) << 8 | incarnation) << 24 | (seq & 0xFFFFFF)
    return Keyed(id, node, source, at)


def lookup(keys: Numbers, values: Numbers, wanted: Numbers) -> Numbers:
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted)
    return np.asarray(values[order][at], np.int64)


def first_reception(received: Keyed, ids: Numbers, nodes: Numbers) -> Numbers:
    """When each (message, node) was first received."""
    order = np.lexsort((received.at, received.node, received.id))
    id, node, at = received.id[order], received.node[order], received.at[order]
    new = np.ones(len(id), bool)
    new[1:] = (id[1:] != id[:-1]) | (node[1:] != node[:-1])
    first = {(i, n): t for i, n, t in zip(id[new].tolist(), node[new].tolist(), at[new].tolist(), strict=True)}
    return np.array([first[pair] for pair in zip(ids.tolist(), nodes.tolist(), strict=True)], np.int64)
