"""Nodes that come and go in rounds: nobody is told of it but whoever comes up."""

from __future__ import annotations

import time
from typing import Any

import pytest

from trellis.audit import delivery
from trellis.audit.lives import lived
from trellis.errors import ScenarioError
from trellis.events import Cycle, Event, Receive, Restore, Standing, Subscribe, Suspect
from trellis.machine import Machine, Place
from trellis.metrics.hits import hits
from trellis.scenario import check, from_mapping
from trellis.scenario.model import Scenario
from trellis.sim import run
from trellis.sim.cycles import CONTACTS
from trellis.words import MessageId, Packet


def world(crashes: list[dict[str, Any]], count: int = 4, **sections: Any) -> Scenario:
    base: dict[str, Any] = {
        "name": "world",
        "seed": 1,
        "stack": {"overlay": "damulticast", "ordering": "fifo"},
        "nodes": {"count": count},
        "subscriptions": {"kind": "explicit", "members": {"t": list(range(count))}},
        "workload": {"kind": "explicit", "messages": []},
        "network": {"kind": "cycles"},
        "faults": {"events": [{"kind": "crash", **crash} for crash in crashes]},
        "end": 12,
    }
    return from_mapping(base | sections)


class Chatter(Machine):
    """In every round it sends one packet to everybody, and it notes what happens to it."""

    wants_cycles = True
    made: list[Chatter] = []

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.lived: list[tuple[int, Event]] = []
        Chatter.made.append(self)

    def upon(self, event: Event) -> None:
        self.lived.append((self.now, event))
        if isinstance(event, Cycle):
            for node in range(self.place.size):
                if node != self.me:
                    self.send(node, Packet(MessageId(self.origin, "t", 0)))

    def times(self, kind: type) -> list[int]:
        return [at for at, event in self.lived if isinstance(event, kind)]


def machines(scenario: Scenario) -> tuple[list[Chatter], Any]:
    check(scenario)
    Chatter.made = []
    trace = run(scenario, build=Chatter).trace
    return Chatter.made, trace


def test_a_dead_node_gets_nothing_and_says_nothing() -> None:
    made, trace = machines(world([{"at": 5, "node": 2}]))
    assert made[2].times(Cycle) == [1, 2, 3, 4, 5], "it dies at the end of its last round"
    assert made[2].times(Receive)[-1] == 5
    senders = [(at, event.sender) for at, event in made[0].lived if isinstance(event, Receive)]
    assert max(at for at, sender in senders if sender == 2) == 6, "what it had sent still arrives"
    assert max(at for at, sender in senders if sender == 1) == 12
    assert [(row.at, row.node) for row in trace.rows() if row.kind == "crash"] == [(5, 2)]
    sent = [row.at for row in trace.rows() if row.kind == "send" and row.peer == 2]
    assert max(sent) == 12, "nobody tells the others"
    assert not any(isinstance(event, Suspect) for machine in made for _, event in machine.lived)


def test_whoever_comes_back_is_another_machine_that_hears_of_some_and_subscribes_again() -> None:
    made, trace = machines(world([{"at": 3, "node": 2, "restart": 7}], count=40))
    (again,) = made[40:]
    assert again.place == Place(2, 40, incarnation=1, seed=1, alone=True)
    assert again.place.topics is made[0].place.topics
    told = [event for at, event in again.lived if at == 7]
    assert [type(event) for event in told] == [Restore] * CONTACTS + [Subscribe]
    others = {event.node for event in told[:-1]}
    assert len(others) == CONTACTS
    assert 2 not in others
    assert again.times(Cycle)[0] == 8
    assert again.times(Receive)[0] == 8
    lines = [(row.at, row.kind, row.incarnation) for row in trace.rows() if row.node == 2 and row.peer < 0]
    assert lines == [(3, "crash", 0), (7, "start", 1), (7, "subscribe", 1)]


def test_it_hears_only_of_those_who_live_and_of_their_present_lives() -> None:
    crashes = [{"at": 2, "node": n} for n in range(3, 30)] + [{"at": 2, "node": 1, "restart": 4}]
    made, _ = machines(world([*crashes, {"at": 3, "node": 2, "restart": 8}], count=32))
    by_place = {(machine.me, machine.place.incarnation): machine for machine in made}
    told = [event for _, event in by_place[2, 1].lived if isinstance(event, Restore)]
    assert sorted((event.node, event.incarnation) for event in told) == [(0, 0), (1, 1), (30, 0), (31, 0)]


def test_those_who_come_up_together_where_nobody_is_hear_of_each_other() -> None:
    made, _ = machines(world([{"at": 0, "node": n, "restart": 5} for n in range(3)], count=3))
    told = [{event.node for _, event in machine.lived if isinstance(event, Restore)} for machine in made[3:]]
    assert told == [{1, 2}, {0, 2}, {0, 1}]


def test_whoever_dies_in_round_0_was_never_there() -> None:
    made, trace = machines(world([{"at": 0, "node": 1, "restart": 6}, {"at": 0, "node": 3}]))
    told = {event for machine in made for _, event in machine.lived if isinstance(event, Standing)}
    assert told == {Standing("t", (0, 2))}
    first, second = made[1], made[4]
    assert not first.times(Cycle)
    assert not first.times(Receive)
    assert (second.me, second.place.incarnation, second.times(Subscribe)) == (1, 1, [6])
    rows = [(row.at, row.node, row.kind) for row in trace.rows() if row.kind in ("crash", "start")]
    assert rows == [(0, 1, "crash"), (0, 3, "crash"), (6, 1, "start")]


def test_a_node_may_come_and_go_many_times() -> None:
    lives = [{"at": at, "node": 1, "restart": at + 1} for at in range(2, 10, 2)]
    made, trace = machines(world(lives))
    assert [machine.place.incarnation for machine in made if machine.me == 1] == [0, 1, 2, 3, 4]
    rows = [row for row in trace.rows() if row.node == 1]
    assert [life for (_, life), row in lived(rows) if row.kind == "start"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        (
            {"faults": {"events": [{"kind": "pause", "at": 1, "node": 0, "span": 3}]}},
            "faults.events[0].kind = 'pause': in rounds there is only 'crash'; use another network",
        ),
        (
            {"faults": {"events": [{"kind": "crash", "at": 1, "node": 0}], "stillborn": 0.5}},
            "faults.stillborn with faults.events: a crash at 0 is the same; leave one of them out",
        ),
        (
            {"stack": {"overlay": "vcube", "ordering": "fifo", "repair": 9}},
            "faults.events with network.kind = 'cycles': overlay 'vcube' must be told who has crashed, and in rounds "
            "nobody is; use another network",
        ),
    ],
)
def test_what_rounds_do_not_know_is_refused(edits: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        check(world([{"at": 1, "node": 0}], **edits))
    assert str(refused.value) == says


def test_in_rounds_a_printed_form_may_miss_what_nothing_repairs() -> None:
    check(world([{"at": 1, "node": 0}], stack={"overlay": "damulticast", "ordering": "unordered", "repair": 0}))


@pytest.mark.parametrize(
    ("crashes", "says"),
    [
        (
            [{"at": 5, "node": 1, "restart": 9}, {"at": 2, "node": 1, "restart": 5}],
            "faults.events[0].at = 5: node 1 is down until 5; choose another",
        ),
        (
            [{"at": 2, "node": 1}, {"at": 3, "node": 1}],
            "faults.events[1].at = 3: node 1 is down for good; choose another",
        ),
        (
            [{"at": 2, "node": 1, "restart": 2}],
            "faults.events[0].restart = 2: not after the crash at 2; choose a later time",
        ),
        ([{"at": 2, "node": 4}], "faults.events[0].node = 4: there are 4 nodes; they count from 0"),
    ],
)
def test_a_node_dies_only_while_it_lives(crashes: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        check(world(crashes))
    assert str(refused.value) == says


def busy(seed: int, ordering: str = "fifo") -> Scenario:
    """Two topics of a tree; somebody is absent at first, some die, some come back."""
    return world(
        [
            {"at": 0, "node": 3, "restart": 50},
            {"at": 0, "node": 30, "restart": 60},
            {"at": 40, "node": 5, "restart": 70},
            {"at": 80, "node": 31, "restart": 140},
            {"at": 100, "node": 25},
        ],
        count=40,
        seed=seed,
        stack={"overlay": "damulticast", "ordering": ordering},
        subscriptions={
            "kind": "explicit",
            "members": {".a": list(range(20)), ".a.b": list(range(20, 40))},
        },
        workload={
            "kind": "explicit",
            "messages": [{"at": at, "node": 20, "topic": ".a.b"} for at in range(10, 200, 10)],
        },
        end=400,
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_everybody_gets_what_is_owed_although_nodes_come_and_go(seed: int) -> None:
    done = run(busy(seed))
    rows = list(done.trace.rows())
    assert done.quiet
    assert delivery.lost(rows) == []
    assert delivery.stuck(rows) == []
    owed = list(delivery.Logbook(rows).owed(quiet=True))
    back = [(node, subscription.life[1]) for node, _, subscription in owed if node in (3, 5, 30, 31)]
    assert {(3, 1), (5, 1), (30, 1), (31, 1)} == set(back), "to their present lives"
    assert not any(node == 25 for node, _, _ in owed)
    found = hits(done.trace)
    assert (found.owed, found.made) == (len(owed), len(owed))
    if seed == 1:
        assert run(busy(seed)).trace.digest() == done.trace.digest()


def test_faults_that_never_come_change_nothing() -> None:
    plain = busy(3)
    calm = world([], count=40, seed=3, subscriptions=plain_members(plain), workload=plain_said(plain), end=60)
    late = world(
        [{"at": 61, "node": 4}],
        count=40,
        seed=3,
        subscriptions=plain_members(plain),
        workload=plain_said(plain),
        end=60,
    )
    assert run(late).trace.digest() == run(calm).trace.digest()


def plain_members(scenario: Scenario) -> dict[str, Any]:
    return {"kind": "explicit", "members": scenario.subscriptions.members}


def plain_said(scenario: Scenario) -> dict[str, Any]:
    return {"kind": "explicit", "messages": [{"at": 10, "node": 20, "topic": ".a.b"}]}


class Idle(Machine):
    """Does nothing at all, so that only the host takes time."""

    wants_cycles = True

    def upon(self, event: Event) -> None: ...


def test_tens_of_thousands_of_comings_and_goings_are_a_matter_of_seconds() -> None:
    crashes = [
        {"at": 3 + n % 7 + 40 * turn, "node": n, "restart": 20 + n % 11 + 40 * turn}
        for n in range(2000)
        for turn in range(10)
    ]
    scenario = world(crashes, count=2000, end=420)
    began = time.perf_counter()
    check(scenario)
    trace = run(scenario, build=Idle).trace
    found = hits(trace)
    assert time.perf_counter() - began < 60
    assert len(trace.of_kind("start")) == 20_000
    assert found.owed == 0
