"""The compiled engine: protocols restated over arrays, held to the readable machines row by row.

Promises: the same scenario gives the same rows as the reference engine, or is refused by name. A kernel is compiled
          once for a machine and kept on disk: also for the workers of a Spark job.

A twin is a file that names its machine in the first line. `TWINS` says which overlays have one; with which orders,
networks and loads, `covers` says.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from trellis.errors import UnsupportedByEngine
from trellis.protocols import needs_fifo_links
from trellis.protocols.parts.hierarchy import in_tree
from trellis.scenario.model import (
    Burst,
    Cycles,
    Explicit,
    Faults,
    Matrix,
    Queue,
    Random,
    Replies,
    Scenario,
    Script,
    Sessions,
)
from trellis.scenario.plan import Plan

if TYPE_CHECKING:
    from trellis.sim.fast.vine.running import Vines
    from trellis.sim.fast.whole import Whole

INSTEAD = "use engine='reference'"
CELLS_MAX = 1 << 29  # numbers of a run's memory before anything happens: 4 GiB
LARGE = 1 << 17  # actions times nodes from which on a run is worth loading the compiler
LONG = 1 << 15  # rounds times nodes, of an overlay that acts in every round
VINE_CELLS = 2048  # numbers of each node of a vine
VINE_TOPICS = 1 << 14  # of which a node remembers former paths
VINE_BYTES = 64 << 20  # of messages on their way through a node


class Twin(NamedTuple):
    """Which machine it answers to, and how it is run."""

    orders: tuple[str, ...]
    load: Callable[[], type[Whole] | type[Vines]]
    refuses: Callable[[Scenario], str] = lambda _: ""  # what of a scenario it does not know
    in_rounds: bool = False


def printed() -> type[Whole]:
    from trellis.sim.fast.printed import Printed

    return Printed


def single_root() -> type[Whole]:
    from trellis.sim.fast.feeding import SingleRoot

    return SingleRoot


def brokers() -> type[Whole]:
    from trellis.sim.fast.feeding import Brokers

    return Brokers


def repaired() -> type[Whole]:
    from trellis.sim.fast.repaired import Repaired

    return Repaired


def subtopics_or_repair(scenario: Scenario) -> str:
    """Where topics include each other, or what is missed is brought again."""
    if any(in_tree(topic) for topic in scenario.topic_names()):
        return "a topic that includes others"
    return "stack.repair" if scenario.stack.options().get("repair") else ""


def vines() -> type[Vines]:
    from trellis.sim.fast.vine.running import Vines

    return Vines


def changes(scenario: Scenario) -> str:
    """Subscriptions that do not stand from before the run, for ever."""
    subscriptions = scenario.subscriptions
    if subscriptions.announce:
        return "subscriptions.announce"
    if isinstance(subscriptions, Explicit) and subscriptions.changes:
        return "subscriptions.changes"
    if isinstance(subscriptions, Sessions | Burst):
        return f"subscriptions of kind {type(subscriptions).__struct_config__.tag!r}"
    return ""


def more_than_a_vine_knows(scenario: Scenario) -> str:
    """Whatever makes a node compare, wait for a time of its own or forget because there is too much."""
    options = scenario.stack.options()
    for name, usual in (("repair", 1), ("period", 0)):
        if options.get(name, usual):
            return f"stack.{name}"
    if scenario.end is None:
        return "a run without an end"
    if isinstance(scenario.workload, Replies):
        return "workload 'replies'"
    said = scenario.workload.messages if isinstance(scenario.workload, Script) else []
    if sum(len(one.payload.encode()) for one in said) > VINE_BYTES:
        return "messages of more than 64 MiB"
    if len(scenario.topic_names()) > VINE_TOPICS:
        return f"more than {VINE_TOPICS} topics"
    return changes(scenario)


TWINS = {
    "vcube-printed": Twin(("causal", "unordered"), printed),
    "single-root": Twin(("causal", "unordered"), single_root),
    "brokers": Twin(("causal", "unordered"), brokers),
    "vcube": Twin(("causal", "unordered"), repaired, subtopics_or_repair),
    "vitis": Twin(("unordered",), vines, more_than_a_vine_knows, in_rounds=True),
    "rendezvous": Twin(("unordered",), vines, more_than_a_vine_knows, in_rounds=True),
    "topic-overlay": Twin(("unordered",), vines, more_than_a_vine_knows, in_rounds=True),
}


def covers(scenario: Scenario) -> None:
    """Refuses by name what has no twin."""
    stack = scenario.stack
    twin = TWINS.get(stack.overlay)
    if twin is None:
        raise UnsupportedByEngine(f"overlay {stack.overlay!r} has no compiled twin; {INSTEAD}")
    if stack.ordering not in twin.orders:
        raise UnsupportedByEngine(f"{stack.ordering!r} over {stack.overlay!r} has no compiled twin; {INSTEAD}")
    if unknown := twin.refuses(scenario):
        raise UnsupportedByEngine(f"{unknown} over {stack.overlay!r} has no compiled twin; {INSTEAD}")
    if isinstance(scenario.faults, Faults):
        raise UnsupportedByEngine(f"faults have no compiled twin; {INSTEAD}")
    if not isinstance(scenario.network, Cycles if twin.in_rounds else Queue | Random | Matrix):
        kind = type(scenario.network).__struct_config__.tag
        raise UnsupportedByEngine(f"network {kind!r} has no compiled twin; {INSTEAD}")
    if needs_fifo_links(stack.overlay, stack.ordering) and not getattr(scenario.network, "fifo", True):
        raise UnsupportedByEngine(f"links on which packets overtake each other have no compiled twin; {INSTEAD}")
    if waits := scenario.waits():
        raise UnsupportedByEngine(f"{waits} has no compiled twin; {INSTEAD}")
    nodes, topics = scenario.nodes.count, len(scenario.topic_names())
    paired = nodes * nodes if isinstance(scenario.network, Matrix | Random) else 0
    if (nodes * VINE_CELLS if twin.in_rounds else paired + nodes * topics * 16) > CELLS_MAX:
        raise UnsupportedByEngine(
            f"{nodes} nodes and {topics} topics on this network take more than 4 GiB; {INSTEAD} or fewer of them"
        )
    if importlib.util.find_spec("numba") is None:
        raise UnsupportedByEngine(f"Numba is not installed: pip install 'trellis[fast]', or {INSTEAD}")


def is_worth_it(scenario: Scenario, plan: Plan) -> bool:
    """Whether a run is so large that loading the compiler pays; both engines give the same rows."""
    if TWINS[scenario.stack.overlay].in_rounds:
        return (scenario.end or 0) * scenario.nodes.count >= LONG
    return len(plan.actions) * scenario.nodes.count >= LARGE
