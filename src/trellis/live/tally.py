"""What one node has counted since it started: plain numbers, so that counting costs next to nothing."""

from __future__ import annotations

from trellis.protocols.parts.deltas import Spent


class Tally:
    """Messages, but for links and what belongs to them."""

    __slots__ = (
        "delivered",
        "dropped",
        "lacking",
        "late",
        "left_out",
        "links_most",
        "published",
        "restores",
        "settled",
        "stamps",
        "suspicions",
    )

    def __init__(self) -> None:
        self.published = 0  # by this node
        self.settled = 0  # of those: every confirmed subscriber has them
        self.delivered = 0  # to this node
        self.late = 0  # of those: tagged as out of order
        self.lacking = 0  # that nobody had any more
        self.left_out = 0  # by a reader that was too slow
        self.suspicions = 0  # links lost without a goodbye
        self.restores = 0  # links that came to stand
        self.links_most = 0  # links to members at one time
        self.dropped = 0  # packets to members without a link, for which there was no room or no hope
        self.stamps = Spent()  # bytes of timestamps that left on links to members
