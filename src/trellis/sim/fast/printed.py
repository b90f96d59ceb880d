"""A scenario of `vcube-printed` on the compiled engine: a block of memory, and more room when it needs it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trellis.events import Publish, Subscribe
from trellis.scenario.model import Scenario
from trellis.scenario.plan import Plan
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import vcube_printed as kernel
from trellis.sim.fast import views as vws
from trellis.sim.fast.memory import NONE, Block, Table, block, room, roomier, table
from trellis.trace.table import Trace
from trellis.words import MessageId, Time

FOREVER = (1 << 62) - 1
PROGRESS_EVERY = 1 << 20


class Printed:
    """One run."""

    def __init__(self, scenario: Scenario, plan: Plan, kept: bool = True) -> None:
        self.scenario = scenario
        self.plan = plan
        self.nodes = scenario.nodes.count
        self.standing = {} if scenario.subscriptions.announce else plan.standing
        self.topics = sorted({*plan.standing, *(action.event.topic for action in plan.actions)})
        self.code = {topic: code for code, topic in enumerate(self.topics)}
        self.joins = any(isinstance(action.event, Subscribe) for action in plan.actions)
        self.views = vws.views(self.nodes)
        self.tables = [*cal.PARTS, *net.PARTS, vws.HOLDERS, self.views, *kernel.PARTS]
        self.rows = out.lines(1 << 16, kept)
        self.unsaid = self.count_unsaid()
        self.block = self.begin()

    def count_unsaid(self) -> Block:
        """How often each place will ask to publish."""
        found = np.zeros((len(self.topics), self.nodes), np.int64)
        for _, node, event in self.plan.actions:
            found[self.code[event.topic], node] += isinstance(event, Publish)
        talk = self.plan.discussion
        if talk is not None:
            found[self.code[talk.topic], list(talk.thinking)] += 1
        return found

    def begin(self) -> Block:
        nodes, places = self.nodes, self.nodes * len(self.topics)
        speakers = max(1, int((self.unsaid > 0).sum(axis=1).max(initial=0)))
        actors = len({(action.node, action.event.topic) for action in self.plan.actions})
        rooms: dict[Table, int] = {
            **cal.rooms(1 << max(10, (8 * nodes).bit_length()), nodes),
            **net.rooms(self.scenario),
            vws.HOLDERS: places,
            self.views: vws.STANDING + len(self.standing) + 1,
            kernel.ACTIONS: len(self.plan.actions) + nodes,
            kernel.NODES: nodes,
            kernel.PLACES: places,
            kernel.KNOWN: places * speakers,
            kernel.WAVES: max(64, len(self.plan.actions) + nodes),
            kernel.ACKS: (actors + 4) * nodes,  # each has about one wave on its way
            kernel.GATHERED: (actors + 4) * nodes if self.joins else 1,
            kernel.MEMBERS: 1 << 10,
            kernel.NAMES: 1 << 10,
            kernel.WAITS: 1 << 10,
            kernel.LOGGED: 1 << 10,
            kernel.SOME: 64,
        }
        m = block(rooms)
        cal.begin(m)
        net.begin(m, self.scenario)
        vws.begin(m, self.views, nodes)
        m[kernel.ORDERED] = self.scenario.stack.ordering == "causal"
        m[kernel.TOPICS], m[kernel.SPEAKERS] = len(self.topics), speakers
        m[[kernel.FREE_SLAB, kernel.FREE_MEMBER, kernel.FREE_WAIT, kernel.FREE_LOG]] = NONE
        self.begin_places(m)
        self.begin_actions(m)
        return m

    def begin_places(self, m: Block) -> None:
        """Those who subscribe from before the run, unless they announce themselves: each topic has one view for all."""
        places, holders = table(m, kernel.PLACES), table(m, vws.HOLDERS)
        chains = [kernel.FIRST_QUEUED, kernel.LAST_QUEUED, kernel.FIRST_WAITING, kernel.LAST_WAITING]
        places[:, [*chains, kernel.FIRST_LOGGED, kernel.LAST_LOGGED, kernel.COLUMN]] = NONE
        places[:, kernel.UNSAID] = self.unsaid.ravel()
        for code in range(len(self.topics)):
            speak = np.flatnonzero(self.unsaid[code])
            places[code * self.nodes + speak, kernel.COLUMN] = np.arange(len(speak))
        for topic, members in self.standing.items():
            who, row = np.array(members, np.int64), int(m[vws.USED])
            m[vws.USED] += 1
            vws.fill(m, self.views, row, who, self.nodes)
            mine = self.code[topic] * self.nodes + who
            holders[mine, vws.ROW] = row
            places[mine, kernel.IDLE] = 1
            for node in members:
                self.confirm(node, self.code[topic])

    def confirm(self, node: int, topic: int) -> None:
        if not out.has_room(self.rows, 1):
            self.rows = out.grown(self.rows)
        out.write(self.rows, 0, 0, out.CONFIRM, node, out.own(len(self.topics), node, topic), 0, -1, 0, 0)

    def begin_actions(self, m: Block) -> None:
        kinds = {Subscribe: kernel.JOIN, Publish: kernel.SAY}
        actions, who = table(m, kernel.ACTIONS), table(m, kernel.NODES)
        m[kernel.ALL_ACTIONS] = len(self.plan.actions)
        m[kernel.JOINS] = self.joins
        for k, (at, node, event) in enumerate(self.plan.actions):
            actions[k] = at, node, self.code[event.topic], kinds.get(type(event), kernel.LEAVE)
        who[:, kernel.THINK] = -1
        talk = self.plan.discussion
        if talk is not None:
            m[kernel.OPENERS] = len(talk.openers)
            who[list(talk.openers), kernel.OPENER] = 1
            who[list(talk.thinking), kernel.THINK] = list(talk.thinking.values())
            actions[len(self.plan.actions) :, kernel.ABOUT] = self.code[talk.topic]
            actions[len(self.plan.actions) :, kernel.DOES] = kernel.SAY

    def compile(self) -> None:
        """So that the time of a run is its own."""
        with np.errstate(over="ignore"):
            kernel.go_on(self.block, self.rows, -1, FOREVER)

    def run(self, progress: Callable[[Time, int], None] | None = None) -> None:
        end = FOREVER if self.scenario.end is None else self.scenario.end
        due = PROGRESS_EVERY
        with np.errstate(over="ignore"):  # words overflow as they should; compiled code does not mind anyway
            while (told := kernel.go_on(self.block, self.rows, end, due)) != kernel.DONE:
                if told == kernel.GROW:
                    self.grow()
                    continue
                due = self.events + PROGRESS_EVERY
                if progress is not None:
                    progress(int(self.block[cal.NOW]), self.events)

    @property
    def events(self) -> int:
        return int(self.block[kernel.EVENTS])

    @property
    def quiet(self) -> bool:
        """Whether nothing was left to happen."""
        return not self.block[cal.TIMES]

    def grow(self) -> None:
        """Twice the room for what has too little of it."""
        which = int(self.block[kernel.LACKING])
        if which == kernel.IN_ROWS:
            self.rows = out.grown(self.rows)
        elif which == kernel.IN_CALENDAR:
            self.block = cal.grown(self.block, self.tables)
        else:
            short = [part for part in self.tables if part.number == which]
            short += [kernel.GATHERED] if which == kernel.IN_ACKS and self.joins else []
            self.block = roomier(self.block, self.tables, {part: 2 * int(self.block[room(which)]) for part in short})

    def trace(self) -> Trace:
        waves = table(self.block, kernel.WAVES)[: self.block[kernel.USED_WAVES], : kernel.KIND].tolist()
        ids = [MessageId((source, 0), self.topics[topic], seq) for source, topic, seq in waves]
        return out.trace(self.rows, ids, self.topics, kernel.PACKETS)
