"""What was missed on a vine: nodes that take a topic compare what they have, within a cluster and between clusters.

Source:   ours; anti-entropy (Demers et al. 1987). Vitis has nothing of the kind: an event that is published while a
          path is broken never reaches the clusters behind it (V6 in docs/protocols/vitis.md).
Promises: what one node that takes a topic has and keeps, all who take it have after some rounds, if there is any path
          between them. What neighbours do not keep its source is asked for; if that has not kept it either, it is
          announced as a gap. Where nothing was published, nothing is sent.

In every round a node tells one neighbour the checksums of topics that both take. Whoever has another sum answers with
its numbers, and each sends what the other lacks. Between clusters, gateways compare: a relay that carries a topic for
several of them tells one of another (`Meet`) while something is said on it; and whoever is a gateway of topics on which
it has something looks along their relay paths, one after the other, for another cluster (`Lookup`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trellis import draw
from trellis.protocols.overlays.vine_packets import Bring, Numbers, Sums
from trellis.protocols.parts.portions import portions
from trellis.protocols.parts.stock import Stock
from trellis.words import NodeId, Origin, Topic, Vector

if TYPE_CHECKING:
    from trellis.protocols.overlays.vine_topics import Topics

SUMS_MAX = 512  # topics of one comparison: if there are more, another part of them each time
AGAIN = 4  # rounds until a source that does not answer is asked again


class Comparison(Stock):
    """The part of a node that compares."""

    def __init__(self, overlay: Topics, keep: int) -> None:
        super().__init__(overlay, keep)
        self.overlay = overlay

    def active(self) -> dict[Topic, str]:
        """Topics on which I have something, with their sums."""
        return {topic: f"{sum:x}" for topic, sum in self.account.sums.items() if sum}

    # Asking

    def begin_round(self, partners: Iterable[tuple[NodeId, frozenset[Topic]]]) -> None:
        """With the first of these neighbours that takes a topic on which I have something."""
        active = self.active()
        if not active:
            return
        for node, shared in partners:
            topics = [topic for topic in active if topic in shared]
            if topics:
                self.compare(node, topics)
                return

    def compare(self, node: NodeId, topics: list[Topic]) -> None:
        sums = [(topic, f"{self.account.sums[topic]:x}") for topic in topics if topic in self.account.sums]
        if len(sums) > SUMS_MAX:
            start = draw.draw(self.overlay.place.seed, draw.PORTION, self.overlay.me, self.overlay.round) % len(sums)
            sums = (sums[start:] + sums[:start])[:SUMS_MAX]
        if sums:
            self.overlay.send(node, Sums(self.overlay.id_of(sums[0][0]), tuple(sums), False))

    def asks_source(self, topic: Topic, origin: Origin) -> bool:
        """My neighbours may all have joined after it spoke, or lost touch with it in that round."""
        source, life = origin
        if source in self.refused[topic, origin] or source in self.overlay.suspected:
            return False
        if source == self.overlay.me or self.overlay.lives.get(source, 0) > life:
            return False
        if (self.overlay.round - self.since[topic, origin]) % AGAIN == 0:
            self.compare(source, [topic])
        return True

    # Answering

    def upon_sums(self, sender: NodeId, packet: Sums) -> None:
        same: list[Topic] = []
        other: list[Topic] = []
        for topic, sum in packet.sums:
            mine = self.account.sums.get(topic)
            if mine is None:
                continue
            (same if f"{mine:x}" == sum else other).append(topic)
        if packet.reply:
            for topic in same:
                self.overlay.agree(topic)
            return
        if other and self.overlay.repairs:
            vectors = {topic: dict(self.account.topics[topic].upto) for topic in other}
            self.tell(sender, vectors, reply=False)
        staying = [topic for topic in same if self.overlay.stays_in(topic)]
        if staying:
            sums = tuple((topic, f"{self.account.sums[topic]:x}") for topic in staying)
            self.overlay.send(sender, Sums(packet.id, sums, True))

    def tell(self, node: NodeId, vectors: dict[Topic, Vector], reply: bool) -> None:
        parts = portions(vectors)
        n = draw.draw(self.overlay.place.seed, draw.PORTION, self.overlay.me, node, self.overlay.round) % len(parts)
        self.overlay.send(node, Numbers(self.overlay.id_of(next(iter(parts[n]))), parts[n], reply))

    def upon_numbers(self, sender: NodeId, packet: Numbers) -> None:
        """Its numbers, where they are not mine. I send what it lacks, and say in turn what I lack."""
        topics = [topic for topic in packet.vectors if self.has(topic)]
        gift = self.gift(topics, lambda topic: packet.vectors[topic])
        if gift:
            self.overlay.send(sender, Bring(packet.id, tuple(gift.messages), gift.gone, gift.cuts, gift.more))
        behind = {}
        for topic in topics:
            mine = self.account.topics[topic].upto
            if any(seq > mine.get(origin, 0) for origin, seq in packet.vectors[topic].items()):
                behind[topic] = dict(mine)
        if behind and not packet.reply:
            self.tell(sender, behind, reply=True)

    def upon_bring(self, sender: NodeId, packet: Bring) -> None:
        taken = set()
        for message in packet.messages:
            if self.has(message.id.topic) and self.overlay.take(message):
                taken.add(message.id.topic)
                self.overlay.note("fill", message.id, count=message.count)
                self.overlay.spreading.begin(message)  # my cluster may have missed it as well
            else:
                self.overlay.skip(message)
        if packet.more and taken:
            self.tell(sender, {topic: dict(self.account.topics[topic].upto) for topic in sorted(taken)}, reply=True)
            return
        for topic, vector in packet.gone.items():
            if self.has(topic):
                if self.overlay.taken[topic].fresh:
                    self.begin_later(topic, vector, packet.cuts.get(topic, {}))
                else:
                    self.be_refused(sender, topic, vector, packet.cuts.get(topic, {}))

    def begin_later(self, topic: Topic, gone: Vector, cut: Vector) -> None:
        """What is gone was before my time: nobody told me where to begin."""
        above = self.overlay.above
        new = cut if above.wants_closed_cuts else gone
        floor = self.log.floor[topic]
        for origin, seq in sorted(new.items()):
            if origin != self.overlay.origin and seq > self.upto(topic, origin):
                floor[origin] = max(seq, floor.get(origin, 0))
                self.account.give_up(topic, origin, seq)
        above.lacks(topic, new, [])
