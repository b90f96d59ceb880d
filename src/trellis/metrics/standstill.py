"""How long nothing was delivered after a node had died."""

from __future__ import annotations

import numpy as np

from trellis.trace.rows import DELIVERIES
from trellis.trace.table import Trace
from trellis.words import NodeId, Time


def standstill(trace: Trace) -> dict[NodeId, Time]:
    """For each node that crashed (and did not come back before the next one did): the longest time from its death, or
    from a delivery after it, to the next delivery, at the survivor that was worst off."""
    died = {row.node: row.at for row in trace.of_kind("crash").rows()}
    delivered = trace.of_kind(*DELIVERIES)
    at, node = delivered.numbers("at"), delivered.numbers("node")
    found = {}
    for dead, since in died.items():
        pauses = [0]
        for survivor in np.unique(node[node != dead]).tolist():
            times = at[(node == survivor) & (at >= since)]
            if len(times):
                pauses.append(int(np.diff(times, prepend=since).max()))
        found[dead] = max(pauses)
    return found
