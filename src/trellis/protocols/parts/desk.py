"""A desk: the topic managers of one host, as one. It counts, and puts numbers together for those who ask.

Source:   TNO section 3.4, multistage timestamp generation and subscription management.
Promises: of two messages on two topics of one group, exactly one has the other in its timestamp, and what timestamps
          ask for has no rings within any subscription. A number is given to one message for ever: whoever asks again
          gets the same answer.
Assumes:  climbs arrive, in any order, if need be because they are sent again.
Departs:  T9. A climb stops at every desk between its home and its top, also where it has nothing to fill in, and each
          desk takes climbs in the order in which the one below let them go. So two climbs that met once stay in that
          order all the way up; climbs that skip desks overtake each other, FIFO links or not.
          T3. A subscription takes no numbers, so that nobody waits for them: who subscribes learns the numbers so far.
          It visits every desk: what was begun before it is everywhere before it.
          All topics of a desk are one stage (`Desks`), which sees all of their numbers at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import msgspec

from trellis.protocols.parts.desk_packets import (
    EXPIRE,
    FORGET,
    GATHER,
    GATHERED,
    Account,
    Admitted,
    Answer,
    Ask,
    Change,
    Climb,
    Climbed,
    Command,
    Given,
    Lapse,
    Pull,
    Renew,
    Renewed,
    Run,
    Stamped,
    State,
    Sweep,
    Told,
    with_entries,
)
from trellis.protocols.parts.groups import Desks
from trellis.protocols.parts.registry import NO_TOPICS, Registry
from trellis.words import MessageId, NodeId, Packet, Stamp, Topic

GIVEN_MAX = 1_000  # of a topic, that can be asked for


class Post(Protocol):
    """By which a desk sends."""

    def to_desk(self, desk: int, packet: Packet) -> None: ...
    def to_node(self, node: NodeId, packet: Packet) -> None: ...


class Share(NamedTuple):
    """The part of a desk in the timestamps of one topic."""

    mine: tuple[Topic, ...]  # the others of its group that have their home here
    lower: tuple[Topic, ...]  # those at desks of lower rank
    top: int  # the highest desk of the group


class Desk:
    """The managers of all topics that have their home here."""

    def __init__(self, index: int, desks: Desks, rule: str, post: Post) -> None:
        self.index = index
        self.desks = desks
        self.post = post
        self.registry = Registry(rule)
        self.shares: dict[Topic, Share] = {}  # as far as they were asked for since the last change
        self.state = State()

    def snapshot(self) -> State:
        """All that I know, to be packed at once for somebody who must know it too."""
        return msgspec.structs.replace(self.state, subscriptions=self.registry.listed())

    def install(self, state: State) -> None:
        self.state = msgspec.structs.replace(state, subscriptions=[])
        self.registry.install(state.subscriptions)
        self.shares.clear()

    def stand(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        """They have subscribed since before the run."""
        self.registry.stand(topic, members)
        self.shares.clear()

    def share(self, topic: Topic) -> Share:
        """My part in the timestamps of a topic."""
        share = self.shares.get(topic)
        if share is None:
            group = sorted(self.registry.groups.of(topic) - {topic})
            homes = [(self.desks.of(other), other) for other in group]
            mine = tuple(other for home, other in homes if home == self.index)
            lower = tuple(other for home, other in homes if home > self.index)
            top = min((home for home, _ in homes), default=self.index)
            share = self.shares[topic] = Share(mine, lower, min(top, self.index))
        return share

    # What is asked here

    def upon_ask(self, ask: Ask) -> None:
        """Steps 1-5 of the timestamp generation, for all messages that have no number yet."""
        origin, topic = ask.id.origin, ask.id.topic
        account = self.state.accounts.setdefault((origin, topic), Account(ask.first - 1))
        for first in [first for first, answer in account.answers.items() if first + answer.count <= ask.first]:
            del account.answers[first]
        count = ask.upto - account.numbered
        if count <= 0:  # it asks again
            for answer in account.answers.values():
                self.post.to_node(origin[0], answer)
            return
        number = self.state.clocks.get(topic, 0) + 1
        self.state.clocks[topic] = number + count - 1
        about = Stamped(ask.id, account.numbered + 1, count, number, ())
        given = self.state.given.setdefault(topic, [])
        given.append(Given(number, count, origin, about.first))
        del given[:-GIVEN_MAX]
        account.numbered = ask.upto
        share, known = self.share(topic), self.state.known
        self.begin(about, share.top, tuple([(other, known.get(other, 0)) for other in share.lower]))

    def upon_change(self, change: Change) -> None:
        """A subscription timestamp, through all desks. If its subscription was given up, it begins anew."""
        origin = change.id.origin
        if not self.is_news(change):
            answer = self.state.admitted.get(origin)
            if answer is not None and answer.version == change.version:
                self.post.to_node(origin[0], answer)
            return
        anew = origin in self.state.expired
        if anew:
            self.state.expired.remove(origin)
            self.state.anew[origin] = change.version
        self.state.changes[origin] = change.version
        self.state.admitted.pop(origin, None)
        self.begin(Change(change.id, change.version, change.topics, anew), 0, ())

    def begin(self, about: Stamped | Change | Sweep, top: int, entries: Stamp) -> None:
        state = self.state
        state.begun += 1
        over = next(iter(state.open), state.begun) - 1
        climb = Climb(about.id, self.index, 0, top, self.index, state.begun, over, entries, about)
        state.open[state.begun] = climb = self.fill(climb)
        self.send_on(climb)

    # Subscriptions that are over

    def upon_renew(self, renew: Renew) -> None:
        """All who count have this line: no other leader has given it up."""
        origin = renew.id.origin
        stands = origin not in self.state.expired and renew.version >= self.state.anew.get(origin, 0)
        self.post.to_node(origin[0], Renewed(renew.id, renew.version, renew.at, stands))

    def upon_sweep(self, sweep: Sweep) -> None:
        """T6, T17: one round at a time finds out what counts no more. Whoever is out of reach for too long is over."""
        state, current = self.state, self.registry.current
        if sweep.act == EXPIRE:
            over = tuple((who, topics) for who, topics in sweep.pairs if who in current)
            state.expired += [who for who, _ in over]
            if over:
                self.begin(Sweep(sweep.id, EXPIRE, 0, over), 0, ())
        elif sweep.act == GATHER and state.sweep is None:
            state.sweeps += 1
            state.sweep = Sweep(sweep.id, GATHER, state.sweeps, sweep.pairs)
            self.begin(state.sweep, 0, ())
        elif sweep.act == FORGET and is_gathered(state.sweep, sweep.round):
            state.sweep = Sweep(sweep.id, FORGET, sweep.round, sweep.pairs)
            self.begin(state.sweep, 0, ())

    # What is missed

    def look_up(self, pull: Pull) -> Told | None:
        """Whose these numbers are, from the first on, as far as they belong together."""
        topic = pull.id.topic
        given = self.state.given.get(topic, [])
        n = bisect_right(given, pull.number, key=lambda run: run.number) - 1
        if n < 0 and given:
            return Told(pull.id, pull.number, given[0].number - pull.number, void=True, known=False)
        if n < 0 or pull.number not in given[n]:
            return None
        run = given[n]
        skipped = pull.number - run.number
        id = MessageId(run.origin, topic, run.first + skipped)
        count = run.count - skipped
        if pull.upto:
            count = min(count, pull.upto - pull.number + 1)
        for void in self.state.voids.get(topic, ()):
            if void.first <= pull.number <= void.last:
                return Told(id, pull.number, void.last - pull.number + 1, True)
            if void.first > pull.number:
                count = min(count, void.first - pull.number)
        return Told(id, pull.number, count, False)

    def answers(self, id: MessageId) -> list[Stamped]:
        """What a publisher was told of these, if it has not said that it heard it."""
        account = self.state.accounts.get((id.origin, id.topic))
        return [a for a in account.answers.values() if a.first <= id.seq <= a.last] if account is not None else []

    def upon_lapse(self, lapse: Lapse) -> None:
        """T1, T2: nobody waits for them any more, whatever becomes of their publisher."""
        topic = lapse.id.topic
        if self.is_news(lapse):
            voids = self.state.voids.setdefault(topic, [])
            voids.append(Run(lapse.number, lapse.number + lapse.count - 1))
            del voids[:-GIVEN_MAX]
        told = self.look_up(Pull(lapse.id, lapse.number, 0))
        if told is not None:
            self.post.to_node(lapse.id.source, told)

    # What is new to me

    def take(self, command: Command) -> None:
        match command:
            case Ask():
                self.upon_ask(command)
            case Change():
                self.upon_change(command)
            case Climb():
                self.upon_climb(command)
            case Climbed():
                self.upon_climbed(command)
            case Lapse():
                self.upon_lapse(command)
            case Renew():
                self.upon_renew(command)
            case Sweep():
                self.upon_sweep(command)

    def is_news(self, command: Command) -> bool:
        """Whether it would change anything but what is sent again."""
        match command:
            case Ask():
                account = self.state.accounts.get((command.id.origin, command.id.topic))
                return account is None or command.upto > account.numbered
            case Change():
                origin, last = command.id.origin, self.state.changes.get(command.id.origin, 0)
                return command.version > last or (command.version == last and origin in self.state.expired)
            case Climb():
                return command.turn > self.state.done and command.turn not in self.state.held
            case Climbed():
                return command.serial in self.state.open
            case Renew() | Sweep():
                return True
            case _:
                assert isinstance(command, Lapse)
                voids = self.state.voids.get(command.id.topic, ())
                return not any(void.first <= command.number <= void.last for void in voids)

    # What passes

    def upon_climb(self, climb: Climb) -> None:
        """In the order in which they left the desk below."""
        state = self.state
        before = state.passed.get(climb.home, {}).get(climb.serial)
        if before is not None:  # sent again
            self.send_on(before)
        elif climb.turn > state.done:
            state.held[climb.turn] = climb
            while (next_one := state.held.pop(state.done + 1, None)) is not None:
                self.pass_on(next_one)

    def pass_on(self, climb: Climb) -> None:
        about, home, known = climb.about, climb.home, self.state.known
        self.state.done = climb.turn
        passed = self.state.passed.setdefault(home, {})
        while passed and (oldest := next(iter(passed))) <= climb.over:
            del passed[oldest]
        numbers = ((about.id.topic, about.number + about.count - 1),) if isinstance(about, Stamped) else climb.entries
        for topic, number in numbers:
            known[topic] = max(number, known.get(topic, 0))
        passed[climb.serial] = climb = self.fill(climb)
        self.send_on(climb)

    def fill(self, climb: Climb) -> Climb:
        """My part: the numbers of my topics as they are now. Then it has its turn on the way up."""
        about, clocks = climb.about, self.state.clocks
        mine: Iterable[Topic]
        if isinstance(about, Change):
            self.resubscribe(about)
            mine = self.at_home(about.topics)
        elif isinstance(about, Sweep):
            self.sweep(about)
            mine = self.at_home({topic for _, topics in about.pairs for topic in topics})
        else:
            mine = self.share(about.id.topic).mine
        entries = climb.entries + tuple([(topic, clocks.get(topic, 0)) for topic in mine])
        to, turn = self.index, 0
        if climb.top < self.index:
            self.state.up = turn = self.state.up + 1
            to = self.index - 1
        return Climb(climb.id, to, turn, climb.top, climb.home, climb.serial, climb.over, entries, about)

    def at_home(self, topics: Iterable[Topic]) -> list[Topic]:
        return sorted(topic for topic in topics if self.desks.of(topic) == self.index)

    def resubscribe(self, change: Change) -> None:
        for life in self.registry.end_former_lives(change.id.origin):
            self.state.admitted.pop(life, None)
            self.state.changes.pop(life, None)
            self.state.anew.pop(life, None)
            self.state.expired = [one for one in self.state.expired if one != life]
            for key in [key for key in self.state.accounts if key[0] == life]:
                del self.state.accounts[key]
        self.registry.change(change.id.origin, frozenset(change.topics))
        self.shares.clear()

    def sweep(self, sweep: Sweep) -> None:
        if sweep.act == FORGET:
            self.registry.forget(sweep.pairs)
        elif sweep.act == EXPIRE:
            for who, _ in sweep.pairs:
                self.registry.change(who, NO_TOPICS)
        self.shares.clear()

    def send_on(self, climb: Climb) -> None:
        """To the next desk; from the last one to whoever asked, and to its home."""
        if climb.to != self.index:
            self.post.to_desk(climb.to, climb)
            return
        answer = with_entries(climb.about, climb.entries)
        if not isinstance(answer, Sweep):
            self.post.to_node(climb.about.id.source, answer)
        self.post.to_desk(climb.home, Climbed(climb.id, climb.home, climb.serial, answer))

    def upon_climbed(self, climbed: Climbed) -> None:
        """One of mine is complete: keep the answer for who asks again."""
        if self.state.open.pop(climbed.serial, None) is not None:
            self.keep(climbed.answer)

    def keep(self, answer: Answer) -> None:
        id = answer.id
        match answer:
            case Admitted():
                self.state.admitted[id.origin] = answer
            case Sweep() if answer.act == GATHER:
                self.state.sweep = Sweep(id, GATHERED, answer.round, answer.pairs, answer.entries)
            case Sweep() if answer.act == FORGET:
                self.state.sweep = None
            case Stamped() if (account := self.state.accounts.get((id.origin, id.topic))) is not None:
                account.answers[answer.first] = answer

    def send_again(self) -> None:
        """All that was begun here and is not complete."""
        for climb in list(self.state.open.values()):
            self.send_on(climb)

    def push_on(self) -> None:
        """What passed here, and perhaps did not get on: its home may have given up to ask."""
        for passed in self.state.passed.values():
            for climb in list(passed.values()):
                if climb.to != self.index:
                    self.send_on(climb)


def is_gathered(sweep: Sweep | None, round: int) -> bool:
    return sweep is not None and sweep.act == GATHERED and sweep.round == round
