"""An ordering over an overlay, as one machine.

Promises: each layer is a machine of its own, with its own `step`; the stack only carries what one layer asks of the
          other (Join, Leave and Spread downward, Joined, Departed and Arrive upward) and hands the rest to the host.
"""

from __future__ import annotations

from collections.abc import Sequence

from trellis.effects import Effect
from trellis.errors import UnexpectedEvent
from trellis.events import (
    Arrive,
    Cycle,
    Departed,
    Event,
    Join,
    Joined,
    Leave,
    Publish,
    Receive,
    Spread,
    Standing,
    Subscribe,
    Timeout,
    Unsubscribe,
)
from trellis.machine import Machine
from trellis.protocols.layers import Ordering, Overlay
from trellis.words import Time

DOWNWARD = frozenset({Join, Leave, Spread})
UPWARD = frozenset({Joined, Departed, Arrive})
BETWEEN = DOWNWARD | UPWARD
FROM_BELOW = frozenset({Receive, Timeout, Cycle})
FROM_ABOVE = frozenset({Publish, Subscribe, Unsubscribe})


class Stack(Machine):
    """What the host sees: one machine."""

    def __init__(self, ordering: Ordering, overlay: Overlay) -> None:
        super().__init__(overlay.place)
        self.ordering = ordering
        self.overlay = overlay
        overlay.frontier = ordering.frontier

    def step(self, now: Time, event: Event) -> Sequence[Effect]:
        """As any machine's; a packet that concerns the overlay alone is not carried about."""
        if type(event) is not Receive:
            return super().step(now, event)
        self.now = now
        effects = self.overlay.step(now, event)
        for effect in effects:
            if type(effect) in BETWEEN:
                self.carry(effects)
                effects, self.outbox = self.outbox, []
                break
        return effects

    def upon(self, event: Event) -> None:
        kind = type(event)
        if kind in FROM_BELOW:
            self.carry(self.overlay.step(self.now, event))
        elif kind in FROM_ABOVE:
            self.carry(self.ordering.step(self.now, event))
        elif kind is Standing:
            self.carry(self.overlay.step(self.now, event))
            self.carry(self.ordering.step(self.now, event))
        else:
            raise UnexpectedEvent(self, event)

    def carry(self, effects: Sequence[Effect]) -> None:
        """Give each layer what the other asks of it, at once and in order; keep the rest for the host."""
        for effect in effects:
            kind = type(effect)
            if kind in UPWARD:
                self.carry(self.ordering.step(self.now, effect))  # type: ignore[arg-type]
            elif kind in DOWNWARD:
                self.carry(self.overlay.step(self.now, effect))  # type: ignore[arg-type]
            else:
                self.outbox.append(effect)
