"""Who is interested in what: topics in buckets, of which every node chooses a few.

Source:   Vitis (seed paper 004), section IV-A: 50 of 5,000 topics, uniformly ("random"), from 5 of 100 buckets ("low
          correlation"), or from 2 ("high correlation"). All topics are equally popular on average.
Promises: a node's interests depend on the seed and its id alone.
Departs:  the paper does not say which topics make a bucket. Here those that follow each other: bucket b of B begins at
          topic b * topics / B. A topic's name says nothing of its place in an overlay, so that is as good as any.
"""

from __future__ import annotations

from trellis import draw
from trellis.scenario.model import Buckets, Scenario
from trellis.words import NodeId, Topic

NOBODY = -1  # none of those to draw from is left out


def drawn(scenario: Scenario, spec: Buckets) -> dict[Topic, tuple[NodeId, ...]]:
    """Who subscribes to each topic."""
    members: list[list[NodeId]] = [[] for _ in range(spec.topics)]
    for node in range(scenario.nodes.count):
        for topic in interests(scenario.seed, spec, node):
            members[topic].append(node)
    return {name: tuple(nodes) for name, nodes in zip(scenario.topic_names(), members, strict=True)}


def interests(seed: int, spec: Buckets, node: NodeId) -> list[int]:
    """The topics of a node, bucket by bucket, in the order in which they were drawn."""
    if not spec.of:
        return draw.few(seed, draw.BUCKET_TOPIC, range(spec.topics), spec.each, NOBODY, node)
    chosen = draw.few(seed, draw.BUCKET, range(spec.buckets), spec.of, NOBODY, node)
    return [
        topic
        for bucket in chosen
        for topic in draw.few(
            seed, draw.BUCKET_TOPIC, topics_of(spec, bucket), spec.each // spec.of, NOBODY, node, bucket
        )
    ]


def topics_of(spec: Buckets, bucket: int) -> range:
    return range(bucket * spec.topics // spec.buckets, (bucket + 1) * spec.topics // spec.buckets)
