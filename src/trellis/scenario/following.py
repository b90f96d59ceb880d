"""Subscriptions of a follow graph: every user is a node, and a topic for those who follow it.

Source:   Vitis (seed paper 004), section IV-E: "both topics and nodes refer to the users of the system".
Promises: a pure function of the follows. User n is node n; what it says is topic `tn`.
Departs:  the paper does not say who publishes on a user's topic; one would think, the user. Here publishers are
          subscribers, so a follower does, whatever the workload. A user whom nobody follows has no topic.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis.errors import ScenarioError
from trellis.scenario.model import Explicit
from trellis.words import NodeId, Topic


def following(follows: Iterable[tuple[NodeId, NodeId]], users: int) -> Explicit:
    """From (follower, followee), each pair once."""
    followers: dict[NodeId, list[NodeId]] = {}
    for follower, followee in follows:
        if not (0 <= follower < users and 0 <= followee < users):
            raise ScenarioError(
                f"follow {follower} -> {followee}: there are {users} users; their numbers run from 0 to {users - 1}"
            )
        followers.setdefault(followee, []).append(follower)
    return Explicit(members={topic_of(user): sorted(mine) for user, mine in sorted(followers.items())})


def topic_of(user: NodeId) -> Topic:
    return f"t{user}"
