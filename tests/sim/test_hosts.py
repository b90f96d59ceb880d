"""The hosts keep their side of the contract: timers, cycles, queues, refusals."""

from __future__ import annotations

from trellis.errors import NotSubscribed
from trellis.events import Cycle, Event, Publish, Receive, Standing, Timeout
from trellis.machine import Machine, Place
from trellis.scenario import from_mapping
from trellis.scenario.model import Scenario
from trellis.sim import run
from trellis.words import MessageId, Packet


def world(network: dict[str, object], end: int | None = None, at: int = 10) -> Scenario:
    return from_mapping(
        {
            "name": "world",
            "seed": 1,
            "stack": {"overlay": "vcube", "ordering": "causal"},
            "nodes": {"count": 2},
            "subscriptions": {"kind": "explicit", "members": {"t": [0, 1]}},
            "workload": {"kind": "explicit", "messages": [{"at": at, "node": 0, "topic": "t"}]},
            "network": network,
            **({} if end is None else {"end": end}),
        }
    )


class Probe(Machine):
    """Notes what happens to it; what it does is up to the subclass."""

    wants_cycles = False

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.lived: list[tuple[int, Event]] = []

    def upon(self, event: Event) -> None:
        if not isinstance(event, Standing):
            self.lived.append((self.now, event))
            self.react(event)

    def react(self, event: Event) -> None: ...


def lives(kind: type[Probe], scenario: Scenario) -> dict[int, list[tuple[int, Event]]]:
    made: dict[int, Probe] = {}

    def build(place: Place) -> Machine:
        made[place.me] = kind(place)
        return made[place.me]

    run(scenario, build=build)
    return {me: probe.lived for me, probe in made.items()}


class Alarm(Probe):
    def react(self, event: Event) -> None:
        if isinstance(event, Publish):
            self.set_timer("late", 50)
            self.set_timer("moved", 5)
            self.set_timer("moved", 20)
            self.set_timer("never", 30)
        elif event == Timeout("moved"):
            self.cancel_timer("never")


def test_a_timer_runs_out_once_unless_it_is_moved_or_cancelled() -> None:
    lived = lives(Alarm, world({"kind": "queue", "service": 1, "propagation": 1}))[0]
    assert lived == [(10, Publish("t", b"")), (30, Timeout("moved")), (60, Timeout("late"))]


class Burst(Probe):
    def react(self, event: Event) -> None:
        if isinstance(event, Publish):
            for n in range(3):
                self.send(1, Packet(MessageId((0, 0), "t", n)))


def test_a_queue_emits_one_packet_per_service_time_in_order() -> None:
    lived = lives(Burst, world({"kind": "queue", "service": 4, "propagation": 100}))[1]
    assert [(at, event.packet.id.seq) for at, event in lived if isinstance(event, Receive)] == [
        (114, 0),
        (118, 1),
        (122, 2),
    ]


def test_packets_of_a_fifo_link_do_not_overtake_and_others_do() -> None:
    class Stream(Probe):
        def react(self, event: Event) -> None:
            if isinstance(event, Publish):
                for n in range(40):
                    self.send(1, Packet(MessageId((0, 0), "t", n)))

    network = {"kind": "random", "low": 1, "high": 1000}
    in_order = [e.packet.id.seq for _, e in lives(Stream, world(network))[1] if isinstance(e, Receive)]
    mixed = [e.packet.id.seq for _, e in lives(Stream, world({**network, "fifo": False}))[1] if isinstance(e, Receive)]
    assert in_order == list(range(40))
    assert sorted(mixed) == list(range(40))
    assert mixed != in_order


class Gossip(Probe):
    wants_cycles = True

    def react(self, event: Event) -> None:
        if isinstance(event, Cycle) and self.me == 0:
            self.send(1, Packet(MessageId((0, 0), "t", event.number)))


def test_in_a_cycle_every_machine_that_asks_for_it_is_woken_once_and_packets_come_in_the_next() -> None:
    lived = lives(Gossip, world({"kind": "cycles"}, end=4))
    assert [event for _, event in lived[0] if isinstance(event, Cycle)] == [Cycle(n) for n in range(1, 5)]
    assert [(at, e.packet.id.seq) for at, e in lived[1] if isinstance(e, Receive)] == [(2, 1), (3, 2), (4, 3)]


class Refusing(Probe):
    def react(self, event: Event) -> None:
        if isinstance(event, Publish):
            raise NotSubscribed("not today")


def test_a_refused_call_is_a_row_and_not_the_end_of_the_run() -> None:
    trace = run(world({"kind": "queue", "service": 1, "propagation": 1}), build=Refusing).trace
    assert [(row.kind, row.node, row.at) for row in trace.rows()] == [("refuse", 0, 10)]
