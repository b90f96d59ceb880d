"""One seed is one world: a random schedule of joins, leaves and publications, as a scenario.

Promises: the schedule does not depend on the stack that will run it, so two stacks can be tried under the same luck.
          Only an overlay that relies on FIFO links always gets them; others are also tried with packets that overtake.
"""

from __future__ import annotations

from trellis import draw
from trellis.protocols import needs_fifo_links
from trellis.scenario.model import (
    Change,
    Explicit,
    Nodes,
    Publication,
    Random,
    Scenario,
    Script,
    StackSpec,
)
from trellis.words import NodeId, Time

NODES_MIN, NODES_MAX = 8, 32


class Dice:
    """Throws that are numbered: each is a draw of its own."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.thrown = 0

    def between(self, low: int, high: int) -> int:
        self.thrown += 1
        return draw.between(draw.draw(self.seed, draw.SWARM, self.thrown), low, high)

    def one_of(self, options: list[int]) -> int:
        return options[self.between(0, len(options) - 1)]


def schedule(seed: int, overlay: str, ordering: str) -> Scenario:
    """8 to 32 nodes (any number) on one topic or two; who joins may leave and come back."""
    dice = Dice(seed)
    count = dice.between(NODES_MIN, NODES_MAX)
    horizon = dice.one_of([300, 1000, 3000])
    high = dice.one_of([10, 100, 400])
    members: dict[str, list[int]] = {}
    changes: list[Change] = []
    said: list[Publication] = []
    for topic in ["a", "b"][: dice.one_of([1, 1, 1, 2])]:
        standing, moves, words = on_topic(dice, topic, count, horizon)
        members[topic] = standing
        changes += moves
        said += words
    return Scenario(
        name=f"swarm-{seed}",
        seed=seed,
        stack=StackSpec(overlay=overlay, ordering=ordering),
        nodes=Nodes(count=count),
        subscriptions=Explicit(members=members, changes=changes),
        workload=Script(messages=said),
        network=Random(
            low=1,
            high=high,
            service=dice.one_of([0, 0, 1, 3]),
            fifo=dice.one_of([1, 1, 0]) == 1 or needs_fifo_links(overlay),
        ),
    )


def on_topic(dice: Dice, topic: str, count: int, horizon: Time) -> tuple[list[int], list[Change], list[Publication]]:
    """Walk through the horizon; at each step somebody joins, leaves or speaks."""
    order = sorted(range(count), key=lambda node: (draw.draw(dice.seed, draw.SWARM, draw.key_of(topic), node), node))
    standing = sorted(order[: dice.between(2, min(8, count - 1))])
    inside: list[NodeId] = list(standing)
    changes: list[Change] = []
    said: list[Publication] = []
    joins, leaves, words = dice.between(1, 6), dice.between(0, 4), dice.between(4, 24)
    moments = sorted({dice.between(0, horizon) for _ in range(joins + leaves + words)})
    for at in moments:
        what = dice.between(1, joins + leaves + words)
        if what <= joins:
            outside = [node for node in range(count) if node not in inside]
            if outside:
                node = dice.one_of(outside)
                inside.append(node)
                changes.append(Change(at=at, node=node, topic=topic, do="join"))
            joins -= 1
        elif what <= joins + leaves:
            if len(inside) > 1:
                node = dice.one_of(inside)
                inside.remove(node)
                changes.append(Change(at=at, node=node, topic=topic, do="leave"))
            leaves -= 1
        else:
            said.append(Publication(at=at, node=dice.one_of(inside), topic=topic, payload=f"{len(said)}"))
            words -= 1
    return standing, changes, said
