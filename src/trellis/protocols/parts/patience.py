"""How long to wait before asking again: longer each time, and not for ever while nothing changes.

Where answers take longer than the delay, asking at once again makes them slower still: so a delay that was long enough
is kept, and shortened by one step at a time while answers come within it.
"""

from __future__ import annotations

TRIES_MAX = 60
DOUBLINGS_MAX = 5


class Patience:
    """One timer's worth of waiting."""

    def __init__(self, delay: int) -> None:
        self.delay = delay  # 0: nothing is ever lost
        self.tries = 0  # in vain, since something changed
        self.pace = 0  # how often the delay is doubled
        self.waiting = False
        self.late = False  # whether a wait was in vain since something came
        self.eased = False  # whether the pace was changed during this one

    def begin(self) -> int:
        """The delay for a timer that must be set now; 0 if none."""
        if not self.delay or self.waiting or self.tries > TRIES_MAX:
            return 0
        self.waiting, self.eased = True, False
        return self.delay << self.pace

    def over(self) -> None:
        self.waiting = False
        self.tries += 1
        self.pace = min(self.pace + 1, DOUBLINGS_MAX)
        self.late = True

    def rewarded(self) -> None:
        """Something came: what was in vain need not be so again."""
        self.tries = 0
        if not (self.late or self.eased):
            self.pace = max(0, self.pace - 1)
        self.late, self.eased = False, True

    def changed(self) -> None:
        """The world did."""
        self.tries = self.pace = 0
        self.late = False
