"""Hit ratio: of all deliveries that were owed, how many were made.

Source:   Vitis section IV: the share of subscribers that get an event. What is owed is what the delivery audit says.
Promises: the pairs are those of `audit.delivery.Logbook.owed` (a twin test holds them together), counted by arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trellis.metrics.latency import number_messages, spread_out
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
    tables = [spread_out(trace.of_kind(kind), "position") for kind in ("publish", "settle", "deliver")]
    published, settled, delivered = number_messages(tables)
    ids, firsts = np.unique(published.id, return_index=True)
    births, topic_of = published.at[firsts], tables[0]["topic"][firsts]
    until = np.full(1 + max(int(t.id.max(initial=0)) for t in (published, settled, delivered)), NEVER)
    np.minimum.at(until, settled.id, settled.at)
    got = np.unique(delivered.id * WIDTH + delivered.node)
    owed = made = 0
    subscriptions = steady(trace)
    for topic in np.unique(topic_of):
        here = subscriptions[:, subscriptions[0] == topic]
        node, confirmed, left = here[1][None, :], here[2][None, :], here[3][None, :]
        of_topic = topic_of == topic
        for some in np.array_split(np.flatnonzero(of_topic), 1 + of_topic.sum() * here.shape[1] // CELLS_MAX):
            id, born = ids[some][:, None], births[some][:, None]
            due = (confirmed < born) & ((left == NEVER) | (left > until[id]))
            if not quiet:
                due &= until[id] != NEVER
            pairs = (id * WIDTH + node)[due]
            owed += len(pairs)
            made += found_in(got, pairs)
    return Hits(owed, made)


def found_in(ascending: Numbers, wanted: Numbers) -> int:
    """How many are there. `np.isin` would sort both again for every topic."""
    at = np.searchsorted(ascending, wanted)
    known = at < len(ascending)
    return int((ascending[at[known]] == wanted[known]).sum())


WIDTH = 1 << 21  # more than there are nodes
CELLS_MAX = 1 << 22  # pairs looked at together


def steady(trace: Trace) -> Numbers:
    """Confirmed subscriptions, one column each: topic, node, and the positions of confirmation and of leaving."""
    rows = trace.of_kind("subscribe", "confirm", "unsubscribe")
    codes, kinds = rows.words("kind")
    topics = rows.words("topic")[0]
    open_: dict[tuple[int, int], list[int]] = {}  # the subscription of each place that has not ended
    found: list[list[int]] = []
    columns = (codes.tolist(), topics.tolist(), rows.numbers("node").tolist(), rows.numbers("position").tolist())
    for code, topic, node, position in zip(*columns, strict=True):
        kind, place = kinds[code], (topic, node)
        if kind == "confirm":
            entry = open_.setdefault(place, [topic, node, int(NEVER), int(NEVER)])
            entry[2] = min(entry[2], position)
        elif (ended := open_.pop(place, None)) is not None:  # it leaves, or comes back without a word
            ended[3] = position
            found.append(ended)
    found += open_.values()
    return np.array(found, np.int64).reshape(-1, 4).T
