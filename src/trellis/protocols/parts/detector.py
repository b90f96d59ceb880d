"""VCube's failure detector: each node is tested by the first live node of each of its clusters.

Source:   Duarte, Bona, Ruoso 2014 (VCube); VCube-PS 2017, section II, quotes its testing rule.
Promises: in each round a node j is tested at most once per cluster. A node that does not answer within the limit is
          held dead by its testers, who tell everybody at once; without that news all learn of it from the tables that
          come with the answers, within log2(n)**2 rounds. A node that is there again is held alive again.
Assumes:  every pair of nodes has a link, whose breaking and standing the host reports (`Suspect`, `Restore`). Counters
          are shared by maximum: even means alive, odd means held dead.
Departs:  - places lie far apart, so the tester is found by bisection among the live ones.
          - a test brings the tester's table too: a node that tests nobody, being cut off from most, learns by it.
          - the dead are not tested: the host dials them, and `Restore` is their answer.
          - a broken link makes its node dead for me at once, but is my own affair: where a process died all others
            see it too, and where it was only the link nobody else need care.
          - who heard from an accused node within the limit contradicts (one event more: alive); so does the accused.
          - a node that its nearest live node has no link to is handed on: that one asks the next nearest, and so on,
            until somebody has a link and tests it, or nobody has and it is dead for all.
          - who was asleep itself accuses nobody: it tests again first.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from trellis.errors import UnexpectedEvent
from trellis.events import Event, Receive, Restore, Suspect, Timeout
from trellis.machine import Machine, Place
from trellis.protocols.parts.hypercube import cluster, first_of
from trellis.words import MessageId, NodeId, Packet, Time

INTERVAL = 500_000  # microseconds from round to round
LIMIT = 1_000_000  # within which a tested node must answer
BELIEVED_MAX = 1 << 48  # a counter beyond it is not believed, so that ours can go on counting below the wire's limit

TOPIC = "detector"  # in the ids of its packets, which serve no message

Counter = Annotated[int, Meta(ge=0, lt=1 << 53)]
Counters = Annotated[dict[NodeId, Counter], Meta(max_length=65_536)]  # events per node; who is missing has none


class Test(Packet, frozen=True, gc=False, tag="d"):
    """Are you there? This is what I know."""

    counters: Counters
    kind: ClassVar[str] = "TEST"


class Alive(Packet, frozen=True, gc=False, tag="a"):
    """I am, and this is what I know. `id` is the test's."""

    counters: Counters
    kind: ClassVar[str] = "ALIVE"


class News(Packet, frozen=True, gc=False, tag="n"):
    """These nodes have just been found dead."""

    counters: Counters
    kind: ClassVar[str] = "NEWS"


class Ask(Packet, frozen=True, gc=False, tag="q"):
    """None of us who are nearer to this node has a link to it: test it. `counter` is the latest that we know of it."""

    node: NodeId
    counter: Counter
    kind: ClassVar[str] = "ASK"


class Detector(Machine):
    """Who of those that it was told of (`Restore`) is alive."""

    def __init__(self, place: Place, interval: int = INTERVAL, limit: int = LIMIT, news: bool = True) -> None:
        super().__init__(place)
        self.interval = interval
        self.limit = limit
        self.news = news  # False: as the paper has it, by tests alone
        self.counters: dict[NodeId, int] = {self.me: 0}  # events of each node that I was ever told of
        self.linked: dict[NodeId, None] = {}  # whom I can reach
        self.heard: dict[NodeId, Time] = {}  # when something came from it
        self.unanswered: dict[NodeId, int] = {}  # the round of my first test since its last answer
        self.broken: dict[
            NodeId, bool
        ] = {}  # dead for me alone, by its link; whether that is longer than the limit ago
        self.asked: dict[NodeId, None] = {}  # to be tested in the next round for somebody else
        self.round = 0
        self.began: dict[int, Time] = {}  # rounds whose tests are not due yet
        self.running = False
        self.duties: list[NodeId] | None = None  # whom I test; forgotten when somebody dies or comes

    def upon(self, event: Event) -> None:
        match event:
            case Receive():
                if event.sender in self.linked:  # else it was on its way when I gave the sender up
                    self.heard[event.sender] = self.now
                    self.upon_packet(event.sender, event.packet)
            case Restore():
                self.upon_restore(event.node)
            case Suspect():
                self.upon_suspect(event.node)
            case Timeout():
                self.upon_timeout(event)
            case _:
                raise UnexpectedEvent(self, event)

    def upon_packet(self, sender: NodeId, packet: Packet) -> None:
        match packet:
            case Test():
                self.take_over(packet.counters)
                self.send(sender, Alive(packet.id, self.table()))
            case Alive():
                self.unanswered.pop(sender, None)
                self.take_over(packet.counters)
            case News():
                self.take_over(packet.counters)
            case Ask() if packet.node in self.linked:
                self.asked[packet.node] = None
            case Ask() if packet.node != self.me:
                self.hand_on(packet.node, max(packet.counter, self.counters.get(packet.node, 0)))

    def upon_timeout(self, event: Timeout) -> None:
        match event.name.split("/"):
            case ["round"]:
                self.upon_round()
            case ["due", round]:
                self.upon_due(int(round))
            case ["broken", node]:
                self.upon_broken(int(node))
            case _:
                raise UnexpectedEvent(self, event)

    # Links

    def upon_restore(self, node: NodeId) -> None:
        """It answered, if only to my dialling."""
        counter = self.counters.get(node)
        if counter is None or counter % 2:
            self.counters[node] = 0 if counter is None else counter + 1
            self.duties = None
        self.disclose(node)
        self.linked[node] = None
        self.heard[node] = self.now
        self.unanswered.pop(node, None)
        if not self.running:
            self.running = True
            self.set_timer("round", self.interval)

    def upon_suspect(self, node: NodeId) -> None:
        if node not in self.linked:
            return
        self.give_up(node)
        self.broken[node] = False
        self.set_timer(f"broken/{node}", self.limit)

    def upon_broken(self, node: NodeId) -> None:
        """The link has not come back."""
        if node in self.broken:
            self.broken[node] = True
            self.look_after(node)

    def disclose(self, node: NodeId) -> None:
        """It is dead, or alive again, for others too."""
        if node in self.broken:
            del self.broken[node]
            self.cancel_timer(f"broken/{node}")

    # Rounds

    def upon_round(self) -> None:
        """Test every node j of which I am the first live node of c(j, s)."""
        self.round += 1
        targets = [node for node in dict.fromkeys([*self.tests(), *self.asked]) if node in self.linked]
        for node in [node for node in self.live() if node not in self.linked and node != self.me]:
            self.look_after(node)
        for node in [node for node, long_ago in self.broken.items() if long_ago]:
            self.look_after(node)
        self.asked.clear()
        for node in targets:
            self.unanswered.setdefault(node, self.round)
        self.test(targets)
        if targets:
            self.began[self.round] = self.now
            self.set_timer(f"due/{self.round}", self.limit)
        self.running = bool(self.linked)
        if self.running:
            self.set_timer("round", self.interval)

    def upon_due(self, round: int) -> None:
        """Who has not answered since this round is dead; unless it is I who was away."""
        if round not in self.began:
            return
        silent = [node for node, since in self.unanswered.items() if since == round]
        if silent and self.now > self.began[round] + self.limit + self.interval:
            self.began[round] = self.now
            self.set_timer(f"due/{round}", self.limit)
            self.test(silent)
            return
        del self.began[round]
        for node in silent:
            self.give_up(node)
            self.accuse(node)
        self.tell({node: self.counters[node] for node in silent})

    def test(self, nodes: list[NodeId]) -> None:
        packet = Test(MessageId(self.origin, TOPIC, self.round), self.table())
        for node in nodes:
            self.send(node, packet)

    def tests(self) -> list[NodeId]:
        if self.duties is None:
            live = self.live()
            others = (node for node in live if node != self.me)
            self.duties = [node for node in others if first_of(node, cluster(self.me, node), live) == self.me]
        return self.duties

    def live(self) -> list[NodeId]:
        """Ascending, and I am one of them."""
        return sorted(node for node, counter in self.counters.items() if counter % 2 == 0)

    def look_after(self, node: NodeId) -> None:
        """I have no link to it. If I am the nearest live node, it is for me to find somebody who has."""
        if min((j ^ node for j in self.live() if j != node), default=0) == self.me ^ node:
            self.hand_on(node, self.counters[node])

    def hand_on(self, node: NodeId, counter: int) -> None:
        """Always to one that is further from it: it ends, and with the last one its life for all of us."""
        further = [j ^ node for j in self.linked if j ^ node > self.me ^ node]
        if further:
            self.send(min(further) ^ node, Ask(MessageId(self.origin, TOPIC, self.round), node, counter))
        elif counter % 2:
            self.take_over({node: counter})
            self.tell({node: counter})

    # Counters

    def give_up(self, node: NodeId) -> None:
        """It is dead, from now on: one event more."""
        self.counters[node] += 1
        self.cut_off(node)

    def cut_off(self, node: NodeId) -> None:
        self.duties = None
        self.linked.pop(node, None)
        self.unanswered.pop(node, None)

    def table(self) -> dict[NodeId, int]:
        """What I know, without what is my own affair yet. In a run without failures it is empty."""
        shown = {node: counter - (node in self.broken) for node, counter in self.counters.items()}
        return {node: counter for node, counter in shown.items() if counter}

    def tell(self, dead: dict[NodeId, int]) -> None:
        if self.news and dead:
            packet = News(MessageId(self.origin, TOPIC, self.round), dead)
            for other in self.linked:
                self.send(other, packet)

    def take_over(self, counters: dict[NodeId, int]) -> None:
        """Newer entries hold. Of nodes that I was never told of I keep nothing."""
        for node, counter in counters.items():
            known = self.counters.get(node)
            if known is None or counter > BELIEVED_MAX:
                continue
            if counter >= known:
                self.disclose(node)
            if counter > known:
                self.take_over_one(node, counter)

    def take_over_one(self, node: NodeId, counter: int) -> None:
        if counter % 2 and (node == self.me or self.heard_lately(node)):
            counter += 1
        self.counters[node] = counter
        self.duties = None
        if counter % 2 and node in self.linked:
            self.cut_off(node)
            self.accuse(node)

    def holds_dead(self, node: NodeId) -> bool:
        """It is dead for all of us, not by my own link alone. Of whom I was never told, nobody told me otherwise."""
        return (self.counters.get(node, 1) - (node in self.broken)) % 2 == 1

    def heard_lately(self, node: NodeId) -> bool:
        return node in self.linked and self.now - self.heard[node] < self.limit


WIRE = (Test, Alive, News, Ask)
