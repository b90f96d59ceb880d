"""What waves missed: neighbours compare what they have of a topic, and fill each other's gaps.

Source:   ours (anti-entropy after Demers et al. 1987, on the hypercube's own links).
Promises: what one reachable member of a topic has and keeps, all of them have after a while: when a source died in the
          middle of a wave, when a node was cut off or stood still, when two halves of a network meet again. What nobody
          keeps any more is announced as a gap, and so is what died with a life of its source, and with all who had
          it, together with what waits for it, once the source is met in a new life. When nothing new comes, it falls
          silent.
Assumes:  a member's neighbours (the first member of each of its clusters) connect all members: they do, because each
          half of a block that has members holds a neighbour of every member of the other half.

A node that learnt something new is restless: every `delay` it tells the next of its neighbours where it stands, until
each has been told once since. Whoever is told and has more sends it; whoever has less says so in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.protocols.overlays.vcube_packets import Fill, State, Uns
from trellis.protocols.parts.log import Log
from trellis.protocols.parts.portions import weight
from trellis.protocols.parts.view import MEMBER
from trellis.words import Message, NodeId, Origin, Time, Topic, Vector, merge

if TYPE_CHECKING:
    from trellis.protocols.overlays.vcube_changes import Changes
    from trellis.protocols.overlays.vcube_membership import Membership

FILL_BYTES_MAX = 1 << 19
NEVER_HAD = 1 << 62
TIMER = "repair"
PATIENCE = 8  # delays to wait for a member that is out of reach, before what nobody else has is given up


class Repair:
    """The part of a node's `vcube` that looks for what is missing."""

    def __init__(self, overlay: Changes, delay: int, keep: int, batch: int) -> None:
        self.overlay = overlay
        self.delay = delay  # 0: never look; for worlds in which nothing fails
        self.batch = batch
        self.log = Log(keep)
        self.told: dict[Topic, set[NodeId]] = {}  # restless topics -> who was told since; membership tests only
        self.turn = 0
        self.armed = False
        self.refused: dict[tuple[Topic, Origin], dict[NodeId, Fill]] = {}  # who cannot help me, and what it said
        self.since: dict[tuple[Topic, Origin], Time] = {}  # when the first one said so
        self.mourned: dict[tuple[Topic, Origin], int] = {}  # up to these numbers the application waits no more
        self.asked: dict[tuple[Topic, Origin], int] = {}  # sources that left -> up to which number I had everything

    def begin(self, topic: Topic, cut: Vector) -> None:
        if self.delay:
            self.log.begin(topic, cut)

    def end(self, topic: Topic) -> None:
        """I have left. What I have of the topic stays for those who missed it, until there is no room for it."""
        self.told.pop(topic, None)
        for key in [key for key in self.refused if key[0] == topic]:
            del self.refused[key], self.since[key]
        for numbers in (self.mourned, self.asked):
            for key in [key for key in numbers if key[0] == topic]:
                del numbers[key]

    def keep(self, message: Message) -> None:
        """A message came, or is mine."""
        if self.delay:
            self.log.add(message)
            self.stir(message.id.topic)

    def stir(self, topic: Topic) -> None:
        """There is something new: every neighbour must be told once."""
        if not self.delay:
            return
        self.told[topic] = set()
        self.arm()

    def arm(self) -> None:
        if not self.armed:
            self.armed = True
            self.overlay.set_timer(TIMER, self.delay)

    def upon_time(self) -> None:
        self.armed = False
        self.turn += 1
        self.log.age()
        for topic, told in list(self.told.items()):
            left = [node for node in self.neighbours(topic) if node not in told]
            if left:
                next_one = left[self.turn % len(left)]
                told.add(next_one)
                self.overlay.tell_state(next_one, topic)
            if len(left) <= 1:
                del self.told[topic]
        self.look_for_orphans()
        for topic, origin in list(self.refused):
            if (topic, origin) in self.refused:  # giving one up may settle others
                self.ask_another(self.overlay.topics[topic], topic, origin)
        if self.told or self.refused:
            self.arm()

    def look_for_orphans(self) -> None:
        """What I have may wait for something that died with a former life of its source: ask for that, too."""
        for topic, state in self.overlay.topics.items():
            for origin in self.incomplete(state, topic) if state.is_in() else ():
                if self.orphaned(state, topic, origin):
                    self.refused.setdefault((topic, origin), {})
                    self.since.setdefault((topic, origin), self.overlay.now)
                else:
                    self.ask_leaver(state, topic, origin)

    def incomplete(self, state: Membership, topic: Topic) -> Vector:
        """Of which origins something did not come that others wait for, of the same origin or another; and up to which
        number those wait that came.
        """
        found = self.overlay.above.awaited(topic)
        merge(found, {origin: max(ahead.values()) for origin, ahead in state.seen.ahead.items()})
        return found

    def ask_leaver(self, state: Membership, topic: Topic, origin: Origin) -> None:
        """A source that left while I could not hear it may be the only one who has what it said: ask it, once."""
        source, upto = origin[0], state.seen.upto.get(origin, 0)
        left = source in self.overlay.reach and source not in state.view.members
        if left and self.asked.get((topic, origin), -1) < upto:
            self.asked[topic, origin] = upto
            self.overlay.tell_state(source, topic, asks=True)

    def orphaned(self, state: Membership, topic: Topic, origin: Origin) -> bool:
        """Whether I lack something of a life that is over, and have not told so. (A source that is only out of reach
        may come back with it.)
        """
        source, incarnation = origin
        if self.overlay.lives.get(source, 0) <= incarnation:
            return False
        ahead, mourned = state.seen.ahead.get(origin, {}), self.mourned.get((topic, origin), 0)
        return max(ahead.values(), default=0) > mourned or origin in self.overlay.above.awaited(topic)

    def neighbours(self, topic: Topic) -> list[NodeId]:
        state = self.overlay.topics[topic]
        return [j for j, _ in state.view.tree(self.overlay.dimension)]

    def vector(self, state: Membership) -> Vector | None:
        """Per origin, up to which number I have everything; None where I owe and am owed nothing."""
        return dict(state.seen.upto) if self.delay and state.is_in() else None

    def compare(self, sender: NodeId, state: Membership | None, told: State) -> None:
        """Somebody told me where it stands. I help if I can, also after I left."""
        topic = told.id.topic
        if told.vector is None or topic not in self.log.held:
            return
        self.help(sender, topic, told.vector, told.asks)
        if state is not None and not told.reply:
            self.ask_if_behind(sender, state, topic, told.vector)

    def compare_with_leaver(self, state: Membership, leaver: Uns) -> None:
        """Whoever leaves may be the only one who still has something."""
        self.ask_if_behind(leaver.id.source, state, leaver.id.topic, leaver.vector)

    def ask_if_behind(self, other: NodeId, state: Membership, topic: Topic, vector: Vector) -> None:
        mine = self.vector(state)
        if mine is not None and any(seq > mine.get(origin, 0) for origin, seq in vector.items()):
            self.overlay.tell_state(other, topic, reply=True)

    def help(self, sender: NodeId, topic: Topic, vector: Vector, asked: bool) -> None:
        found, size = self.log.beyond(topic, vector), 0
        given: list[Message] = []
        for message in found:
            size += weight(message)
            if given and (len(given) >= self.batch or size > FILL_BYTES_MAX):
                break
            given.append(message)
        knows = self.overlay.knows(topic)
        gone = self.log.gone(topic, vector)
        if self.overlay.above.wants_closed_cuts:  # then I can only speak of what I have delivered
            gone = {o: seq for o, seq in gone.items() if seq <= knows.get(o, 0)}
        if given or gone or asked:
            id, cut = self.overlay.state_id(topic), knows if gone else {}
            self.overlay.send(sender, Fill(id, tuple(given), gone, cut, len(given) < len(found)))

    def upon_fill(self, sender: NodeId, fill: Fill) -> None:
        topic = fill.id.topic
        state = self.overlay.topics.get(topic)
        if state is None or not state.is_in():
            return
        for message in fill.messages:  # of those that I had the trace tells nothing: no row said that they came
            if self.overlay.take(state, message):
                self.overlay.note("fill", message.id, count=message.count)
        if fill.more:
            self.overlay.tell_state(sender, topic)
            return
        for origin, seq in fill.gone.items():
            if seq > state.seen.upto.get(origin, 0):
                self.refused.setdefault((topic, origin), {})
                self.since.setdefault((topic, origin), self.overlay.now)
        for origin in [origin for t, origin in self.refused if t == topic]:
            self.refused[topic, origin][sender] = fill
            self.ask_another(state, topic, origin)

    def ask_another(self, state: Membership, topic: Topic, origin: Origin) -> None:
        """Ask the next member that was not asked yet. When none is left, what is missing is given up."""
        refused = self.refused[topic, origin]
        upto = state.seen.upto.get(origin, 0)
        least = min(refused.values(), key=lambda fill: fill.gone.get(origin, NEVER_HAD), default=None)
        lost = least.gone.get(origin, NEVER_HAD) if least is not None else NEVER_HAD
        lacking = upto < lost < NEVER_HAD or self.orphaned(state, topic, origin)
        others = [j for j in sorted(state.view.members) if j not in refused and j != self.overlay.me]
        if lacking and others:
            self.overlay.tell_state(others[0], topic, asks=True)
            self.arm()
            return
        if lacking and self.may_come_back(state, self.since[topic, origin]):
            self.arm()
            return
        del self.refused[topic, origin], self.since[topic, origin]
        if lacking and lost == NEVER_HAD:
            self.mourn(state, topic, origin)
        elif lacking:
            assert least is not None
            self.give_up(state, topic, least.cut if self.overlay.above.wants_closed_cuts else {origin: lost})

    def mourn(self, state: Membership, topic: Topic, origin: Origin) -> None:
        """Nobody has it, so nobody has a closed cut beyond it either. An order that needs one goes on waiting, and its
        application does not.
        """
        upto = self.mourned[topic, origin] = self.incomplete(state, topic)[origin]
        if self.overlay.above.wants_closed_cuts:
            self.overlay.above.mute(topic, origin, upto)
        else:
            self.give_up(state, topic, {origin: upto})

    def may_come_back(self, state: Membership, since: Time) -> bool:
        """Whether a member that I have no link to may have it: whoever stood still gets its links back one by one."""
        patient = self.overlay.now - since < PATIENCE * self.delay
        reach = self.overlay.reach
        return patient and any(rank.rank == MEMBER and j not in reach for j, rank in state.view.ranks.items())

    def give_up(self, state: Membership, topic: Topic, cut: Vector) -> None:
        """Nobody has it any more. What it followed is not known either: an order that needs it begins anew from a cut
        that is closed, as a joiner does.
        """
        floor, missing = self.log.floor[topic], []
        for origin, seq in sorted(cut.items()):
            if origin != self.overlay.origin and seq > state.seen.upto.get(origin, 0):
                floor[origin] = max(seq, floor.get(origin, 0))
                missing += [(origin, first, last) for first, last in state.seen.give_up(origin, seq)]
        self.overlay.above.lacks(topic, cut, missing)
        self.stir(topic)
