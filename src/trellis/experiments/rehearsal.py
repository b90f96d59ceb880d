"""A rehearsal on a hierarchy of topics: everything that was owed, everything that came, and what it took.

Promises: what is owed is counted from the scenario alone, by inclusion; what came, from the trace. A parasite
          is an event that came to a node which had subscribed to no topic that includes it. Memory is what the
          processes know at the end, and what this process took.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from typing import NamedTuple

from trellis import sim
from trellis.protocols.overlays.damulticast import DaMulticast
from trellis.protocols.parts.company import ANCHORS
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.protocols.stack import Stack
from trellis.scenario.model import Change, Explicit, Scenario, Script
from trellis.sim.host import Host, Progress
from trellis.trace.table import Trace
from trellis.words import NodeId, Topic

EVENTS = ("GOSSIP",)  # packets that carry an event, each row with its topic


class Rehearsal(NamedTuple):
    nodes: int
    topics: int  # with subscribers
    subscriptions: int
    appeared: int  # topics that nobody had at first
    messages: int
    owed: int
    delivered: int
    parasites: int
    rounds_mean: float  # from a publication until the last one who is owed it has it
    rounds_max: int
    packets: int
    events_per_delivery: float  # packets that carry events
    packets_per_delivery: float
    entries_mean: float  # processes that a process knows because of one group
    entries_max: int
    entries_beyond: int  # groups of a process that know more than ln(S) + c + z + ANCHORS
    seconds: float
    megabytes: int  # of this process, at most


def rehearse(scenario: Scenario, progress: Progress | None = None) -> Rehearsal:
    """One run on this machine."""
    began = time.perf_counter()
    host = sim.host_of(scenario)(scenario)
    trace = host.run(progress)
    seconds = time.perf_counter() - began
    members = subscribers(scenario)
    assert isinstance(scenario.workload, Script)
    owed = owed_to(scenario, confirmed(scenario, trace))
    heard = trace.of_kind("deliver")
    codes, names = heard.words("topic")
    columns = (codes, *(heard.numbers(name) for name in ("source", "seq", "node", "at")))
    got: dict[tuple[Topic, NodeId, int], list[int]] = {}
    for topic, source, seq, node, at in zip(*columns, strict=True):
        if int(node) in owed.get((names[topic], int(source), int(seq)), ()):
            got.setdefault((names[topic], int(source), int(seq)), []).append(int(at))
    said = {(topic, source, seq): at for (topic, source, seq, at) in spoken(scenario)}
    took = [max(at) - said[message] for message, at in got.items()]
    sent = Counter(packets(trace))
    delivered = sum(map(len, got.values()))
    known = entries(host)
    return Rehearsal(
        nodes=scenario.nodes.count,
        topics=len(members),
        subscriptions=sum(map(len, members.values())),
        appeared=len(set(members) - set(standing(scenario))),
        messages=len(said),
        owed=sum(map(len, owed.values())),
        delivered=delivered,
        parasites=parasites(trace, members),
        rounds_mean=sum(took) / max(1, len(took)),
        rounds_max=max(took, default=0),
        packets=sent.total(),
        events_per_delivery=(sent["GOSSIP"] + len(trace.of_kind("fill"))) / max(1, delivered),
        packets_per_delivery=sent.total() / max(1, delivered),
        entries_mean=sum(count for count, _ in known) / max(1, len(known)),
        entries_max=max((count for count, _ in known), default=0),
        entries_beyond=sum(count > bound for count, bound in known),
        seconds=seconds,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


def standing(scenario: Scenario) -> dict[Topic, list[NodeId]]:
    assert isinstance(scenario.subscriptions, Explicit)
    return scenario.subscriptions.members


def changes(scenario: Scenario) -> list[Change]:
    assert isinstance(scenario.subscriptions, Explicit)
    return scenario.subscriptions.changes


def subscribers(scenario: Scenario) -> dict[Topic, set[NodeId]]:
    """Who subscribes, from the beginning or later. Nobody leaves here."""
    members = {topic: set(nodes) for topic, nodes in standing(scenario).items()}
    for change in changes(scenario):
        members.setdefault(change.topic, set()).add(change.node)
    return members


def spoken(scenario: Scenario) -> list[tuple[Topic, NodeId, int, int]]:
    assert isinstance(scenario.workload, Script)
    numbers: Counter[tuple[Topic, NodeId]] = Counter()
    found = []
    for message in scenario.workload.messages:
        numbers[message.topic, message.node] += 1
        found.append((message.topic, message.node, numbers[message.topic, message.node], message.at))
    return found


def confirmed(scenario: Scenario, trace: Trace) -> dict[Topic, dict[NodeId, int]]:
    """Since when each subscription stands."""
    found = {topic: dict.fromkeys(nodes, -1) for topic, nodes in standing(scenario).items()}
    wanted = {(change.topic, change.node) for change in changes(scenario)}
    rows = trace.of_kind("confirm")
    codes, names = rows.words("topic")
    for topic, node, at in zip(codes.tolist(), rows.numbers("node").tolist(), rows.numbers("at").tolist(), strict=True):
        if (names[topic], node) in wanted:
            found.setdefault(names[topic], {}).setdefault(node, at)
    return found


def owed_to(scenario: Scenario, since: dict[Topic, dict[NodeId, int]]) -> dict[tuple[Topic, NodeId, int], set[NodeId]]:
    """Every message, and those whose subscription to its topic, or to one above, stood when it was published."""
    tree, owed = Hierarchy(), {}
    for topic, source, seq, at in spoken(scenario):
        lists = (since.get(t, {}) for t in (topic, *tree.above(topic)))
        owed[topic, source, seq] = {node for listed in lists for node, stood in listed.items() if stood < at}
    return owed


def packets(trace: Trace) -> Counter[str]:
    codes, names = trace.of_kind("send").words("packet")
    return Counter({names[code]: count for code, count in Counter(codes.tolist()).items()})


def parasites(trace: Trace, members: dict[Topic, set[NodeId]]) -> int:
    """Events that came to a node which wants none of that topic."""
    tree, found = Hierarchy(), 0
    for kind in ("receive", "fill", "skip"):
        rows = trace.of_kind(kind)
        topics, names = rows.words("topic")
        packet, packet_names = rows.words("packet")
        for topic, node, which in zip(topics.tolist(), rows.numbers("node").tolist(), packet.tolist(), strict=True):
            if kind == "receive" and packet_names[which] not in EVENTS:
                continue
            name = names[topic]
            found += not any(node in members.get(t, ()) for t in (name, *tree.above(name)))
    return found


def entries(host: Host) -> list[tuple[int, int]]:
    """Of each process and each of its groups: how many it knows, and how many it may."""
    found = []
    for machine in host.machines:
        overlay = machine.overlay if isinstance(machine, Stack) else None
        if isinstance(overlay, DaMulticast):
            for group in overlay.groups.values():
                fanout = group.company.fanout(group.company.size())
                found.append((group.entries(), fanout + len(group.uplinks) * group.with_.z + ANCHORS))
    return found
