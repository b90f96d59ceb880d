"""What one node keeps of one topic of `vcube`.

A topic's life at one node:

    OUT --Join--> JOINING --SUB wave answered--> CUTTING --CUT wave answered--> IN
    IN --Leave--> DRAINING --my messages settled--> LEAVING --UNS wave answered--> OUT
"""

from __future__ import annotations

from trellis.protocols.overlays.vcube_packets import Pub
from trellis.protocols.parts.seen import Seen
from trellis.protocols.parts.view import GONE, MEMBER, NEWCOMER, View
from trellis.words import Message, MessageId, Topic, Vector

JOINING, CUTTING, IN, DRAINING, LEAVING = "joining", "cutting", "in", "draining", "leaving"

RANK = {
    JOINING: NEWCOMER,
    CUTTING: MEMBER,  # it knows all others, so it can forward
    IN: MEMBER,
    DRAINING: MEMBER,
    LEAVING: GONE,
}


class Membership:
    """What one node keeps of one topic."""

    __slots__ = (
        *("awaits", "cut", "departed", "early", "fresh", "outstanding", "phase", "queue"),
        *("returned", "seen", "settled", "unasked", "unheard", "view"),
    )

    def __init__(self, view: View, phase: str) -> None:
        self.phase = phase
        self.view = view
        self.departed: Vector = {}  # what those who left had delivered
        self.seen = Seen()
        self.early: list[Message] = []  # came while I was joining
        self.queue: list[Message] = []  # mine, waiting for the window
        self.outstanding: dict[MessageId, int] = {}  # my waves on their way -> messages in each
        self.returned: dict[int, int] = {}  # first number -> messages, of my waves that came back before an earlier one
        self.settled = -1  # my number up to which all is settled; -1: I have said nothing yet
        self.unheard: dict[MessageId, Pub] = {}  # my waves that came back while nobody was to be reached
        # In the tree
        self.fresh = False  # nothing had been said on it when I began to want it: no cut
        self.awaits: tuple[Topic, ...] = ()  # topics below it that must stand before it does
        self.cut: Vector | None = None  # while it waits for them
        self.unasked = False  # somebody who has left it, or whom I could not reach, may have what I lack

    def is_in(self) -> bool:
        return self.phase is IN or self.phase is DRAINING
