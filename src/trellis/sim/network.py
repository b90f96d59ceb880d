"""How long a packet takes: the networks that a scenario can name.

Source:   VCube-PS section 4, the packet-switched model: one outgoing queue per node, then the link.
Promises: a packet's time depends on the seed, the link and the sender's own count of packets, never on the order in
          which the engine happens to work.
"""

from __future__ import annotations

from trellis import draw
from trellis.scenario.model import Matrix, Queue, Random, Scenario, Sites
from trellis.words import NodeId, Time


class Line:
    """The outgoing queue of every node, and a constant time on every link."""

    def __init__(self, count: int, service: int, propagation: int) -> None:
        self.service = service
        self.propagation = propagation
        self.free: list[Time] = [0] * count  # when each node's queue will be empty
        self.sent = [0] * count  # packets of each node so far

    def times(self, now: Time, sender: NodeId, to: NodeId) -> tuple[Time, Time, int]:
        """Of a packet put into the queue now: when it has left it, when it arrives, its number at its sender."""
        free = self.free[sender]
        leaves = self.free[sender] = (free if free > now else now) + self.service
        number = self.sent[sender] = self.sent[sender] + 1
        return leaves, leaves + self.propagation, number


class Drawn(Line):
    """A time drawn for each packet. On a FIFO link none overtakes the one before it."""

    def __init__(self, count: int, spec: Random, seed: int) -> None:
        super().__init__(count, spec.service, 0)
        self.spec = spec
        self.seed = seed
        self.last: dict[tuple[NodeId, NodeId], Time] = {}

    def times(self, now: Time, sender: NodeId, to: NodeId) -> tuple[Time, Time, int]:
        leaves, _, number = super().times(now, sender, to)
        word = draw.draw(self.seed, draw.LATENCY, sender, to, number)
        arrives = leaves + draw.between(word, self.spec.low, self.spec.high)
        if self.spec.fifo:
            arrives = max(arrives, self.last.get((sender, to), 0))
            self.last[sender, to] = arrives
        return leaves, arrives, number


class Measured(Line):
    """A time per pair of nodes."""

    def __init__(self, count: int, spec: Matrix) -> None:
        super().__init__(count, spec.service, 0)
        self.rows = spec.rows

    def times(self, now: Time, sender: NodeId, to: NodeId) -> tuple[Time, Time, int]:
        leaves, _, number = super().times(now, sender, to)
        return leaves, leaves + self.rows[sender][to], number


class Apart(Line):
    """Sites: a time drawn for each packet, by whether it stays at its site. None overtakes another one of its link."""

    def __init__(self, count: int, spec: Sites, seed: int) -> None:
        super().__init__(count, 0, 0)
        self.site = [spec.site(node) for node in range(count)]
        self.near, self.far = (spec.short, spec.short_spread), (spec.long, spec.long_spread)
        self.seed = seed
        self.last: dict[tuple[NodeId, NodeId], Time] = {}

    def times(self, now: Time, sender: NodeId, to: NodeId) -> tuple[Time, Time, int]:
        leaves, _, number = super().times(now, sender, to)
        mean, spread = self.near if self.site[sender] == self.site[to] else self.far
        arrives = leaves + draw.bell(draw.draw(self.seed, draw.LATENCY, sender, to, number), mean, spread)
        arrives = self.last[sender, to] = max(arrives, self.last.get((sender, to), 0))
        return leaves, arrives, number


def network_of(scenario: Scenario) -> Line:
    count, spec = scenario.nodes.count, scenario.network
    match spec:
        case Queue():
            return Line(count, spec.service, spec.propagation)
        case Random():
            return Drawn(count, spec, scenario.seed)
        case Matrix():
            return Measured(count, spec)
        case Sites():
            return Apart(count, spec, scenario.seed)
        case _:
            return Line(count, 0, 1)  # rounds: a packet arrives in the next one
