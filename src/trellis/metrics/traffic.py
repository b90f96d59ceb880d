"""What the network carried: packets by kind, queues, forwarders' work, barrier sizes."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trellis.protocols.parts.hierarchy import in_tree, supers
from trellis.trace.table import Numbers, Trace


def sent(trace: Trace) -> dict[str, int]:
    """Packets sent, by kind."""
    codes, names = trace.of_kind("send").words("packet")
    counted = zip(*np.unique(codes, return_counts=True), strict=True)
    return dict(sorted((names[code], int(count)) for code, count in counted))


def false_positives(trace: Trace) -> int:
    """Messages received by nodes that are not subscribed at that time, by their application's last word: to the topic,
    or to one that includes it.
    """
    rows = trace.of_kind("subscribe", "confirm", "unsubscribe", "receive")
    topics, names = rows.words("topic")
    tree = np.isin(topics, [code for code, name in enumerate(names) if in_tree(name)])
    in_the_tree = strays(rows.where(tree)) if tree.any() else 0
    return in_the_tree + false_positives_of_flat_topics(rows.where(~tree) if tree.any() else rows)


def strays(rows: Trace) -> int:
    """The same where topics include each other, row by row."""
    inside: dict[int, set[str]] = {}
    found = 0
    for row in rows.rows():
        mine = inside.setdefault(row.node, set())
        if row.kind == "unsubscribe":
            mine.discard(row.topic)
        elif row.kind != "receive":
            mine.add(row.topic)
        elif row.packet == "PUB" and row.topic not in mine and mine.isdisjoint(supers(row.topic)):
            found += row.batch
    return found


def false_positives_of_flat_topics(rows: Trace) -> int:
    codes, kinds = rows.words("kind")
    packets, packet_kinds = rows.words("packet")
    topics, names = rows.words("topic")
    is_packet = is_one_of(codes, kinds, "receive")
    counts = is_packet & (rows.numbers("batch") > 0) & is_one_of(packets, packet_kinds, "PUB")
    place = rows.numbers("node") * (len(names) + 1) + topics
    order = np.lexsort((rows.numbers("position"), place))
    place, change = place[order], ~is_packet[order]
    joins = change & ~is_one_of(codes, kinds, "unsubscribe")[order]
    last = np.maximum.accumulate(np.where(change, np.arange(len(order)), -1))  # of the same place, or of none
    inside = (last >= 0) & (place[last] == place) & joins[last]
    return int(rows.numbers("batch")[order][counts[order] & ~inside].sum())


def is_one_of(codes: Numbers, names: list[str], *wanted: str) -> npt.NDArray[np.bool_]:
    return np.isin(codes, [names.index(name) for name in wanted if name in names])


def waits(trace: Trace) -> Numbers:
    """How long each packet was in its sender's queue, its own service included."""
    return trace.of_kind("send").numbers("wait")


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


def queues_met(trace: Trace, nodes: int) -> Numbers:
    """Per node, how long a PUB packet of its own waits on average, its service included; 0 where it sends none.

    With a service time of 1 that is the queue which a PUB packet finds, itself included (Table 1 of VCube-PS).
    """
    packets = trace.of_kind("send")
    codes, names = packets.words("packet")
    pubs = is_one_of(codes, names, "PUB")
    node, wait = packets.numbers("node")[pubs], packets.numbers("wait")[pubs]
    count = np.bincount(node, minlength=nodes)
    return np.asarray(np.bincount(node, weights=wait, minlength=nodes) / np.maximum(1, count))


def barriers(trace: Trace) -> dict[int, int]:
    """How many messages name how many direct predecessors."""
    return dict(sorted(Counter(trace.of_kind("spread").numbers("barrier").tolist()).items()))
