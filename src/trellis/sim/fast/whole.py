"""A scenario on the compiled engine, for kernels that have a calendar: its block of memory, and what it counted."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from trellis.errors import InvariantViolation, UnsupportedByEngine
from trellis.events import Publish, Subscribe
from trellis.scenario.model import Scenario
from trellis.scenario.plan import REPLY, Plan
from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.driver import Driver
from trellis.sim.fast.memory import NONE, Block, Table, block, room, roomier, table
from trellis.sim.tally import Sums, Tally
from trellis.trace.table import Trace
from trellis.words import Time, Topic

LARGE = 1 << 11  # actions (or nodes) from which on giving more room later takes longer than having it at once


def names(nodes: int) -> int:
    """Room for what messages follow."""
    return 1 << max(15, (32 * nodes).bit_length())


class Whole(Driver):
    """One run. Subclasses know their kernel and its tables."""

    packets: ClassVar[list[str]]  # names of the kinds of packets, by their codes
    settles: ClassVar[bool] = True  # whether it ever says that a message is settled

    def __init__(self, scenario: Scenario, plan: Plan, kept: bool = True, counted: bool = False) -> None:
        assert self.counts or not counted
        self.scenario = scenario
        self.plan = plan
        self.nodes = scenario.nodes.count
        self.standing = {} if scenario.subscriptions.announce else plan.standing
        self.topics = sorted({*plan.standing, *(action.event.topic for action in plan.actions), *self.names()})
        replies = self.nodes if plan.discussion else 0
        self.acts = len(plan.actions) + replies  # of applications; each publishes once at most
        self.code = {topic: code for code, topic in enumerate(self.topics)}
        self.rows = out.lines(1 << 16, kept)
        self.counted = counted
        self.unsaid = self.count_unsaid()
        self.block = self.begin()

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
        """Tables that get more room together with this one."""
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
        nodes, acts = self.nodes, self.acts
        rooms: dict[Table, int] = {
            **cal.rooms(1 << max(10, ((8 if min(acts, nodes) < LARGE else 64) * nodes).bit_length()), nodes),
            **net.rooms(self.scenario),
            app.ACTIONS: acts,
            app.NODES: nodes,
            bar.WAVES: max(64, acts + nodes),
            bar.NAMES: names(nodes),
            bar.LOGGED: 2 * names(nodes),
            **self.rooms(),
        }
        if self.counted:  # most that speak have one message on its way
            speakers = int((self.unsaid > 0).sum())
            rooms |= tal.rooms(rooms[bar.WAVES], nodes, len(self.topics), speakers + 4)
        self.tables = list(rooms)
        m = block(rooms)
        cal.begin(m)
        net.begin(m, self.scenario)
        m[app.TOPICS], m[bar.FREE_LOG] = len(self.topics), NONE
        self.begin_places(m)
        self.begin_actions(m)
        if self.counted:
            standing = [self.code[topic] * nodes + node for topic, who in self.standing.items() for node in who]
            tal.begin(m, self.settles, self.packets.index("PUB"), np.array(standing, np.int64))
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

    @property
    def now(self) -> Time:
        return int(self.block[cal.NOW])

    @property
    def events(self) -> int:
        return int(self.block[app.EVENTS])

    @property
    def quiet(self) -> bool:
        return bool(cal.is_empty(self.block))

    def grow(self) -> None:
        which = int(self.block[app.LACKING])
        if which == app.IN_ROWS:
            self.rows = out.grown(self.rows)
        elif which == app.IN_CALENDAR:
            self.block = cal.grown(self.block, self.tables)
        elif which == tal.IN_DELAYS:
            self.block = tal.grown(self.block, self.tables)
        else:
            short = [part for part in self.tables if part.number == which] + self.growing_with(which)
            if which == bar.IN_WAVES and self.counted:
                short.append(tal.MESSAGES)
            self.block = roomier(
                self.block, self.tables, {part: 2 * int(self.block[room(part.number)]) for part in short}
            )

    def trace(self) -> Trace:
        waves = table(self.block, bar.WAVES)[: self.block[bar.USED_WAVES], : bar.KIND]
        return out.trace(self.rows, waves, self.topics, self.packets)

    def tally(self) -> Tally:
        m, used = self.block, int(self.block[bar.USED_WAVES])
        tal.close(m, used)
        if m[tal.BEYOND] & tal.NO_SLAB:
            raise InvariantViolation(f"{self.scenario.name}: a message came after nobody could have it any more")
        if m[tal.BEYOND] & tal.TOO_LONG:
            raise UnsupportedByEngine(
                f"{self.scenario.name}: something took 2^31 or longer, too long to count its square; keep the trace"
            )
        owed = table(m, tal.MEMBERS)[:, [tal.OWED, tal.GOT]].sum(axis=0).tolist() if self.quiet else [0, 0]
        sent, by_node = table(m, tal.SENT)[:, 0].tolist(), table(m, tal.SENDERS)
        return Tally(
            until=int(m[cal.NOW]),
            published=int(m[tal.PUBLISHED]),
            deliveries=int(m[tal.DELIVERIES]),
            sent={kind: count for kind, count in zip(self.packets, sent, strict=False) if count},
            reception=self.sums(tal.RECEPTION),
            delivery=self.sums(tal.DELIVERY),
            delays=tal.delays(m),
            relayed=self.sums(tal.RELAYED),
            confirmation=self.sums(tal.CONFIRMATION),
            wait=self.sums(tal.WAIT),
            waited=by_node[:, tal.WAITED].tolist(),
            pubs=by_node[:, tal.PUBS].tolist(),
            met=by_node[:, tal.MET].tolist(),
            barriers=tal.barriers(m, used, table(m, bar.WAVES)[:used, bar.BARRIER]),
            false_positives=int(m[tal.STRAYS]),
            owed=int(m[tal.ALL_OWED]) + owed[0],
            made=int(m[tal.ALL_MADE]) + owed[1],
        )

    def sums(self, at: int) -> Sums:
        count, total, squares, full, least, most = self.block[at : at + tal.SUMS].tolist()
        return Sums(count, total, full * tal.FULL + squares, least, most)
