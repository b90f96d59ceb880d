"""damulticast among peers that say anything: each packet is well-formed, and most make no sense where they come.

Whatever comes is accepted or refused by one of our errors; what is kept of it is bounded; nothing is handed to an
application that it did not ask for; and whatever is said in turn is something that the receiver could read.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from wire import decode, sent

from trellis import protocols
from trellis.effects import Deliver, Send
from trellis.errors import RemoteProtocolError, TrellisError
from trellis.events import Event, Publish, Receive, Restore, Subscribe, Suspect, Timeout, Unsubscribe
from trellis.live.codec import Bundle
from trellis.live.frames import FRAME_MAX, Carry
from trellis.machine import About, Place
from trellis.protocols.overlays import damulticast_search, vcube_packets
from trellis.protocols.overlays.damulticast_group import IN
from trellis.protocols.overlays.damulticast_packets import (
    WIRE,
    Ask,
    Digest,
    Found,
    Gossip,
    Holdings,
    Refill,
    Search,
    Start,
    Stray,
    Upper,
    check,
)
from trellis.protocols.overlays.vcube_packets import Pub
from trellis.protocols.parts import directory
from trellis.protocols.parts.company import AGE_MAX, Entry
from trellis.protocols.parts.hierarchy import Hierarchy
from trellis.words import BARRIER_MAX, EXACT, Message, MessageId, Origin, Packet, Topic, Vector

ME, SIZE = 2, 8
TOPICS = [".", ".a", ".a.b", ".a.b.c", ".a.d", ".e", "plain", ".a.", "..", ".a..b", "." * 31, "a.b", ".é", "x" * 256]
SOME = TOPICS[:7]
NODES = [0, 1, 2, 3, 7, 8, 100, (1 << 31) - 1]
SUMS = ["", "0", "-1", "ffffffffffffffff", "FFFFFFFFFFFFFFFF", "nonsense", "\u0000", "-fffffffffffffff"]


class Dice(random.Random):
    """Values of every kind that a packet of damulticast has."""

    def topic(self) -> Topic:
        return self.choice(SOME) if self.random() < 0.8 else self.choice([*TOPICS, f".a.t{self.randrange(50)}"])

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

    def id(self) -> MessageId:
        return MessageId(self.origin(), self.topic(), self.seq())

    def entry(self) -> Entry:
        turn = self.choice([0, 1, 2, 5, EXACT - 1])
        return Entry(*self.origin(), turn, self.choice([0, 0, 0, 1, 63, 64, 65, AGE_MAX]))

    def entries(self) -> tuple[Entry, ...]:
        return tuple(self.entry() for _ in range(self.choice([0, 1, 3, 40])))

    def vector(self) -> Vector:
        return {
            self.origin(): self.seq() if self.random() < 0.02 else max(0, self.seq())
            for _ in range(self.choice([0, 1, 3]))
        }

    def vectors(self) -> dict[Topic, Vector]:
        return {self.topic(): self.vector() for _ in range(self.choice([0, 1, 2, 5]))}

    def message(self) -> Message:
        id = self.id()
        items = [b"x"] * self.choice([1, 1, 1, 2, 5])
        follows = {MessageId(self.origin(), id.topic, self.seq()) for _ in range(self.choice([0, 0, 1, 3]))}
        return Message(id, Bundle.of(items), tuple(sorted(follows)), len(items), self.flag())

    def messages(self) -> tuple[Message, ...]:
        made = [self.message() for _ in range(self.choice([0, 1, 3]))]
        return tuple(made + made[:1])

    def uppers(self) -> tuple[Upper, ...]:
        return tuple(Upper(self.topic(), self.topic(), self.entries()) for _ in range(self.choice([0, 1, 3])))

    def below(self) -> tuple[tuple[Topic, Entry], ...]:
        return tuple((self.topic(), self.entry()) for _ in range(self.choice([0, 1, 3, 300])))

    def packet(self, kind: type[Packet]) -> Packet:
        made: dict[type[Packet], Callable[[], Packet]] = {
            Gossip: lambda: Gossip(self.id(), (self.message(),), self.topic()),
            Digest: lambda: Digest(
                self.id(),
                self.choice(SUMS),
                self.flag(),
                self.flag(),
                self.entry(),
                self.flag(),
                self.entries(),
                self.uppers(),
            ),
            Holdings: lambda: Holdings(
                self.id(),
                self.vectors(),
                self.flag(),
                self.flag(),
                self.entry(),
                self.flag(),
                self.flag(),
                self.choice(["", ".a", ".z", "nonsense"]),
                self.choice(["", "", ".a.b", "."]),
            ),
            Refill: lambda: Refill(
                self.id(), self.messages(), self.vectors(), self.vectors(), self.flag(), self.flag()
            ),
            Search: lambda: Search(self.id(), self.topic(), self.entry(), self.flag(), self.choice([0, 1, 16])),
            Found: lambda: Found(self.id(), self.topic(), self.entries(), self.below(), self.flag()),
            Ask: lambda: Ask(self.id(), self.topic(), self.entry()),
            Start: lambda: Start(self.id(), self.topic(), self.flag(), self.vectors(), self.random() < 0.2),
            Stray: lambda: Stray(self.id(), self.entry()),
        }
        return made[kind]()

    def receive(self, sender: int, packet: Packet) -> Receive:
        """Mostly it speaks in its own name."""
        if "me" in packet.__struct_fields__ and self.random() < 0.9:
            packet = replace(packet, me=replace(packet.me, node=sender))  # type: ignore[attr-defined]
        return Receive(sender, packet)

    def event(self) -> Event:
        luck = self.random()
        if luck < 0.75:
            return self.receive(self.peer(), self.packet(self.choice(WIRE)))
        if luck < 0.87:
            return Timeout("round")
        if luck < 0.89:
            return self.choice([Suspect(self.peer()), Restore(self.peer(), self.randrange(3))])
        topic = self.topic()
        said = Publish(topic, Bundle.of([b"mine"]))
        return self.choice([Subscribe(topic), Subscribe(topic), Unsubscribe(topic), said, said])


class Victim:
    """A node whose peers say anything, and what its application has asked for."""

    def __init__(self, ordering: str, **place: Any) -> None:
        self.machine: Any = protocols.build("damulticast", ordering, Place(ME, SIZE, **place), {"period": 10})
        self.tree = Hierarchy.at(self.machine.place)
        self.wanted: set[Topic] = set()
        self.now = 0
        self.said = 0
        self.refusals = 0

    def feed(self, event: Event) -> None:
        self.now += 1
        try:
            if isinstance(event, Receive):
                [frame] = decode(sent(Carry("damulticast/fifo", 1, event.packet)))
                check(frame.packet)
            effects = self.machine.step(self.now, event)
        except TrellisError:
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
            topic = effect.message.id.topic
            assert any(self.tree.reaches(one, topic) for one in self.wanted), topic
        elif isinstance(effect, Send):
            assert effect.to != ME
            self.said += 1
            frame = Carry("damulticast/fifo", 1, effect.packet)
            assert decode(sent(frame)) == [frame]


JOINTS = {".a.b": About((".e",)), ".a.d": About((".e", ".f"))}


@pytest.mark.parametrize("ordering", ["unordered", "fifo", "causal"])
@pytest.mark.parametrize("place", [{}, {"alone": True}, {"topics": JOINTS}], ids=["all", "alone", "joints"])
def test_whatever_peers_say_is_accepted_or_refused(ordering: str, place: dict[str, Any]) -> None:
    for seed in range(20):
        dice, victim = Dice(seed), Victim(ordering, **place)
        for n in range(400):
            event = dice.event()
            try:
                for _ in range(90 if dice.random() < 0.003 else 1):  # long enough to be forgotten, and to leave
                    victim.feed(event)
            except Exception as error:
                raise AssertionError(f"seed {seed}, event {n}: {event!r}") from error
        assert victim.said > 50


# One by one.


def me(node: int) -> Entry:
    return Entry(node, 0, 1)


def sends(victim: Victim, event: Event) -> list[tuple[int, Packet]]:
    return [(one.to, one.packet) for one in victim.machine.step(0, event) if isinstance(one, Send)]


def member(ordering: str, *topics: Topic) -> Victim:
    """It is in the groups of these topics, and heard of nobody else."""
    victim = Victim(ordering, alone=True)
    for topic in topics:
        victim.feed(Subscribe(topic))
    assert [group.phase for group in victim.machine.overlay.groups.values()] == [IN] * len(topics)
    return victim


@pytest.mark.parametrize("number", [0, -1, EXACT - 1])
def test_a_message_whose_numbers_are_out_of_range_is_refused(number: int) -> None:
    message = Message(MessageId((1, 0), ".a", number), Bundle.of([b"x", b"y"]), (), 2)
    with pytest.raises(RemoteProtocolError):
        check(Gossip(message.id, (message,), ".a"))
    with pytest.raises(RemoteProtocolError):
        vcube_packets.check(Pub(message.id, 1, (message,)))


def test_nobody_speaks_for_another_one() -> None:
    victim, id = member("fifo", ".a"), MessageId((1, 0), ".a", 0)
    victim.feed(Restore(1, 0))
    packets: list[Packet] = [
        Digest(id, "0", False, False, me(3), False, (), ()),
        Holdings(id, {}, False, False, me(3), False),
        Ask(id, ".a", me(3)),
        Stray(id, me(3)),
    ]
    for packet in packets:
        with pytest.raises(RemoteProtocolError, match="of node 3 from node 1"):
            victim.machine.step(0, Receive(1, packet))


def test_a_search_is_passed_on_no_more_often_than_its_receiver_would_ask_for() -> None:
    """Else one packet becomes three to the power of sixteen."""
    victim = Victim("fifo")
    wanted = next(name for n in range(99) if ME not in victim.machine.overlay.bootstrap.places_of(name := f".t{n}"))
    told = sends(victim, Receive(1, Search(MessageId((1, 0), wanted, 0), wanted, me(1), True, 16)))
    assert {packet.hops for _, packet in told if isinstance(packet, Search)} == {1}


def test_a_joiner_takes_no_cut_of_topics_that_it_does_not_join() -> None:
    victim = Victim("fifo")
    victim.feed(Subscribe(".a"))
    group = victim.machine.overlay.groups[".a"]
    group.unanswered.clear()
    group.company.hear(me(1))
    victim.machine.overlay.bootstrap.go_on(group)
    start = Start(MessageId((2, 0), ".a", 0), ".a", True, {".e": {(1, 0): 9}, ".a.b": {(1, 0): 9}})
    victim.feed(Receive(1, start))
    assert victim.machine.overlay.groups[".a"].phase is IN
    assert list(victim.machine.overlay.comparison.account.topics) == [".a", ".a.b"]


def test_a_joiner_does_not_ask_itself_for_a_start() -> None:
    victim = Victim("fifo")
    victim.feed(Subscribe(".a"))
    below = ((".a.b", me(ME)), (".e", me(5)), (".a.b", me(3)))
    victim.feed(Receive(1, Found(MessageId((2, 0), ".a", 0), ".a", (), below, True)))
    assert victim.machine.overlay.groups[".a"].below == {3: ".a.b"}


def test_a_cut_with_an_origin_that_has_said_nothing_can_be_given_up_to() -> None:
    """Whoever heard of a number ahead of a gap has 0 of its origin, and says so."""
    victim = member("causal", ".a")
    ordering: Any = victim.machine.ordering
    ordering.lacks(".a", {(1, 0): 3, (5, 0): 0}, [((1, 0), 1, 3)])
    assert ordering.frontier(".a") == {(1, 0): 3}


# What is kept of it is bounded.


def test_a_node_remembers_a_bounded_number_of_topics_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "TOPICS_MAX", 100)
    monkeypatch.setattr(damulticast_search, "PLACES_MAX", 100)
    victim = member("fifo")
    for n in range(500):
        id = MessageId((1, 0), f".a.t{n}", 0)
        for wanted in (id.topic, ".a", f".w{n}"):
            victim.feed(Receive(1, Search(id, wanted, me(1 + n % 50), True, 0)))
    found = victim.machine.overlay.bootstrap
    assert len(found.directory.members) == 100
    assert ".a.t499" in found.directory.members
    assert sum(map(len, found.directory.waiting.values())) == found.directory.pairs == 100
    assert len(found.places) <= 100
    for _ in range(200):
        victim.feed(Timeout("round"))
    assert (found.directory.members, found.directory.waiting, found.directory.pairs) == ({}, {}, 0)


def test_an_age_that_grows_stays_one_that_can_be_told() -> None:
    victim, id = member("fifo"), MessageId((1, 0), ".a", 0)
    victim.feed(Receive(1, Search(id, ".a", Entry(1, 0, 1, AGE_MAX), True, 0)))
    for _ in range(5):
        victim.feed(Timeout("round"))
    [(to, found)] = sends(victim, Receive(3, Search(id, ".a", me(3), False, 0)))
    assert (to, found) == (3, Found(id, ".a", (Entry(1, 0, 1, AGE_MAX),), (), True))


# What is said fits a frame.


class Pair:
    """Two nodes that hear of each other only what went through the codec. Only the packets of their overlay count."""

    def __init__(self, ordering: str, keep: int = 10_000) -> None:
        options = {"period": 10, "keep": keep}
        self.nodes: list[Any] = [
            protocols.build("damulticast", ordering, Place(n, 2, barrier_max=BARRIER_MAX), options) for n in range(2)
        ]
        self.delivered: list[list[MessageId]] = [[], []]
        self.kinds: Counter[str] = Counter()
        self.largest = 0

    def feed(self, node: int, event: Event) -> None:
        todo = deque([(node, event)])
        while todo:
            node, event = todo.popleft()
            for effect in self.nodes[node].step(0, event):
                if isinstance(effect, Deliver):
                    self.delivered[node].append(effect.message.id)
                elif isinstance(effect, Send):
                    todo.append((effect.to, Receive(node, self.carried(effect.packet))))

    def carried(self, packet: Packet) -> Packet:
        data = sent(Carry("damulticast/fifo", 1, packet))
        self.kinds[packet.kind] += 1
        self.largest = max(self.largest, len(data))
        [frame] = decode(data)
        check(frame.packet)
        return frame.packet

    def rounds(self, count: int) -> None:
        for _ in range(count):
            for node in range(2):
                self.feed(node, Timeout("round"))

    def hear(self, node: int, message: Message, group: Topic) -> None:
        """From somebody who is not there any more; nobody passes it on."""
        overlay = self.nodes[node].overlay
        overlay.groups[group].passed[message.id] = None
        self.feed(node, Receive(1 - node, Gossip(message.id, (message,), group)))

    def sums(self, group: Topic) -> set[str]:
        return {node.overlay.comparison.sum(group) for node in self.nodes}


def name(n: int) -> Topic:
    return f".a.{n:05d}{'x' * 240}"


@pytest.mark.parametrize("ordering", ["unordered", "causal"])
def test_nodes_with_more_topics_than_fit_a_frame_come_to_have_the_same(ordering: str) -> None:
    pair = Pair(ordering)
    for node in range(2):
        pair.feed(node, Subscribe(".a"))
        pair.rounds(30)
    count = 5000
    for n in range(count):
        message = Message(MessageId((7, 0), name(n), 1), Bundle.of([b"x"]))
        for node in range(2):
            if n % 50 != node:  # some of them only one of the two has
                pair.hear(node, message, ".a")
    assert len(pair.sums(".a")) == 2
    pair.rounds(40)
    assert len(pair.sums(".a")) == 1
    assert [len(set(got)) for got in pair.delivered] == [len(got) for got in pair.delivered] == [count, count]
    assert pair.largest <= FRAME_MAX


def test_a_joiner_is_told_of_more_topics_than_fit_a_frame() -> None:
    pair = Pair("fifo")
    pair.feed(0, Subscribe(".a"))
    pair.rounds(30)
    for n in range(5000):
        pair.hear(0, Message(MessageId((7, 0), name(n), 1), Bundle.of([b"x"])), ".a")
    pair.feed(1, Subscribe(".a"))
    pair.rounds(30)
    assert pair.kinds["START"] == 3
    assert len(pair.sums(".a")) == 1
    assert pair.delivered[1] == []  # all of it is older


def test_a_joiner_is_told_of_more_groups_below_than_fit_a_frame() -> None:
    pair = Pair("fifo")
    for n in range(6000):
        search = Search(MessageId((1, 0), name(n), 0), ".a", me(9), True, 0)
        pair.nodes[0].step(0, Receive(1, search))
    told = [
        pair.carried(effect.packet)
        for effect in pair.nodes[0].step(0, Receive(1, Search(MessageId((1, 0), ".a", 0), ".a", me(1), True, 0)))
        if isinstance(effect, Send)
    ]
    assert [packet.listed for packet in told if isinstance(packet, Found)] == [False, False, True]
    assert sum(len(packet.below) for packet in told if isinstance(packet, Found)) == 6000


def test_what_cannot_be_given_any_more_is_told_in_frames_that_fit() -> None:
    pair = Pair("causal", keep=10)
    for node in range(2):
        pair.feed(node, Subscribe(".a"))
        pair.rounds(30)
    for n in range(5000):  # of which the second node hears nothing, and the first one keeps the last ten
        pair.hear(0, Message(MessageId((7, 0), name(n), 1), Bundle.of([b"x"])), ".a")
    pair.rounds(400)
    assert len(pair.sums(".a")) == 1
    assert pair.largest <= FRAME_MAX


def test_a_reply_asks_only_for_topics_of_which_something_is_lacking() -> None:
    pair = Pair("fifo")
    for node in range(2):
        pair.feed(node, Subscribe(".a"))
        pair.rounds(30)
    for n in range(100):
        for node in range(2):
            if n or not node:
                pair.hear(node, Message(MessageId((7, 0), f".a.t{n}", 1), Bundle.of([b"x"])), ".a")
    given: list[Message] = []
    carried = pair.carried

    def counted(packet: Packet) -> Packet:
        given.extend(packet.messages)
        return carried(packet)

    pair.carried = counted  # type: ignore[method-assign]
    pair.nodes[0].overlay.comparison.log.age()
    pair.feed(1, Timeout("round"))  # it asks, is told what there is, and replies
    assert [message.id.topic for message in given] == [".a.t0"]


def test_what_is_not_taken_is_not_asked_for_again_at_once() -> None:
    """Else two nodes would talk for ever, while one has no room."""
    victim = member("fifo", ".a")
    victim.feed(Restore(1, 0))
    messages = tuple(Message(MessageId((1, 0), ".a", n), Bundle.of([b"x"])) for n in (5, 6))
    fill = Refill(MessageId((1, 0), ".a", 0), messages, {}, {}, False, True)
    assert [packet.kind for _, packet in sends(victim, Receive(1, fill))] == ["HOLDINGS"]
    assert sends(victim, Receive(1, fill)) == []
