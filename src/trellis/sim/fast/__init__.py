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
from trellis.events import Publish
from trellis.protocols import LAYERED, needs_fifo_links
from trellis.protocols.parts.hierarchy import ROOT, in_tree
from trellis.scenario.check import somebody_moves
from trellis.scenario.model import Crash, Cycles, Faults, Matrix, Network, Queue, Random, Replies, Scenario, Script
from trellis.scenario.plan import Plan, plan

if TYPE_CHECKING:
    from trellis.sim.fast.vine.running import Vines
    from trellis.sim.fast.whole import Whole

INSTEAD = "use engine='reference'"
CELLS_MAX = 1 << 29  # numbers that a run has at least before anything happens: 4 GiB
LARGE = 1 << 17  # actions times nodes from which on a run is worth loading the compiler
CROWD = 1 << 12  # nodes from which on machines that know of all others take gigabytes, however little is said
ONE_OF_MANY = 1 << 8  # the same of runs that experiments make by the thousand, one small run after the other
LEVELS_MAX = 60  # groups one above the other; and messages: bits of a number
TOPICS_MAX, BYTES_MAX, ROUNDS_MAX = 500, 1 << 18, 64  # of daMulticast with repair
LONG = 1 << 15  # rounds times nodes, of an overlay that acts in every round
VINE_CELLS = 2048  # numbers of each node of a vine, at least
VINE_TOPICS = 1 << 14  # of which a node remembers former paths
VINE_BYTES = 64 << 20  # of messages on their way through a node


class Twin(NamedTuple):
    """Which machine it answers to, and how it is run."""

    orders: tuple[str, ...]
    load: Callable[[], type[Whole] | type[Vines]]
    refuses: Callable[[Scenario], str] = lambda _: ""  # what of a scenario it does not know
    networks: tuple[type[Network], ...] = (Queue, Random, Matrix)
    large: int = LARGE
    for_ever: bool = False  # it acts in every round: then rounds count, not actions


def printed() -> type[Whole]:
    from trellis.sim.fast.trees.printed import Printed

    return Printed


def single_root() -> type[Whole]:
    from trellis.sim.fast.trees.feeding import SingleRoot

    return SingleRoot


def brokers() -> type[Whole]:
    from trellis.sim.fast.trees.feeding import Brokers

    return Brokers


def repaired() -> type[Whole]:
    from trellis.sim.fast.trees.repaired import Repaired

    return Repaired


def printed_damulticast() -> type[Whole]:
    from trellis.sim.fast.gossips.gossiping import Printed

    return Printed


def gossip_broadcast() -> type[Whole]:
    from trellis.sim.fast.gossips.gossiping import Broadcast

    return Broadcast


def gossip_multicast() -> type[Whole]:
    from trellis.sim.fast.gossips.gossiping import Multicast

    return Multicast


def gossip_hierarchical() -> type[Whole]:
    from trellis.sim.fast.gossips.gossiping import Hierarchical

    return Hierarchical


def damulticast_repaired() -> type[Whole]:
    from trellis.sim.fast.gossips.circles import Circles

    return Circles


def subtopics_or_repair(scenario: Scenario) -> str:
    """Where topics include each other, or what is missed is brought again."""
    if any(in_tree(topic) for topic in scenario.topic_names()):
        return "a topic that includes others"
    return "stack.repair" if scenario.stack.options().get("repair") else ""


def moves_or_many_levels(scenario: Scenario) -> str:
    """Where nodes join or leave, or topics have more others above them than a message has bits."""
    if somebody_moves(scenario.subscriptions):
        return "joining and leaving"
    joints = any(about.supers for about in scenario.special_topics().values())
    many = joints and len(scenario.topic_names()) > LEVELS_MAX
    return f"topics.supers among more than {LEVELS_MAX} topics" if many else ""


def for_gossip(load: Callable[[], type[Whole]]) -> Twin:
    return Twin(("unordered",), load, moves_or_many_levels, (Queue, Random, Matrix, Cycles), ONE_OF_MANY)


def beyond_one_message_each(scenario: Scenario) -> str:
    """What of daMulticast with repair is not one message of a source to groups that stand, for a while."""
    found = plan(scenario)
    members = [node for nodes in found.standing.values() for node in nodes]
    said = [(action.node, action.event.topic) for action in found.actions]
    options = LAYERED[scenario.stack.overlay].options | scenario.stack.options()
    size = sum(len(action.event.payload) for action in found.actions if isinstance(action.event, Publish))
    refused = {
        "joining and leaving": somebody_moves(scenario.subscriptions),
        "topics with parameters of their own": bool(scenario.topics),
        "a node with several topics": len(set(members)) < len(members),
        "a topic without subscribers": not all(found.standing.values()),
        "a tree whose root has no subscribers": any(map(in_tree, found.standing)) and ROOT not in found.standing,
        f"more than {TOPICS_MAX} topics": len(found.standing) > TOPICS_MAX,
        "replies": found.discussion is not None,
        f"more than {LEVELS_MAX} messages": len(said) > LEVELS_MAX,
        "a second message of a source on a topic": len(set(said)) < len(said),
        f"more than {BYTES_MAX} bytes of messages": size > BYTES_MAX,
        "stack.keep below the number of messages": options["keep"] < len(said),
        f"an end after {ROUNDS_MAX} rounds": scenario.end is None or scenario.end > ROUNDS_MAX,
    }
    return next((name for name, holds in refused.items() if holds), "")


def vines() -> type[Vines]:
    from trellis.sim.fast.vine.running import Vines

    return Vines


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
    return "joining and leaving" if somebody_moves(scenario.subscriptions) else ""


def only_comings(scenario: Scenario) -> bool:
    """Whether nodes die and come back, and nothing else goes wrong."""
    faults = scenario.faults
    if not isinstance(faults, Faults) or faults.lose or faults.stillborn:
        return False
    return bool(faults.events) and all(isinstance(fault, Crash) for fault in faults.events)


def for_vines() -> Twin:
    return Twin(("unordered",), vines, more_than_a_vine_knows, (Cycles,), LONG, for_ever=True)


TWINS = {
    "vcube-printed": Twin(("causal", "unordered"), printed),
    "single-root": Twin(("causal", "unordered"), single_root),
    "brokers": Twin(("causal", "unordered"), brokers),
    "vcube": Twin(("causal", "unordered"), repaired, subtopics_or_repair),
    "damulticast": Twin(("unordered",), damulticast_repaired, beyond_one_message_each, (Cycles,), ONE_OF_MANY),
    "damulticast-printed": for_gossip(printed_damulticast),
    "gossip-broadcast": for_gossip(gossip_broadcast),
    "gossip-multicast": for_gossip(gossip_multicast),
    "gossip-hierarchical": for_gossip(gossip_hierarchical),
    "vitis": for_vines(),
    "rendezvous": for_vines(),
    "topic-overlay": for_vines(),
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
    stillborn = isinstance(scenario.network, Cycles) and Cycles in twin.networks and not twin.for_ever
    comings = isinstance(scenario.network, Cycles) and twin.for_ever and only_comings(scenario)
    if isinstance(scenario.faults, Faults) and not comings and (scenario.faults.events or not stillborn):
        raise UnsupportedByEngine(f"faults have no compiled twin; {INSTEAD}")
    if not isinstance(scenario.network, twin.networks):
        kind = type(scenario.network).__struct_config__.tag
        raise UnsupportedByEngine(f"network {kind!r} has no compiled twin; {INSTEAD}")
    if needs_fifo_links(stack.overlay, stack.ordering) and not getattr(scenario.network, "fifo", True):
        raise UnsupportedByEngine(f"links on which packets overtake each other have no compiled twin; {INSTEAD}")
    if waits := scenario.waits():
        raise UnsupportedByEngine(f"{waits} has no compiled twin; {INSTEAD}")
    nodes, topics = scenario.nodes.count, len(scenario.topic_names())
    paired = nodes * nodes if isinstance(scenario.network, Matrix | Random) else 0
    if (nodes * VINE_CELLS if twin.for_ever else paired + nodes * topics * 16) > CELLS_MAX:
        raise UnsupportedByEngine(
            f"{nodes} nodes and {topics} topics on this network take more than 4 GiB; {INSTEAD} or fewer of them"
        )
    if importlib.util.find_spec("numba") is None:
        raise UnsupportedByEngine(f"Numba is not installed: pip install 'trellis[fast]', or {INSTEAD}")


def is_worth_it(scenario: Scenario, plan: Plan) -> bool:
    """Whether a run is so large that loading the compiler pays; both engines give the same rows."""
    twin = TWINS[scenario.stack.overlay]
    times = (scenario.end or 0) if twin.for_ever else len(plan.actions)
    return scenario.nodes.count >= CROWD or times * scenario.nodes.count >= twin.large
