"""T-Man: a topology grows because nodes tell each other of their neighbours, and each keeps those that it likes best.

Source:   Jelasity, Babaoglu, *T-Man* (2006), as in Vitis, Algorithms 2 and 3: in every round a node swaps a buffer with
          a neighbour drawn at random: its table, and a fresh sample of all nodes. What it likes is not said here: that
          is the overlay's `select`.
Promises: a buffer never tells of whoever has been silent for longer than `limit` rounds, and holds no more topics in
          all than fit into a packet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trellis import draw
from trellis.machine import Place
from trellis.protocols.parts.profiles import Contact, Profile
from trellis.words import NodeId

CONTACTS_MAX = 256
TOPICS_MAX = 16_384  # of all contacts of a buffer together: with names of 16 bytes a quarter of a frame

Candidates = dict[NodeId, Profile]


def partner(place: Place, table: list[NodeId], now: int) -> NodeId | None:
    """Algorithm 2, line 2."""
    return table[draw.draw(place.seed, draw.SWAPPED, place.me, now) % len(table)] if table else None


def buffer(place: Place, now: int, *sources: Iterable[Contact]) -> tuple[Contact, ...]:
    """Algorithms 2 and 3, lines 3-4: each node once, the freshest word of it; if there is too much of it, some."""
    found: dict[NodeId, Contact] = {}
    topics = 0
    for source in sources:
        for contact in source:
            node = contact.profile.node
            known = found.get(node)
            if known is None or contact.age < known.age:
                found[node] = contact
                topics += len(contact.profile.topics) if known is None else 0
    if topics > TOPICS_MAX or len(found) > CONTACTS_MAX:
        return portion(place, now, found)
    return tuple(found.values())


def portion(place: Place, now: int, found: Mapping[NodeId, Contact]) -> tuple[Contact, ...]:
    """As many as fit, from a place on that luck decides; one at least."""
    contacts = list(found.values())
    start = draw.draw(place.seed, draw.SWAPPED, place.me, now, 1) % len(contacts)
    kept: list[Contact] = []
    topics = 0
    for contact in contacts[start:] + contacts[:start]:
        topics += len(contact.profile.topics)
        if kept and (topics > TOPICS_MAX or len(kept) == CONTACTS_MAX):
            break
        kept.append(contact)
    return tuple(kept)


def merge(candidates: Candidates, contacts: Iterable[Contact], limit: int) -> None:
    """Algorithms 2 and 3, lines 6-7: the later profile of each node, but for those that are silent."""
    for contact in contacts:
        profile = contact.profile
        known = candidates.get(profile.node)
        if contact.age <= limit and (known is None or profile.state > known.state):
            candidates[profile.node] = profile
