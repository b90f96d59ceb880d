"""How messages fared over time while nodes come and go.

Source:   Vitis section IV-F and Figure 12: hit ratio, traffic overhead and propagation delay over time; a node counts
          from 10 seconds after it joined.
Promises: one entry per message. It is owed to whoever had asked for its topic `grace` before it was published and
          stays for `stay` after it, whether or not that one's subscription is confirmed; its publisher does not count.
          A node wants what it has asked for. Whoever comes back lives anew, and is owed nothing of before.
"""

from __future__ import annotations

from typing import NamedTuple

from trellis.trace.rows import DELIVERIES, OF_NODE
from trellis.trace.table import Trace
from trellis.words import NodeId, Time

Key = tuple[int, int, int, int]  # source, incarnation, topic, number
NEVER = 1 << 62


class Stay(NamedTuple):
    """A subscription from when it is asked for until it ends, however it does."""

    node: NodeId
    since: Time
    until: Time


class Fate(NamedTuple):
    """Of one message."""

    at: Time  # when it was published
    owed: int
    made: int  # of those, delivered
    received: int  # packets that brought it to somebody
    in_vain: int  # of those, to nodes that do not want it
    hops: int  # over all nodes that got it and want it
    reached: int  # how many those are


class Life:
    """What is known of a message while the rows go by."""

    def __init__(self, at: Time, source: NodeId) -> None:
        self.at, self.source = at, source
        self.received = self.in_vain = self.hops = self.reached = 0
        self.steps: dict[NodeId, int] = {source: 0}
        self.delivered: dict[NodeId, Time] = {}


def timeline(trace: Trace, grace: Time, stay: Time) -> list[Fate]:
    """In the order of publication."""
    stays: dict[int, list[Stay]] = {}
    wanted: dict[NodeId, dict[int, Time]] = {}  # by node and topic: since when it is asked for
    lives: dict[Key, Life] = {}
    rows = trace.of_kind("subscribe", "confirm", "unsubscribe", *OF_NODE, "publish", "receive", *DELIVERIES)
    (kinds, names), (topics, _) = rows.words("kind"), rows.words("topic")
    numbers = [rows.numbers(name) for name in ("at", "node", "batch", "source", "incarnation", "seq", "peer")]
    columns = [column.tolist() for column in (kinds, topics, *numbers)]
    for code, topic, at, node, batch, source, incarnation, seq, peer in zip(*columns, strict=True):
        kind, key = names[code], (source, incarnation, topic, seq)
        if kind == "receive":
            if batch and key in lives:
                bring(lives[key], node, peer, topic in wanted.get(node, ()))
        elif kind == "publish":
            lives[key] = Life(at, node)
        elif kind in DELIVERIES:
            if key in lives:
                lives[key].delivered[node] = at
        elif kind in ("subscribe", "confirm"):
            wanted.setdefault(node, {}).setdefault(topic, at)
        else:
            mine = wanted.get(node, {})
            for each in list(mine) if kind in OF_NODE else [topic]:
                if (since := mine.pop(each, None)) is not None:
                    stays.setdefault(each, []).append(Stay(node, since, at))
    for node, mine in wanted.items():
        for topic, since in mine.items():
            stays.setdefault(topic, []).append(Stay(node, since, NEVER))
    return [fate(life, stays.get(key[2], []), grace, stay) for key, life in lives.items()]


def bring(life: Life, node: NodeId, peer: NodeId, is_wanted: bool) -> None:
    life.received += 1
    life.in_vain += not is_wanted
    if node not in life.steps and peer in life.steps:
        life.steps[node] = life.steps[peer] + 1
        if is_wanted:
            life.hops += life.steps[node]
            life.reached += 1


def fate(life: Life, stays: list[Stay], grace: Time, stay: Time) -> Fate:
    due = [
        one
        for one in stays
        if one.since <= life.at - grace and one.until >= life.at + stay and one.node != life.source
    ]  # fmt: skip
    made = sum(life.at <= life.delivered.get(one.node, -1) <= one.until for one in due)
    return Fate(life.at, len(due), made, life.received, life.in_vain, life.hops, life.reached)
