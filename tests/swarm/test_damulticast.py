"""damulticast under random schedules: topics that include each other, joins and leaves, and things that break."""

from __future__ import annotations

import pytest

from trellis.machine import Machine, Place
from trellis.protocols import ORDERINGS
from trellis.protocols.overlays.damulticast import DaMulticast
from trellis.protocols.overlays.damulticast_group import Group
from trellis.protocols.stack import Stack
from trellis.scenario.model import Scenario
from trellis.sim import run
from trellis.swarm import Campaign
from trellis.swarm.schedule import beat
from trellis.swarm.trees import trees
from trellis.words import NodeId, Packet, Topic

# Schedules that found something, by order and whether things break: see docs/protocols/damulticast.md.
NAMED = [
    ("causal", False, 39),  # it joined a topic and one above at once, and took what came in between for old
    ("causal", False, 77),  # it left the topic above while the one that it wanted for itself had no group yet
    ("causal", False, 185),  # it left a topic before it could say what it had said, and came back above
    ("causal", False, 8),  # it was handed what was below a topic that it did not want any more
    ("causal", False, 5117),  # what it had said itself in an earlier subscription came back to it
    ("unordered", True, 2),  # all who remembered the topic died before they answered
    ("unordered", True, 82),  # the last of a group left while those above it were out of reach
    ("fifo", True, 279),  # whoever could not help had left when there was nobody else to ask
    ("causal", True, 51056),  # somebody came back, and the last of its group left before it had found it again
]


@pytest.mark.parametrize(("ordering", "faults", "seed"), NAMED)
def test_schedules_that_found_a_hole(ordering: str, faults: bool, seed: int) -> None:
    campaign = Campaign("damulticast", ordering, faults=faults, hierarchy=True)
    campaign.go(seed, 1)
    assert not campaign.failed, campaign.as_dict()


@pytest.mark.parametrize(("ordering", "faults", "schedules"), [("causal", False, 15), ("fifo", True, 8)])
def test_every_subscriber_gets_what_is_below_its_topics_in_order(ordering: str, faults: bool, schedules: int) -> None:
    campaign = Campaign("damulticast", ordering, faults=faults, hierarchy=True)
    campaign.go(40_000, schedules)
    assert not campaign.failed, campaign.as_dict()
    assert campaign.deliveries > 20 * schedules


class Watched(DaMulticast):
    """Counts events that come to a process which is in no group that includes them."""

    events = 0
    parasites = 0

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        self.settle_standing()
        for message in packet.messages:
            Watched.events += 1
            Watched.parasites += not any(self.tree.reaches(group, message.id.topic) for group in self.groups)
        super().upon_receive(sender, packet)


class Hasty(Watched):
    """Leaves at once, as nobody should."""

    def leave(self, topic: Topic) -> None:
        super().leave(topic)
        group = self.groups.get(topic)
        if group is not None and not group.parting:
            self.depart(group)

    def depart(self, group: Group) -> None:
        if group.topic in self.groups:
            super().depart(group)


def parasites(kind: type[Watched], schedules: int) -> int:
    Watched.events = Watched.parasites = 0
    for seed in range(60_000, 60_000 + schedules):
        run(world(seed), build=lambda place, seed=seed: watched(kind, place, world(seed)))
    assert Watched.events > 50 * schedules
    return Watched.parasites


def world(seed: int) -> Scenario:
    return beat(trees(seed, "damulticast", "unordered"))


def watched(kind: type[Watched], place: Place, scenario: Scenario) -> Machine:
    options = {**DaMulticast.options, **scenario.stack.options()}
    return Stack(ORDERINGS["unordered"](place), kind(place, **options))


def test_nobody_is_sent_an_event_that_it_does_not_want_while_others_join_and_leave() -> None:
    assert parasites(Watched, 15) == 0


def test_whoever_left_at_once_would_be() -> None:
    assert parasites(Hasty, 15) > 0
