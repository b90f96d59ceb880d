"""T-Man: a topology grows because nodes tell each other of their neighbours, and each keeps those that it likes best.

Source:   Jelasity, Babaoglu, *T-Man* (2006), as in Vitis, Algorithms 2 and 3: in every round a node swaps a buffer with
          a neighbour drawn at random (of which ones, the overlay says): its table, and a fresh sample of all nodes.
          What it likes is not said here: that is the overlay's `select`.
Promises: a buffer tells of each node once, and fits into a packet. Nobody is liked for what is older than `limit`
          rounds.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis import draw
from trellis.machine import Place
from trellis.protocols.parts.profiles import NAME_MORE, Contact, Profile, size_of_names
from trellis.words import TOPIC_MAX, NodeId

CONTACTS_MAX = 256
CONTACT_MORE = 48  # bytes of a contact besides its topics
ROOM = 3 << 18  # bytes of all contacts of a packet: three quarters of a frame
SAFE = ROOM - CONTACTS_MAX * CONTACT_MORE  # of which so much is for topics
FEW = SAFE // (NAME_MORE + TOPIC_MAX)  # topics that fit whatever their names are

Candidates = dict[NodeId, Profile]


def partner(place: Place, table: list[NodeId], now: int) -> NodeId | None:
    """Algorithm 2, line 2."""
    return table[draw.draw(place.seed, draw.SWAPPED, place.me, now) % len(table)] if table else None


def buffer(place: Place, now: int, *sources: Iterable[Contact]) -> tuple[Contact, ...]:
    """Algorithms 2 and 3, lines 3-4: each node once, the freshest word of it; if there is too much of it, some."""
    found: dict[NodeId, Contact] = {}
    for source in sources:
        for contact in source:
            node = contact.profile.node
            known = found.get(node)
            if known is None or contact.age < known.age:
                found[node] = contact
    return fitting(place, now, list(found.values()))


def fitting(place: Place, now: int, contacts: list[Contact]) -> tuple[Contact, ...]:
    """All of them if a packet has room; else the first one, and others from a place on that luck decides."""
    if len(contacts) <= CONTACTS_MAX and (has_room(contacts) or sum(map(size_of, contacts)) <= ROOM):
        return tuple(contacts)
    first, *rest = contacts
    start = draw.draw(place.seed, draw.SWAPPED, place.me, now, 1) % (len(rest) or 1)
    kept, size = [first], size_of(first)
    for contact in rest[start:] + rest[:start]:
        size += size_of(contact)
        if size > ROOM or len(kept) == CONTACTS_MAX:
            break
        kept.append(contact)
    return tuple(kept)


def has_room(contacts: list[Contact]) -> bool:
    """Whether they fit for certain: a character takes at most 4 bytes. It is asked in every round."""
    topics = [contact.profile.topics for contact in contacts]
    count = sum(map(len, topics))
    return count <= FEW or 4 * sum([sum(map(len, mine)) for mine in topics]) + NAME_MORE * count <= SAFE


def size_of(contact: Contact) -> int:
    return CONTACT_MORE + size_of_names(contact.profile.topics)


def merge(candidates: Candidates, contacts: Iterable[Contact], limit: int) -> None:
    """Algorithms 2 and 3, lines 6-7: the later profile of each node, but for those that are silent."""
    for contact in contacts:
        profile = contact.profile
        known = candidates.get(profile.node)
        if contact.age <= limit and (known is None or profile.state > known.state):
            candidates[profile.node] = profile
