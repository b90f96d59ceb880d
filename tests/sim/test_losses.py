"""Packets of an ordering that never arrive: what a scenario can lose, and what of it shows."""

from __future__ import annotations

import pytest

from trellis.protocols import OVERLAYS
from trellis.scenario.model import Faults, Fraction, Lose, Nodes, OnceEach, Random, Scenario, StackSpec
from trellis.sim import Run, run
from trellis.swarm import lose_replies, schedule

WORDS = 12 * 5  # of twelve nodes on five topics


def world(lose: list[Lose], overlay: str = "vcube", ordering: str = "total", seed: int = 1) -> Run:
    return run(
        Scenario(
            name="losses",
            seed=seed,
            stack=StackSpec(overlay=overlay, ordering=ordering, retry=5000),
            nodes=Nodes(count=12),
            subscriptions=Fraction(fraction=1.0, topics=5),
            workload=OnceEach(publishers=1.0, window=500),
            network=Random(low=1, high=200),
            faults=Faults(lose=lose),
        )
    )


def sent_and_received(found: Run, kind: str) -> tuple[int, int]:
    rows = [row.kind for row in found.trace.rows() if row.packet == kind]
    return rows.count("send"), rows.count("receive")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_share_of_the_packets_of_one_kind_is_sent_and_never_arrives(overlay: str) -> None:
    found = world([Lose(packet="STAMP", share=0.25)], overlay)
    sent, received = sent_and_received(found, "STAMP")
    assert 0.1 < 1 - received / sent < 0.4
    for kind in ("ASK", "CLIMB", "PUB"):
        sent, received = sent_and_received(found, kind)
        assert sent == received > 0
    assert len(found.trace.of_kind("deliver")) == 12 * WORDS, "what was lost was asked for again"


def test_who_is_unlucky_does_not_depend_on_what_else_is_lost() -> None:
    def unlucky(*kinds: str) -> set[tuple[int, str]]:
        """Sources and topics of messages whose first timestamp did not arrive."""
        found = world([Lose(packet=kind, share=0.2) for kind in kinds])
        rows = [row for row in found.trace.rows() if row.packet == "STAMP"]
        first: dict[tuple[int, str, int], int] = {}  # when it was sent
        for row in rows:
            if row.kind == "send":
                first.setdefault((row.source, row.topic, row.peer), row.at)
        soon = {
            (r.source, r.topic) for r in rows if r.kind == "receive" and r.at <= first[r.source, r.topic, r.node] + 200
        }
        return {(source, topic) for source, topic, _ in first} - soon

    assert unlucky("STAMP") == unlucky("STAMP", "ASK") != set()
    assert unlucky("ASK") == set()


def test_nothing_is_lost_at_a_share_of_zero() -> None:
    plain, none = world([]), world([Lose(packet="STAMP", share=0.0)])
    assert none.trace.digest() == plain.trace.digest()


def test_a_world_that_loses_has_one_digest() -> None:
    scenario = lose_replies(schedule(2, "vcube", "total-printed"), 0.01)
    first = run(scenario).trace.digest()
    assert run(scenario).trace.digest() == first
    assert first != run(lose_replies(schedule(2, "vcube", "total-printed"), 0.5)).trace.digest()
