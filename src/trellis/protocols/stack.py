"""An ordering over an overlay, as one machine.

Promises: each layer is a machine that can be tried alone; the stack only joins them and shows the host one `step`. What
          one layer says to the other (see layers.py) happens at once, within the step.
"""

from __future__ import annotations

from collections.abc import Sequence

from trellis.effects import Effect
from trellis.events import Event, Publish, Receive, Standing, Subscribe, Unsubscribe
from trellis.machine import Machine
from trellis.protocols.layers import Ordering, Overlay
from trellis.words import Time


class Stack(Machine):
    """What the host sees: one machine."""

    def __init__(self, ordering: Ordering, overlay: Overlay) -> None:
        super().__init__(overlay.place)
        self.ordering = ordering
        self.overlay = overlay
        ordering.below, overlay.above = overlay, ordering
        ordering.outbox = overlay.outbox = self.outbox

    def step(self, now: Time, event: Event) -> Sequence[Effect]:
        self.ordering.now = self.overlay.now = now
        if type(event) is Receive:  # by far the most: the shortest way
            self.overlay.upon_receive(event.sender, event.packet)
        else:
            self.upon(event)
        effects = self.outbox.copy()
        self.outbox.clear()
        return effects

    def upon(self, event: Event) -> None:
        if isinstance(event, Standing):
            self.overlay.upon(event)
            self.ordering.upon(event)
        elif isinstance(event, Publish | Subscribe | Unsubscribe):
            self.ordering.upon(event)
        else:
            self.overlay.upon(event)
