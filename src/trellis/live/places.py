"""Places on the hypercube, and who may give out which.

A *lot* is a row of free ids, `next` and then every 2**level-th, up to the end of its storey. The storeys end at 2**16,
2**24 and 2**30. The first node stands on 0 and has all other ids of the lowest storey. A member admits by giving away
`next`. A member that keeps its state keeps the rest of the row too, and the joiner gets ids of the storey above that
can be nobody else's: those that equal its place modulo the storey's width. A member without a data directory may be
gone tomorrow, so it shares its row with the joiner, every second id. Either way the lots of all nodes that ever were
are disjoint. A node that is gone for good takes its lot with it, so the places can run out: one is lost by each such
death while the first node is there, large parts of the lots when it is gone for good as well.

Why n nodes stand on 0..n-1: the free ids of the lowest storey are the lots of the members, so the lowest free id is the
lowest `next`. A member that knows all lots sends a joiner there. With stale knowledge it may send it to another one,
which sends it on or gives a place that is not the lowest: then places have holes, until the owner of a hole admits
again. The same holds while that owner cannot be reached. After HOPS_MAX moves whoever is asked admits.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from trellis.live.addresses import Address
from trellis.words import NodeId

DIMENSION = 30  # 2**30 places
PLACES = 1 << DIMENSION
STOREYS = (16, 24, DIMENSION)  # their widths, as powers of two
INCARNATIONS = (1 << 31) - 1
MEMBERS_MAX = 65_536  # that one node keeps in mind
TOLD_MAX = 2_048  # members in one frame: at their longest they fit

PlaceId = Annotated[int, Meta(ge=0, lt=PLACES)]
Incarnation = Annotated[int, Meta(ge=0, le=INCARNATIONS)]
Name = Annotated[str, Meta(pattern=r"\A[a-z0-9-]{0,63}\Z")]  # of a certificate; empty in plaintext


class Lot(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """Free ids: next, next + 2**level, ... It shrinks and never grows, so the later of two is the one further on."""

    next: Annotated[int, Meta(ge=0, le=PLACES)]
    level: Annotated[int, Meta(ge=0, le=DIMENSION)]

    @property
    def top(self) -> int:
        return next((top for top in STOREYS if self.level < top), DIMENSION)

    @property
    def empty(self) -> bool:
        return not 0 < self.next < 1 << self.top

    def __contains__(self, place: NodeId) -> bool:
        return self.next <= place < 1 << self.top and (place - self.next) % (1 << self.level) == 0

    def first(self) -> tuple[Lot, Lot]:
        """What I keep and what goes with the place `next`: the rest of the row, and a row of the storey above."""
        return row(self.next + (1 << self.level), self.level), above(self.next, self.top)

    def halves(self) -> tuple[Lot, Lot]:
        """The same when the row is shared: every second id each."""
        step, level = 1 << self.level, self.level + 1
        if level == self.top:  # nothing to share
            return self.first()
        return row(self.next + step, level), row(self.next + 2 * step, level)


def row(next: int, level: int) -> Lot:
    return Lot(min(next, PLACES), level)


def above(place: NodeId, top: int) -> Lot:
    """The ids of the next storey that only the node on this place has."""
    return row(place + (1 << top), top)


WHOLE = Lot(1, 0)  # of the first node
UNHEARD = Lot(0, 0)  # earlier than any


class Member(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """One life of one node, as the members tell each other."""

    place: PlaceId
    incarnation: Incarnation
    address: Address
    name: Name
    left: bool
    lot: Lot  # as far as one has heard

    @property
    def free(self) -> Lot:
        """What it gives places from: its lot, or when that is used up, its ids of the storey above."""
        used_up = self.lot.empty and self.lot != UNHEARD and self.lot.level < DIMENSION
        return above(self.place, self.lot.top) if used_up else self.lot


class Vacancy(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """A place that its node gave back, the last incarnation in which it was used, and the lot that goes with it."""

    place: PlaceId
    incarnation: Incarnation
    lot: Lot
    open: bool = True  # False: given out again; kept so that a repeated hand-over does not open it a second time
