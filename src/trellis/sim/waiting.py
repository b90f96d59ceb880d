"""The event-driven host where some have to wait: packets at a busy server, clients for their own last message.

Promises: as `host.py`. A server handles one packet after the other, in the order in which they came; the row `receive`
          says when a packet came, and what the machine does about it comes when it was handled. A patient client
          publishes when its message before has been handed to the overlay; the row `publish` says when it did.
"""

from __future__ import annotations

from collections import deque

from trellis.effects import Effect, Note
from trellis.events import Event, Publish
from trellis.scenario.model import Requests, Scenario, Sites
from trellis.sim.calendar import APPLICATION, PACKET, Entry
from trellis.sim.host import BUILD, Host
from trellis.words import NodeId, Time

SERVED = 6  # a kind of entry, after all of calendar.py: a packet that came before has been handled


class WaitingHost(Host):
    """Servers with a queue, and clients that can be patient."""

    def __init__(self, scenario: Scenario, build: BUILD | None = None) -> None:
        network, workload = scenario.network, scenario.workload
        self.servers, self.service = (network.servers, network.service) if isinstance(network, Sites) else (0, 0)
        self.patient = isinstance(workload, Requests) and workload.patient
        self.busy: list[Time] = [0] * self.servers  # until when
        self.speaking: set[NodeId] = set()  # their message has not been handed down yet
        self.unsaid: dict[NodeId, deque[Event]] = {}
        super().__init__(scenario, build)

    def work_off(self, entries: list[Entry]) -> None:
        now = self.now
        for entry in entries:
            node, kind, peer, number, event, line = entry
            if kind == PACKET:
                self.recorder.lines += line
                if node < self.servers and self.service:
                    self.busy[node] = max(self.busy[node], now) + self.service
                    self.calendar.push(self.busy[node], (node, SERVED, peer, number, event, b""))
                    continue
            elif kind == APPLICATION:
                self.act(node, event)
                continue
            elif kind != SERVED and not self.runs_out(node, event, number):
                continue
            self.carry_out(node, self.machines[node].step(now, event))

    def act(self, node: NodeId, event: Event) -> None:
        if self.patient and isinstance(event, Publish):
            if node in self.speaking:
                self.unsaid.setdefault(node, deque()).append(event)
                return
            self.speaking.add(node)
        super().act(node, event)

    def carry_out_rare(self, node: NodeId, effect: Effect) -> None:
        super().carry_out_rare(node, effect)
        if self.patient and isinstance(effect, Note) and effect.kind == "spread":
            self.speaking.discard(node)
            if unsaid := self.unsaid.get(node):
                self.timers_set += 1  # a number that nobody else has
                self.calendar.push(self.now, (node, APPLICATION, 1, self.timers_set, unsaid.popleft(), b""))
