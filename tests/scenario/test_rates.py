"""Messages on topics of which some are hotter than others, as in Vitis section IV-D."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from trellis.errors import ScenarioError
from trellis.events import Publish
from trellis.machine import Machine, Place
from trellis.protocols import build
from trellis.scenario import check, from_mapping, plan
from trellis.scenario.model import RATE_MAX, Scenario
from trellis.scenario.plan import Action
from trellis.sim import run


def scenario(**sections: Any) -> Scenario:
    base: dict[str, Any] = {
        "name": "s",
        "seed": 5,
        "stack": {"overlay": "damulticast", "ordering": "unordered"},
        "nodes": {"count": 60},
        "subscriptions": {"kind": "buckets", "topics": 40, "each": 8, "buckets": 8, "of": 2},
        "workload": {"kind": "rated", "messages": 4000, "begin": 7, "per": 40},
        "network": {"kind": "cycles"},
        "end": 200,
    }
    return from_mapping(base | sections)


def rated(**more: Any) -> dict[str, Any]:
    return {"kind": "rated", "messages": 4000, **more}


def said(scenario: Scenario) -> list[Action]:
    check(scenario)
    return [action for action in plan(scenario).actions if isinstance(action.event, Publish)]


def test_so_many_messages_are_published_in_each_interval_from_the_beginning_on() -> None:
    rounds = Counter(action.at for action in said(scenario()))
    assert rounds == dict.fromkeys(range(7, 107), 40)
    spread = said(scenario(workload=rated(messages=7, begin=100, per=3, interval=60), end=900))
    assert [action.at for action in spread] == [100, 120, 140, 160, 180, 200, 220]


def test_nothing_is_said_after_the_end() -> None:
    assert max(action.at for action in said(scenario(end=50))) == 50


def test_topics_are_even_at_0_and_one_takes_nearly_all_at_3() -> None:
    """Section IV-D: with alpha = 3 almost all events are published on a single topic."""
    even = Counter(action.event.topic for action in said(scenario()))
    assert len(even) == 40
    assert max(even.values()) < 1.6 * min(even.values())
    skewed = Counter(action.event.topic for action in said(scenario(workload=rated(alpha=3.0, per=40))))
    (_, first), (_, second) = skewed.most_common(2)
    assert first / 4000 == pytest.approx(1 / 1.2, abs=0.03)
    assert first / second == pytest.approx(8, rel=0.2)


def test_which_topic_is_the_hottest_goes_by_the_seed() -> None:
    def hottest(seed: int) -> str:
        messages = said(scenario(workload=rated(alpha=2.0, per=40)).with_seed(seed))
        return Counter(action.event.topic for action in messages).most_common(1)[0][0]

    assert len({hottest(seed) for seed in range(8)}) > 4


def test_every_subscriber_of_a_topic_may_speak_and_nobody_else() -> None:
    laid = plan(scenario(workload=rated(messages=8000, per=40), end=300))
    speakers = {(action.event.topic, action.node) for action in laid.actions}
    assert speakers == {(topic, node) for topic, members in laid.standing.items() for node in members}


def test_topics_that_nobody_has_are_not_spoken_on() -> None:
    few = scenario(nodes={"count": 1})
    mine = {topic for topic, members in plan(few).standing.items() if members}
    assert {action.event.topic for action in said(few)} == mine
    assert len(mine) == 8


def test_a_speaker_is_a_subscriber_of_that_moment() -> None:
    members = {"a": [0, 1], "b": []}
    changes = [
        {"at": 20, "node": 0, "topic": "a", "do": "leave"},
        {"at": 20, "node": 1, "topic": "a", "do": "leave"},
        {"at": 15, "node": 2, "topic": "b", "do": "join"},
    ]
    moving = scenario(
        subscriptions={"kind": "explicit", "members": members, "changes": changes},
        workload=rated(messages=30, begin=1),
    )
    spoken = {(action.at >= 15, action.at >= 20, action.event.topic) for action in said(moving)}
    assert spoken == {(False, False, "a"), (True, False, "a"), (True, False, "b"), (True, True, "b")}


def test_announced_subscribers_speak_once_they_have_joined() -> None:
    announced = {"kind": "buckets", "topics": 40, "each": 8, "buckets": 8, "of": 2, "announce": True}
    assert said(scenario(subscriptions=announced)) == said(scenario())


def crash(at: int, node: int, restart: int | None = None) -> dict[str, Any]:
    return {"kind": "crash", "at": at, "node": node, **({} if restart is None else {"restart": restart})}


def test_nobody_speaks_who_is_down() -> None:
    crashes = [crash(0, 0, 30), crash(50, 0, 60), crash(20, 1), *(crash(70, n, 80) for n in range(2, 60))]
    down = scenario(
        subscriptions={"kind": "fraction", "fraction": 1.0, "topics": 3},
        workload=rated(begin=0, per=40),
        faults={"events": crashes},
    )
    times: dict[int, set[int]] = {}
    for action in said(down):
        times.setdefault(action.node, set()).add(action.at)
    assert times[0].isdisjoint([*range(31), *range(50, 61)])
    assert all(times[0] & set(span) for span in (range(31, 50), range(61, 70), range(75, 76)))
    assert max(times[1]) < 20
    assert all({node for node in times if at in times[node]} == {0} for at in range(70, 81))


def test_on_other_networks_a_node_speaks_again_when_its_application_is_back() -> None:
    down = scenario(
        stack={"overlay": "vcube", "ordering": "fifo", "repair": 100},
        network={"kind": "queue", "service": 1, "propagation": 5},
        subscriptions={"kind": "fraction", "fraction": 1.0, "topics": 1},
        nodes={"count": 4},
        workload=rated(messages=400, begin=0, interval=2, per=1),
        faults={"events": [crash(100, 3, 200)], "notice": 10},
        end=2000,
    )
    times = {action.at for action in said(down) if action.node == 3}
    assert max(at for at in times if at < 200) < 100
    assert min(at for at in times if at >= 100) > 240
    rows = list(run(down).trace.rows())
    assert not any(row.kind == "refuse" for row in rows)
    assert sum(row.kind == "publish" for row in rows) == 400


def test_a_world_in_which_nobody_could_speak_is_refused() -> None:
    silent = scenario(faults={"events": [crash(0, n, 100) for n in range(60)]})
    with pytest.raises(ScenarioError) as refused:
        said(silent)
    assert str(refused.value) == (
        "workload 'rated': nobody who is up has subscribed to anything at 7; let it begin later"
    )


# What machines are told.


def told(alpha: float, overlay: str = "vcube") -> Scenario:
    return scenario(workload=rated(alpha=alpha), stack={"overlay": overlay, "ordering": "unordered"}, end=None)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0, 64.0])
def test_machines_are_told_how_often_is_spoken_on_each_topic(alpha: float) -> None:
    about = told(alpha).about_topics()
    rates = sorted((each.options["rate"] for each in about.values()), reverse=True)
    assert len(rates) == 40
    assert rates[0] == RATE_MAX
    assert rates[1] == pytest.approx(RATE_MAX / 2**alpha, abs=2)
    assert rates[-1] == pytest.approx(max(1, RATE_MAX / 40**alpha), abs=2)
    assert rates[-1] >= 1


def test_the_hottest_topic_has_the_highest_rate() -> None:
    hot = told(2.0)
    spoken = Counter(action.event.topic for action in said(hot))
    rates = {topic: about.options["rate"] for topic, about in hot.about_topics().items()}
    assert spoken.most_common(1)[0][0] == max(rates, key=lambda topic: rates[topic])


def test_equal_rates_need_no_word() -> None:
    assert told(0.0).about_topics() == {}


def test_an_overlay_that_is_tuned_by_topic_is_told_of_no_rates() -> None:
    """It would take them for parameters of its own."""
    assert told(1.0, "damulticast").about_topics() == {}
    small = scenario(workload=rated(messages=20, begin=2, per=2, alpha=1.0), nodes={"count": 8}, end=20)
    check(small)
    assert len(run(small).trace.of_kind("publish")) == 20


def test_all_places_share_one_table_of_topics() -> None:
    places: list[Place] = []

    def make(place: Place) -> Machine:
        places.append(place)
        return build("vcube", "unordered", place)

    hot = told(1.0)
    check(hot)
    run(hot, build=make)
    assert len({id(place.topics) for place in places}) == 1
    assert places[0].topics == hot.about_topics()
