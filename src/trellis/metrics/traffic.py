"""What the network carried: packets by kind, queues, forwarders' work, barrier sizes."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from trellis.trace.table import Numbers, Trace


def sent(trace: Trace) -> dict[str, int]:
    """Packets sent, by kind."""
    codes, names = trace.of_kind("send").words("packet")
    return {names[code]: int(count) for code, count in zip(*np.unique(codes, return_counts=True), strict=True)}


def false_positives(trace: Trace) -> int:
    """Messages received by nodes that are not subscribed at that time, by their application's last word."""
    inside: set[tuple[int, str]] = set()
    wrong = 0
    for row in trace.of_kind("subscribe", "confirm", "unsubscribe", "receive").rows():
        place = (row.node, row.topic)
        if row.kind == "receive":
            if row.batch and row.packet == "PUB" and place not in inside:
                wrong += row.batch
        elif row.kind == "unsubscribe":
            inside.discard(place)
        else:
            inside.add(place)
    return wrong


class Queues(NamedTuple):
    mean: float  # over time and nodes
    max: int  # the longest that any node's queue ever was


def queues(trace: Trace, nodes: int) -> Queues:
    """Outgoing queues, a packet in service included."""
    packets = trace.of_kind("send")
    if len(packets) == 0:
        return Queues(0.0, 0)
    per_node = mean_queue(trace, nodes)
    node, entered, wait = (packets.numbers(name) for name in ("node", "at", "wait"))
    # At one time the packets that leave go before those that enter.
    change = np.concatenate([np.ones_like(node), -np.ones_like(node)])
    order = np.lexsort((change, np.concatenate([entered, entered + wait]), np.concatenate([node, node])))
    return Queues(float(per_node.mean()), int(max(0, np.cumsum(change[order]).max())))


def mean_queue(trace: Trace, nodes: int) -> Numbers:
    """The mean length of each node's queue over the whole run (Little's law: waiting time over time)."""
    packets = trace.of_kind("send")
    until = int(trace.numbers("at").max()) if len(trace) else 0
    waited = np.bincount(packets.numbers("node"), weights=packets.numbers("wait"), minlength=nodes)
    return np.asarray(waited / max(1, until))


def barriers(trace: Trace) -> dict[int, int]:
    """How many messages name how many direct predecessors."""
    return dict(sorted(Counter(trace.of_kind("spread").numbers("barrier").tolist()).items()))
