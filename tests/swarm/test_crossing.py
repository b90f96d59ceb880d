"""Random schedules of several topics whose subscriptions cross, for orders that reach across topics."""

from __future__ import annotations

import msgspec
import pytest

from trellis.audit import judge, promises_of
from trellis.protocols.parts.desk import Desk
from trellis.protocols.parts.desk_packets import Climb
from trellis.protocols.parts.groups import Desks, Groups
from trellis.scenario.model import (
    Change,
    Explicit,
    Matrix,
    Nodes,
    Publication,
    Random,
    Scenario,
    Script,
    StackSpec,
)
from trellis.sim import run
from trellis.swarm import Campaign, schedule
from trellis.words import Topic


def tried(overlay: str, ordering: str, schedules: int, seed: int = 0) -> Campaign:
    campaign = Campaign(overlay, ordering)
    campaign.go(seed, schedules)
    return campaign


def test_total_order_holds_across_topics_while_others_come_and_go() -> None:
    campaign = tried("vcube", "total", 150)
    assert campaign.failures == {}
    assert campaign.violations == dict.fromkeys(promises_of("total", {"across": 1}), 0)
    assert campaign.deliveries > 15_000


@pytest.mark.parametrize("overlay", ["single-root", "brokers"])
def test_total_order_holds_on_other_overlays(overlay: str) -> None:
    campaign = tried(overlay, "total", 30)
    assert campaign.failures == {}
    assert campaign.deliveries > 3_000


def test_total_order_holds_in_a_world_that_breaks() -> None:
    campaign = Campaign("vcube", "total", faults=True)
    campaign.go(0, 50)
    assert campaign.failures == {}
    assert campaign.deliveries > 2_500


def test_a_sequencer_for_each_topic_is_not_enough() -> None:
    campaign = tried("vcube", "per-topic", 10)
    assert campaign.failures["total"].schedules >= 3
    assert set(campaign.failures) == {"total"}, "on each topic by itself all is well"


def test_worlds_of_several_topics_differ_in_all_that_can_break_an_order() -> None:
    worlds = [schedule(seed, "vcube", "total") for seed in range(200)]
    shapes = [world.subscriptions for world in worlds]
    assert {len(shape.members) for shape in shapes if isinstance(shape, Explicit)} == set(range(2, 7))
    assert {world.stack.desks for world in worlds} == set(range(1, 6))
    assert {world.stack.across for world in worlds} == {msgspec.UNSET, 1}
    assert {type(world.network) for world in worlds} == {Random, Matrix}
    assert {world.network.fifo for world in worlds if isinstance(world.network, Random)} == {True, False}
    assert 50 < sum(bool(shape.changes) for shape in shapes if isinstance(shape, Explicit)) < 150
    for seed, world in enumerate(worlds):
        rooted = schedule(seed, "single-root", "total")
        assert not isinstance(rooted.network, Random) or rooted.network.fifo, "single-root is never given less"
        assert (rooted.subscriptions, rooted.workload) == (world.subscriptions, world.workload)


# A planted bug: what keeps rings away is left out.


def as_they_come(self: Desk, climb: Climb) -> None:
    """T9: whatever went before it."""
    if climb.serial not in self.state.passed.get(climb.home, {}):
        self.pass_on(climb)


def test_the_swarm_notices_when_desks_take_climbs_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried("vcube", "total", 30).failures == {}
    monkeypatch.setattr(Desk, "upon_climb", as_they_come)
    assert "stuck" in tried("vcube", "total", 30).failures


def test_a_member_that_refused_a_wave_and_came_back_does_not_keep_it_from_others() -> None:
    """Node 2 leaves, refuses a wave, and joins again before the next one refuses it, too: then it is its turn again."""
    assert tried("vcube", "total", 1, seed=30006277).failures == {}


# Named schedules.


def at_desk(desks: int, desk: int, nth: int = 0) -> Topic:
    """A topic that has its manager there."""
    return [topic for n in range(100) if Desks(desks).of(topic := f"t{n}") == desk][nth]


def world(
    desks: int,
    taken: dict[int, list[Topic]],
    said: list[tuple[int, int, Topic]],
    slow: dict[tuple[int, int], int],
    changes: list[Change] | None = None,
    across: int = 0,
) -> Scenario:
    """Who takes what, who says something when, and which links take longer than 1."""
    count = max(desks, max(taken) + 1)
    topics = sorted({topic for mine in taken.values() for topic in mine})
    members = {topic: [node for node in taken if topic in taken[node]] for topic in topics}
    return Scenario(
        name="named",
        seed=0,
        stack=StackSpec(overlay="vcube", ordering="total", desks=desks, across=across),
        nodes=Nodes(count=count),
        subscriptions=Explicit(members=members, changes=changes or []),
        workload=Script(messages=[Publication(at=at, node=node, topic=topic) for at, node, topic in said]),
        network=Matrix(rows=[[slow.get((i, j), 1) for j in range(count)] for i in range(count)]),
    )


def broken(scenario: Scenario) -> dict[str, list[str]]:
    """What the audits say, whatever was promised of it."""
    result = run(scenario)
    found = judge(result.trace, promises_of("total", {"across": 1}), result.quiet)
    return {name: [witness.says for witness in witnesses] for name, witnesses in found.items() if witnesses}


def test_what_one_node_says_on_two_topics_keeps_its_order_only_across_topics() -> None:
    """Node 2 says a, then b; the manager of a is far away, and b has its number first. All agree on b before a."""
    a, b = at_desk(2, 0), at_desk(2, 1)
    taken, said = {2: [a, b], 3: [a, b]}, [(10, 2, a), (11, 2, b)]
    alone, asked = (world(2, taken, said, {(2, 0): 100}, across=across) for across in (0, 1))
    says = [f"node {node} delivered 2:1@{b} before 2:1@{a}, which happened before it" for node in (3, 2)]
    assert broken(alone) == {"across": sorted(says)}
    assert broken(asked) == {}


def test_what_was_said_while_joining_comes_before_what_was_said_afterwards_on_another_topic() -> None:
    a, b = at_desk(2, 0), at_desk(2, 1)
    joins = [Change(at=10, node=2, topic=a, do="join")]
    said = [(11, 2, a), (12, 2, b)]
    assert broken(world(2, {2: [b], 3: [a, b]}, said, {}, joins, across=1)) == {}
    assert set(broken(world(2, {2: [b], 3: [a, b]}, said, {}, joins))) == {"across"}


def test_climbs_whose_ways_part_and_meet_again_do_not_wait_for_each_other() -> None:
    """x goes by desks 4, 3, 0; y, begun after it, by 4, 2, 0; z by 3, 2, 0. At desk 0 x waits for z, which was begun
    before x passed desk 3; z for y, which passed desk 2 before it; and y for x, which was begun before it.
    """
    x, y, z, s, top = at_desk(5, 4), at_desk(5, 4, 1), at_desk(5, 3), at_desk(5, 2), at_desk(5, 0)
    one, two, three = [x, z, top], [y, s, top], [z, s, top]
    taken = {1: two, 2: two, 3: three, 4: one, 5: three, 6: one}
    assert broken(world(5, taken, [(10, 4, x), (10, 1, y), (12, 3, z)], {(4, 3): 100, (3, 2): 50})) == {}


def test_who_has_left_a_topic_agrees_with_others_about_what_it_got_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes 2 and 3 have a and b. Node 3 gets a message on a, leaves a, and gets one on b; at node 2 the first is late.

    When the second got its number, node 2 was the only one that had both topics.
    """
    a, b = at_desk(1, 0), at_desk(1, 0, 1)
    leaves = [Change(at=30, node=3, topic=a, do="leave")]
    slow = {(1, 2): 1000, (3, 2): 1000}
    taken = {1: [a], 2: [a, b], 3: [a, b], 4: [b]}
    left = world(1, taken, [(10, 1, a), (100, 4, b)], slow, leaves)
    assert broken(left) == {}
    monkeypatch.setattr(Groups, "add", Groups.change)
    assert set(broken(left)) == {"total"}


def test_who_had_one_topic_after_the_other_agrees_with_who_has_both() -> None:
    """Node 5 gets a message on a, leaves a, joins b, and gets one on b; node 2 has both all the time, and the first is
    late there. With `across` the groups are wider: one subscription that has both is enough, and node 2 has one.
    """
    a, b = at_desk(1, 0), at_desk(1, 0, 1)
    moves = [Change(at=30, node=5, topic=a, do="leave"), Change(at=60, node=5, topic=b, do="join")]
    taken = {1: [a], 2: [a, b], 4: [b], 5: [a]}
    said = [(10, 1, a), (300, 4, b)]
    assert broken(world(1, taken, said, {(1, 2): 1000}, moves, across=1)) == {}
    assert broken(world(1, taken, said, {(1, 2): 1000}, moves)) == {}
