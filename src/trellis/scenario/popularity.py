"""Who is interested in what: a power law over topics, the same everywhere or one for each site.

Source:   TNO (seed paper 001), section 5.2.
Promises: a client's interests depend on the seed, its id and the law alone: with more topics each it has the same ones
          and some more.
Departs:  the paper does not say how a site ranks the topics of others. Here each site has the same ring of topics and
          begins with its own: with `near`, site s of S begins s / S of the way round.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis import draw
from trellis.errors import ScenarioError
from trellis.events import Publish
from trellis.scenario.model import Popular, Requests, Scenario, Sites
from trellis.words import NodeId, Time, Topic


class Law:
    """Weights of the topics for the clients of each site."""

    def __init__(self, scenario: Scenario, spec: Popular) -> None:
        self.scenario = scenario
        self.spec = spec
        self.names = scenario.topic_names()
        self.weights = draw.zipf_weights(spec.topics, spec.exponent)
        network = scenario.network
        self.sites = network if isinstance(network, Sites) else None
        self.count = 1 + max(self.sites.sites) if self.sites else 1

    def clients(self) -> range:
        return range(self.spec.clients, self.scenario.nodes.count)

    def first(self, node: NodeId) -> int:
        """The topic that is the most popular one where a node is."""
        if self.sites is None or not self.spec.near:
            return 0
        return self.sites.site(node) * self.spec.topics // self.count

    def interests(self, node: NodeId) -> list[tuple[int, int]]:
        """The topics of a client and their weights, in the order in which they were drawn."""
        first, topics = self.first(node), self.spec.topics
        ranks = draw.interests(self.scenario.seed, node, self.weights, self.spec.each)
        return [((first + rank) % topics, self.weights[rank]) for rank in ranks]


def popular(scenario: Scenario, spec: Popular) -> dict[Topic, tuple[NodeId, ...]]:
    """Who subscribes to each topic."""
    if spec.each > spec.topics:
        raise ScenarioError(f"subscriptions.each = {spec.each}: there are only {spec.topics} topics; use at most that")
    if spec.clients >= scenario.nodes.count:
        raise ScenarioError(
            f"subscriptions.clients = {spec.clients}: there are {scenario.nodes.count} nodes, so none is a client; "
            f"lower it or raise nodes.count"
        )
    law = Law(scenario, spec)
    members: list[list[NodeId]] = [[] for _ in law.names]
    for node in law.clients():
        for topic, _ in law.interests(node):
            members[topic].append(node)
    return {name: tuple(nodes) for name, nodes in zip(law.names, members, strict=True)}


def requests(scenario: Scenario, workload: Requests) -> Iterable[tuple[Time, NodeId, Publish]]:
    """Section 5.2: at each site, publications follow the law of the subscriptions."""
    spec = scenario.subscriptions
    if not isinstance(spec, Popular):
        raise ScenarioError("workload.kind = 'requests': only clients of subscriptions of kind 'popular' speak so")
    law = Law(scenario, spec)
    for node in law.clients():
        mine = law.interests(node)
        total, at = sum(weight for _, weight in mine), 0
        for turn in range(1 << 40):
            at += draw.exponential(draw.draw(scenario.seed, draw.INTERVAL, node, turn), workload.interval)
            if at > workload.until:
                break
            left = draw.draw(scenario.seed, draw.TOPIC, node, turn) % total
            for topic, weight in mine:
                left -= weight
                if left < 0:
                    yield at, node, Publish(law.names[topic], b"news")
                    break
