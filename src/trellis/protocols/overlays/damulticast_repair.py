"""What gossip missed: processes compare what they have, within a group and with the group above, and fill the gaps.

Source:   ours; anti-entropy (Demers et al. 1987). daMulticast has nothing of the kind: what gossip missed is lost.
Promises: what one process of a group has and keeps, all processes of it that know each other have after a few rounds,
          and so have those of the groups above. What nobody keeps any more is announced as a gap.
          While nothing is missing, a comparison is one number, and its answer another.

In every round a process tells one of its fellows the checksum of what it has of the group's topics; g of a group tell
one process of the group above. Whoever has another sum answers with its numbers, and each sends what the other lacks.
Numbers that are too many for a packet are told in portions, another one each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis import draw
from trellis.protocols.overlays.damulticast_group import JOINING, LEAVING, Group, Uplink
from trellis.protocols.overlays.damulticast_packets import Digest, Holdings, Refill, Upper
from trellis.protocols.parts.portions import portions
from trellis.protocols.parts.stock import Stock
from trellis.words import NodeId, Topic, Vector

if TYPE_CHECKING:
    from trellis.protocols.overlays.damulticast_membership import Membership

SHOWN = 6  # fellows of whom a process tells another in one comparison
IDLE = 8  # rounds after which a process is asked again that had all, though nothing is new


class Comparison(Stock):
    """The part of a process that compares."""

    def __init__(self, overlay: Membership, keep: int) -> None:
        super().__init__(overlay, keep)
        self.overlay = overlay
        self.told = 0  # counts what I told in portions
        self.cache: dict[
            Topic, tuple[int, str]
        ] = {}  # sums by group, and for how many changes of the account they hold

    def has_messages(self, group: Topic) -> bool:
        """Whether I keep anything that was said on the topics of a group."""
        return any(rows for topic, rows in self.log.held.items() if self.overlay.tree.reaches(group, topic))

    def sum(self, group: Topic) -> str:
        changes, found = self.cache.get(group, (-1, ""))
        if changes != self.account.changes:
            tree = self.overlay.tree
            found = f"{self.account.sum(lambda topic: tree.reaches(group, topic)):x}"
            self.cache[group] = self.account.changes, found
        return found

    def vectors(self, group: Topic) -> dict[Topic, Vector]:
        tree = self.overlay.tree
        return self.account.vectors(lambda topic: tree.reaches(group, topic))

    # Asking

    def begin_round(self, group: Group, number: int) -> None:
        for node in group.company.drawn(1, draw.PARTNER, number):
            self.compare(node, group, up=False)
        for uplink in group.uplinks:
            self.compare_above(group, uplink, number)

    def compare_above(self, group: Group, uplink: Uplink, number: int) -> None:
        overlay = self.overlay
        for nodes in uplink.former.values():
            self.compare(list(nodes)[number % len(nodes)], group, up=True)
        word = draw.draw(overlay.place.seed, draw.PARTNER, overlay.me, uplink.key, number, 1)
        wary = len(uplink.known) < group.with_.tau or group.phase is LEAVING
        idle = uplink.agreed_on == self.account.changes and number % IDLE
        if wary or (not idle and draw.unit(word) * group.company.size() < group.with_.g):
            for node in uplink.drawn(1, draw.PARTNER, number):
                self.compare(node, group, up=True)

    def compare(self, node: NodeId, group: Group, up: bool) -> None:
        self.overlay.send(node, self.digest(group, up, same=False))

    def digest(self, group: Group, up: bool, same: bool) -> Digest:
        shown = group.company.drawn(SHOWN, draw.SHOWN, self.overlay.round)
        uppers = tuple(
            Upper(uplink.branch, uplink.topic, uplink.told_of(sorted(uplink.known)))
            for uplink in group.uplinks
            if uplink.topic is not None
        )
        id, leaving = self.overlay.id_of(group.topic), group.phase is LEAVING
        told = () if up else uppers
        return Digest(id, self.sum(group.topic), up, same, group.me, leaving, group.company.told_of(shown), told)

    # Answering

    def upon_digest(self, sender: NodeId, digest: Digest) -> None:
        if digest.up and digest.same:
            self.upon_agreed_above(sender, digest)
        elif digest.up:
            self.upon_digest_from_below(sender, digest)
        else:
            self.upon_digest_from_fellow(sender, digest)

    def upon_digest_from_fellow(self, sender: NodeId, digest: Digest) -> None:
        group = self.overlay.group_for(sender, digest.id.topic)
        if group is None:
            return
        group.company.hear_all(digest.fellows)
        for upper in digest.uppers:
            for uplink in group.uplinks:
                if uplink.branch == upper.branch:
                    uplink.offer(upper.topic, upper.entries)
        if digest.leaving:
            group.company.hear_leave(digest.me)
        else:
            group.company.hear(digest.me)
        if group.phase is JOINING:
            return
        if digest.sum == self.sum(group.topic):
            if not digest.leaving:
                self.overlay.agree(group)
            if not digest.same:
                self.overlay.send(sender, self.digest(group, up=False, same=True))
        elif self.overlay.repairs and not digest.same:
            self.tell(sender, group.topic, group, up=False, reply=False)

    def upon_digest_from_below(self, sender: NodeId, digest: Digest) -> None:
        """A process of a group below one of mine compares with me."""
        group = self.overlay.group_above(digest.id.topic)
        if group is None:
            if not self.overlay.is_joining_above(digest.id.topic):
                self.overlay.stray(sender, digest.id.topic)
        elif digest.sum == self.sum(digest.id.topic) or not self.overlay.repairs:
            mine = self.digest(group, up=True, same=True)
            self.overlay.send(
                sender, Digest(digest.id, digest.sum, True, True, mine.me, mine.leaving, mine.fellows, ())
            )
        else:
            self.tell(sender, digest.id.topic, group, up=True, reply=False)

    def upon_agreed_above(self, sender: NodeId, digest: Digest) -> None:
        """Somebody above had what I had, and tells me of others there."""
        group = self.overlay.groups.get(digest.id.topic)
        if group is None:
            return
        agrees = digest.sum == self.sum(group.topic)
        for uplink in group.uplinks:
            for topic in [topic for topic, nodes in uplink.former.items() if sender in nodes and agrees]:
                del uplink.former[topic]
            if sender in uplink.known:
                if digest.leaving:
                    uplink.hear_leave(digest.me)
                    uplink.close_if_empty()
                else:
                    uplink.hear(digest.me)
                    if agrees:
                        self.overlay.agree_above(group, uplink)
                uplink.hear_all(digest.fellows)

    def tell(self, to: NodeId, about: Topic, group: Group, up: bool, reply: bool) -> None:
        """My numbers of a group's topics."""
        parts = portions(self.vectors(about))
        n = self.drawn(len(parts))
        since = next(iter(parts[n])) if n else ""
        until = next(iter(parts[n + 1])) if n + 1 < len(parts) else ""
        id, leaving = self.overlay.id_of(about), group.phase is LEAVING
        self.overlay.send(to, Holdings(id, parts[n], up, reply, group.me, leaving, False, since, until))

    def drawn(self, parts: int) -> int:
        """Which one of several portions is told now. By luck: a turn might meet the same partners for ever."""
        if parts == 1:
            return 0
        self.told += 1
        return draw.between(draw.draw(self.overlay.place.seed, draw.PORTION, self.overlay.me, self.told), 0, parts - 1)

    def upon_holdings(self, sender: NodeId, told: Holdings) -> None:
        """Its numbers, where they are not mine. I send what it lacks, and say in turn what I lack."""
        about = told.id.topic
        group = self.side(sender, about, told.up)
        if group is None:
            return
        if not told.up:
            (group.company.hear_leave if told.leaving else group.company.hear)(told.me)
        self.help(sender, told)
        mine = self.vectors(about)
        behind = {
            topic: mine.get(topic, {})
            for topic, vector in told.vectors.items()
            if self.overlay.tree.reaches(about, topic)
            and any(seq > mine.get(topic, {}).get(origin, 0) for origin, seq in vector.items())
        }
        if behind and not told.reply:
            parts = portions(behind)
            some, leaving = parts[self.drawn(len(parts))], group.phase is LEAVING
            self.overlay.send(sender, Holdings(self.overlay.id_of(about), some, told.up, True, group.me, leaving, True))

    def side(self, sender: NodeId, about: Topic, up: bool) -> Group | None:
        """The group of mine that a comparison concerns: that one, or one above it."""
        if not up:
            group = self.overlay.group_for(sender, about)
            return group if group is not None and group.phase is not JOINING else None
        mine = self.overlay.groups.get(about)  # I asked upward, and this is the answer
        if mine is not None and any(sender in link.known or link.knew(sender) for link in mine.uplinks):
            return mine if mine.phase is not JOINING else None
        return self.overlay.group_above(about)

    def help(self, sender: NodeId, told: Holdings) -> None:
        """What it lacks and I have; and what I cannot give, as far as there is room."""
        about = told.id.topic
        topics = [t for t in sorted(self.account.topics) if self.overlay.tree.reaches(about, t) and told.speaks_of(t)]
        gift = self.gift(topics, lambda topic: told.vectors.get(topic, {}))
        if gift:
            id, messages = self.overlay.id_of(about), tuple(gift.messages)
            self.overlay.send(sender, Refill(id, messages, gift.gone, gift.cuts, told.up, gift.more))

    # Taking

    def upon_refill(self, sender: NodeId, fill: Refill) -> None:
        about = fill.id.topic
        group = self.side(sender, about, fill.up)
        if group is None:
            return
        from_below = fill.up and about != group.topic
        for topic in fill.gone:
            if self.overlay.tree.reaches(about, topic) and not self.has(topic):
                self.overlay.inherit(topic)
        taken = False
        for message in fill.messages:
            if self.overlay.tree.reaches(about, message.id.topic) and self.overlay.take(message):
                taken = True
                self.overlay.note("fill", message.id, count=message.count)
                if from_below:  # the group has not heard of it: gossip as if it had just come up
                    self.overlay.pass_on(message, group)
        if fill.more and taken:  # else it would be the same again: there is no room for it now, or it is not news
            self.tell(sender, about, group, fill.up, reply=True)
            return
        for topic, vector in fill.gone.items():
            if self.has(topic):
                self.be_refused(sender, topic, vector, fill.cuts.get(topic, {}))
