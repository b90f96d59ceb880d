"""Timestamps alone, on the compiled engine: a scenario of `total` up to the timestamp, and what came of it.

Answers to `stamped` of experiments/tno/stamping.py as it runs on the machines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trellis.protocols.parts.groups import Desks
from trellis.scenario.model import Popular, Requests, Scenario
from trellis.sim.fast import applications as app
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast.driver import Driver
from trellis.sim.fast.memory import NONE, Block, Table, block, table
from trellis.sim.fast.total import audience as aud
from trellis.sim.fast.total import sequencer as kernel
from trellis.sim.fast.total import sites
from trellis.sim.fast.total.desks import covers, option
from trellis.trace.table import Trace
from trellis.words import Time

NAME_BYTES = 2  # of an entry, before the name itself: an array of two, and a string of less than 32


class Sequenced(NamedTuple):
    """What a run of timestamps is measured by."""

    asked_at: Block  # of each message that has its timestamp, in their order
    stamped_at: Block
    entries: Block
    sent: dict[str, int]  # packets by kind, in the order of the first of each
    forwarded: list[int]  # per node before the clients: bytes of timestamps to other desks
    answered: list[int]  # to whoever asked
    returned: list[int]  # back to their home


class Sequencing(Driver):
    """One run."""

    def __init__(self, scenario: Scenario, rule: str, kept: bool = False) -> None:
        covers(scenario, rule)
        told, workload = scenario.subscriptions, scenario.workload
        assert isinstance(told, Popular)
        assert isinstance(workload, Requests)
        self.scenario = scenario
        self.rule = rule
        self.names = scenario.topic_names()
        self.patient = workload.patient
        self.desks = Desks(min(option(scenario, "desks"), scenario.nodes.count), block=option(scenario, "block"))
        self.clients = aud.audience(scenario, told, workload)
        self.rows = out.lines(1 << 16, kept)
        self.block = self.begin()

    def begin(self) -> Block:
        nodes, topics, desks, acts = self.scenario.nodes.count, len(self.names), self.desks.count, len(self.clients.at)
        homes = np.array([self.desks.of(name) for name in self.names], np.int64)
        others, starts = aud.groups(self.clients.topics, homes, desks, self.rule)
        rooms: dict[Table, int] = {
            **cal.rooms(1 << max(10, (8 * nodes).bit_length()), nodes),
            sites.STATIONS: nodes,
            sites.LINKS: desks * nodes,
            app.ACTIONS: acts,
            kernel.TOPICS: topics,
            kernel.STARTS: len(starts),
            kernel.OTHERS: len(others),
            kernel.KNOWN: desks * topics,
            kernel.CLIENTS: nodes,
            kernel.LINES: self.clients.topics.size,
            kernel.MESSAGES: acts,
            kernel.QUESTIONS: acts,
            kernel.SPREAD: acts,
            kernel.SPENT: self.clients.first,
            kernel.USES: len(kernel.PACKETS),
        }
        self.tables = list(rooms)
        m = block(rooms)
        cal.begin(m)
        sites.begin(m, self.scenario)
        m[kernel.DESKS], m[kernel.ALL_TOPICS], m[kernel.PATIENT] = desks, topics, self.patient
        m[kernel.FIRST_CLIENT], m[kernel.EACH] = self.clients.first, self.clients.topics.shape[1]
        table(m, kernel.STARTS)[:, 0], table(m, kernel.OTHERS)[:, 0] = starts, others
        self.begin_topics(table(m, kernel.TOPICS), homes, starts)
        table(m, kernel.CLIENTS)[:, kernel.FIRST_UNSAID :] = NONE
        lines = table(m, kernel.LINES)
        lines[:, kernel.ABOUT] = self.clients.topics.ravel()
        lines[:, [kernel.OLDEST, kernel.NEWEST]] = NONE
        self.begin_actions(m)
        self.confirm()
        return m

    def begin_topics(self, found: Block, homes: Block, starts: Block) -> None:
        """The highest desk of a topic is the first that has one of its group, or its own."""
        desks = self.desks.count
        found[:, kernel.HOME] = homes
        found[:, kernel.NAMED] = [NAME_BYTES + len(name) for name in self.names]
        has_some = np.diff(starts).reshape(len(homes), desks) > 0
        has_some[np.arange(len(homes)), homes] = True
        found[:, kernel.HIGHEST] = has_some.argmax(axis=1)

    def begin_actions(self, m: Block) -> None:
        clients = self.clients
        m[app.ALL_ACTIONS] = len(clients.at)
        actions, line = table(m, app.ACTIONS), (clients.who - clients.first) * m[kernel.EACH] + clients.which
        actions[:, app.AT], actions[:, app.ACTOR], actions[:, app.DOES] = clients.at, clients.who, app.SAY
        actions[:, app.ABOUT] = clients.topics.ravel()[line]
        table(m, kernel.MESSAGES)[:, kernel.LINE] = line

    def confirm(self) -> None:
        """Those who stand, by topic."""
        if not self.rows[out.KEPT]:
            return
        topics = self.clients.topics
        order = np.argsort(topics.ravel(), kind="stable")
        for topic, client in zip(topics.ravel()[order], order // topics.shape[1], strict=True):
            if not out.has_room(self.rows, 1):
                self.rows = out.grown(self.rows)
            node = int(self.clients.first + client)
            out.write(self.rows, 0, 0, out.CONFIRM, node, out.own(len(self.names), node, int(topic)), 0, -1, 0, 0)

    def go_on(self, end: Time, due: int) -> int:
        return kernel.go_on(self.block, self.rows, end, due)

    def grow(self) -> None:
        if int(self.block[app.LACKING]) == app.IN_ROWS:
            self.rows = out.grown(self.rows)
        else:
            self.block = cal.grown(self.block, self.tables)

    @property
    def now(self) -> Time:
        return int(self.block[cal.NOW])

    @property
    def events(self) -> int:
        return int(self.block[app.EVENTS])

    @property
    def quiet(self) -> bool:
        return bool(cal.is_empty(self.block))

    def found(self) -> Sequenced:
        m = self.block
        done = table(m, kernel.SPREAD)[: int(m[kernel.DONE]), 0]
        messages, spent = table(m, kernel.MESSAGES)[done], table(m, kernel.SPENT)
        uses = [(int(since), kind, int(times)) for kind, (times, since) in enumerate(table(m, kernel.USES)) if times]
        sent = {kernel.PACKETS[kind]: times for _, kind, times in sorted(uses)}
        at, stamped, entries = (messages[:, cell] for cell in (kernel.SAID_AT, kernel.SPREAD_AT, kernel.ENTRIES))
        bytes_of = (spent[:, cell].tolist() for cell in (kernel.FORWARDED, kernel.ANSWERED, kernel.RETURNED))
        return Sequenced(at, stamped, entries, sent, *bytes_of)

    def trace(self) -> Trace:
        topics, seqs = table(self.block, app.ACTIONS)[:, app.ABOUT], table(self.block, kernel.MESSAGES)[:, kernel.SEQ]
        return out.trace(self.rows, np.stack([self.clients.who, topics, seqs], axis=1), self.names, kernel.PACKETS)
