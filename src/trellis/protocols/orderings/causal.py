"""Causal barrier: deliver a message only after the messages that it directly follows.

Source:   Prakash, Raynal, Singhal 1996; applied per topic by VCube-PS (Algorithm 2, lines 19-22 and 83-94).
Promises: if some node delivered or published a before publishing b on the same topic, nobody delivers b before a.
Assumes:  the overlay brings every message beyond the joiner's cut, and the cut is closed under "follows".
Departs:  no `first_rec`: a dependency at or below the cut counts as satisfied, and nothing else does (V2, V3). A
          barrier outlives the subscription: whoever subscribes again goes on from what it had heard before. A waiting
          message is parked on one missing predecessor instead of being checked again each time.
"""

from __future__ import annotations

from trellis.errors import BarrierTooLong
from trellis.events import Publish
from trellis.machine import Place
from trellis.protocols.interest import Session
from trellis.protocols.layers import START_CUT, Ordering
from trellis.protocols.seam import Missing
from trellis.words import Barrier, Message, MessageId, Origin, Topic, Vector

KNOWN_MAX = 4096


class Causal(Ordering):
    """Per-topic causal order by direct predecessors."""

    promise = "if a node delivered or published a before publishing b on a topic, nobody delivers b before a"
    source = "Prakash, Raynal, Singhal 1996; VCube-PS section 3.2"
    audits = ("creation", "duplicate", "uninvited", "fifo", "causal", "lost", "stuck")
    needs = frozenset({START_CUT})
    wants_closed_cuts = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.barrier: dict[Topic, set[MessageId]] = {}  # what my next message must follow; also of topics that I left
        self.parked: dict[Topic, dict[MessageId, list[Message]]] = {}  # by one predecessor still missing
        self.known: set[MessageId] = set()  # delivered lately: a short cut, emptied when large; `delivered` decides

    def begin(self, topic: Topic, cut: Vector) -> None:
        self.barrier.setdefault(topic, set())  # the cut is not in it: what I skipped I never heard
        for waiting in self.parked.get(topic, {}).values():
            for message in waiting:
                self.hold(message, -1)
        self.parked[topic] = {}

    def upon_publish(self, said: Publish) -> None:
        most, direct = self.place.barrier_max, len(self.barrier.get(said.topic, ()))
        if most and direct > most:
            raise BarrierTooLong(
                f"topic {said.topic!r}: a message of node {self.me} would directly follow {direct} others: the limit "
                f"is {most}; let fewer nodes publish at the same time, or choose fifo order"
            )
        super().upon_publish(said)

    def deliverable(self, session: Session, message: Message) -> bool:
        return self.missing(session, message.follows) is None

    def follows(self, topic: Topic) -> Barrier:
        return tuple(sorted(self.barrier[topic]))

    def upon_arrive(self, session: Session, message: Message) -> None:
        """Lines 64-68 and CHECKDELIVERY. One delivery can free others."""
        parked = self.parked[message.id.topic]
        if not parked and self.known.issuperset(message.follows):  # mostly
            self.deliver_and_remember(session, message)
            return
        self.deliver_ready(session, parked, [message])

    def deliver_ready(self, session: Session, parked: dict[MessageId, list[Message]], free: list[Message]) -> None:
        while free:
            m = free.pop()
            missing = self.missing(session, m.follows)
            if missing is not None:
                parked.setdefault(missing, []).append(m)
                self.hold(m)
                continue
            self.deliver_and_remember(session, m)
            if parked:
                free.extend(self.freed(parked, ending(m)))

    def go_on(self, session: Session, topic: Topic, origin: Origin) -> None:
        parked, upto = self.parked[topic], session.delivered.get(origin, 0)
        for id in sorted(id for id in parked if id.origin == origin and id.seq <= upto):
            self.deliver_ready(session, parked, self.freed(parked, id))

    def clear_below(self, session: Session, topic: Topic, cut: Vector) -> list[Missing]:
        """All of it is given up: it may follow something lost that followed something else here, so its order is not
        known.
        """
        parked, dropped = self.parked[topic], []
        for id in sorted(parked):
            for m in [m for m in parked[id] if m.last <= cut.get(m.id.origin, 0)]:
                parked[id].remove(m)
                self.hold(m, -1)
                dropped.append((m.id.origin, m.id.seq, m.last))
            if not parked[id]:
                del parked[id]
        return sorted(dropped)

    def awaited(self, topic: Topic) -> Vector:
        session, parked = self.sessions[topic], self.parked[topic]
        held = {ending(m) for waiting in parked.values() for m in waiting}
        found: Vector = {}
        for id, waiting in parked.items():
            came = id in held and id.seq > session.mute.get(id.origin, 0)
            if not came and any(self.is_next(session, m) for m in waiting):
                found[id.origin] = max(id.seq, found.get(id.origin, 0))
        return found

    def mute(self, topic: Topic, origin: Origin, upto: int) -> None:
        """With it goes what waits for it, of whatever origin."""
        super().mute(topic, origin, upto)
        session, parked = self.sessions[topic], self.parked[topic]
        muted = [id for id in parked if id.seq <= session.mute.get(id.origin, 0)]
        behind: dict[MessageId, Message] = {}
        while muted:
            found = {m.id: m for m in parked.get(muted.pop(), []) if m.id not in behind}
            behind.update(found)
            muted += [ending(m) for m in found.values()]
        for _, m in sorted(behind.items()):
            if self.is_next(session, m):
                super().mute(topic, m.id.origin, m.last)

    def is_next(self, session: Session, m: Message) -> bool:
        """Whether it is the first of its origin of which the application was told nothing."""
        return m.id.seq == self.told_upto(session, m.id.origin) + 1

    def freed(self, parked: dict[MessageId, list[Message]], id: MessageId) -> list[Message]:
        """What was parked on this one."""
        found = parked.pop(id, [])
        for message in found:
            self.hold(message, -1)
        return found

    def missing(self, session: Session, follows: Barrier) -> MessageId | None:
        """CHECKCB: the first predecessor that I have neither delivered nor skipped. What I published I delivered."""
        if self.known.issuperset(follows):
            return None
        delivered, mine = session.delivered, self.origin
        return min((d for d in follows if delivered.get(d.origin, 0) < d.seq and d.origin != mine), default=None)

    def remember(self, message: Message) -> None:
        """Line 89, and line 22 for a message of mine, which follows all of my barrier and so becomes all of it."""
        barrier = self.barrier[message.id.topic]
        barrier.difference_update(message.follows)
        end = ending(message)
        barrier.add(end)
        if len(self.known) >= KNOWN_MAX:
            self.known.clear()
        self.known.add(end)


def ending(message: Message) -> MessageId:
    """Barriers name the last number of a message: whoever has it has all of it."""
    id = message.id
    return id if message.count == 1 else MessageId(id.origin, id.topic, message.last)
