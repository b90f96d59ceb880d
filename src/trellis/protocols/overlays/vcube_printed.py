"""VCube-PS as printed: Algorithms 1 and 2 of the paper to the letter, with their holes.

Source:   de Araujo et al. 2018 (VCube-PS), Algorithms 1 and 2. Line numbers below are those of the paper.
Promises: what the paper's simulations measure, without churn. Under joins and leaves it loses messages (V1, V4),
          waits for ever (V2) and breaks causal order (V3): it is the known-bad case of the audits.
Assumes:  reliable FIFO links and nodes that do not fail.
Departs:  nothing in what it does. It is one machine, because the printed overlay and the printed order share
          `first_rec`; `unordered` leaves out CHECKDELIVERY's test. Line 34 prints `delv`, which is read as
          `last_delvs`; lines 92-94 are damaged in our text and follow the 2017 paper. An absent id counts as a faulty
          node, so the size need not be a power of two. What a duplicate does is undefined there (links make none): a
          second ACK is ignored.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from trellis.errors import AlreadySubscribed, NotSubscribed, UnexpectedEvent
from trellis.events import Event, Publish, Receive, Standing, Subscribe, Unsubscribe
from trellis.machine import Machine, Place
from trellis.protocols.parts.hypercube import children, cluster, dimension
from trellis.words import Barrier, Message, MessageId, NodeId, Packet, Topic

SUB, UNS, PUB, ACK = "SUB", "UNS", "PUB", "ACK"


class Entry(msgspec.Struct, frozen=True, gc=False, order=True):
    """<n, o, rc>: node n subscribed or unsubscribed when its counter was rc."""

    n: NodeId
    o: str
    rc: int


class Sub(Packet, frozen=True, gc=False):
    kind: ClassVar[str] = SUB


class Uns(Packet, frozen=True, gc=False):
    kind: ClassVar[str] = UNS


class Pub(Packet, frozen=True, gc=False):
    messages: tuple[Message]  # type: ignore[misc]
    kind: ClassVar[str] = PUB


class Ack(Packet, frozen=True, gc=False):
    data: tuple[Entry, ...]  # membership information
    kind: ClassVar[str] = ACK


class Pending:
    """An element of `acks`: <j, nb, <s, t, c, mem>>, kept under <s, t, c>."""

    def __init__(self, j: NodeId | None, nb: int) -> None:
        self.j = j  # parent; None is the paper's bottom: I am the source
        self.nb = nb
        self.mem: dict[Entry, None] = {}


class Variables:
    """What a node keeps per topic."""

    def __init__(self) -> None:
        self.view: dict[NodeId, Entry] = {}  # UPDATE keeps one entry per node
        self.subscribers: dict[NodeId, None] = {}  # those of `view` with o = SUB
        self.br_queue: list[Packet] = []
        self.tasks_idle = 0  # START_MSG_PROPAGATION tasks that wait for the queue
        self.tasks_waiting: dict[MessageId, Packet] = {}  # line 31: those that wait for the ACKs of their broadcast
        self.causal_barrier: set[MessageId] = set()
        self.not_delvs: dict[MessageId, Message] = {}  # with `msgs`: received, not delivered
        self.last_delvs: dict[NodeId, int] = {}
        self.first_rec: dict[NodeId, int] = {}


class VCubePrinted(Machine):
    """VCube-PS to the letter, overlay and order in one."""

    promise = "the paper's figures without churn; NOT safe under joins and leaves (holes V1-V12)"
    source = "VCube-PS (de Araujo et al. 2018), Algorithms 1 and 2 to the letter"
    brings: ClassVar[tuple[str, ...]] = ("causal", "unordered")
    fifo_links: ClassVar[bool] = True

    def __init__(self, place: Place, ordering: str) -> None:
        super().__init__(place)
        self.ordered = ordering == "causal"
        self.log2n = dimension(place.size)
        self.everybody = range(place.size)
        self.counter = 0
        self.topics: dict[Topic, Variables] = {}
        self.acks: dict[MessageId, Pending] = {}

    def upon(self, event: Event) -> None:
        match event:
            case Receive():
                self.upon_receive(event.sender, event.packet)
            case Publish():
                self.upon_publish(event.topic, event.payload)
            case Subscribe():
                self.upon_subscribe(event.topic)
            case Unsubscribe():
                self.upon_unsubscribe(event.topic)
            case Standing():
                if self.me in event.members:
                    t = self.variables(event.topic)
                    self.update(t, [Entry(n, SUB, -1) for n in event.members])
                    t.tasks_idle = 1
                    self.confirm(event.topic)
            case _:
                raise UnexpectedEvent(self, event)

    # Algorithm 1

    def upon_subscribe(self, topic: Topic) -> None:
        """Lines 4-9."""
        t = self.variables(topic)
        if self.me in t.subscribers:
            raise AlreadySubscribed(f"topic {topic!r}: node {self.me} has subscribed already; unsubscribe first")
        t.view, t.subscribers = {}, {}
        self.update(t, [Entry(self.me, SUB, self.counter)])
        self.co_broadcast(topic, Sub(self.next_id(topic)))

    def upon_unsubscribe(self, topic: Topic) -> None:
        """Lines 10-15."""
        t = self.subscribed(topic, "leave it")
        del t.view[self.me], t.subscribers[self.me]
        self.co_broadcast(topic, Uns(self.next_id(topic)))

    def upon_publish(self, topic: Topic, payload: bytes) -> None:
        """Lines 16-20."""
        self.subscribed(topic, "publish")
        id = self.next_id(topic)
        self.note("publish", id)
        self.co_broadcast(topic, Pub(id, (Message(id, payload),)))

    # Algorithm 2

    def next_id(self, topic: Topic) -> MessageId:
        """Lines 7-9: one counter for all topics and kinds (V6), 0 again after a restart (V7)."""
        self.counter += 1
        return MessageId(self.origin, topic, self.counter - 1)

    def co_broadcast(self, topic: Topic, m: Packet) -> None:
        """Lines 5-12. A SUB creates a task, even while an earlier one still waits."""
        t = self.topics[topic]
        if isinstance(m, Sub):
            t.tasks_idle += 1
        t.br_queue.append(m)
        self.start_msg_propagation(topic)

    def start_msg_propagation(self, topic: Topic) -> None:
        """Lines 13-36: each task has one broadcast under way (V5)."""
        t = self.topics[topic]
        while t.br_queue and t.tasks_idle:
            t.tasks_idle -= 1
            m = t.br_queue.pop(0)
            if isinstance(m, Pub):
                m = self.deliver_mine(t, m)
            chd = self.children(t, m, self.log2n)
            for k in chd:
                self.send(k, m)
            if chd:
                self.acks[m.id] = Pending(None, len(chd))
                t.tasks_waiting[m.id] = m
            else:
                self.broadcast_done(t, m)

    def deliver_mine(self, t: Variables, m: Pub) -> Pub:
        """Lines 16-22."""
        id = m.id
        t.first_rec.setdefault(self.me, id.seq)
        message = Message(id, m.messages[0].payload, tuple(sorted(t.causal_barrier)))
        self.note("spread", id, len(message.follows))
        self.deliver(message)
        t.last_delvs[self.me] = id.seq
        t.causal_barrier = {id}
        return Pub(id, (message,))

    def broadcast_done(self, t: Variables, m: Packet) -> None:
        """Lines 31-36. A SUB that all have acknowledged makes the subscription stand that it announced."""
        t.tasks_idle += 1
        if isinstance(m, Uns):
            t.not_delvs, t.first_rec, t.last_delvs = {}, {}, {}
            if not t.br_queue:
                t.tasks_idle -= 1  # exit
        elif isinstance(m, Pub):
            self.settle(m.id, 1)
        elif self.me in t.subscribers and t.view[self.me].rc == m.id.seq:
            self.confirm(m.id.topic)

    def upon_receive(self, j: NodeId, m: Packet) -> None:
        """Lines 37-74."""
        t = self.variables(m.id.topic)
        if isinstance(m, Ack):
            if m.id not in self.acks:
                return  # line 55 finds nothing: a duplicate, which the paper's links do not make
            m = self.count_ack(m)
        else:
            chd = self.children(t, m, cluster(self.me, j) - 1)
            if not chd:
                self.send_acks(t, j, Ack(m.id, ()))
            else:
                self.acks[m.id] = Pending(j, len(chd))
                for k in chd:
                    self.send(k, m)
        if self.me in t.subscribers:
            self.take_in(t, m)
        self.wake(t, m)

    def count_ack(self, m: Ack) -> Ack:
        """Lines 54-61."""
        pending = self.acks[m.id]
        pending.mem.update(dict.fromkeys(m.data))
        pending.nb -= 1
        m = Ack(m.id, tuple(pending.mem))
        if pending.nb == 0:
            del self.acks[m.id]
            if pending.j is not None:
                return self.send_acks(self.topics[m.id.topic], pending.j, m)
        return m

    def take_in(self, t: Variables, m: Packet) -> None:
        """Lines 62-74."""
        s, c = m.id.source, m.id.seq
        match m:
            case Pub():
                t.first_rec.setdefault(s, c)
                t.not_delvs[m.id] = m.messages[0]
                self.check_delivery(t)
            case Ack():
                self.update(t, m.data)
            case Sub():
                self.update(t, [Entry(s, SUB, c)])
            case Uns():
                self.update(t, [Entry(s, UNS, c)])
                t.first_rec.pop(s, None)

    def wake(self, t: Variables, m: Packet) -> None:
        """Line 31: the task goes on once the last ACK of its broadcast is in."""
        if isinstance(m, Ack) and m.id in t.tasks_waiting and m.id not in self.acks:
            self.broadcast_done(t, t.tasks_waiting.pop(m.id))
            self.start_msg_propagation(m.id.topic)

    def update(self, t: Variables, entries: list[Entry] | tuple[Entry, ...]) -> None:
        """Lines 75-82: of two entries of one node the higher counter holds, on a tie the one I had."""
        for entry in entries:
            mine = t.view.get(entry.n)
            if mine is None or entry.rc > mine.rc:
                t.view[entry.n] = entry
                if entry.o == SUB:
                    t.subscribers[entry.n] = None
                else:
                    t.subscribers.pop(entry.n, None)

    def check_delivery(self, t: Variables) -> None:
        """Lines 83-89."""
        while (m := next((m for m in t.not_delvs.values() if self.check_cb(t, m.follows)), None)) is not None:
            del t.not_delvs[m.id]
            self.deliver(m)
            t.last_delvs[m.id.source] = m.id.seq
            t.causal_barrier = t.causal_barrier.difference(m.follows) | {m.id}

    def check_cb(self, t: Variables, cb: Barrier) -> bool:
        """Lines 90-94. The second half forgets what the skipped message itself followed (V3)."""
        if not self.ordered:
            return True
        return all(t.last_delvs.get(d.source, -1) >= d.seq or t.first_rec.get(d.source, -1) > d.seq for d in cb)

    def send_acks(self, t: Variables, j: NodeId, m: Ack) -> Ack:
        """Lines 95-98."""
        if self.me in t.subscribers and m.id.source not in t.first_rec:
            m = Ack(m.id, (*m.data, t.view[self.me]))
        self.send(j, m)
        return m

    def children(self, t: Variables, m: Packet, h: int) -> list[NodeId]:
        """CHILDREN: of everybody for a SUB, of the subscribers that I know of otherwise (V1, V4)."""
        return children(self.me, self.everybody if isinstance(m, Sub) else t.subscribers, h)

    def variables(self, topic: Topic) -> Variables:
        t = self.topics.get(topic)
        if t is None:
            t = self.topics[topic] = Variables()
        return t

    def subscribed(self, topic: Topic, what_for: str) -> Variables:
        t = self.topics.get(topic)
        if t is None or self.me not in t.subscribers:
            raise NotSubscribed(f"topic {topic!r}: node {self.me} has not subscribed; subscribe before you {what_for}")
        return t
