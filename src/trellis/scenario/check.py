"""What no single key of a scenario can show: whether its parts fit each other.

Promises: a scenario that passes can be run; one that does not is refused in one line that names the key, its value, the
          rule and the way out.
"""

from __future__ import annotations

from trellis import draw, protocols
from trellis.errors import LocalProtocolError, ScenarioError
from trellis.protocols.parts.hierarchy import Hierarchy, in_tree
from trellis.scenario.explain import shown, tag_of
from trellis.scenario.model import (
    Buckets,
    Crash,
    Cycles,
    Explicit,
    Faults,
    Fraction,
    Matrix,
    Popular,
    Scenario,
    Script,
    Sever,
    Sites,
    Subscriptions,
)
from trellis.scenario.section import NAME_BYTES_MAX, TOPICS_MAX


def check(scenario: Scenario) -> None:
    """What no single key can show."""
    protocols.check(scenario.stack.overlay, scenario.stack.ordering, scenario.stack.options())
    check_names(scenario)
    count = scenario.nodes.count
    if scenario.stack.brokers is not None and scenario.stack.brokers > count:
        raise ScenarioError(
            f"stack.brokers = {scenario.stack.brokers}: there are only {count} nodes; use at most {count}"
        )
    if isinstance(scenario.subscriptions, Buckets):
        check_buckets(scenario.subscriptions)
    check_topics(scenario)
    check_rounds(scenario)
    check_loss(scenario)
    check_faults(scenario)
    if somebody_moves(scenario.subscriptions):
        protocols.check_joins(scenario.stack.overlay, "subscriptions: somebody joins or leaves")
    network = scenario.network
    if isinstance(network, Matrix):
        rows = network.rows
        if len(rows) < count or any(len(row) != len(rows) for row in rows):
            widths = sorted({len(row) for row in rows})
            raise ScenarioError(
                f"network.rows: {len(rows)} rows of {shown(widths)} cells for {count} nodes; "
                f"give a square matrix with at least {count} rows"
            )
        for r, row in enumerate(rows):
            if 0 in row[:r] or 0 in row[r + 1 :]:
                c = next(c for c, cell in enumerate(row) if cell == 0 and c != r)
                raise ScenarioError(f"network.rows.{r}.{c} = 0: a packet takes time; only the diagonal may be 0")
    if isinstance(network, Sites):
        check_sites(scenario, network)
    low, high = getattr(network, "low", 0), getattr(network, "high", 0)
    if low > high:
        raise ScenarioError(f"network.low = {low}: above network.high = {high}; low must not exceed high")
    layer = protocols.needs_fifo_links(scenario.stack.overlay, scenario.stack.ordering)
    if layer and not getattr(network, "fifo", True):
        way_out = "overlay 'vcube'" if layer.startswith("overlay") else "ordering 'total'"
        raise ScenarioError(
            f"network.fifo = False: {layer} relies on links on which no packet overtakes another; "
            f"leave it true, or use {way_out}"
        )


def check_sites(scenario: Scenario, network: Sites) -> None:
    for name in ("short", "long"):
        mean, spread = getattr(network, name), getattr(network, f"{name}_spread")
        if draw.bell(0, mean, spread) < 1:
            raise ScenarioError(
                f"network.{name}_spread = {spread}: with network.{name} = {mean} a packet could take no time; "
                f"use at most {(mean - 1) * 37_837 // 131_070}"
            )
    if network.servers > scenario.nodes.count:
        raise ScenarioError(
            f"network.servers = {network.servers}: there are {scenario.nodes.count} nodes; use at most that"
        )


def somebody_moves(told: Subscriptions) -> bool:
    """Whether anybody joins or leaves after the beginning."""
    if isinstance(told, Explicit):
        return told.announce or bool(told.changes)
    return told.announce or not isinstance(told, Fraction | Popular | Buckets)


def check_buckets(told: Buckets) -> None:
    """Every bucket that a node may choose has as many topics as it wants of it."""
    if told.each > told.topics:
        raise ScenarioError(f"subscriptions.each = {told.each}: there are only {told.topics} topics; use at most that")
    if not told.of:
        return
    if told.of > told.buckets:
        raise ScenarioError(f"subscriptions.of = {told.of}: there are only {told.buckets} buckets; use at most that")
    if told.each % told.of:
        raise ScenarioError(
            f"subscriptions.each = {told.each}: not the same number from each of {told.of} buckets; "
            f"use a multiple of {told.of}"
        )
    share, smallest = told.each // told.of, told.topics // told.buckets
    if share > smallest:
        raise ScenarioError(
            f"subscriptions.each = {told.each}: {share} from each of {told.of} buckets, but with {told.topics} topics "
            f"in {told.buckets} buckets the smallest has {smallest}; use at most {smallest * told.of}"
        )


def check_topics(scenario: Scenario) -> None:
    """What is special about topics must make one hierarchy, and be of this overlay."""
    for topic, about in scenario.special_topics().items():
        for name in about.options:
            protocols.check(scenario.stack.overlay, scenario.stack.ordering, {name: about.options[name]})
        if not in_tree(topic):
            raise ScenarioError(f"topics.{shown(topic)}: only a topic of a tree is special; write .{topic}")
        protocols.check_tree(scenario.stack.overlay, scenario.stack.ordering, topic)
    try:
        Hierarchy({topic: about.supers for topic, about in scenario.special_topics().items() if about.supers})
    except LocalProtocolError as error:
        raise ScenarioError(f"topics: {error}") from None


def check_rounds(scenario: Scenario) -> None:
    """An overlay that acts in rounds for ever needs to know when they begin, and the run an end."""
    if not protocols.never_rests(scenario.stack.overlay):
        return
    thing, period = f"overlay {scenario.stack.overlay!r}", scenario.stack.options().get("period", 0)
    if isinstance(scenario.network, Cycles):
        if period:
            raise ScenarioError(f"stack.period = {period}: network.kind = 'cycles' has rounds of its own; leave it out")
    elif not period:
        raise ScenarioError(f"stack.period is missing: {thing} acts in rounds; set the time between two, say 100")
    if scenario.end is None:
        raise ScenarioError(f"end is missing: {thing} acts in every round for ever; add `end`, a time")


def check_loss(scenario: Scenario) -> None:
    network = scenario.network
    if isinstance(network, Cycles) and network.loss:
        protocols.check_lossy(scenario.stack.overlay, f"network.loss = {network.loss}")


def check_faults(scenario: Scenario) -> None:
    faults = scenario.faults
    if not isinstance(faults, Faults):
        return
    if isinstance(scenario.network, Cycles):
        check_faults_in_rounds(scenario, faults)
    elif faults.stillborn:
        raise ScenarioError("faults.stillborn: only rounds know it; use network.kind = 'cycles', or a crash at 0")
    else:
        check_losses(scenario, faults)
    if not faults.events:
        return
    protocols.check_survives(scenario.stack.overlay)
    mends = scenario.stack.options().get("repair", protocols.never_rests(scenario.stack.overlay))
    if not mends and not isinstance(scenario.network, Cycles):  # a printed form in rounds misses what it misses
        raise ScenarioError("faults without stack.repair: what breaks is made up for after that time; set it, say 100")
    if waits := scenario.waits():
        raise ScenarioError(f"faults with {waits}: what waits there knows no faults yet; leave it out")
    count = scenario.nodes.count
    for n, fault in enumerate(faults.events):
        for key in ("node", "other"):
            node = getattr(fault, key, 0)
            if node >= count:
                raise ScenarioError(f"faults.events[{n}].{key} = {node}: there are {count} nodes; they count from 0")
        if isinstance(fault, Crash) and fault.restart is not None and fault.restart <= fault.at:
            raise ScenarioError(
                f"faults.events[{n}].restart = {fault.restart}: not after the crash at {fault.at}; choose a later time"
            )
        if isinstance(fault, Sever) and fault.node == fault.other:
            raise ScenarioError(f"faults.events[{n}].other = {fault.other}: a node has no link to itself")


def check_faults_in_rounds(scenario: Scenario, faults: Faults) -> None:
    """There are no links to break: only whole nodes come and go, and a machine that acts in rounds must notice that."""
    overlay = scenario.stack.overlay
    if faults.lose:
        raise ScenarioError(
            "faults.lose with network.kind = 'cycles': rounds know `network.loss`; use that, or another network"
        )
    if faults.stillborn or not faults.events:
        protocols.check_lossy(overlay, f"faults.stillborn = {faults.stillborn or 0}")
    if not faults.events:
        return
    if faults.stillborn:
        raise ScenarioError("faults.stillborn with faults.events: a crash at 0 is the same; leave one of them out")
    if not protocols.never_rests(overlay):
        raise ScenarioError(
            f"faults.events with network.kind = 'cycles': overlay {overlay!r} must be told who has crashed, and in "
            f"rounds nobody is; use another network"
        )
    down: dict[int, int | None] = {}  # node -> until when, the last time
    by_time = sorted(range(len(faults.events)), key=lambda n: (faults.events[n].at, n))
    for n in by_time:
        fault = faults.events[n]
        if not isinstance(fault, Crash):
            raise ScenarioError(
                f"faults.events[{n}].kind = {tag_of(fault)!r}: in rounds there is only 'crash'; use another network"
            )
        until = down.get(fault.node, -1)
        if until is None or until >= fault.at:
            when = "for good" if until is None else f"until {until}"
            raise ScenarioError(f"faults.events[{n}].at = {fault.at}: node {fault.node} is down {when}; choose another")
        down[fault.node] = fault.restart


def check_losses(scenario: Scenario, faults: Faults) -> None:
    """Only an ordering that asks again can do without what is lost; an overlay's packets are lost with their link."""
    kinds = [lose.packet for lose in faults.lose or []]
    for n, kind in enumerate(kinds):
        thing = f"faults.lose[{n}].packet = {shown(kind)}"
        protocols.check_losable(scenario.stack.ordering, kind, thing)
        if kind in kinds[:n]:
            raise ScenarioError(f"{thing}: it is given twice; leave one out")
    if kinds and not scenario.stack.options().get("retry"):
        raise ScenarioError(
            "faults.lose without stack.retry: what is lost is asked for again after that time; set it, say 1000"
        )


def check_names(scenario: Scenario) -> None:
    """Names stand in messages, tables and the arguments of `trellis story`: they are short and printable."""
    topics = scenario.topic_names()
    if not topics:
        raise ScenarioError("subscriptions.members = {}: there is no topic; name at least one")
    if len(topics) > TOPICS_MAX:
        raise ScenarioError(f"subscriptions: there are {len(topics)} topics; use at most {TOPICS_MAX}")
    named = [("name", scenario.name)]
    if isinstance(scenario.subscriptions, Explicit):
        named += [("subscriptions: topic", topic) for topic in topics]
    if isinstance(scenario.workload, Script):
        named += [("workload.messages: topic", said.topic) for said in scenario.workload.messages]
    for topic, about in scenario.special_topics().items():
        named += [("topics: topic", topic), *(("topics: supers", above) for above in about.supers)]
    for thing, name in named:
        if not name.isprintable() or not 1 <= len(name.encode()) <= NAME_BYTES_MAX:
            raise ScenarioError(
                f"{thing} = {shown(name)}: a name has 1 to {NAME_BYTES_MAX} bytes, all printable; choose another name"
            )
