"""Vitis and its rivals under random schedules: joins, leaves and publications, and things that break."""

from __future__ import annotations

import pytest

from trellis.swarm import Campaign

# Schedules that found something, by order and whether things break: see docs/protocols/vitis.md.
NAMED = [
    ("fifo", True, 20123),  # it joined again where nobody was left, and did not go on from its own last number
    ("unordered", True, 21053),  # it left and came back with something ahead of a gap, and got that once more
    ("unordered", True, 25041),  # it had left for good and joined again, and whoever told it where to begin was behind
]


@pytest.mark.parametrize(("ordering", "faults", "seed"), NAMED)
def test_schedules_that_found_a_hole(ordering: str, faults: bool, seed: int) -> None:
    campaign = Campaign("vitis", ordering, faults=faults)
    campaign.go(seed, 1)
    assert not campaign.failed, campaign.as_dict()


@pytest.mark.parametrize(
    ("overlay", "ordering", "faults", "schedules"),
    [
        ("vitis", "causal", False, 2),
        ("vitis", "causal", True, 2),
        ("vitis", "fifo", True, 2),
        ("vitis", "unordered", True, 2),
        ("rendezvous", "causal", True, 2),
        ("topic-overlay", "unordered", True, 2),
    ],
)
def test_every_subscriber_gets_everything_in_order(overlay: str, ordering: str, faults: bool, schedules: int) -> None:
    campaign = Campaign(overlay, ordering, faults=faults)
    campaign.go(40_000, schedules)
    assert not campaign.failed, campaign.as_dict()
    assert campaign.deliveries > 20 * schedules
