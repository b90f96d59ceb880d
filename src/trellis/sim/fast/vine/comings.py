"""Who dies and who comes up when, laid out before a compiled run. Answers to `ChurningHost` of sim/cycles.py.

None of it depends on what happens in the run: neither of whom a node hears when it comes up nor in which life it says
what, nor what nobody hears because its source is dead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from trellis import draw
from trellis.errors import UnsupportedByEngine
from trellis.protocols.parts.profiles import NAMES_MAX
from trellis.scenario.model import Crash, Faults, Scenario
from trellis.sim.cycles import CONTACTS
from trellis.sim.fast.memory import NONE, Block, Table, table
from trellis.sim.fast.vine import tables as t
from trellis.words import NodeId, Time

Fate = tuple[Time, int, NodeId, list[int]]  # when, what, to whom, and whom it gets to know
Messages = Mapping[tuple[int, int, int], list[int]]  # by topic, node and life


class Comings(NamedTuple):
    """All of a run."""

    absent: list[NodeId]  # dead in round 0
    fates: list[Fate]
    changes: list[list[tuple[Time, int]]]  # of each node: in which life it is after a round, NONE if in none

    def life(self, node: NodeId, at: Time) -> int:
        """In which life it takes part in a round, or NONE."""
        changes = self.changes[node]
        n = bisect_left(changes, (at, NONE))
        return changes[n - 1][1] if n else 0

    def lives(self) -> list[int]:
        """How many each node has."""
        return [1 + max((0, *(life for _, life in changes))) for changes in self.changes]


def comings(scenario: Scenario) -> Comings:
    """Goes through all rounds in which somebody dies or comes up."""
    crashes = crashes_of(scenario)
    dead = {crash.node for crash in crashes if crash.at == 0}
    found = Comings(sorted(dead), [], [[] for _ in range(scenario.nodes.count)])
    for node in dead:
        found.changes[node].append((-1, NONE))
    lives = [0] * scenario.nodes.count
    ends = sorted((crash.at, crash.node) for crash in crashes)
    starts = sorted((crash.restart, crash.node) for crash in crashes if crash.restart is not None)
    for at in sorted({at for at, _ in [*ends, *starts] if scenario.end is None or at <= scenario.end}):
        for node in due(ends, at):
            found.fates.append((at, t.NOTHING if node in dead else t.BREAKS, node, []))
            dead.add(node)
            found.changes[node].append((at, NONE))
        coming = due(starts, at)
        found.fates.extend((at, t.NOTHING, node, []) for node in coming if node not in dead)
        coming = [node for node in coming if node in dead]
        there = [node for node in range(scenario.nodes.count) if node not in dead] or coming
        for node in coming:
            dead.discard(node)
            lives[node] += 1
            found.changes[node].append((at, lives[node]))
        for node in coming:
            others = draw.few(scenario.seed, draw.CONTACT, there, CONTACTS, node, node, lives[node])
            told = [other | (lives[other] << 1 << t.ID_BITS) for other in others]
            found.fates.append((at, t.STARTS, node, told))
        found.fates.extend((at, t.SUBSCRIBES, node, []) for node in coming)
    return found


def crashes_of(scenario: Scenario) -> list[Crash]:
    faults = scenario.faults
    return [fault for fault in faults.events if isinstance(fault, Crash)] if isinstance(faults, Faults) else []


def due(events: list[tuple[Time, NodeId]], at: Time) -> list[NodeId]:
    return [node for _, node in events[bisect_left(events, (at, 0)) : bisect_left(events, (at + 1, 0))]]


# In the run's memory


def rooms(found: Comings, nodes: int, mine: Block, topics: int, messages: Messages) -> dict[Table, int]:
    """Where nobody comes or goes, hardly anything."""
    if not found.fates:
        return {t.LIVES: nodes, **dict.fromkeys((t.FATES, t.TAKEN, t.CUTS, t.STREAMS, t.SAID, t.HEARD_ON), 0)}
    streams = np.bincount([topic for topic, _, _ in messages], minlength=topics)
    return {
        t.LIVES: nodes,
        t.FATES: len(found.fates),
        t.TAKEN: len(mine),
        t.CUTS: int(streams[mine].sum()),
        t.STREAMS: len(messages),
        t.SAID: sum(map(len, messages.values())),
        t.HEARD_ON: topics,
    }


def lay_out(m: Block, found: Comings, messages: Messages) -> None:
    lives, counts = table(m, t.LIVES), np.array(found.lives(), np.int64)
    lives[found.absent, t.IS_DEAD] = 1
    lives[:, t.OWN_OF], lives[:, t.GRACE_OF] = np.cumsum(counts) - counts, m[t.GRACE]
    m[t.ALL_LIVES], m[t.FIRST_GRACE], m[t.ALL_FATES] = counts.sum(), m[t.GRACE], len(found.fates)
    if not found.fates:
        return
    fates = table(m, t.FATES)
    for n, (at, what, node, told) in enumerate(found.fates):
        if what == t.STARTS and table(m, t.NODES)[node, t.BYTES] > NAMES_MAX:
            raise UnsupportedByEngine(f"node {node} comes back with names of more than {NAMES_MAX} bytes, too many")
        fates[n, : t.F_CONTACT] = at, what, node, len(told)
        fates[n, t.F_CONTACT : t.F_CONTACT + len(told)] = told
    lay_out_streams(m, messages)
    taken, mine = table(m, t.TAKEN), table(m, t.MINE)[:, 0]
    streams = table(m, t.HEARD_ON)[mine, 1]
    taken[:, t.T_CUT] = np.cumsum(streams) - streams
    taken[:, [t.FIRST_ASKED, t.LAST_ASKED, t.FIRST_WAITS, t.LAST_WAITS, t.FIRST_EARLY, t.LAST_EARLY]] = NONE


def lay_out_streams(m: Block, messages: Messages) -> None:
    """What is said on a topic, one life of a node after the other."""
    streams, said, topics, actions = (table(m, part) for part in (t.STREAMS, t.SAID, t.HEARD_ON, t.ACTIONS))
    first = 0
    for n, ((topic, _, _), some) in enumerate(sorted(messages.items())):
        if not topics[topic, 1]:
            topics[topic, 0] = n
        actions[some, t.A_STREAM] = topics[topic, 1]
        topics[topic, 1] += 1
        streams[n] = first, len(some)
        said[first : first + len(some), 0] = some
        first += len(some)
    m[t.MOST_STREAMS] = topics[:, 1].max(initial=0)
