"""What subscribers have left, and who is gone: found out by whoever leads the desk where subscriptions begin.

Source:   ours; the leases are Gray and Cheriton's (1989).
Promises: T17: what a subscriber had is forgotten when every other one has got, or will never get, what it got there.
          T6: with a lease, a subscriber that nobody reaches for so long is given up. It may be alive: it then
          delivers nothing since half of that time, and begins anew when it is heard of again.
Assumes:  clocks that run at about the same rate (within a factor of two over a lease).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.protocols.parts.desk import Desk, is_gathered
from trellis.protocols.parts.desk_packets import EXPIRE, FORGET, GATHER, GATHERED, Pairs, Reach, Reached, Sweep
from trellis.protocols.parts.ledger import Ledger
from trellis.words import GROUP_MAX, MessageId, Origin, Time

if TYPE_CHECKING:
    from trellis.protocols.orderings.deskbound import Deskbound

PAIRS_MAX = 256  # subscribers in a sweep, and over all of them
TOPICS_MAX = GROUP_MAX // 4  # topics


class Census:
    """One host's part in it, while it leads."""

    def __init__(self, node: Deskbound, desk: Desk, ledger: Ledger, lease: Time, id: MessageId) -> None:
        self.node = node
        self.desk = desk
        self.ledger = ledger
        self.lease = lease
        self.id = id
        self.since: Time = 0  # when I began to lead
        self.asked = 0  # the round in which I asked all who must answer
        self.answered: set[Origin] = set()

    def begin_to_lead(self) -> None:
        self.since = self.node.now
        self.asked = 0

    def tend(self) -> None:
        """Whatever can be done now."""
        if not self.ledger.leading or self.ledger.committed < self.ledger.last:
            return
        sweep = self.desk.state.sweep
        if sweep is None:
            if self.desk.registry.left:
                self.ledger.propose(Sweep(self.id, GATHER, 0, self.some_left()))
        elif sweep.act == GATHERED:
            if self.asked != sweep.round:
                self.asked = sweep.round
                self.answered.clear()
                self.ask(sweep)
            if not self.missing(sweep):
                self.ledger.propose(Sweep(self.id, FORGET, sweep.round, sweep.pairs))

    def some_left(self) -> Pairs:
        pairs = []
        room = TOPICS_MAX
        for who, topics in list(self.desk.registry.left.items())[:PAIRS_MAX]:
            pairs.append((who, tuple(sorted(topics)[:room])))
            room -= len(pairs[-1][1])
            if not room:
                break
        return tuple(pairs)

    def missing(self, sweep: Sweep) -> list[Origin]:
        """Whose answers are due: of a life that is over there is none."""
        topics = {topic for topic, _ in sweep.entries}
        return [
            who
            for who, mine in self.desk.registry.current.items()
            if who not in self.answered and not topics.isdisjoint(mine) and not self.node.lived_again(who)
        ]

    def ask(self, sweep: Sweep) -> None:
        for who in self.missing(sweep):
            self.node.to_node(who[0], Reach(self.id, sweep.round, sweep.entries))

    def upon_reached(self, reached: Reached) -> None:
        if is_gathered(self.desk.state.sweep, reached.round) and reached.round == self.asked:
            self.answered.add(reached.id.origin)

    @property
    def waits(self) -> bool:
        """Whether somebody owes an answer that could give it."""
        sweep = self.desk.state.sweep
        if not self.ledger.leading or sweep is None or sweep.act != GATHERED:
            return False
        return any(self.node.reaches(who[0]) for who in self.missing(sweep))

    def send_again(self) -> None:
        sweep = self.desk.state.sweep
        if sweep is not None and sweep.act == GATHERED:
            self.ask(sweep)

    # Leases

    def expire(self) -> Time:
        """Give up who was out of reach for too long; when to look again, 0 if for nobody."""
        if not self.lease or not self.ledger.leading:
            return 0
        now, away = self.node.now, self.node.away
        due = {
            who: max(self.since, away.get(who[0], self.node.born)) + self.lease
            for who in self.desk.registry.current
            if not self.node.reaches(who[0])
        }
        over = [who for who, at in due.items() if at <= now]
        if over:
            current = self.desk.registry.current
            self.ledger.propose(Sweep(self.id, EXPIRE, 0, tuple((who, tuple(sorted(current[who]))) for who in over)))
        return min((at - now for at in due.values() if at > now), default=0)
