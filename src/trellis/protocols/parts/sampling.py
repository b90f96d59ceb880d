"""Peer sampling: every node keeps a small view of others that is as good as drawn anew in each round.

Source:   Newscast (Jelasity, van Steen 2002; Jelasity et al., *Gossip-based peer sampling*, 2007): in every round a
          node swaps its view with one that it drew from it, and both keep the freshest entries of both views and of
          each other. Vitis section IV takes it as it is.
Promises: a view has at most `size` entries, never the node's own; an entry's age counts the rounds since its node spoke
          itself, so whoever has died is forgotten by all after a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from trellis import draw
from trellis.machine import Place
from trellis.protocols.parts.profiles import AGE_MAX, Contact, Profile
from trellis.protocols.parts.ring import of_node
from trellis.words import NodeId

VIEW = 20  # entries of a view; the paper of Newscast finds 20 enough for any size of network


class Sampling:
    """One node's view."""

    def __init__(self, place: Place, size: int = VIEW) -> None:
        self.place = place
        self.size = size
        self.view: dict[NodeId, tuple[Profile, int]] = {}  # with the round in which it spoke, as I count them

    def partner(self, now: int) -> NodeId | None:
        """With whom to swap in this round."""
        if not self.view:
            return None
        nodes = list(self.view)
        return nodes[draw.draw(self.place.seed, draw.SAMPLED, self.place.me, now) % len(nodes)]

    def shown(self, me: Profile, now: int) -> list[Contact]:
        """What I tell: myself, and all whom I know."""
        told = [Contact(profile, min(now - spoke, AGE_MAX)) for profile, spoke in self.view.values()]
        return [Contact(me, 0), *told]

    def take(self, contacts: Iterable[Contact], now: int) -> None:
        """Keep the freshest; which of those that are as fresh is a matter of luck."""
        view, me = self.view, self.place.me
        for contact in contacts:
            profile, spoke = contact.profile, now - contact.age
            node = profile.node
            known = view.get(node)
            if node != me and (known is None or (profile.incarnation, spoke) > (known[0].incarnation, known[1])):
                view[node] = profile, spoke
        if len(view) > self.size:
            seed, salt = self.place.seed, draw.draw(self.place.seed, draw.FRESH, me, now)
            fresh = [(-spoke, of_node(seed, node) ^ salt, node) for node, (_, spoke) in view.items()]
            self.view = {node: view[node] for _, _, node in nsmallest(self.size, fresh)}

    def forget(self, node: NodeId) -> None:
        self.view.pop(node, None)
