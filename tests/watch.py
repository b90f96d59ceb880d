"""Detectors under one calendar, with links that break, close and are dialled again, as a live host does it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import combinations

from trellis.effects import Accuse, CancelTimer, Effect, Send, SetTimer
from trellis.events import Event, Receive, Restore, Suspect, Timeout
from trellis.machine import Place
from trellis.protocols.parts import detector
from trellis.protocols.parts.detector import Detector
from trellis.words import NodeId, Packet, Time

SIZE = 1 << 30


class Watch:
    def __init__(self, places: Iterable[NodeId], interval: int = 500, limit: int = 1000, news: bool = True) -> None:
        self.build: Callable[[NodeId], Detector] = lambda node: Detector(Place(node, SIZE), interval, limit, news)
        self.nodes = {node: self.build(node) for node in places}
        self.interval, self.latency, self.redial = interval, 3, 70
        self.now: Time = 0
        self.due: list[tuple[Time, int, Callable[[], None]]] = []
        self.pushed = 0
        self.timers: dict[tuple[NodeId, str], int] = {}
        self.links: set[frozenset[NodeId]] = set()
        self.dead: set[NodeId] = set()
        self.stopped: dict[NodeId, list[Event]] = {}
        self.deaf: set[tuple[NodeId, NodeId]] = set()  # what the first sends does not reach the second
        self.sent: list[tuple[Time, NodeId, NodeId, Packet]] = []
        self.accused: list[tuple[Time, NodeId, NodeId]] = []
        for number, (i, j) in enumerate(combinations(self.nodes, 2)):  # they do not all begin at once
            self.after(number * 37 % interval, lambda i=i, j=j: self.link(i, j))  # type: ignore[misc]
        self.run(2 * interval)

    def after(self, delay: Time, what: Callable[[], None]) -> None:
        self.pushed += 1
        heapq.heappush(self.due, (self.now + delay, self.pushed, what))

    def run(self, time: Time) -> None:
        end = self.now + time
        while self.due and self.due[0][0] <= end:
            self.now, _, what = heapq.heappop(self.due)
            what()
        self.now = end

    def tell(self, node: NodeId, event: Event) -> None:
        if node in self.stopped:
            self.stopped[node].append(event)
        elif node not in self.dead:
            for effect in self.nodes[node].step(self.now, event):
                self.carry_out(node, effect)

    def carry_out(self, node: NodeId, effect: Effect) -> None:
        match effect:
            case Send(to, packet):
                self.sent.append((self.now, node, to, packet))
                if {node, to} in self.links and (node, to) not in self.deaf:
                    self.after(self.latency, lambda: self.tell(to, Receive(node, packet)))
            case SetTimer(name, delay):
                self.timers[node, name] = number = self.pushed
                self.after(delay, lambda: self.time_out(node, name, number))
            case CancelTimer(name):
                self.timers.pop((node, name), None)
            case Accuse(other):
                self.accused.append((self.now, node, other))
                self.close(node, other)
            case _:
                raise AssertionError(effect)

    def time_out(self, node: NodeId, name: str, number: int) -> None:
        if self.timers.get((node, name)) == number:
            del self.timers[node, name]
            self.tell(node, Timeout(name))

    # Links

    def link(self, i: NodeId, j: NodeId) -> None:
        """Dial, and again until the other answers."""
        unwell = self.dead | self.stopped.keys()
        if {i, j} & unwell or {(i, j), (j, i)} & self.deaf:
            self.after(self.redial, lambda: self.link(i, j))
        elif {i, j} not in self.links:
            self.links.add(frozenset({i, j}))
            self.tell(i, Restore(j, 0))
            self.tell(j, Restore(i, 0))

    def close(self, i: NodeId, j: NodeId) -> None:
        """By i. The other sees it, if what i sends reaches it."""
        if {i, j} in self.links:
            self.links.remove(frozenset({i, j}))
            if (i, j) not in self.deaf:
                self.after(self.latency, lambda: self.tell(j, Suspect(i)))
            self.after(self.redial, lambda: self.link(i, j))

    def break_link(self, i: NodeId, j: NodeId) -> None:
        self.close(i, j)
        self.tell(i, Suspect(j))

    # Nodes

    def vanish(self, node: NodeId) -> None:
        """Its machine lost power: no link breaks."""
        self.dead.add(node)

    def kill(self, node: NodeId) -> None:
        """Its process died: every link breaks."""
        self.dead.add(node)
        for other in self.nodes:
            self.close(node, other)

    def restart(self, node: NodeId) -> None:
        self.dead.remove(node)
        self.nodes[node] = self.build(node)

    def stop(self, node: NodeId) -> None:
        self.stopped[node] = []

    def go_on(self, node: NodeId) -> None:
        """Whatever ran out or came meanwhile is seen now, timers first."""
        missed = self.stopped.pop(node)
        for event in sorted(missed, key=lambda event: not isinstance(event, Timeout)):
            self.tell(node, event)

    # What is known

    def held_dead(self, node: NodeId) -> list[NodeId]:
        return sorted(other for other, counter in self.nodes[node].counters.items() if counter % 2)

    def all_know(self, dead: Iterable[NodeId]) -> bool:
        wanted = sorted(dead)
        return all(self.held_dead(node) == wanted for node in self.nodes.keys() - self.dead - self.stopped.keys())

    def time_until_all_know(self, dead: Iterable[NodeId], most: Time) -> Time:
        began = self.now
        while not self.all_know(dead):
            assert self.now - began <= most, {node: self.held_dead(node) for node in self.nodes.keys() - self.dead}
            self.run(self.latency)
        return self.now - began

    def tests(self, since: Time) -> list[tuple[NodeId, NodeId]]:
        return [(i, j) for at, i, j, packet in self.sent if at > since and isinstance(packet, detector.Test)]
