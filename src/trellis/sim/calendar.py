"""What is still to happen, in canonical order.

Promises: entries of one time come out by what they are (node, kind, peer, number), not by when they were pushed. An
          entry pushed for the time that is being worked off comes in a later round of that same time.
"""

from __future__ import annotations

import heapq

from trellis.events import Event
from trellis.words import NodeId, Time

# Kinds of entries at one node and time, in the order in which they happen.
PACKET, TIMER, CYCLE, APPLICATION, LINK, FAULT = 0, 1, 2, 3, 4, 5

# Node, kind, peer, number: no two are alike. Then the event, and for a packet the line of its arrival in the trace.
Entry = tuple[NodeId, int, int, int, Event, bytes]


class Calendar:
    """Whole times allow one bucket per time instead of one heap entry per event."""

    def __init__(self) -> None:
        self.times: list[Time] = []
        self.buckets: dict[Time, list[Entry]] = {}

    def push(self, at: Time, entry: Entry) -> None:
        bucket = self.buckets.get(at)
        if bucket is None:
            self.buckets[at] = [entry]
            heapq.heappush(self.times, at)
        else:
            bucket.append(entry)

    def next_time(self) -> Time | None:
        return self.times[0] if self.times else None

    def pop(self) -> tuple[Time, list[Entry]]:
        """All that is due at the next time, so far."""
        at = heapq.heappop(self.times)
        bucket = self.buckets.pop(at)
        bucket.sort()
        return at, bucket
