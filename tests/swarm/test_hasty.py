"""Subscribers that would rather go on than wait, under audit: what they do not tag is in order, and nothing is lost."""

from __future__ import annotations

import msgspec
import pytest

from trellis import protocols
from trellis.audit import judge, promises_of
from trellis.machine import Machine, Place
from trellis.protocols.interest import Session
from trellis.protocols.orderings.hasty import Hasty
from trellis.protocols.parts import passed
from trellis.sim.host import Host
from trellis.swarm import Campaign, make_hasty, schedule, try_one
from trellis.words import Message


def tried(schedules: int, overlay: str = "vcube", faults: bool = False, seed: int = 0) -> Campaign:
    campaign = Campaign(overlay, "total", faults, hasty=True)
    campaign.go(seed, schedules)
    return campaign


def test_what_is_not_tagged_is_in_total_order_and_everything_comes_once() -> None:
    campaign = tried(150)
    assert campaign.failures == {}
    assert campaign.violations == dict.fromkeys(promises_of("total", {"across": 1}), 0)
    assert campaign.deliveries > 15_000
    assert campaign.deliveries // 10 < campaign.late < campaign.deliveries // 2


@pytest.mark.parametrize("overlay", ["single-root", "brokers"])
def test_it_is_so_on_other_overlays(overlay: str) -> None:
    campaign = tried(30, overlay)
    assert campaign.failures == {}
    assert campaign.late > 50


def test_it_is_so_in_a_world_that_breaks_and_what_never_comes_is_told() -> None:
    campaign = tried(45, faults=True)
    assert campaign.failures == {}
    assert campaign.late > 300
    assert campaign.gaps > 30


def test_the_haste_of_one_is_not_seen_by_others() -> None:
    """Every second node is hasty: the others tag nothing, and all agree on what is not tagged."""
    late = 0
    for seed in range(30):
        scenario = make_hasty(schedule(seed, "vcube", "total"))
        patient = msgspec.structs.replace(scenario.stack, buffer=0, ttl=0)

        def build(place: Place, hasty=scenario.stack, patient=patient) -> Machine:  # type: ignore[no-untyped-def]
            spec = hasty if place.me % 2 else patient
            return protocols.build(spec.overlay, spec.ordering, place, spec.options())

        trace = Host(scenario, build).run()
        assert not any(judge(trace, promises_of("total", patient.options())).values()), f"seed {seed}"
        nodes = trace.of_kind("late").numbers("node")
        assert not any(nodes % 2 == 0)
        late += len(nodes)
    assert late > 250


def test_whoever_has_passed_over_too_much_waits_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed, "PASSED_MAX", 1)
    campaign = tried(30)
    assert campaign.failures == {}
    few = campaign.late
    monkeypatch.undo()
    assert 0 < few < tried(30).late


def test_with_time_and_room_enough_nothing_is_tagged() -> None:
    for seed in range(30):
        scenario = schedule(seed, "vcube", "total")
        stack = msgspec.structs.replace(scenario.stack, buffer=10_000, ttl=1 << 20)
        trace = Host(msgspec.structs.replace(scenario, stack=stack)).run()
        assert len(trace.of_kind("late")) == 0
        assert not any(judge(trace, promises_of("total", stack.options())).values()), f"seed {seed}"


# Planted bugs.


def without_tags(self: Hasty, session: Session, message: Message, tags: tuple[str, ...] = ()) -> None:
    super(Hasty, self).deliver_and_remember(session, message)


def test_the_swarm_notices_when_the_tag_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hasty, "deliver_and_remember", without_tags, raising=False)
    campaign = tried(10)
    assert {"total", "fifo"} <= set(campaign.failures)
    failure = campaign.failures["total"]
    assert " --hasty " in failure.replay
    assert try_one(failure.seed, "vcube", "total", hasty=True).kinds["total"] == failure.witness


def test_the_swarm_notices_when_what_is_held_is_passed_over_like_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is tagged when its own turn comes; where only room counts, that may be never."""
    monkeypatch.setattr(Hasty, "held_before", lambda self, message: iter(()))
    assert "stuck" in tried(10, seed=60).failures


def test_the_swarm_notices_when_what_was_passed_over_is_taken_for_an_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed.Passed, "__contains__", lambda self, place: False)
    assert "lost" in tried(10).failures


def test_the_swarm_notices_when_other_topics_are_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Hasty.needs_of
    monkeypatch.setattr(Hasty, "needs_of", lambda self, m: [(t, n) for t, n in own(self, m) if t == m.id.topic])
    assert "total" in tried(30).failures
