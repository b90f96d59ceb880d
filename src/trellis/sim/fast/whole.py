"""A scenario on the compiled engine, whatever the kernel: a block of memory, and more room when it needs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from trellis.events import Publish, Subscribe
from trellis.scenario.model import Scenario
from trellis.scenario.plan import REPLY, Plan
from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast.memory import NONE, Block, Table, block, room, roomier, table
from trellis.trace.table import Trace
from trellis.words import MessageId, Time, Topic

FOREVER = (1 << 62) - 1
PROGRESS_EVERY = 1 << 20


class Whole(ABC):
    """One run. Subclasses know their kernel and its tables."""

    packets: ClassVar[list[str]]  # names of the kinds of packets, by their codes

    def __init__(self, scenario: Scenario, plan: Plan, kept: bool = True) -> None:
        self.scenario = scenario
        self.plan = plan
        self.nodes = scenario.nodes.count
        self.standing = {} if scenario.subscriptions.announce else plan.standing
        self.topics = sorted({*plan.standing, *(action.event.topic for action in plan.actions), *self.names()})
        self.code = {topic: code for code, topic in enumerate(self.topics)}
        self.rows = out.lines(1 << 16, kept)
        self.unsaid = self.count_unsaid()
        self.block = self.begin()

    @abstractmethod
    def go_on(self, end: Time, due: int) -> int:
        """Let the kernel work; why it came back."""

    @abstractmethod
    def rooms(self) -> dict[Table, int]:
        """The kernel's own tables."""

    @abstractmethod
    def begin_places(self, m: Block) -> None:
        """What each node has on each topic before anything happens; those who stand are confirmed."""

    def names(self) -> set[Topic]:
        """Of topics that are in rows alone."""
        return set()

    def growing_with(self, which: int) -> list[Table]:
        """Tables that always have as much room as this one."""
        return []

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
        nodes, acts = self.nodes, len(self.plan.actions)
        rooms: dict[Table, int] = {
            **cal.rooms(1 << max(10, (8 * nodes).bit_length()), nodes),
            **net.rooms(self.scenario),
            app.ACTIONS: acts + nodes,
            app.NODES: nodes,
            bar.WAVES: max(64, acts + nodes),
            bar.NAMES: 1 << 10,
            bar.LOGGED: 1 << 10,
            **self.rooms(),
        }
        self.tables = list(rooms)
        m = block(rooms)
        cal.begin(m)
        net.begin(m, self.scenario)
        m[app.TOPICS], m[bar.FREE_LOG] = len(self.topics), NONE
        self.begin_places(m)
        self.begin_actions(m)
        return m

    def confirm(self, node: int, topic: int) -> None:
        if not out.has_room(self.rows, 1):
            self.rows = out.grown(self.rows)
        out.write(self.rows, 0, 0, out.CONFIRM, node, out.own(len(self.topics), node, topic), 0, -1, 0, 0)

    def begin_actions(self, m: Block) -> None:
        kinds = {Subscribe: app.JOIN, Publish: app.SAY}
        actions, who = table(m, app.ACTIONS), table(m, app.NODES)
        m[app.ALL_ACTIONS] = len(self.plan.actions)
        for k, (at, node, event) in enumerate(self.plan.actions):
            size = len(event.payload) if isinstance(event, Publish) else 0
            actions[k] = at, node, self.code[event.topic], kinds.get(type(event), app.LEAVE), size
        who[:, app.THINK] = -1
        talk = self.plan.discussion
        if talk is not None:
            m[app.OPENERS] = len(talk.openers)
            who[list(talk.openers), app.OPENER] = 1
            who[list(talk.thinking), app.THINK] = list(talk.thinking.values())
            actions[len(self.plan.actions) :, app.ABOUT] = self.code[talk.topic]
            actions[len(self.plan.actions) :, app.DOES] = app.SAY
            actions[len(self.plan.actions) :, app.BYTES] = len(REPLY)

    def compile(self) -> None:
        """So that the time of a run is its own."""
        with np.errstate(over="ignore"):
            self.go_on(-1, FOREVER)

    def run(self, progress: Callable[[Time, int], None] | None = None) -> None:
        end = FOREVER if self.scenario.end is None else self.scenario.end
        due = PROGRESS_EVERY
        with np.errstate(over="ignore"):  # words overflow as they should; compiled code does not mind anyway
            while (told := self.go_on(end, due)) != app.DONE:
                if told == app.GROW:
                    self.grow()
                    continue
                due = self.events + PROGRESS_EVERY
                if progress is not None:
                    progress(int(self.block[cal.NOW]), self.events)

    @property
    def events(self) -> int:
        return int(self.block[app.EVENTS])

    @property
    def quiet(self) -> bool:
        """Whether nothing was left to happen."""
        return not self.block[cal.TIMES]

    def grow(self) -> None:
        """Twice the room for what has too little of it."""
        which = int(self.block[app.LACKING])
        if which == app.IN_ROWS:
            self.rows = out.grown(self.rows)
        elif which == app.IN_CALENDAR:
            self.block = cal.grown(self.block, self.tables)
        else:
            short = [part for part in self.tables if part.number == which] + self.growing_with(which)
            self.block = roomier(self.block, self.tables, {part: 2 * int(self.block[room(which)]) for part in short})

    def trace(self) -> Trace:
        waves = table(self.block, bar.WAVES)[: self.block[bar.USED_WAVES], : bar.KIND].tolist()
        ids = [MessageId((source, 0), self.topics[topic], seq) for source, topic, seq in waves]
        return out.trace(self.rows, ids, self.topics, self.packets)
