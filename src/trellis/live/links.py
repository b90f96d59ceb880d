"""How many links a node keeps where they are made on demand.

Promises: half of them are for whom its overlay chooses, half for those who choose it; besides, it may talk to a few
          others for a moment.
"""

from __future__ import annotations

from trellis.errors import LocalProtocolError

LINKS, LEAST, MOST = 30, 8, 1024


def bound(links: int) -> int:
    """The same, if it can be."""
    if type(links) is not int or not LEAST <= links <= MOST:
        raise LocalProtocolError(
            f"links = {links!r}: it must be a whole number from {LEAST} (a ring, a shortcut and a friend, and as "
            f"many who choose this node) to {MOST}"
        )
    return links
