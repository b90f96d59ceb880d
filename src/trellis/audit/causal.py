"""Causal order by true happened-before, not by the protocol's own barriers.

Promises: finds every delivery of a message after one that it happened before, on the same topic, whatever the protocol
          believed. A barrier can forget a predecessor (hole V3); the lives of the nodes cannot.

A message's *past* is everything on its topic that its publisher had published or delivered when it published, and the
pasts of all that. Numbers of one origin on one topic (a stream) grow, so a past is one number per stream: a vector.
`across.py` asks the same of all topics at once.

The past of a publisher is that of its present life: a new one has forgotten what the former delivered. If its new
subscription's cut covers that, it knows *of* it; but nobody read it, so nothing follows from it. A message that was
announced as a gap enters no past by that: the application never saw it. Nor does a gap excuse what comes too late: a
message may be left out, and what followed it then comes without it, but it may not come afterwards, unless it is
tagged as out of order: then its application knows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from trellis.audit.lives import Life, lived
from trellis.audit.witness import Witness, id_of, in_order
from trellis.trace.rows import DELIVERIES, Row
from trellis.words import MessageId, Origin, Topic

Past = npt.NDArray[np.int64]
Lived = list[tuple[Life, Row]]
Stream = tuple[Origin, Topic]


class Pasts:
    """The true causal past of every message of some topics, built row by row in an order that respects causality."""

    def __init__(self, rows: Lived) -> None:
        self.streams = sorted({stream_of(id_of(row)) for _, row in rows})
        self.column = {stream: n for n, stream in enumerate(self.streams)}
        self.of_message: dict[MessageId, Past] = {}
        self.of_life: dict[Life, Past] = {}

    def nothing(self) -> Past:
        return np.full(len(self.streams), -1, np.int64)

    def publish(self, life: Life, id: MessageId) -> None:
        past = self.of_life.setdefault(life, self.nothing())
        self.of_message.setdefault(id, past.copy())
        column = self.column[stream_of(id)]
        past[column] = max(past[column], id.seq)

    def deliver(self, life: Life, id: MessageId) -> Past:
        """Learn a message; its past comes back."""
        past = self.of_life.setdefault(life, self.nothing())
        of_message = self.of_message.get(id)
        if of_message is None:
            of_message = self.nothing()  # nobody has published it yet: the creation audit says whether anybody does
        np.maximum(past, of_message, out=past)
        column = self.column[stream_of(id)]
        past[column] = max(past[column], id.seq)
        return of_message

    def members(self, past: Past, seqs: dict[Stream, list[int]]) -> list[MessageId]:
        """The messages in a past, given which numbers each stream used."""
        return [
            MessageId(origin, topic, seq)
            for column, (origin, topic) in enumerate(self.streams)
            for seq in seqs.get((origin, topic), [])
            if seq <= past[column]
        ]


def stream_of(id: MessageId) -> Stream:
    return id.origin, id.topic


def topics_of(rows: Iterable[Row], birth: str = "publish") -> dict[Topic, Lived]:
    """The rows of each topic by which messages are born and delivered, in order."""
    found: dict[Topic, Lived] = {}
    for life, row in lived(rows):
        if row.kind in (birth, *DELIVERIES):
            found.setdefault(row.topic, []).append((life, row))
    return found


def causal(rows: Iterable[Row]) -> list[Witness]:
    """A message delivered after another one that it happened before."""
    return in_order(witness for told in topics_of(rows).values() for witness in too_late("causal", told))


def too_late(audit: str, rows: Lived) -> list[Witness]:
    """What is delivered after something that it happened before, as far as these rows tell."""
    pasts = Pasts(rows)
    owed: dict[Life, Past] = {}  # the union of the pasts of all that a node has delivered
    delivered: dict[Life, list[tuple[MessageId, Past]]] = {}  # with its past as known at that moment
    had: set[tuple[Life, MessageId]] = set()
    found = []
    for life, row in rows:
        id, node = id_of(row), row.node
        if row.kind == "publish":
            pasts.publish(life, id)
            continue
        if row.kind == "late":  # it was read, so what its reader says follows it; but it has no place among the others
            pasts.deliver(life, id)
            continue
        before = owed.setdefault(life, pasts.nothing())
        column = pasts.column[stream_of(id)]
        mine = delivered.setdefault(life, [])
        if id.seq <= before[column] and (life, id) not in had:
            later = next(other for other, past in mine if past[column] >= id.seq)
            says = f"node {node} delivered {later} before {id}, which happened before it"
            found.append(Witness(audit, row.at, node, id, later, says))
        past = pasts.deliver(life, id)
        np.maximum(before, past, out=before)
        mine.append((id, past))
        had.add((life, id))
    return found
