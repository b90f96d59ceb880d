"""Delivery: what is published reaches every steady subscriber, and what arrived is not held back for ever.

Promises: *lost* - a subscriber whose subscription, to the topic or to one that includes it, was confirmed before the
          publication, and which stayed until the message was settled (or, if it never was, to the end of the run),
          never got it, or dropped what it got.
          *stuck* - a node that is subscribed at the end got a message and neither delivered nor dropped it; or its
          subscription was never confirmed. Not judged are messages of a source that is dead for good, because what
          they wait for may have died with it, and nobody can tell that from a source out of reach; those that a
          crashed source had not settled, because they may wait for another such source; and those of a crashed source
          that had read something which the node lacks of one that is dead for good: they wait for that.
          A node's subscriptions end when it crashes, stops or starts anew: a dead node holds nothing, and waits for no
          confirmation. What a crashed source had not settled is owed to nobody: who could still pass it on may have
          died with it; nor is what it had settled owed to a node if that or the source was cut off then, and all lives
          that ever had it are over: it was in the memory of those who could be reached, and nobody is left who could
          tell of it. A message is neither lost nor stuck
          where the application was told of a gap in its place: that is the difference between a loss and a silent loss
          (verdicts count the gaps). A node that was cut off (it suspected another, or another suspected it) before a
          message was settled makes up for it once it is back; if it leaves before, it did not stay a member, and is not
          owed that. The same if the source was cut off.
Assumes:  the run went on until nothing was left to happen (`quiet`). A run that was cut short owes only what it had
          settled, and cannot be judged for what is stuck: it may have been about to be delivered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trellis.audit.lives import Gaps, Life, lived
from trellis.audit.witness import Witness, id_of, ids_of, in_order
from trellis.protocols.parts.hierarchy import in_tree, supers
from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId, Origin, Time, Topic

Place = tuple[NodeId, Topic]


class Cut(NamedTuple):
    """From one row to another, a node could not reach somebody or could not be reached."""

    since: Row
    until: Row | None  # None: to the end of the run
    observer: Life | None = None


class Subscription:
    """One subscription of one node to one topic, as the rows tell it."""

    def __init__(self, life: Life, since: Row) -> None:
        self.life = life
        self.since = since
        self.confirmed: Row | None = None
        self.left: Row | None = None
        self.received: dict[MessageId, Row] = {}  # the first time
        self.copies: Counter[MessageId] = Counter()  # received and not skipped

    def holds(self, id: MessageId) -> bool:
        """A copy came and was not dropped; whether it was delivered is another question."""
        return self.copies[id] > 0


class Logbook:
    """What the delivery audits need of a run, gathered in one pass."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.published: dict[MessageId, Row] = {}
        self.settled: dict[MessageId, Row] = {}
        self.crashed: dict[Origin, Life] = {}
        self.over: set[Life] = set()
        self.newest: dict[NodeId, int] = {}  # the incarnation of a node that started again
        self.delivered: dict[tuple[Life, MessageId], Row] = {}
        self.gaps = Gaps()
        self.cuts: dict[NodeId, list[Cut]] = {}
        self.subscriptions: dict[Place, list[Subscription]] = {}
        self.topics: dict[NodeId, list[Topic]] = {}  # that a node was ever subscribed to
        self.end: Time = 0
        for life, row in lived(rows):
            self.note(life, row)

    def note(self, life: Life, row: Row) -> None:
        place = (row.node, row.topic)
        self.end = row.at
        match row.kind:
            case "deliver" | "late":
                self.delivered[life, id_of(row)] = row
            case "receive":
                self.note_copies(place, row, ids_of(row))
            case "publish":
                self.published.setdefault(id_of(row), row)
                self.note_copies(place, row, [id_of(row)])  # its own node has it from then on
            case "fill":
                self.note_copies(place, row, [id_of(row)])
            case "skip":
                for current in self.all_current(place):
                    current.copies[id_of(row)] -= 1
            case "settle":
                for id in ids_of(row):
                    self.settled.setdefault(id, row)
            case "subscribe":
                if (before := self.current(place)) is not None:  # a node that came back without a word
                    before.left = row
                self.begin(life, row)
            case "confirm":
                mine = self.current(place) or self.begin(life, row)  # a new one stands since before the run
                mine.confirmed = mine.confirmed or row
            case "unsubscribe":
                if (over := self.current(place)) is not None:
                    over.left = row
            case "gap":
                self.gaps.tell(life, row)
            case "suspect" | "restore":
                self.note_cut(life, row)
            case "crash" | "stop" | "start":
                if row.kind == "start":
                    self.newest[row.node] = row.incarnation
                else:
                    self.over.add(life)
                self.end_all(life, row)
                self.end_cuts(life, row)

    def note_copies(self, place: Place, row: Row, ids: list[MessageId]) -> None:
        for current in self.all_current(place):
            for id in ids:
                current.received.setdefault(id, row)
                current.copies[id] += 1

    def note_cut(self, observer: Life, row: Row) -> None:
        """Both ends were cut off now; the other one for as long as this one does not take it back."""
        self.cuts.setdefault(row.node, []).append(Cut(row, row))
        theirs = self.cuts.setdefault(row.peer, [])
        for n, cut in enumerate(theirs):
            if cut.until is None and cut.observer == observer:
                theirs[n] = cut._replace(until=row)
        theirs.append(Cut(row, row if row.kind == "restore" else None, observer))

    def end_cuts(self, observer: Life, row: Row) -> None:
        """The dead suspect nobody."""
        if row.kind != "start":
            for listed in self.cuts.values():
                listed[:] = [c._replace(until=row) if c.until is None and c.observer == observer else c for c in listed]

    def was_cut_off(self, node: NodeId, after: Row, before: Row) -> bool:
        return any(
            cut.since.position < before.position and (cut.until is None or cut.until.position > after.position)
            for cut in self.cuts.get(node, ())
        )

    def were_apart(self, node: NodeId, id: MessageId) -> bool:
        """A node or the source of a message was cut off before it was settled."""
        between = (self.published[id], self.settled[id])
        return self.was_cut_off(node, *between) or self.was_cut_off(id.source, *between)

    def begin(self, life: Life, row: Row) -> Subscription:
        listed = self.subscriptions.setdefault((row.node, row.topic), [])
        if not listed:
            self.topics.setdefault(row.node, []).append(row.topic)
        listed.append(Subscription(life, row))
        return listed[-1]

    def end_all(self, life: Life, row: Row) -> None:
        """A life of a node is over."""
        if row.kind == "crash":
            self.crashed.setdefault((row.source, row.incarnation), life)
        for topic in self.topics.get(row.node, []):
            if (current := self.current((row.node, topic))) is not None:
                current.left = row

    def current(self, place: Place) -> Subscription | None:
        """The subscription that has not ended."""
        listed = self.subscriptions.get(place)
        return listed[-1] if listed and listed[-1].left is None else None

    def all_current(self, place: Place) -> list[Subscription]:
        """Those to the topic, and to topics that include it, that have not ended."""
        node, topic = place
        listed = self.subscriptions.get(place)
        mine = [listed[-1]] if listed and listed[-1].left is None else []
        if not in_tree(topic):  # mostly
            return mine
        above = [self.current((node, other)) for other in supers(topic)]
        return mine + [current for current in above if current is not None]

    def standing(self) -> Iterator[tuple[Place, Subscription]]:
        """Subscriptions that have not ended when the run has."""
        for place in self.subscriptions:
            if (current := self.current(place)) is not None:
                yield place, current

    def first_of(self, node: NodeId, topic: Topic) -> Subscription:
        """Of those that have not ended, and that the topic's messages are for, the one that began first."""
        return min(self.all_current((node, topic)), key=lambda subscription: subscription.since.position)

    def owed(self, quiet: bool) -> Iterator[tuple[NodeId, MessageId, Subscription]]:
        """Every message with every steady subscriber that it must reach."""
        by_topic: dict[Topic, list[tuple[NodeId, Subscription]]] = {}
        for (node, topic), listed in sorted(self.subscriptions.items()):
            confirmed = [(node, subscription) for subscription in listed if subscription.confirmed is not None]
            by_topic.setdefault(topic, []).extend(confirmed)
        for id, published in self.published.items():
            settled = self.settled.get(id)
            if settled is None and (not quiet or id.origin in self.crashed):
                continue
            found: dict[NodeId, Subscription] = {}  # of several of a node the one that began first
            for node, subscription in [
                entry for topic in (id.topic, *supers(id.topic)) for entry in by_topic.get(topic, [])
            ]:
                assert subscription.confirmed is not None
                left = subscription.left
                stayed = left is None or (
                    settled is not None and left.position > settled.position and not self.were_apart(node, id)
                )
                if stayed and subscription.confirmed.position < published.position:
                    other = found.setdefault(node, subscription)
                    if subscription.since.position < other.since.position:
                        found[node] = subscription
            for node, subscription in found.items():
                yield node, id, subscription

    def is_dead_for_good(self, origin: Origin) -> bool:
        """It crashed, and its source was never met in a later life."""
        return origin in self.crashed and self.newest.get(origin[0], -1) <= origin[1]

    def may_wait_for_the_dead(self, subscription: Subscription, id: MessageId) -> bool:
        """Of a life that crashed: for good, or before it had settled this, or after it had read what the subscriber
        lacks of another life that is dead for good.
        """
        said_by = self.crashed.get(id.origin)
        if said_by is None:
            return False
        if id not in self.settled or self.is_dead_for_good(id.origin):
            return True
        read = [m for life, m in self.delivered if life == said_by and m.topic == id.topic]
        return any(self.is_dead_for_good(m.origin) and not self.accounts_for(subscription, m) for m in read)

    def died_out(self, ids: set[MessageId]) -> set[MessageId]:
        """Of these, those of crashed sources that no life has which is not over."""
        kept = {id for life, id in self.delivered if id in ids and life not in self.over}
        return {id for id in ids if id in self.settled and id.origin in self.crashed and id not in kept}

    def accounts_for(self, subscription: Subscription, id: MessageId) -> bool:
        """The application got the message, or was told that it will not."""
        return (subscription.life, id) in self.delivered or self.gaps.told(subscription.life, id)


def lost(rows: Iterable[Row], quiet: bool = True) -> list[Witness]:
    """A message that never came to a steady subscriber."""
    book = Logbook(rows)
    missing = [
        (node, id, subscription)
        for node, id, subscription in book.owed(quiet)
        if not book.accounts_for(subscription, id) and not subscription.holds(id)
    ]
    died_out = book.died_out({id for _, id, _ in missing})
    found = []
    for node, id, subscription in missing:
        if id not in died_out or not book.were_apart(node, id):
            at = book.published[id].at
            skipped = " (it came, and was taken for an old one)" if id in subscription.received else ""
            says = f"node {node} was subscribed all the time and never got {id}, published at {at}{skipped}"
            found.append(Witness("lost", at, node, id, None, says))
    return in_order(found)


def stuck(rows: Iterable[Row]) -> list[Witness]:
    """A message that came and is still held back when nothing is left to happen."""
    book = Logbook(rows)
    found = []
    for (node, topic), subscription in book.standing():
        for id, row in subscription.received.items():
            if book.accounts_for(subscription, id) or not subscription.holds(id):
                continue
            if subscription is not book.first_of(node, id.topic):  # it is told once
                continue
            if not book.may_wait_for_the_dead(subscription, id):
                says = f"node {node} received {id} at {row.at} and still holds it back at the end, {book.end}"
                found.append(Witness("stuck", row.at, node, id, None, says))
        if subscription.confirmed is None:
            since = subscription.since
            says = f"node {node} subscribed to {topic} at {since.at} and was never confirmed"
            found.append(Witness("stuck", since.at, node, id_of(since), None, says))
    return in_order(found)


def checked(rows: Iterable[Row], quiet: bool = True) -> int:
    """How many (message, steady subscriber) pairs `lost` looked at."""
    return sum(1 for _ in Logbook(rows).owed(quiet))
