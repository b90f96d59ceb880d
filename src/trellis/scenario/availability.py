"""Nodes that come and go as a trace says: sessions as crashes and restarts.

Source:   Vitis (seed paper 004), section IV-F, replays when Skype's superpeers were up.
Promises: a pure function of the sessions. Time t is round (t - since) / length, rounded down; whoever is up in round 0
          is there from the beginning; whoever comes up later crashes at 0 and restarts then; whoever is never up
          crashes at 0 for good. Node n of the trace is node n of the scenario: sizes that differ are refused.
Departs:  in a session that begins and ends in one round nobody is up, and an absence that does is none: rounds know
          nothing shorter. Both are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from trellis.errors import ScenarioError
from trellis.scenario.model import Crash, Faults, Pause, Scenario, Sever
from trellis.words import NodeId, Time


class Session(NamedTuple):
    """A node is up in [start, end)."""

    node: NodeId
    start: Time
    end: Time


class Comings(NamedTuple):
    """Who comes and goes, in rounds."""

    nodes: int
    crashes: list[Crash]  # by time, then node
    rounds: int  # until nothing more is known
    present: int  # nodes that are there in round 0
    never: int  # nodes that never come
    too_short: int  # sessions within one round
    bridged: int  # absences within one round


def comings(
    sessions: Iterable[Session], nodes: int, length: Time, since: Time | None = None, rounds: int | None = None
) -> Comings:
    """Of the nodes before `nodes`, from `since` on (the first start), for so many rounds of this length (all)."""
    known = sorted(session for session in sessions if session.node < nodes)
    begin = min((session.start for session in known), default=0) if since is None else since
    last = max((session.end for session in known), default=begin)
    many = (last - begin) // length if rounds is None else rounds
    stays: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]  # of each node: rounds [first, last)
    too_short = bridged = 0
    for node, start, end in known:
        if end <= begin:
            continue
        up, down = max(0, start - begin) // length, (end - begin) // length
        mine = stays[node]
        if up == down:
            too_short += 1
        elif mine and up <= mine[-1][1]:
            bridged += 1
            mine[-1] = (mine[-1][0], max(down, mine[-1][1]))
        else:
            mine.append((up, down))
    crashes = [crash for node, mine in enumerate(stays) for crash in absences(node, mine, many)]
    return Comings(
        nodes=nodes,
        crashes=sorted(crashes, key=lambda crash: (crash.at, crash.node)),
        rounds=many,
        present=sum(bool(mine) and mine[0][0] == 0 for mine in stays),
        never=sum(not mine or mine[0][0] > many for mine in stays),
        too_short=too_short,
        bridged=bridged,
    )


def absences(node: NodeId, stays: list[tuple[int, int]], rounds: int) -> Iterable[Crash]:
    """What lies between the stays of a node; nothing that is after the last round."""
    ends = [0, *(down for _, down in stays)]
    starts = [*(up for up, _ in stays), None]
    for down, up in zip(ends, starts, strict=True):
        if down <= rounds and up != 0:
            yield Crash(at=down, node=node, restart=up if up is not None and up <= rounds else None)


def with_comings(scenario: Scenario, found: Comings) -> Scenario:
    """The same world, in which nodes come and go until its end; other faults stay."""
    if found.nodes != scenario.nodes.count:
        raise ScenarioError(
            f"nodes.count = {scenario.nodes.count}: the trace of who is up has {found.nodes} nodes; use as many, or "
            f"ask for as many of its nodes"
        )
    faults = scenario.faults if isinstance(scenario.faults, Faults) else Faults()
    within = [crash for crash in found.crashes if scenario.end is None or crash.at <= scenario.end]
    events: list[Crash | Pause | Sever] = [*faults.events, *within]
    return msgspec.structs.replace(scenario, faults=msgspec.structs.replace(faults, events=events))
