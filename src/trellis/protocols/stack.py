"""An ordering over an overlay, as one machine.

Promises: each layer is a machine that can be tried alone; the stack only joins them and shows the host one `step`. What
          one layer says to the other (see layers.py) happens at once, within the step.
"""

from __future__ import annotations

from collections.abc import Sequence

from trellis.effects import Effect
from trellis.errors import UnexpectedEvent
from trellis.events import (
    Cycle,
    Event,
    Kept,
    Publish,
    Receive,
    Restore,
    Standing,
    Subscribe,
    Suspect,
    Timeout,
    Unsubscribe,
)
from trellis.machine import Machine
from trellis.protocols.layers import OWN, Ordering, Overlay
from trellis.words import Time


class Stack(Machine):
    """What the host sees: one machine."""

    def __init__(self, ordering: Ordering, overlay: Overlay) -> None:
        super().__init__(overlay.place)
        self.ordering = ordering
        self.overlay = overlay
        ordering.below, overlay.above = overlay, ordering
        ordering.outbox = overlay.outbox = self.outbox
        self.wants_cycles = ordering.wants_cycles or overlay.wants_cycles

    def step(self, now: Time, event: Event) -> Sequence[Effect]:
        self.ordering.now = self.overlay.now = now
        if type(event) is Receive and not event.packet.for_ordering:  # by far the most: the shortest way
            self.overlay.upon_receive(event.sender, event.packet)
        else:
            self.upon(event)
        effects = self.outbox.copy()
        self.outbox.clear()
        return effects

    def upon(self, event: Event) -> None:
        match event:
            case Publish() | Subscribe() | Unsubscribe() | Receive():
                self.ordering.upon(event)
            case Suspect() | Restore():
                self.overlay.upon(event)
                self.ordering.upon(event)
            case Kept():
                self.ordering.upon(event)
            case Standing():
                self.overlay.upon(event)
                self.ordering.upon(event)
            case Cycle():
                for layer in (self.overlay, self.ordering):
                    if layer.wants_cycles:
                        layer.upon(event)
            case Timeout() if event.name.startswith(OWN):
                self.ordering.upon(Timeout(event.name.removeprefix(OWN)))
            case Timeout():
                self.overlay.upon(event)
            case _:
                raise UnexpectedEvent(self, event)
