"""Nodes that die and come back, whatever host they live on.

Promises: whoever dies forgets everything but the number of its life and what it wrote down (`Keep`). Back again it is
          another machine, that knows of nobody (`Place.alone`); its application asks again for what it had. How others
          notice, and when, is for the host to say.
"""

from __future__ import annotations

from typing import Any

import msgspec

from trellis.effects import Keep
from trellis.events import Event, Kept, Subscribe, Unsubscribe
from trellis.scenario.model import Crash, Scenario
from trellis.sim.calendar import APPLICATION, FAULT
from trellis.sim.host import BUILD, Host
from trellis.words import MessageId, NodeId, Time, Topic


class Breaks(msgspec.Struct, frozen=True):
    """A node dies."""


class Starts(msgspec.Struct, frozen=True):
    """It comes back."""


class MortalHost(Host):
    """The lives of nodes."""

    def __init__(self, scenario: Scenario, build: BUILD | None = None) -> None:
        self.dead: set[NodeId] = set()
        self.disks: list[dict[str, Any]] = [{} for _ in range(scenario.nodes.count)]
        self.incarnations = [0] * scenario.nodes.count
        self.wanted: list[dict[Topic, None]] = [{} for _ in range(scenario.nodes.count)]
        self.pushed = 0
        super().__init__(scenario, build)

    def begin(self) -> None:
        super().begin()
        for topic, members in self.plan.standing.items():
            for node in members:
                self.wanted[node][topic] = None

    def foresee(self, crash: Crash) -> None:
        self.push(crash.at, crash.node, FAULT, -1, Breaks())
        if crash.restart is not None:
            self.push(crash.restart, crash.node, FAULT, -1, Starts())

    def push(self, at: Time, node: NodeId, kind: int, peer: int, event: object) -> None:
        self.pushed += 1
        self.calendar.push(at, (node, kind, peer, self.pushed, event, b""))  # type: ignore[arg-type]

    def act(self, node: NodeId, event: Event) -> None:
        match event:
            case Subscribe():
                self.wanted[node][event.topic] = None
            case Unsubscribe():
                self.wanted[node].pop(event.topic, None)
        super().act(node, event)

    def write_down(self, node: NodeId, effect: Keep) -> None:
        if effect.value is None:
            self.disks[node].pop(effect.key, None)
        else:
            self.disks[node][effect.key] = effect.value

    def end_life(self, node: NodeId) -> None:
        self.record_life("crash", node)
        self.dead.add(node)
        self.timers = {key: number for key, number in self.timers.items() if key[0] != node}

    def begin_life(self, node: NodeId) -> None:
        """Back, with nothing but the number of its life and what it wrote down."""
        self.dead.discard(node)
        self.incarnations[node] += 1
        place = msgspec.structs.replace(self.place(node), incarnation=self.incarnations[node], alone=True)
        self.machines[node] = self.build(place)
        self.record_life("start", node)
        if self.disks[node]:
            self.carry_out(node, self.machines[node].step(self.now, Kept(dict(self.disks[node]))))

    def subscribe_again(self, node: NodeId) -> None:
        at = self.now + self.scenario.time_to_rejoin()
        for topic in self.wanted[node]:
            self.push(at, node, APPLICATION, 1, Subscribe(topic))

    def record_life(self, kind: str, node: NodeId) -> None:
        self.record(kind, node, MessageId((node, self.incarnations[node]), "", 0))

    def application_id(self, node: NodeId, topic: Topic) -> MessageId:
        return MessageId((node, self.incarnations[node]), topic, 0)
