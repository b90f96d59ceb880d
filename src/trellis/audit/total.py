"""Total order: what two subscribers both deliver, on whatever topics, they deliver in the same order.

Source:   TNO, the multistage sequencer (seed paper 001).
Promises: a witness for every pair of subscribers that disagree: each two messages that come one after the other in the
          order of the first node, among those that both delivered, and the other way round at the second. If two
          nodes invert any pair of messages, they invert such an adjacent one.
Assumes:  nothing about three or more: TNO is pairwise, and a cycle over three subscribers is allowed.

Each life of a node is a subscriber of its own, compared with those of other nodes: what two lives of one node saw, no
application can compare. What a life delivered with the tag that it is out of order counts for nobody's order.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, pairwise

from trellis.audit.lives import Life, lived
from trellis.audit.witness import Witness, id_of, in_order
from trellis.trace.rows import Row
from trellis.words import MessageId


def total(rows: Iterable[Row]) -> list[Witness]:
    """Two messages that two nodes delivered in different orders."""
    orders: dict[Life, dict[MessageId, Row]] = {}  # what each life delivered, in its order; the first time counts
    for life, row in lived(rows):
        if row.kind == "deliver":
            orders.setdefault(life, {}).setdefault(id_of(row), row)
    found = []
    for (one, here), (two, there) in combinations(sorted(orders), 2):
        if one == two:
            continue
        other = orders[two, there]
        common = [id for id in orders[one, here] if id in other]
        for first, then in pairwise(common):
            late = other[first]
            if late.position > other[then].position:
                says = f"node {two} delivered {then} before {first}, but node {one} delivered {first} before {then}"
                found.append(Witness("total", late.at, two, first, then, says))
    return in_order(found)
