"""What a node has of its topics, what it can give of it to others, and when it gives up what nobody can give.

Source:   ours; anti-entropy (Demers et al. 1987). How nodes compare what they have is the overlay's affair.
Promises: what is kept is given, in the order of its numbers, as much as fits into a packet; what is not kept any more
          is said. What is missing is given up, and announced as a gap, when enough others have said that they do not
          keep it, its source among them if that can be asked, or when it died with a former life of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from trellis.protocols.parts.account import Account
from trellis.protocols.parts.log import Log
from trellis.protocols.parts.portions import size_of, weight
from trellis.protocols.seam import Above
from trellis.words import Message, NodeId, Origin, Topic, Vector, merge

BATCH = 256  # messages of one answer, and their bytes
BYTES_MAX = 1 << 19
ROOM = 7 << 17  # bytes of all of an answer: an eighth of a frame is left for the rest
REFUSALS = 5  # nodes that cannot help, before what is missing is given up; fewer if there are not so many
WAIT, WAIT_MAX = 8, 40  # and rounds: if so many have said so, and if fewer have
REFUSED_MAX = 16_384  # origins of which that is remembered
MOURNING = 32  # rounds until what died with a former life of its source is given up


class Owner(Protocol):
    """The overlay that has them."""

    above: Above
    origin: Origin
    round: int
    lives: dict[NodeId, int]  # the latest life of those who came back
    brought: dict[Topic, None]  # topics whose messages the layer above takes


class Gift(NamedTuple):
    """An answer to somebody who lacks something."""

    messages: list[Message]
    gone: dict[Topic, Vector]  # up to these numbers I cannot help
    cuts: dict[Topic, Vector]  # then, all that I have delivered
    more: bool  # there was no room for all

    def __bool__(self) -> bool:
        return bool(self.messages or self.gone)


class Stock:
    """One node's."""

    def __init__(self, owner: Owner, keep: int) -> None:
        self.owner = owner
        self.account = Account()
        self.log = Log(keep)
        self.refused: dict[tuple[Topic, Origin], dict[NodeId, tuple[int, Vector]]] = {}  # who cannot help me
        self.since: dict[tuple[Topic, Origin], int] = {}  # in which round the first one said so
        self.orphans: dict[tuple[Topic, Origin], int] = {}  # since when something is missing of a life that is over

    def begin(self, topic: Topic, cut: Vector) -> None:
        self.account.begin(topic, cut)
        self.log.begin(topic, cut)

    def end(self, topic: Topic) -> None:
        self.account.end(topic)
        self.log.forget(topic)
        for table in (self.refused, self.since, self.orphans):
            for key in [key for key in table if key[0] == topic]:
                del table[key]

    def has(self, topic: Topic) -> bool:
        return topic in self.account.topics

    def upto(self, topic: Topic, origin: Origin) -> int:
        return self.account.topics[topic].upto.get(origin, 0)

    def add(self, message: Message) -> bool:
        """A message came, or is mine; False when it came before."""
        if not self.account.add(message):
            return False
        self.log.add(message)
        return True

    def ahead(self, topic: Topic) -> list[Message]:
        """What came ahead of a gap of others, as far as I keep it; the rest may come again."""
        seen = self.account.topics[topic]
        held = self.log.held[topic]
        found = []
        for origin, row in sorted(seen.ahead.items()):
            if origin == self.owner.origin:
                continue
            kept = {message.id.seq: message for _, message in held.get(origin, ())}
            found += [kept[first] for first in sorted(row) if first in kept]
            seen.ahead[origin] = {first: last for first, last in row.items() if first in kept}
        seen.ahead = {origin: row for origin, row in seen.ahead.items() if row}
        return found

    def gift(self, topics: Iterable[Topic], theirs: Callable[[Topic], Vector]) -> Gift:
        """What somebody with these numbers lacks and I have; and what I cannot give, as far as there is room."""
        given: list[Message] = []
        gone: dict[Topic, Vector] = {}
        cuts: dict[Topic, Vector] = {}
        size, sorry, more = 0, 0, False
        above = self.owner.above
        for topic in topics:
            vector = theirs(topic)
            for message in self.log.beyond(topic, vector):
                size += weight(message)
                if (given or gone) and (len(given) >= BATCH or size > BYTES_MAX or size + sorry > ROOM):
                    more = True
                    break
                given.append(message)
            cannot = self.log.gone(topic, vector)
            if above.wants_closed_cuts:  # then I can only speak of what I have delivered
                knows = above.frontier(topic)
                cannot = {origin: seq for origin, seq in cannot.items() if seq <= knows.get(origin, 0)}
            cut = above.frontier(topic) if cannot and above.wants_closed_cuts else {}
            if cannot and size + sorry + (long := size_of((topic, topic, cannot, cut))) <= ROOM:
                gone[topic], cuts[topic] = cannot, cut  # what has no room is told when these are given up
                sorry += long
            if more:
                break
        return Gift(given, gone, cuts, more)

    def be_refused(self, sender: NodeId, topic: Topic, gone: Vector, cut: Vector) -> None:
        """Somebody has not kept what I lack. When enough have said so, it is given up."""
        for origin, seq in gone.items():
            key = (topic, origin)
            if seq <= self.upto(topic, origin) or (key not in self.refused and len(self.refused) >= REFUSED_MAX):
                continue
            self.refused.setdefault(key, {})[sender] = (seq, cut)
            self.since.setdefault(key, self.owner.round)

    def give_up_refused(self, known: int) -> None:
        """What enough of the nodes that I know cannot bring, or some for long enough, will not come."""
        for (topic, origin), refused in list(self.refused.items()):
            waited = self.owner.round - self.since[topic, origin]
            if waited < WAIT:
                continue
            if waited < WAIT_MAX and (len(refused) < min(REFUSALS, known) or self.asks_source(topic, origin)):
                continue
            del self.refused[topic, origin], self.since[topic, origin]
            least, cut = min(refused.values(), key=lambda told: told[0])
            if least > self.upto(topic, origin):
                self.give_up(topic, cut if self.owner.above.wants_closed_cuts else {origin: least})

    def asks_source(self, topic: Topic, origin: Origin) -> bool:
        """Whether the source may still have what others do not; where it can be asked, it is."""
        return False

    def give_up(self, topic: Topic, cut: Vector) -> None:
        """Nobody has it any more: tell the application, and go on from the cut."""
        floor, missing = self.log.floor[topic], []
        for origin, seq in sorted(cut.items()):
            if origin != self.owner.origin and seq > self.upto(topic, origin):
                floor[origin] = max(seq, floor.get(origin, 0))
                missing += [(origin, first, last) for first, last in self.account.give_up(topic, origin, seq)]
        self.owner.above.lacks(topic, cut, missing)

    def look_for_orphans(self) -> None:
        """What I have may wait for something that died with a former life of its source, and with all who had it."""
        for topic in self.owner.brought:
            seen = self.account.topics[topic]
            found: Vector = {origin: max(ahead.values()) for origin, ahead in seen.ahead.items()}
            merge(found, self.owner.above.awaited(topic))
            for origin, upto in found.items():
                if self.owner.lives.get(origin[0], 0) > origin[1]:
                    since = self.orphans.setdefault((topic, origin), self.owner.round)
                    if self.owner.round - since >= MOURNING:
                        del self.orphans[topic, origin]
                        self.mourn(topic, origin, upto)

    def mourn(self, topic: Topic, origin: Origin, upto: int) -> None:
        if self.owner.above.wants_closed_cuts:
            self.owner.above.mute(topic, origin, upto)
        else:
            self.give_up(topic, {origin: upto})
