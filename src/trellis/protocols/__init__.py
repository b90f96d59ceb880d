"""The registry: every overlay and every ordering, one line each.

A new one is a file, a line here, a story and a paper test; the simulator, the swarm, the audits and the command line
pick it up from this page.
"""

from __future__ import annotations

from collections.abc import Mapping

from trellis.errors import LocalProtocolError, ScenarioError
from trellis.machine import Machine, Place
from trellis.protocols.layers import CRASHES, SUBTOPICS, Hearers, Ordering, Overlay
from trellis.protocols.orderings.causal import Causal
from trellis.protocols.orderings.fifo import Fifo
from trellis.protocols.orderings.hasty import Hasty
from trellis.protocols.orderings.total import PerTopic, Total, TotalCausal
from trellis.protocols.orderings.total_printed import TotalPrinted
from trellis.protocols.orderings.unordered import Unordered
from trellis.protocols.overlays.brokers import Brokers
from trellis.protocols.overlays.damulticast import DaMulticast
from trellis.protocols.overlays.damulticast_printed import DaMulticastPrinted
from trellis.protocols.overlays.gossip import GossipBroadcast, GossipHierarchical, GossipMulticast
from trellis.protocols.overlays.rendezvous import Rendezvous
from trellis.protocols.overlays.single_root import SingleRoot
from trellis.protocols.overlays.topic_overlay import TopicOverlay
from trellis.protocols.overlays.vcube import VCube
from trellis.protocols.overlays.vcube_printed import VCubePrinted
from trellis.protocols.overlays.vitis import Vitis
from trellis.protocols.parts.hierarchy import check as check_name
from trellis.protocols.parts.hierarchy import in_tree
from trellis.protocols.stack import Stack
from trellis.words import NodeId, Topic

OVERLAYS: dict[str, type[Overlay]] = {
    "vcube": VCube,
    "single-root": SingleRoot,
    "brokers": Brokers,
}

# Overlays that act in rounds for ever: a run needs a time between two of them, and an end.
IN_ROUNDS: dict[str, type[Overlay]] = {
    "damulticast": DaMulticast,
    "vitis": Vitis,
    "rendezvous": Rendezvous,
    "topic-overlay": TopicOverlay,
}

# Overlays that know from the beginning who subscribes, and keep no order: for the papers' figures.
FIXED: dict[str, type[Overlay]] = {
    "damulticast-printed": DaMulticastPrinted,
    "gossip-broadcast": GossipBroadcast,
    "gossip-multicast": GossipMulticast,
    "gossip-hierarchical": GossipHierarchical,
}

LAYERED: dict[str, type[Overlay]] = {**OVERLAYS, **IN_ROUNDS, **FIXED}

ORDERINGS: dict[str, type[Ordering]] = {
    "unordered": Unordered,
    "fifo": Fifo,
    "causal": Causal,
    "total": Total,
    "total-causal": TotalCausal,
    "per-topic": PerTopic,
    "total-printed": TotalPrinted,
}

# The same order kept in another manner, by a machine of its own: if one of the options is given that only that one has.
MANNERS: dict[str, type[Ordering]] = {
    "total": Hasty,
}

# What a program may ask a live node for; the others are there to be measured against.
# An order alone is kept over the overlay of LIVE_OVERLAY; over another one it is asked for as `overlay/order`.
LIVE_OVERLAY = "vcube"
LIVE_ORDERS = (
    "unordered",
    "fifo",
    "causal",
    "total",
    "total-causal",
    "damulticast/unordered",
    "damulticast/fifo",
    "damulticast/causal",
)

# How the members of a live cluster are linked: each to every other; or, by the name of an overlay whose machines talk
# to few (`links_on_demand`), as those need it. Then there are these orders, over that overlay.
MESH = "mesh"
ORDERS_ON_DEMAND = ("unordered", "fifo", "causal")

# Printed algorithms whose overlay and order cannot be taken apart: they bring their own orders.
WHOLE: dict[str, type[VCubePrinted]] = {
    "vcube-printed": VCubePrinted,
}


def build(overlay: str, ordering: str, place: Place, options: Mapping[str, int] | None = None) -> Machine:
    """One node's machine. A stack that cannot keep its promise is refused by name."""
    given = check(overlay, ordering, options or {})
    if overlay in WHOLE:
        return WHOLE[overlay](place, ordering)
    above, below = kept_by(ordering, given), LAYERED[overlay]
    stack = Stack(above(place, **taken(above, given)), below(place, **taken(below, given)))
    stack.ordering.interest.lacking = lacks_subtopics(overlay, ordering)
    return stack


def live_stack(order: str, linked: str = MESH) -> tuple[str, str]:
    """The overlay and the ordering that stand for one of the orders of a cluster."""
    overlay, _, ordering = order.rpartition("/")
    return overlay or (LIVE_OVERLAY if linked == MESH else linked), ordering


def live_orders(linked: str = MESH) -> tuple[str, ...]:
    """What a program may ask a node for, in a cluster that is linked so."""
    if linked == MESH:
        return LIVE_ORDERS
    gives = LAYERED[linked].gives
    return tuple(order for order in ORDERS_ON_DEMAND if ORDERINGS[order].needs <= gives)


def live_order(order: str, linked: str = MESH) -> str:
    """An order by the one name that it goes by: where there is one overlay only, it need not be said."""
    return order if linked == MESH else order.removeprefix(f"{linked}/")


def on_demand() -> list[str]:
    """Overlays over which a cluster can do with links on demand."""
    return [name for name, kind in LAYERED.items() if kind.links_on_demand]


def check_linked(linked: str) -> None:
    """Whether a cluster can be linked so."""
    able = [MESH, *on_demand()]
    if linked not in able:
        raise LocalProtocolError(f"overlay {linked!r}: no cluster can be linked so; there is {', '.join(able)}")


def check_live_order(order: str, linked: str = MESH) -> None:
    """Whether a cluster that is linked so has an order."""
    known = live_orders(linked)
    if live_order(order, linked) in known:
        return
    overlay = order.rpartition("/")[0]
    if linked == MESH and overlay in on_demand():
        why = f"it needs a cluster that was started with --overlay {overlay}; this one has"
    elif linked != MESH and order in LIVE_ORDERS:
        why = f"it needs a link between every two members, and here (overlay {linked!r}) links are made on demand; use"
    else:
        why = "no such order; there are"
    raise LocalProtocolError(f"order {order!r}: {why} {', '.join(known)}")


def kept_by(ordering: str, given: Mapping[str, int]) -> type[Ordering]:
    """The kind of machine that keeps an order with these options."""
    usual = ORDERINGS[ordering]
    own = MANNERS.get(ordering, usual).options.keys() - usual.options.keys()
    return MANNERS[ordering] if any(given.get(name) for name in own) else usual


def options_of(ordering: str) -> dict[str, int]:
    """What a scenario may set for an ordering, with the default."""
    return MANNERS.get(ordering, ORDERINGS[ordering]).options


def taken(kind: type[Ordering] | type[Overlay], given: Mapping[str, int]) -> dict[str, int]:
    """The options that are for this layer."""
    return {name: given.get(name, default) for name, default in kind.options.items()}


def needs_fifo_links(overlay: str, ordering: str) -> str:
    """Which layer relies on packets that do not overtake each other on a link; empty if none does."""
    kinds: dict[str, type[Overlay] | type[VCubePrinted]] = {**LAYERED, **WHOLE}
    if kinds[overlay].fifo_links:
        return f"overlay {overlay!r}"
    return f"ordering {ordering!r}" if ORDERINGS[ordering].fifo_links else ""


def hearers(overlay: str, standing: Mapping[Topic, tuple[NodeId, ...]], place: Place) -> Hearers | None:
    """Which nodes a host tells of the subscriptions from before the run; None: all of them."""
    return LAYERED[overlay].hearers(standing, place) if overlay in LAYERED else None


def never_rests(overlay: str) -> bool:
    """Whether an overlay goes on for ever, so that a run needs an end."""
    return overlay in IN_ROUNDS


def rounds_to_settle(overlay: str) -> int:
    """After so many rounds in which nothing was said or broken, everybody has everything."""
    return IN_ROUNDS[overlay].settles


def check(overlay: str, ordering: str, options: Mapping[str, int]) -> dict[str, int]:
    """The options that were given, if this stack can be built with them."""
    known = [*LAYERED, *WHOLE]
    if overlay not in known:
        raise ScenarioError(f"stack.overlay = {overlay!r}: no such overlay; there are {', '.join(known)}")
    if ordering not in ORDERINGS:
        raise ScenarioError(f"stack.ordering = {ordering!r}: no such ordering; there are {', '.join(ORDERINGS)}")
    if overlay in WHOLE and ordering not in WHOLE[overlay].brings:
        raise ScenarioError(
            f"stack.ordering = {ordering!r} over {overlay!r}: it brings its own order and has only "
            f"{' and '.join(WHOLE[overlay].brings)}; use overlay 'vcube'"
        )
    if overlay in LAYERED:
        lacking = sorted(ORDERINGS[ordering].needs - LAYERED[overlay].gives_with(options))
        if lacking:
            raise ScenarioError(
                f"stack.ordering = {ordering!r} over {overlay!r}: it needs {' and '.join(lacking)}, which this "
                f"overlay does not give; use overlay 'vcube'"
            )
    accepted = {*LAYERED[overlay].options, *options_of(ordering)} if overlay in LAYERED else set()
    for name, value in options.items():
        if name not in accepted:
            listed = {n: kind.options for n, kind in LAYERED.items()} | {n: options_of(n) for n in ORDERINGS}
            owners = [layer for layer, owned in listed.items() if name in owned]
            raise ScenarioError(
                f"stack.{name} = {value}: {ordering!r} over {overlay!r} does not take it; "
                f"it belongs to {' and '.join(owners) or 'no layer'}"
            )
    return dict(options)


def lacks_subtopics(overlay: str, ordering: str) -> str:
    """Why a stack refuses the topics of a tree, whose names begin with a dot; empty if it does not."""
    if overlay not in LAYERED or not (overlay in FIXED or SUBTOPICS in LAYERED[overlay].gives):
        able = [name for name, kind in LAYERED.items() if SUBTOPICS in kind.gives]
        return f"overlay {overlay!r} does not know hierarchies; use {' or '.join(able)}"
    if not ORDERINGS[ordering].subtopics:
        able = [name for name in LIVE_ORDERS if ORDERINGS[live_stack(name)[1]].subtopics]
        return f"in {ordering} order a subscription includes no subtopics; use {', '.join(able)}"
    return ""


def check_tree(overlay: str, ordering: str, topic: Topic) -> None:
    """Whether a topic whose name begins with a dot has one that can be, on a stack that brings what is below it."""
    if in_tree(topic):
        try:
            check_name(topic)
        except LocalProtocolError as error:
            raise ScenarioError(str(error)) from None
        lacking = lacks_subtopics(overlay, ordering)
        if lacking:
            raise ScenarioError(f"topic {topic!r}: {lacking}")


def check_losable(ordering: str, packet: str, thing: str) -> None:
    """Whether an ordering has packets of this kind, of which some may be lost."""
    kinds = [kind.kind for kind in ORDERINGS[ordering].packets]
    if not kinds:
        able = [name for name, kind in ORDERINGS.items() if kind.packets]
        raise ScenarioError(f"{thing}: {ordering!r} has no packets of its own; use ordering {' or '.join(able)}")
    if packet not in kinds:
        raise ScenarioError(f"{thing}: not a packet of ordering {ordering!r}; there are {', '.join(kinds)}")


def check_hasty(ordering: str, thing: str) -> None:
    """Whether a subscriber in this order can go on without what is missing."""
    if ordering not in MANNERS:
        raise ScenarioError(f"{thing}: {ordering!r} waits for as long as it takes; use ordering {' or '.join(MANNERS)}")


def check_lossy(overlay: str, thing: str) -> None:
    """Whether an overlay makes do with channels that lose packets."""
    if overlay not in LAYERED or not LAYERED[overlay].lossy:
        able = [name for name, kind in LAYERED.items() if kind.lossy]
        raise ScenarioError(f"{thing}: overlay {overlay!r} needs packets to arrive; use {' or '.join(able)}")


def check_joins(overlay: str, thing: str) -> None:
    """Whether nodes can join and leave."""
    if overlay in FIXED:
        able = [name for name in LAYERED if name not in FIXED]
        raise ScenarioError(
            f"{thing}: overlay {overlay!r} knows from the beginning who subscribes; use {' or '.join(able)}"
        )


def check_survives(overlay: str) -> None:
    """Whether a run in which things break makes sense on this overlay."""
    if overlay in WHOLE or CRASHES not in LAYERED[overlay].gives:
        able = [name for name, kind in LAYERED.items() if CRASHES in kind.gives]
        raise ScenarioError(f"faults with overlay {overlay!r}: it has no {CRASHES[3:]}; use {' or '.join(able)}")
