"""No order: deliver what arrives when it arrives.

Promises: no creation and no duplicate, as the overlay brings each message once.
"""

from __future__ import annotations

from trellis.protocols.interest import Session
from trellis.protocols.layers import Ordering
from trellis.words import Message


class Unordered(Ordering):
    """Whatever the overlay brings, as it comes."""

    promise = "no creation, no duplicate"
    source = "the paper's reception without CheckDelivery"
    holds_back = False
    audits = ("creation", "duplicate", "uninvited", "lost", "stuck")

    def upon_arrive(self, session: Session, message: Message) -> None:
        self.deliver_and_remember(session, message)
