"""Causal order across topics: nothing is delivered before what happened before it, on whatever topics.

Source:   TNO section 4, "Ordering features": with the wider groups the order of notifications respects causality.
Promises: a witness for every delivery of a message after one that it happened before: some node had published or
          delivered it, on any topic, when it published the other one; or so on, over any number of nodes and topics.
          What `causal` finds this finds too: one topic is among all topics.
Assumes:  what `causal` does, about lives and gaps.

A node that has left a topic has still read what it read there. So a life's past is one, over all of its subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis.audit.causal import too_late
from trellis.audit.lives import lived
from trellis.audit.witness import Witness, in_order
from trellis.trace.rows import DELIVERIES, Row


def across(rows: Iterable[Row]) -> list[Witness]:
    """A message delivered after another one, on whatever topic, that it happened before."""
    told = [(life, row) for life, row in lived(rows) if row.kind in ("publish", *DELIVERIES)]
    return in_order(too_late("across", told))
