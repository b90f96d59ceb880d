"""Hit ratio: of all deliveries that were owed, how many were made.

Source:   Vitis section IV: the share of subscribers that get an event. What is owed is what the delivery audit says.
Promises: the pairs are those of `audit.delivery.Logbook.owed` (a twin test holds them together), counted by arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from trellis.metrics.latency import number_messages, spread_out
from trellis.protocols.parts.hierarchy import supers
from trellis.trace.rows import DELIVERIES, OF_NODE
from trellis.trace.table import Numbers, Trace

NEVER = np.iinfo(np.int64).max


class Hits(NamedTuple):
    owed: int  # pairs of a message and a steady subscriber
    made: int  # of those, delivered

    @property
    def ratio(self) -> float | None:
        return self.made / self.owed if self.owed else None


def hits(trace: Trace, quiet: bool = True) -> Hits:
    """Over all messages: a run that was cut short owes only what it had settled. What is told twice counts once."""
    tables = [spread_out(trace.of_kind(*kinds), "position") for kinds in (("publish",), ("settle",), DELIVERIES)]
    published, settled, delivered = number_messages(tables)
    lives = Lives(trace)
    ids, firsts = np.unique(published.id, return_index=True)
    births, topic_of = published.at[firsts], tables[0]["topic"][firsts]
    orphaned = np.isin(origins_of(tables[0])[firsts], lives.crashed)
    until = np.full(1 + max(int(t.id.max(initial=0)) for t in (published, settled, delivered)), NEVER)
    np.minimum.at(until, settled.id, settled.at)
    owed = made = 0
    subscriptions = steady(trace)
    who = lives.numbered(delivered.node, delivered.at), lives.numbered(subscriptions[1], subscriptions[2])
    got = np.unique(delivered.id * WIDTH + who[0])
    names = trace.words("topic")[1]
    for topic in np.unique(topic_of):
        includes = [names.index(name) for name in supers(names[topic]) if name in names]
        of_place = np.isin(subscriptions[0], [topic, *includes])
        here, life = subscriptions[:, of_place], who[1][of_place][None, :]
        confirmed, left = here[2][None, :], here[3][None, :]
        of_topic = topic_of == topic
        for some in np.array_split(np.flatnonzero(of_topic), 1 + of_topic.sum() * here.shape[1] // CELLS_MAX):
            id, born = ids[some][:, None], births[some][:, None]
            due = (confirmed < born) & ((left == NEVER) | (left > until[id]))
            due &= (until[id] != NEVER) | (quiet & ~orphaned[some][:, None])
            pairs = (id * WIDTH + life)[due]
            if includes:  # a node that subscribed on two levels is owed it once
                pairs = np.unique(pairs)
            owed += len(pairs)
            made += found_in(got, pairs)
    return Hits(owed, made)


class Lives:
    """The lives of nodes, by arrays: audit/lives.py is the plain twin."""

    def __init__(self, trace: Trace) -> None:
        starts = trace.of_kind("start")
        self.starts = np.sort(starts.numbers("node") * WIDTH + starts.numbers("position"))
        crashes = trace.of_kind("crash")
        self.crashed = origins_of({name: crashes.numbers(name) for name in ("source", "incarnation")})

    def numbered(self, node: Numbers, position: Numbers) -> Numbers:
        """A number for the life of a node at a position: no other life of any node has it."""
        return np.asarray(node + np.searchsorted(self.starts, node * WIDTH + position, "right"))


def origins_of(columns: Mapping[str, Numbers]) -> Numbers:
    return np.asarray(columns["source"] * WIDTH + columns["incarnation"])


def found_in(ascending: Numbers, wanted: Numbers) -> int:
    """How many are there. `np.isin` would sort both again for every topic."""
    at = np.searchsorted(ascending, wanted)
    known = at < len(ascending)
    return int((ascending[at[known]] == wanted[known]).sum())


WIDTH = 1 << 32  # more than there are lives of nodes, or rows
CELLS_MAX = 1 << 22  # pairs looked at together


def steady(trace: Trace) -> Numbers:
    """Confirmed subscriptions, one column each: topic, node, and the positions of confirmation and of leaving."""
    rows = trace.of_kind("subscribe", "confirm", "unsubscribe", *OF_NODE)
    codes, kinds = rows.words("kind")
    topics = rows.words("topic")[0]
    open_: dict[int, dict[int, list[int]]] = {}  # by node and topic, the subscription that has not ended
    found: list[list[int]] = []
    columns = (codes.tolist(), topics.tolist(), rows.numbers("node").tolist(), rows.numbers("position").tolist())
    for code, topic, node, position in zip(*columns, strict=True):
        kind, mine = kinds[code], open_.setdefault(node, {})
        if kind == "confirm":
            entry = mine.setdefault(topic, [topic, node, int(NEVER), int(NEVER)])
            entry[2] = min(entry[2], position)
            continue
        for each in list(mine) if kind in OF_NODE else [topic]:  # it leaves, or comes back without a word
            if (ended := mine.pop(each, None)) is not None:
                ended[3] = position
                found.append(ended)
    found += [entry for mine in open_.values() for entry in mine.values()]
    return np.array(found, np.int64).reshape(-1, 4).T
