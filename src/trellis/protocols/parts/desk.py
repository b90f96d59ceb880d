"""A desk: the topic managers of one host, as one. It counts, and puts numbers together for those who ask.

Source:   TNO section 3.4, multistage timestamp generation and subscription management.
Promises: of two messages on two topics of one group, exactly one has the other in its timestamp, and what timestamps
          ask for has no rings within any subscription. A number is given to one message for ever: whoever asks again
          gets the same answer.
Assumes:  climbs arrive, in any order, if need be because they are sent again.
Departs:  T9. FIFO links between managers do not suffice: two climbs from one topic that take different ways overtake
          each other, and so does a climb one that was begun after it. A climb says what went before it (after Raynal,
          Schiper, Toueg 1991, with a climb as a message from its home to each desk on its way), and waits for that.
          T3. A subscription takes no numbers, so that nobody waits for them: who subscribes learns the numbers so far.
          It visits every desk, also those without topics of its own: what was begun before it is everywhere before it.
          All topics of a desk are one stage (`Desks.rank`), which sees all of their numbers at once.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from trellis.protocols.parts.desk_packets import (
    Admitted,
    Answer,
    Ask,
    Change,
    Climb,
    Climbed,
    Past,
    Stamped,
    merged,
    with_entries,
)
from trellis.protocols.parts.groups import Desks, Groups
from trellis.protocols.parts.stamps import stamp_of
from trellis.words import NodeId, Origin, Packet, Topic

Serial = tuple[int, int]  # of a climb: its home, and its number there


class Post(Protocol):
    """By which a desk sends."""

    def to_desk(self, desk: int, packet: Packet) -> None: ...
    def to_node(self, node: NodeId, packet: Packet) -> None: ...


class Account:
    """What a publisher was given on a topic."""

    __slots__ = ("answers", "numbered")

    def __init__(self) -> None:
        self.numbered = 0  # its messages so far
        self.answers: dict[int, Stamped] = {}  # by the first message; until the publisher says that it has it


class Desk:
    """The managers of all topics that have their home here."""

    def __init__(self, index: int, desks: Desks, rule: str, post: Post) -> None:
        self.index = index
        self.desks = desks
        self.post = post
        self.clocks: dict[Topic, int] = {}  # LC_T of the topics at home here
        self.known: dict[Topic, int] = {}  # LLC: of topics of lower rank, as they passed
        self.groups = Groups(rule)
        self.accounts: dict[tuple[Origin, Topic], Account] = {}
        self.admitted: dict[Origin, Admitted] = {}  # the last answer to each subscriber, at the desk where they begin
        self.changes: dict[Origin, int] = {}  # the last change of each that was begun there
        self.begun = 0
        self.open: dict[int, Climb] = {}  # begun here, and not at the top yet; by serial, ascending
        self.sent: Past = ((0,) * desks.count,) * desks.count  # per home and desk: climbs that I know were begun
        self.done = [0] * desks.count  # per home: climbs that passed here
        self.passed: dict[Serial, Climb] = {}  # as they left here, until their home is sure
        self.held: dict[Serial, Climb] = {}  # they came before something that went before them

    def stand(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """They have subscribed since before the run."""
        for node in members:
            topics = self.groups.subscriptions.get((node, 0), frozenset())
            self.groups.change((node, 0), topics | {topic})

    # What is asked here

    def upon_ask(self, ask: Ask) -> None:
        """Steps 1-5 of the timestamp generation, for all messages that have no number yet."""
        origin, topic = ask.id.origin, ask.id.topic
        account = self.accounts.setdefault((origin, topic), Account())
        for first in [first for first, answer in account.answers.items() if first + answer.count <= ask.first]:
            del account.answers[first]
        count = ask.upto - account.numbered
        if count <= 0:  # it asks again
            for answer in account.answers.values():
                self.post.to_node(origin[0], answer)
            return
        number = self.clocks.get(topic, 0) + 1
        self.clocks[topic] = number + count - 1
        about = Stamped(ask.id, account.numbered + 1, count, number, ())
        account.numbered = ask.upto
        group = self.groups.of(topic)
        self.begin(about, tuple(sorted(group)), self.desks.path(group, self.index))

    def upon_change(self, change: Change) -> None:
        """A subscription timestamp, through all desks."""
        origin = change.id.origin
        if change.version <= self.changes.get(origin, 0):
            answer = self.admitted.get(origin)
            if answer is not None and answer.version == change.version:
                self.post.to_node(origin[0], answer)
            return
        self.changes[origin] = change.version
        self.begin(change, change.topics, tuple(range(self.index - 1, -1, -1)))

    def begin(self, about: Stamped | Change, group: tuple[Topic, ...], path: tuple[int, ...]) -> None:
        self.begun += 1
        mine = self.sent[self.index]
        turns = tuple(turn + 1 if desk in path else 0 for desk, turn in enumerate(mine))
        over = next(iter(self.open), self.begun) - 1
        climb = Climb(about.id, self.index, self.index, self.begun, over, turns, self.sent, (), about, group)
        self.learn_turns(climb)
        self.open[self.begun] = climb = self.fill(climb)
        self.send_on(climb)

    # What passes

    def upon_climb(self, climb: Climb) -> None:
        serial = (climb.home, climb.serial)
        before = self.passed.get(serial)
        if before is not None:  # sent again
            self.send_on(before)
        elif self.done[climb.home] < climb.turns[self.index]:
            self.held[serial] = climb
            self.let_through()

    def let_through(self) -> None:
        """Whatever waits for nothing any more; one can free others."""
        while ready := [serial for serial, climb in self.held.items() if self.is_next(climb)]:
            for serial in sorted(ready):
                self.pass_on(self.held.pop(serial))

    def is_next(self, climb: Climb) -> bool:
        if self.done[climb.home] != climb.turns[self.index] - 1:
            return False
        me = self.index
        return all(self.done[home] >= turns[me] for home, turns in enumerate(climb.past) if home != climb.home)

    def pass_on(self, climb: Climb) -> None:
        self.done[climb.home] = climb.turns[self.index]
        for home, serial in [s for s in self.passed if s[0] == climb.home and s[1] <= climb.over]:
            del self.passed[home, serial]
        self.learn_turns(climb)
        for topic, number in climb.entries:
            if number > self.known.get(topic, 0):
                self.known[topic] = number
        climb = self.fill(climb)
        self.passed[climb.home, climb.serial] = climb
        self.send_on(climb)

    def fill(self, climb: Climb) -> Climb:
        """My part: the numbers of my topics as they are now; at its home, also of those of lower rank."""
        about, me = climb.about, self.index
        if isinstance(about, Change):
            self.groups.change(about.id.origin, frozenset(about.topics))
        entries = dict(climb.entries)
        for topic in climb.group:
            home = self.desks.of(topic)
            if home == me:
                entries[topic] = self.clocks.get(topic, 0)
            elif home > me and climb.home == me:
                entries[topic] = self.known.get(topic, 0)
        if isinstance(about, Stamped) and climb.home == me:
            entries[about.id.topic] = about.number + about.count - 1
        return msgspec.structs.replace(climb, entries=stamp_of(entries), past=self.sent)

    def learn_turns(self, climb: Climb) -> None:
        """What went before it, and the climb itself."""
        self.sent = merged(self.sent, climb.past)
        row = tuple(map(max, self.sent[climb.home], climb.turns))
        self.sent = (*self.sent[: climb.home], row, *self.sent[climb.home + 1 :])

    def send_on(self, climb: Climb) -> None:
        """To the next desk; from the last one to whoever asked, and to its home."""
        above = [desk for desk in range(self.index) if climb.turns[desk]]
        if above:
            self.post.to_desk(above[-1], msgspec.structs.replace(climb, to=above[-1]))
            return
        answer = with_entries(climb.about, climb.entries)
        self.post.to_node(climb.about.id.source, answer)
        self.post.to_desk(climb.home, Climbed(climb.id, climb.home, climb.serial, answer))

    def upon_climbed(self, climbed: Climbed) -> None:
        """One of mine is complete: keep the answer for who asks again."""
        if self.open.pop(climbed.serial, None) is not None:
            self.keep(climbed.answer)

    def keep(self, answer: Answer) -> None:
        id = answer.id
        if isinstance(answer, Admitted):
            self.admitted[id.origin] = answer
        else:
            self.accounts[id.origin, id.topic].answers[answer.first] = answer

    def send_again(self) -> None:
        """All that was begun here and is not complete."""
        for climb in list(self.open.values()):
            self.send_on(climb)
