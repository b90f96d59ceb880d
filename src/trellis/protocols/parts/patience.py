"""How long to wait before asking again: longer each time, and not for ever while nothing changes.

Whoever asks again before an answer can have come makes answers slower still: so it waits for twice as long as the last
one took, where it knows that.
"""

from __future__ import annotations

TRIES_MAX = 60
DOUBLINGS_MAX = 5


class Patience:
    """One timer's worth of waiting."""

    def __init__(self, delay: int) -> None:
        self.delay = delay  # 0: nothing is ever lost
        self.tries = 0  # in vain, since something changed
        self.floor = 0  # how often the delay is doubled at least, because answers take so long
        self.waiting = False

    def begin(self) -> int:
        """The delay for a timer that must be set now; 0 if none."""
        if not self.delay or self.waiting or self.tries > TRIES_MAX:
            return 0
        self.waiting = True
        return self.delay << max(self.floor, min(self.tries, DOUBLINGS_MAX))

    def over(self) -> None:
        self.waiting = False
        self.tries += 1

    def rewarded(self) -> None:
        """Something came: what was in vain need not be so again."""
        self.tries = 0

    def answered(self, lapse: int) -> None:
        """An answer took so long."""
        self.floor = 0
        while self.delay << self.floor < 2 * lapse and self.floor < DOUBLINGS_MAX:
            self.floor += 1

    def changed(self) -> None:
        """The world did."""
        self.tries = self.floor = 0
