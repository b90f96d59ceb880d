"""Vitis among peers that say anything: each packet is well-formed, and most make no sense where they come.

Whatever comes is accepted or refused by one of our errors; what is kept of it is bounded; nothing is handed to an
application that it did not ask for; and whatever is said in turn is something that the receiver could read.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from wire import decode, sent

from trellis import protocols
from trellis.effects import Deliver, Send
from trellis.errors import RemoteProtocolError, TrellisError
from trellis.events import Cycle, Event, Publish, Receive, Restore, Subscribe, Suspect, Unsubscribe
from trellis.live.codec import Bundle
from trellis.live.frames import FRAME_MAX, Carry
from trellis.machine import About, Place
from trellis.protocols.overlays import vine_spreading
from trellis.protocols.overlays.vine_packets import (
    WIRE,
    Ask,
    Beat,
    Bring,
    Found,
    Full,
    Lookup,
    Meet,
    Notify,
    Numbers,
    Pull,
    Pulled,
    Sample,
    Start,
    Sums,
    Swap,
    check,
)
from trellis.protocols.overlays.vine_topics import ASKED_MAX
from trellis.protocols.parts import relays, stock
from trellis.protocols.parts.gateways import Proposal
from trellis.protocols.parts.neighbours import FULL_MAX, RING
from trellis.protocols.parts.profiles import AGE_MAX, NAMES_MAX, Contact, Profile
from trellis.protocols.parts.sampling import VIEW
from trellis.words import EXACT, Message, MessageId, Origin, Packet, Topic, Vector

ME, SIZE = 2, 8
OVERLAYS = ["vitis", "rendezvous", "topic-overlay"]
TOPICS = ["a", "b", "c", "d", "*", "x" * 256, "é"]
SOME = TOPICS[:4]
NODES = [0, 1, 2, 3, 7, 8, 100, (1 << 31) - 1]
SUMS = ["", "0", "-1", "ffffffffffffffff", "nonsense", "\u0000"]


class Dice(random.Random):
    """Values of every kind that a packet of a vine has."""

    def topic(self) -> Topic:
        return self.choice(SOME) if self.random() < 0.8 else self.choice([*TOPICS, f"t{self.randrange(50)}"])

    def node(self) -> int:
        return self.randrange(SIZE) if self.random() < 0.7 else self.choice(NODES)

    def peer(self) -> int:
        """At the other end of a link: nobody has one to itself."""
        node = self.node()
        return node if node != ME else 1

    def origin(self) -> Origin:
        return self.node(), self.choice([0, 0, 0, 1, (1 << 31) - 1])

    def seq(self) -> int:
        return self.choice([1, 2, 3, 4, self.randrange(1, 30), 5, 6, self.choice([0, -1, EXACT - 1, 1 - EXACT])])

    def flag(self) -> bool:
        return self.random() < 0.5

    def many(self, made: Callable[[], Any]) -> tuple[Any, ...]:
        """Some of them, one at times twice."""
        found = [made() for _ in range(self.choice([0, 1, 3, 12]))]
        return tuple(found + found[: self.choice([0, 0, 1])])

    def id(self) -> MessageId:
        return MessageId(self.origin(), self.topic(), self.seq())

    def profile(self) -> Profile:
        origin, number = self.origin(), self.choice([0, 1, 2, EXACT - 1])
        return Profile(*origin, number, frozenset(self.many(self.topic)), self.choice([0, 1, 5, EXACT - 1]))

    def contact(self) -> Contact:
        return Contact(self.profile(), self.choice([0, 0, 1, 5, 6, AGE_MAX]))

    def proposal(self) -> Proposal:
        return Proposal(self.node(), self.node(), self.choice([0, 1, 4, 255]))

    def vector(self) -> Vector:
        return {self.origin(): max(0, self.seq()) for _ in range(self.choice([0, 1, 3]))}

    def vectors(self) -> dict[Topic, Vector]:
        return {self.topic(): self.vector() for _ in range(self.choice([0, 1, 2, 5]))}

    def message(self) -> Message:
        id = self.id()
        items = [b"x"] * self.choice([1, 1, 1, 2, 5])
        follows = {MessageId(self.origin(), id.topic, self.seq()) for _ in range(self.choice([0, 0, 1, 3]))}
        return Message(id, Bundle.of(items), tuple(sorted(follows)), len(items), self.flag())

    def packet(self, kind: type[Packet]) -> Packet:
        made: dict[type[Packet], Callable[[], Packet]] = {
            Sample: lambda: Sample(self.id(), self.many(self.contact), self.flag()),
            Swap: lambda: Swap(self.id(), self.many(self.contact), self.flag()),
            Beat: lambda: Beat(
                self.id(),
                self.profile(),
                {self.topic(): self.proposal() for _ in range(self.choice([0, 1, 4]))},
                self.many(lambda: (self.topic(), self.node())),
                self.randrange(RING + 1),
            ),
            Full: lambda: Full(self.id()),
            Notify: lambda: Notify(self.id(), self.choice([1, 1, 2, 5, 65_536])),
            Pull: lambda: Pull(self.id()),
            Pulled: lambda: self.pulled(),
            Lookup: lambda: Lookup(self.id(), tuple(self.node() for _ in range(self.choice([1, 2, 64])))),
            Found: lambda: Found(
                self.id(),
                self.node(),
                self.flag(),
                self.vectors(),
                tuple(self.node() for _ in range(self.choice([0, 1, 64]))),
            ),
            Meet: lambda: Meet(self.id(), self.node(), self.node()),
            Ask: lambda: Ask(self.id()),
            Start: lambda: Start(self.id(), self.flag(), self.vectors()),
            Sums: lambda: Sums(self.id(), self.many(lambda: (self.topic(), self.choice(SUMS))), self.flag()),
            Numbers: lambda: Numbers(self.id(), self.vectors(), self.flag()),
            Bring: lambda: Bring(
                self.id(), self.many(self.message), self.vectors(), self.vectors(), self.random() < 0.2
            ),
        }
        return made[kind]()

    def pulled(self) -> Pulled:
        message = self.message()
        return Pulled(message.id if self.random() < 0.95 else self.id(), (message,))

    def receive(self, sender: int, packet: Packet) -> Receive:
        """Mostly it speaks in its own name."""
        if isinstance(packet, Beat) and self.random() < 0.9:
            packet = replace(packet, profile=replace(packet.profile, node=sender))
        return Receive(sender, packet)

    def event(self) -> Event:
        luck = self.random()
        if luck < 0.75:
            return self.receive(self.peer(), self.packet(self.choice(WIRE)))
        if luck < 0.87:
            return Cycle(0)
        if luck < 0.89:
            return self.choice([Suspect(self.peer()), Restore(self.peer(), self.randrange(3))])
        topic = self.topic()
        said = Publish(topic, Bundle.of([b"mine"]))
        return self.choice([Subscribe(topic), Subscribe(topic), Unsubscribe(topic), said, said])


class Victim:
    """A node whose peers say anything, and what its application has asked for."""

    def __init__(self, overlay: str, ordering: str, **place: Any) -> None:
        options = {"table": 0} if overlay == "topic-overlay" else {}  # over bounded links it keeps no order
        self.machine: Any = protocols.build(overlay, ordering, Place(ME, SIZE, **place), options)
        self.overlay = self.machine.overlay
        self.wanted: set[Topic] = set()
        self.now = self.said = self.refusals = 0

    def feed(self, event: Event) -> None:
        self.now += 1
        try:
            if isinstance(event, Receive):
                [frame] = decode(sent(Carry("vitis/fifo", 1, event.packet)))
                check(frame.packet)
            effects = self.machine.step(self.now, event)
        except TrellisError as error:
            if isinstance(event, Receive) and not isinstance(error, RemoteProtocolError):
                raise
            self.refusals += 1
            return
        if isinstance(event, Subscribe):
            self.wanted.add(event.topic)
        for effect in effects:
            self.look_at(effect)
        if isinstance(event, Unsubscribe):
            self.wanted.discard(event.topic)

    def look_at(self, effect: Any) -> None:
        if isinstance(effect, Deliver):
            assert effect.message.id.topic in self.wanted
        elif isinstance(effect, Send):
            assert effect.to != ME
            self.said += 1
            frame = Carry("vitis/fifo", 1, effect.packet)
            assert decode(sent(frame)) == [frame]
            check(effect.packet)

    def look_within(self) -> None:
        vine = self.overlay
        assert len(vine.neighbours.table()) <= vine.neighbours.table_max
        assert len(vine.neighbours.audience()) <= vine.neighbours.audience_max
        assert len(vine.sampling.view) <= VIEW
        asked = {child for children in vine.relays.children.values() for child in children}
        assert asked <= set(vine.neighbours.known)
        assert ME not in vine.neighbours.known
        assert vine.spreading.waiting.keys() <= vine.spreading.passages.keys()
        kept = [one.message for one in vine.spreading.passages.values() if one.message is not None]
        assert vine.spreading.bytes == sum(len(message.payload) for message in kept)
        assert vine.comparison.account.topics.keys() <= vine.taken.keys()


RATED = {"a": About((), {"rate": 1 << 20}), "b": About((), {"rate": 1})}


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("ordering", ["unordered", "fifo", "causal"])
def test_whatever_peers_say_is_accepted_or_refused(overlay: str, ordering: str) -> None:
    for seed, place in enumerate(({}, {"alone": True}, {"topics": RATED}) * 3):
        dice, victim = Dice(seed), Victim(overlay, ordering, **place)
        for n in range(300):
            event = dice.event()
            try:
                for _ in range(60 if dice.random() < 0.005 else 1):  # long enough to be forgotten, and to leave
                    victim.feed(event)
                victim.look_within()
            except Exception as error:
                raise AssertionError(f"seed {seed}, event {n}: {event!r}") from error
        assert victim.said > 50


# One by one.


def sends(victim: Victim, event: Event) -> list[tuple[int, Packet]]:
    return [(one.to, one.packet) for one in victim.machine.step(0, event) if isinstance(one, Send)]


def member(overlay: str = "vitis", ordering: str = "fifo", *topics: Topic) -> Victim:
    """It takes these topics, and knows nobody."""
    victim = Victim(overlay, ordering, alone=True)
    for topic in topics:
        victim.feed(Subscribe(topic))
    for _ in range(60):
        victim.feed(Cycle(0))
    assert all(taken.phase == "in" for taken in victim.overlay.taken.values())
    return victim


def beat(node: int, topics: str = "", asks: Any = (), why: int = RING, weight: int = -1, **more: Any) -> Beat:
    profile = Profile(node, 0, 1, frozenset(topics), len(topics) if weight < 0 else weight)
    return Beat(MessageId((node, 0), "*", 0), profile, more.get("proposals", {}), asks, why)


def test_nobody_speaks_for_another_one() -> None:
    victim = Victim("vitis", "fifo")
    with pytest.raises(RemoteProtocolError, match="profile of node 3 from node 1"):
        victim.machine.step(0, Receive(1, beat(3)))
    assert not victim.overlay.neighbours.known


@pytest.mark.parametrize("number", [0, -1, EXACT - 1])
def test_a_message_whose_numbers_are_out_of_range_is_refused(number: int) -> None:
    message = Message(MessageId((1, 0), "a", number), Bundle.of([b"x", b"y"]), (), 2)
    for packet in (Pulled(message.id, (message,)), Bring(message.id, (message,), {}, {}, False)):
        with pytest.raises(RemoteProtocolError):
            check(packet)


def test_what_was_pulled_is_what_was_asked_for() -> None:
    message = Message(MessageId((1, 0), "a", 2), Bundle.of([b"x"]))
    with pytest.raises(RemoteProtocolError):
        check(Pulled(MessageId((1, 0), "a", 1), (message,)))


def test_a_profile_that_claims_to_weigh_nothing_divides_nothing() -> None:
    """Its utility was the shared weight over nothing."""
    victim = member("vitis", "fifo", "a")
    for node in range(3, 40):
        victim.feed(Receive(node, beat(node, "a", why=1, weight=0)))
    victim.look_within()


def test_the_same_topic_asked_for_twice_is_let_go_once() -> None:
    victim = Victim("vitis", "fifo", alone=True)
    victim.feed(Receive(1, beat(1, asks=(("a", 1), ("a", 3)))))
    assert victim.overlay.relays.children == {"a": {1: 3}}
    victim.feed(Receive(1, beat(1)))
    assert victim.overlay.relays.children == {}


def test_paths_that_were_given_up_take_a_bounded_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who asks for other topics in every packet."""
    monkeypatch.setattr(relays, "FORMER_MAX", 100)
    victim = Victim("vitis", "fifo", alone=True)
    for n in range(50):
        victim.feed(Receive(1, beat(1, asks=tuple((f"t{n}-{m}", 1) for m in range(20)))))
    assert len(victim.overlay.relays.children) == 20
    assert len(victim.overlay.relays.former) == 100
    for _ in range(30):
        victim.feed(Cycle(0))
    assert victim.overlay.relays.former == {}


def long_names(size: int) -> frozenset[Topic]:
    return frozenset(f"{n}".ljust(256, "x") for n in range(size // 256))


def test_a_profile_larger_than_anybody_may_have_is_refused_and_one_as_large_fits_with_all_that_goes_with_it() -> None:
    id = MessageId((1, 0), "*", 0)
    large, largest = long_names(2 * NAMES_MAX), frozenset(sorted(long_names(NAMES_MAX))[: NAMES_MAX // 280])
    proposals = {topic: Proposal((1 << 31) - 1, (1 << 31) - 1, 255) for topic in largest}
    asks = tuple((topic, (1 << 31) - 1) for topic in largest)
    profiles = [Profile(1, 0, 1, topics, 1) for topics in (large, largest)]
    for packet in (
        Beat(id, profiles[0], {}, (), RING),
        Beat(id, profiles[1], {topic: Proposal(1, 1, 1) for topic in large}, (), RING),
        Beat(id, profiles[1], {}, tuple((topic, 1) for topic in large), RING),
        Swap(id, (Contact(profiles[0], 0),), False),
        Sample(id, (Contact(profiles[0], 0),), False),
    ):
        with pytest.raises(RemoteProtocolError, match="are allowed"):
            check(packet)
    whole = Beat(id, profiles[1], proposals, asks, RING)
    check(whole)
    assert len(sent(Carry("vitis/fifo", 1, whole))) <= FRAME_MAX


def test_views_full_of_large_profiles_fit_into_a_frame() -> None:
    victim = Victim("vitis", "fifo", alone=True)
    topics = frozenset(sorted(long_names(NAMES_MAX))[: NAMES_MAX // 280])
    for node in range(3, 30):
        victim.feed(
            Receive(node, Sample(MessageId((1, 0), "*", 0), (Contact(Profile(node, 0, 1, topics, 9), 0),), True))
        )
    assert len(victim.overlay.sampling.view) == VIEW
    told = sends(victim, Cycle(0))
    assert {packet.kind for _, packet in told} == {"SAMPLE", "SWAP"}
    assert all(len(sent(Carry("vitis/fifo", 1, packet))) <= FRAME_MAX for _, packet in told)


def test_notifications_of_what_does_not_concern_a_node_leave_nothing_behind() -> None:
    for overlay in OVERLAYS:
        victim = Victim(overlay, "fifo")
        for n in range(200):
            assert sends(victim, Receive(1, Notify(MessageId((1, 0), f"t{n}", 1), 1))) == []
        assert not victim.overlay.spreading.passages
        assert not victim.overlay.spreading.lately


def test_messages_on_their_way_take_a_bounded_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vine_spreading, "PASSED_MAX", 50)
    monkeypatch.setattr(vine_spreading, "BYTES_MAX", 10_000)
    victim = member("vitis", "unordered", "a")
    spreading = victim.overlay.spreading
    for n in range(1, 300):
        id = MessageId((1, 0), "a", n)
        victim.feed(Receive(1, Notify(id, 1)))
        if n % 3:
            victim.feed(Receive(1, Pulled(id, (Message(id, Bundle.of([b"x" * 1000])),))))
        assert len(spreading.passages) <= 50
        assert spreading.bytes <= 10_000
        victim.look_within()
    for n in range(300, 600):
        message = Message(MessageId((1, 0), "a", n), Bundle.of([b"x" * 1000]))
        victim.feed(Receive(1, Bring(message.id, (message,), {}, {}, False)))
        victim.feed(Publish("a", Bundle.of([b"x" * 1000])))
    victim.look_within()
    assert len(spreading.passages) <= 50
    assert spreading.bytes <= 10_000
    assert len(spreading.passed) <= 50


def test_a_joiner_asks_few_however_many_it_is_told_of() -> None:
    victim = Victim("vitis", "fifo", alone=True)
    victim.feed(Subscribe("a"))
    for node in range(3, 500):
        victim.feed(Receive(1, Found(MessageId((1, 0), "a", 0), node, False, {}, ())))
    assert len(victim.overlay.taken["a"].asked) == ASKED_MAX
    victim.feed(Receive(1, Found(MessageId((1, 0), "a", 0), ME, False, {}, ())))
    assert ME not in victim.overlay.taken["a"].asked


def test_a_start_that_nobody_asked_for_begins_nothing() -> None:
    victim = Victim("vitis", "fifo", alone=True)
    victim.feed(Subscribe("a"))
    start = Start(MessageId((1, 0), "a", 0), True, {"b": {(7, 0): 9}})
    victim.feed(Receive(1, start))
    assert victim.overlay.taken["a"].phase == "joining"
    victim.feed(Receive(1, Found(MessageId((1, 0), "a", 0), 1, False, {}, ())))
    victim.feed(Receive(1, start))
    assert victim.overlay.taken["a"].phase == "in"
    assert victim.overlay.comparison.account.topics["a"].upto == {}, "what is said of another topic does not count"


def test_refusals_of_what_nobody_said_take_a_bounded_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock, "REFUSED_MAX", 100)
    victim = member("vitis", "fifo", "a")
    victim.overlay.taken["a"].fresh = False
    for n in range(500):
        victim.feed(Receive(1, Bring(MessageId((1, 0), "a", 0), (), {"a": {(n, 0): 5}}, {}, False)))
    assert len(victim.overlay.comparison.refused) == 100


def test_those_who_have_no_room_are_remembered_only_if_they_were_chosen() -> None:
    victim = Victim("vitis", "fifo")
    for node in range(3, 2 * FULL_MAX):
        victim.feed(Receive(node, Full(MessageId((1, 0), "*", 0))))
    assert not victim.overlay.neighbours.full


def test_an_introduction_does_not_go_round_in_a_circle() -> None:
    """Two nodes that each say the other should carry a topic for a gateway that neither is."""
    packet = Meet(MessageId((1, 0), "a", 0), 99, 5)
    told = 0
    for me, other in ((2, 3), (3, 2)):
        machine: Any = protocols.build("vitis", "fifo", Place(me, SIZE, alone=True), {})
        machine.step(0, Receive(other, beat(other, asks=(("a", 99),))))
        told += sum(isinstance(one, Send) for one in machine.step(0, Receive(other, packet)))
    assert told <= 1


def test_an_overlay_without_gateways_refuses_an_introduction() -> None:
    with pytest.raises(RemoteProtocolError, match="no gateways"):
        Victim("topic-overlay", "unordered").machine.step(0, Receive(1, Meet(MessageId((1, 0), "a", 0), 2, 3)))


def test_a_lookup_is_answered_once_however_far_it_has_come() -> None:
    victim = Victim("vitis", "fifo")
    for steps in (1, 63, 64):
        path = (*range(100, 99 + steps), 1)
        told = sends(victim, Receive(1, Lookup(MessageId((7, 0), "a", 0), path)))
        assert len(told) == 1
        assert not isinstance(told[0][1], Lookup) or told[0][1].path == (*path, ME)
    assert sends(victim, Receive(1, Lookup(MessageId((7, 0), "a", 0), (ME, 1)))) == [], "my own, come round"
    with pytest.raises(RemoteProtocolError, match="passed on"):
        victim.machine.step(0, Receive(1, Lookup(MessageId((7, 0), "a", 0), (7,))))


def test_an_answer_goes_back_as_the_question_came() -> None:
    victim = Victim("vitis", "fifo")
    answer = Found(MessageId((9, 0), "a", 0), 9, False, {}, (5, 6))
    assert sends(victim, Receive(1, answer)) == [(6, Found(answer.id, 9, False, {}, (5,)))]


def test_what_is_not_here_is_not_pulled() -> None:
    victim = member("vitis", "fifo", "a")
    assert sends(victim, Receive(1, Pull(MessageId((5, 0), "a", 3)))) == []
    assert sends(victim, Receive(1, Sums(MessageId((1, 0), "z", 0), (("z", "1"),), False))) == []
    assert sends(victim, Receive(1, Sums(MessageId((1, 0), "z", 0), (("z", "0"),), True))) == []
    assert sends(victim, Receive(1, Numbers(MessageId((1, 0), "z", 0), {"z": {(1, 0): 5}}, False))) == []
