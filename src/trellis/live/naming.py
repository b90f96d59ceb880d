"""The name of a cluster says how its members are linked.

Promises: nodes of two kinds of cluster never take each other for members, and a node that comes back with its data
          knows of which kind its cluster is: the name is compared wherever members meet, and is kept with the place.
"""

from __future__ import annotations

from trellis.protocols import MESH


def named(overlay: str, token: str = "") -> str:
    """A cluster that is linked so; without a token, any."""
    return token if overlay == MESH else f"{overlay}:{token}"


def overlay_of(cluster: str) -> str:
    overlay, colon, _ = cluster.partition(":")
    return overlay if colon else MESH


def kind(overlay: str) -> str:
    """In words."""
    return "a link between every two members" if overlay == MESH else f"links on demand (overlay {overlay!r})"


def remedy(overlay: str) -> str:
    """How to start a node that fits."""
    return "start it without --overlay" if overlay == MESH else f"start it with --overlay {overlay}"
