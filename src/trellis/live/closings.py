"""Why connections ended, in the log: one line each, but never so many that whoever throws garbage fills the disk."""

from __future__ import annotations

import logging
import time

LINES_MAX = 20  # in one period
PERIOD = 10.0  # seconds

log = logging.getLogger("trellis.live")


class Closings:
    """At most so many lines a period; the first one after them says how many were left out."""

    def __init__(self) -> None:
        self.begun = -PERIOD
        self.lines = 0
        self.left_out = 0
        self.total = 0
        self.refused = 0  # of those: for what the peer sent

    def say(self, line: str, now: float | None = None, quiet: bool = False) -> None:
        """`quiet`: it was no more than usual, and only counts."""
        self.total += 1
        if quiet:
            log.debug("%s", line)
            return
        now = time.monotonic() if now is None else now
        if now - self.begun >= PERIOD:
            self.begun, self.lines = now, 0
        if self.lines >= LINES_MAX:
            self.left_out += 1
            return
        if self.left_out:
            log.info("%d more closings were left out of this log", self.left_out)
            self.left_out = 0
        self.lines += 1
        log.info("%s", line)


# Apart, so that strangers cannot crowd out what is said of members.
OF_STRANGERS = Closings()
OF_ACCEPTED = Closings()


def refused() -> int:
    return OF_STRANGERS.refused + OF_ACCEPTED.refused
