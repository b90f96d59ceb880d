"""The demonstration: a causal discussion among 64 nodes, and a small grid beside it."""

from __future__ import annotations

from typing import Any

import msgspec

from trellis.scenario.grid import Grid
from trellis.scenario.model import Fraction, Nodes, Queue, Replies, Scenario, StackSpec
from trellis.sim import Run
from trellis.words import MessageId


def discussion(seed: int = 7) -> Scenario:
    """One node asks; everybody who has heard the question thinks for a while and answers."""
    return Scenario(
        name="a discussion among 64 nodes",
        seed=seed,
        stack=StackSpec(overlay="vcube", ordering="causal"),
        nodes=Nodes(count=64),
        subscriptions=Fraction(fraction=1.0),
        workload=Replies(openers=1, think=300),
        network=Queue(service=1, propagation=100),
    )


def small_grid() -> Grid:
    """The same kind of discussion at two sizes, over a tree per publisher and over a single one."""
    base = msgspec.to_builtins(discussion())
    axes: dict[str, list[Any]] = {"nodes.count": [16, 32], "stack.overlay": ["vcube", "single-root"]}
    return Grid(name="discussions", scenario={k: v for k, v in base.items() if k != "seed"}, axes=axes, repetitions=2)


def question_and_reply(run: Run) -> tuple[MessageId, MessageId]:
    """The opening message, and the reply that names the most predecessors."""
    spread = list(run.trace.of_kind("spread").rows())
    opening, reply = spread[0], max(spread, key=lambda row: (row.barrier, -row.position))
    return tuple(MessageId((r.source, r.incarnation), r.topic, r.seq) for r in (opening, reply))  # type: ignore[return-value]
