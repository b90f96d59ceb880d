"""What subscribers have left and who is gone is forgotten, and nobody disagrees because of it."""

from __future__ import annotations

import msgspec
import pytest

from tests.swarm.test_crossing import at_desk, broken, world
from trellis.protocols.orderings.subscriber import Subscriber
from trellis.protocols.orderings.total import Total
from trellis.protocols.parts import desk
from trellis.protocols.parts.desk_packets import Reached
from trellis.protocols.parts.groups import SHARED
from trellis.protocols.parts.registry import Registry
from trellis.scenario.model import Change, Crash, Faults, Scenario, Sever
from trellis.sim import run
from trellis.swarm import Campaign
from trellis.words import MessageId

A, B = at_desk(1, 0), at_desk(1, 0, 1)
TAKEN = {1: [A], 2: [A, B], 3: [A, B], 4: [B]}
LEAVES = [Change(at=30, node=3, topic=A, do="leave")]


def entries(scenario: Scenario) -> dict[int, int]:
    """When a message got its timestamp, and how many topics that had."""
    return {row.at: row.barrier for row in run(scenario).trace.rows() if row.kind == "spread"}


# What somebody had counts until all others have got what it got there.


def test_what_a_subscriber_has_left_is_forgotten_when_nobody_waits_for_anything_there() -> None:
    sizes = entries(world(1, TAKEN, [(10, 1, A), (20, 4, B), (1000, 4, B)], {}, LEAVES))
    assert list(sizes.values()) == [2, 2, 1], "node 2 alone has both topics, and node 3 is forgotten on the first"


def test_it_is_not_while_somebody_lacks_a_message_that_it_got() -> None:
    """At node 2 the first message is 1,000 late."""
    slow = {(1, 2): 1000, (3, 2): 1000}
    late = world(1, TAKEN, [(10, 1, A), (100, 4, B), (3000, 4, B)], slow, LEAVES)
    assert list(entries(late).values()) == [2, 2, 1]
    assert broken(late) == {}


def test_who_said_too_early_how_far_it_is_would_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self: Subscriber) -> None:
        if self.question is not None:
            reached = Reached(MessageId(self.origin, self.question.id.topic, 0), self.question.round)
            self.question = None
            self.to_desk(self.desks.count - 1, reached)

    late = world(1, TAKEN, [(10, 1, A), (100, 4, B)], {(1, 2): 1000, (3, 2): 1000}, LEAVES)
    monkeypatch.setattr(Subscriber, "tell_how_far", at_once)
    assert set(broken(late)) == {"total"}


def test_a_subscriber_that_comes_back_meanwhile_is_not_forgotten() -> None:
    returns = [*LEAVES, Change(at=60, node=3, topic=A, do="join")]
    again = world(1, TAKEN, [(10, 1, A), (5000, 4, B)], {(1, 2): 500, (3, 2): 500}, returns)
    assert list(entries(again).values()) == [2, 2]
    assert broken(again) == {}


def test_the_registry_counts_what_was_left_until_it_is_told_to_forget_it() -> None:
    registry = Registry(SHARED)
    one, two = (1, 0), (2, 0)
    registry.change(one, frozenset("ab"))
    registry.change(two, frozenset("ab"))
    registry.change(one, frozenset("b"))
    assert registry.left == {one: frozenset("a")}
    assert registry.groups.of("b") == frozenset("ab")
    copy = Registry(SHARED)
    copy.install(registry.listed())
    assert (copy.current, copy.left, copy.groups.of("b")) == (registry.current, registry.left, frozenset("ab"))
    registry.forget(((one, ("a", "b")),))
    assert registry.left == {}
    assert registry.current == {one: frozenset("b"), two: frozenset("ab")}, "what it has it keeps"
    assert registry.groups.of("b") == frozenset("b")
    registry.change((1, 1), frozenset("a"))
    assert registry.end_former_lives((1, 1)) == [one]
    assert set(registry.current) == {two, (1, 1)}


# Leases.


def leased(scenario: Scenario, events: list[Crash | Sever], lease: int) -> Scenario:
    stack = msgspec.structs.replace(scenario.stack, lease=lease, retry=20, repair=50)
    return msgspec.structs.replace(scenario, stack=stack, faults=Faults(events=events, notice=10))


def alone(node: int, at: int, span: int) -> list[Crash | Sever]:
    return [Sever(at=at, node=node, other=other, span=span) for other in range(5) if other != node]


def test_who_is_dead_for_good_keeps_groups_large_only_as_long_as_its_lease() -> None:
    calls = [(10, 1, A), (500, 4, B), (5000, 4, B)]
    for lease, sizes in ((1000, [2, 2, 1]), (0, [2, 2, 2])):
        dead = leased(world(1, TAKEN, calls, {}), [Crash(at=100, node=3)], lease)
        assert list(entries(dead).values()) == sizes


def test_who_comes_back_after_its_lease_begins_anew_and_is_told_what_it_missed() -> None:
    calls = [(10, 1, A), (3000, 1, A), (3010, 4, B), (9000, 1, A)]
    back = leased(world(1, TAKEN, calls, {}), alone(3, 100, 5000), 1000)
    assert broken(back) == {}
    rows = [row for row in run(back).trace.rows() if row.node == 3]
    got = [(row.kind, row.topic, row.seq) for row in rows if row.kind in ("deliver", "gap")]
    assert (got[0], got[-1]) == (("deliver", A, 1), ("deliver", A, 3))
    assert sorted(got[1:-1]) == [("gap", A, 2), ("gap", B, 1)]


def test_who_comes_back_before_that_gets_everything() -> None:
    calls = [(10, 1, A), (1000, 1, A), (1010, 4, B), (9000, 1, A)]
    back = leased(world(1, TAKEN, calls, {}), alone(3, 100, 2000), 10_000)
    assert broken(back) == {}
    assert not [row for row in run(back).trace.rows() if row.kind == "gap"]


def test_the_swarm_notices_a_subscriber_that_does_not_care_for_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> set[str]:
        campaign = Campaign("vcube", "total", faults=True)
        for seed in (152, 190, 599):
            campaign.go(seed, 1)
        return set(campaign.failures)

    assert found() == set()
    monkeypatch.setattr(Subscriber, "may_deliver", lambda self: True)
    assert "total" in found()


@pytest.mark.parametrize("seed", [3000052, 3000197, 23000328, 23000401, 25000255])
def test_schedules_that_failed(seed: int) -> None:
    """A lease that was renewed between a new subscription and the news of it; a message that came after it was asked
    for, and lay beside the numbers that were given up; who asked again so often that no answer came in time;
    an answer from before a subscription was given up, to whoever subscribed anew;
    climbs that had to wait for a link between two other desks, longer than their home asked again.
    """
    campaign = Campaign("vcube", "total", faults=True)
    campaign.go(seed, 1)
    assert campaign.failures == {}


# What a desk has forgotten.


def test_who_lacks_numbers_that_no_desk_knows_any_more_goes_on_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 3 is away while 40 messages are numbered one by one; who has them keeps three, and the desk knows two."""
    calls = [(100 + 20 * n, 1 + n % 2, A) for n in range(40)]
    away = leased(world(1, TAKEN, [(10, 1, A), *calls, (5000, 1, A)], {}), alone(3, 50, 2000), 0)
    away = msgspec.structs.replace(away, stack=msgspec.structs.replace(away.stack, keep=3))

    def heard() -> tuple[list[int], int]:
        rows = [row for row in run(away).trace.rows() if row.node == 3]
        return [row.seq for row in rows if row.kind == "deliver"], sum(row.batch for row in rows if row.kind == "gap")

    known = heard()
    assert broken(away) == {}
    monkeypatch.setattr(desk, "GIVEN_MAX", 2)
    assert broken(away) == {}
    assert heard() == known
    assert known[1] > 30
    monkeypatch.setattr(Total, "upon_unknown", lambda self, told: None)
    assert "stuck" in broken(away)
