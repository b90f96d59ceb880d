"""Microseconds that never go back: a hybrid logical clock.

Source:   Kulkarni, Demirbas, Madappa, Avva, Leone 2014, with the logical part in the last digits of the time itself.
Promises: `read` never goes back, whatever the wall clock does. After `hear(at)` returned True every reading is beyond
          `at`: rows sorted by (reading, node, order of writing) respect what caused what between processes.
Assumes:  the wall clocks of a cluster are within an hour of each other. A peer beyond that is not believed, so that one
          broken clock does not carry all the others away; only the order of rows between it and others is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from trellis.words import Time

AHEAD_US_MAX = 3_600_000_000  # an hour


def wall_us() -> Time:
    return time.time_ns() // 1000


def lapse_us() -> Time:
    """Since some moment before this process began: for what lasts, not for when it happened."""
    return time.monotonic_ns() // 1000


class Clock:
    """One per process."""

    def __init__(self, wall: Callable[[], Time] = wall_us) -> None:
        self.wall = wall
        self.latest: Time = 0  # the highest reading so far, or one more than what was heard

    def read(self) -> Time:
        """Now. Two readings may be equal; rows of one node are told apart by the order of writing."""
        now = self.wall()
        if now > self.latest:
            self.latest = now
        return self.latest

    def hear(self, at: Time) -> bool:
        """A peer read its clock, then sent. False, and nothing changes, when it is over an hour ahead of the wall."""
        if at < self.latest:
            return True
        if at > self.wall() + AHEAD_US_MAX:
            return False
        self.latest = at + 1
        return True
