"""What nodes carry for others, and over how many steps a message goes.

Source:   Vitis section IV: *traffic overhead*, the proportion of the messages that nodes receive and do not want;
          *propagation delay*, the number of hops to the subscribers.
Promises: counts packets that carry a message, not those that speak of it. A node wants a message if it has a confirmed
          subscription to its topic when the message comes, and has not left or died since. A hop is counted by the
          first packet that brought the message to a node.
"""

from __future__ import annotations

from typing import NamedTuple

from trellis.metrics.reach import WORDS, Wishes
from trellis.trace.table import Trace
from trellis.words import NodeId

Key = tuple[int, int, int, int]  # source, incarnation, topic, number


class Relaying(NamedTuple):
    """Of one run."""

    received: dict[NodeId, int]  # messages that came, by node
    in_vain: dict[NodeId, int]  # of those, not wanted there
    hops: list[int]  # of each message that came to somebody who wants it

    @property
    def overhead(self) -> float | None:
        """Of all messages that came, the share that was not wanted."""
        total = sum(self.received.values())
        return sum(self.in_vain.values()) / total if total else None

    @property
    def delay(self) -> float | None:
        return sum(self.hops) / len(self.hops) if self.hops else None

    def shares(self) -> list[float]:
        """Of each node that received anything, the share that it did not want."""
        return [self.in_vain.get(node, 0) / count for node, count in sorted(self.received.items())]


def relaying(trace: Trace) -> Relaying:
    wishes = Wishes()
    received: dict[NodeId, int] = {}
    in_vain: dict[NodeId, int] = {}
    steps: dict[Key, dict[NodeId, int]] = {}
    found: list[int] = []
    rows = trace.of_kind(*WORDS, "publish", "receive")
    (kinds, kind_names), (topics, names) = rows.words("kind"), rows.words("topic")
    numbers = [rows.numbers(name) for name in ("node", "batch", "source", "incarnation", "seq", "peer")]
    columns = [column.tolist() for column in (kinds, topics, *numbers)]
    for code, topic, node, batch, source, incarnation, seq, peer in zip(*columns, strict=True):
        kind = kind_names[code]
        if kind == "publish":
            steps[source, incarnation, topic, seq] = {node: 0}
        elif kind != "receive":
            wishes.hear(kind, node, names[topic])
        elif batch:
            received[node] = received.get(node, 0) + 1
            wanted = wishes.group(node, names[topic]) is not None
            if not wanted:
                in_vain[node] = in_vain.get(node, 0) + 1
            passed = steps.get((source, incarnation, topic, seq))
            if passed is not None and node not in passed and peer in passed:
                passed[node] = passed[peer] + 1
                if wanted:
                    found.append(passed[node])
    return Relaying(received, in_vain, found)
