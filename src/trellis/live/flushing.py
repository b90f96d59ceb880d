"""When a node's trace is written, besides right before its links write.

Promises: a row is handed to the system about `PERIOD` seconds after it was made at the latest, also where there are no
          links, and not many more than `LINES_MAX` bytes of rows wait. If they cannot be written (a full disk) that is
          told once and tried again each period; past `UNWRITTEN_MAX` bytes the node is told to give up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from trellis.errors import TraceError

if TYPE_CHECKING:
    from trellis.live.record import Journal  # brings Arrow and NumPy with it, for those who write a trace

log = logging.getLogger("trellis.live")

PERIOD = 1.0  # seconds
LINES_MAX = 1 << 20  # bytes that wait, where they can be written
UNWRITTEN_MAX = 64 << 20  # and where they cannot


class Flushing:
    """Of one journal, until it is closed."""

    def __init__(self, journal: Journal, give_up: Callable[[TraceError], None]) -> None:
        self.journal = journal
        self.give_up = give_up
        self.loop = asyncio.get_running_loop()
        self.failing = False  # then the next period is soon enough
        self.timer = self.loop.call_later(PERIOD, self.upon_period)

    def look(self) -> None:
        """After something happened: was it much?"""
        if len(self.journal.lines) >= LINES_MAX and not self.failing:
            self.write()

    def upon_period(self) -> None:
        self.timer = self.loop.call_later(PERIOD, self.upon_period)
        self.write()

    def write(self) -> None:
        try:
            self.journal.flush()
        except TraceError as error:
            if not self.failing:
                log.error("%s", error)
            self.failing = True
            if len(self.journal.lines) > UNWRITTEN_MAX:
                self.give_up(error)
        else:
            self.failing = False

    def close(self) -> None:
        self.timer.cancel()
