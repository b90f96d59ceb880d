"""Overlays that grow like a vine, in rounds, and what can be seen of them from above."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from groves import checked

from trellis.protocols.overlays.vine import Vine
from trellis.protocols.parts.ring import closest, distance, of_node, of_topic
from trellis.scenario.model import Scenario
from trellis.sim.cycles import ChurningHost, CycleHost
from trellis.words import NodeId, Topic

CORRELATIONS = {"random": 0, "low": 5, "high": 2}  # section IV-A: buckets from which a node has its topics
FAR_AWAY = 1 << 20  # a round that never comes


def world(overlay: str, nodes: int, correlation: str = "low", **more: Any) -> Scenario:
    """The settings of section IV-A, smaller: as many nodes on a topic. Nothing is said unless it is asked for."""
    stack = {"overlay": overlay, "ordering": "unordered", "repair": 0, **more.get("stack", {})}
    raw = {
        "name": "vine",
        "seed": more.get("seed", 0),
        "end": more.get("end", FAR_AWAY),
        "stack": stack,
        "nodes": {"count": nodes},
        "subscriptions": more.get(
            "subscriptions",
            {"kind": "buckets", "topics": 2 * nodes, "each": 20, "buckets": 10, "of": CORRELATIONS[correlation]},
        ),
        "workload": {"kind": "explicit", "messages": more.get("messages", [])},
        "network": {"kind": "cycles", "upkeep": False, **more.get("network", {})},
    }
    if "faults" in more:
        raw["faults"] = more["faults"]
    return checked(raw)


class Vineyard:
    """All nodes of a run, which a test can stop at any round."""

    def __init__(self, scenario: Scenario, kind: type[CycleHost] = CycleHost) -> None:
        self.host = kind(scenario)
        self.seed = scenario.seed
        self.topics = scenario.topic_names()

    def until(self, number: int) -> Vineyard:
        while (at := self.host.calendar.next_time()) is not None and at <= number:
            self.host.step()
        return self

    def rounds(self, most: int, done: Callable[[], bool]) -> int:
        """How many it takes until something holds."""
        began = self.host.now
        while not done():
            assert self.host.now - began <= most, f"not after {most} rounds"
            self.until(self.host.now + 1)
        return self.host.now - began

    def kill(self, node: NodeId) -> None:
        assert isinstance(self.host, ChurningHost)
        self.host.end_life(node)

    @property
    def vines(self) -> dict[NodeId, Vine]:
        """Those that live."""
        dead = getattr(self.host, "dead", ())
        return {node: one.overlay for node, one in enumerate(self.host.machines) if node not in dead}  # type: ignore[attr-defined]

    def vine(self, node: NodeId) -> Any:
        return self.vines[node]

    # The ring

    def around(self) -> list[tuple[int, NodeId]]:
        return sorted((of_node(self.seed, node), node) for node in self.vines)

    def torn(self) -> list[tuple[NodeId, NodeId]]:
        """Who does not know whoever comes before or after it."""
        around = [node for _, node in self.around()]
        sides = [
            *zip(around, around[1:] + around[:1], strict=True),
            *zip(around, around[-1:] + around[:-1], strict=True),
        ]
        return [(node, other) for node, other in sides if node != other and not self.heard(node, other)]

    def heard(self, node: NodeId, other: NodeId) -> bool:
        known = self.vine(node).neighbours.known
        return other in known and known[other].spoke

    def one_way(self) -> list[tuple[NodeId, NodeId]]:
        vines = self.vines
        return [(a, b) for a, one in vines.items() for b in one.neighbours.known if a not in vines[b].neighbours.known]

    def rendezvous(self, topic: Topic) -> NodeId:
        """Plainly: whoever is closest of all."""
        to = of_topic(self.seed, topic)
        around = self.around()
        found = around[closest(around, to)]
        assert distance(found[0], to) == min(distance(point, to) for point, _ in around)
        return found[1]

    def look_up(self, node: NodeId, topic: Topic) -> list[NodeId]:
        """The nodes that a lookup goes through."""
        found = [node]
        while (hop := self.vine(found[-1]).hop(topic)) is not None:
            assert hop not in found, f"{found} goes back to {hop}"
            found.append(hop)
        return found

    # Topics

    def members(self, topic: Topic) -> set[NodeId]:
        return {node for node, one in self.vines.items() if topic in one.taken}

    def clusters(self, topic: Topic) -> list[set[NodeId]]:
        """Section III-B: nodes that take the topic and are linked by such."""
        found = []
        rest = self.members(topic)
        while rest:
            inside = self.spread([min(rest)], lambda node: self.vine(node).fellows(topic))
            found.append(inside)
            rest -= inside
        return found

    def spread(self, start: Iterable[NodeId], on: Callable[[NodeId], Iterable[NodeId]]) -> set[NodeId]:
        vines = self.vines
        found, fresh = set(start), list(start)
        while fresh:
            for node in on(fresh.pop()):
                if node in vines and node not in found:
                    found.add(node)
                    fresh.append(node)
        return found

    def notified(self, node: NodeId, topic: Topic) -> set[NodeId]:
        """Whom a notification by this node would reach, if nothing changed."""

        def on(at: NodeId) -> Iterable[NodeId]:
            one = self.vine(at)
            return one.ways(topic) if topic in one.taken or one.carries(topic) else ()

        return self.spread([node], on)

    def whole(self, topics: Iterable[Topic]) -> bool:
        """Whether all who take one of these would hear of whatever one of them says."""
        for topic in topics:
            members = self.members(topic)
            if any(not members <= self.notified(node, topic) for node in members):
                return False
        return True

    def gateways(self, topic: Topic) -> list[NodeId]:
        return [node for node in sorted(self.members(topic)) if self.vine(node).is_gateway(topic)]
