"""Total order: what two subscribers both deliver, on whatever topics, they deliver in the same order.

Source:   TNO, the multistage sequencer (seed paper 001).
Promises: a witness for every pair of subscribers that disagree: each two messages that come one after the other in the
          order of the first node, among those that both delivered, and the other way round at the second. If two
          nodes invert any pair of messages, they invert such an adjacent one.
Assumes:  nothing about three or more: TNO is pairwise, and a cycle over three subscribers is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, pairwise

from trellis.audit.witness import Witness, id_of, in_order
from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId


def total(rows: Iterable[Row]) -> list[Witness]:
    """Two messages that two nodes delivered in different orders."""
    lives: dict[NodeId, dict[MessageId, Row]] = {}  # what each node delivered, in its order; the first time counts
    for row in rows:
        if row.kind == "deliver":
            lives.setdefault(row.node, {}).setdefault(id_of(row), row)
    found = []
    for one, two in combinations(sorted(lives), 2):
        common = [id for id in lives[one] if id in lives[two]]
        for first, then in pairwise(common):
            late = lives[two][first]
            if late.position > lives[two][then].position:
                says = f"node {two} delivered {then} before {first}, but node {one} delivered {first} before {then}"
                found.append(Witness("total", late.at, two, first, then, says))
    return in_order(found)
