"""The live host: feeds events to the machines of one node, carries out what they ask for, re-arms their timers.

Promises: a machine is only ever called through `step`, in the order in which things happened here. Rows of the trace
          are handed to the system before the packets that they tell of leave (`Journal.flush` before a link writes),
          and soon after they were made where no packets leave (`Flushing`). Machines live by a time that nobody sets: a
          wall clock that jumps moves rows of the trace, and no decision.
Assumes:  whoever is told of deliveries does not call back into the host within that call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from trellis import protocols
from trellis.effects import Accuse, CancelTimer, Confirm, Deliver, Effect, Gap, Held, Keep, Note, Send, SetTimer, Settle
from trellis.errors import LocalProtocolError, TrellisError, UnexpectedEvent
from trellis.events import Event, Kept, Receive, Restore, Suspect, Timeout
from trellis.live.clock import Clock, lapse_us
from trellis.live.codec import OutOfPlace
from trellis.live.flushing import Flushing
from trellis.live.keeping import Keeping
from trellis.live.links import LINKS
from trellis.live.places import PLACES
from trellis.live.state import State
from trellis.live.tally import Tally
from trellis.machine import Machine, Place
from trellis.protocols.layers import HELD_MAX
from trellis.protocols.overlays import damulticast_packets, vcube_packets, vine_packets
from trellis.protocols.parts.detector import Detector
from trellis.words import BARRIER_MAX, Message, MessageId, NodeId, Packet, Topic

if TYPE_CHECKING:
    from trellis.live.record import Journal  # brings Arrow and NumPy with it, for those who write a trace

DETECTOR = "detector"
OPTIONS = {  # of the overlays; times in microseconds
    "vcube": {"window": 128, "batch": 4096, "repair": 250_000, "keep": 100_000},
    "damulticast": {"period": 200_000, "keep": 100_000},
    "vitis": {"period": 500_000, "keep": 100_000, "sample": 8},  # whom it looks at at random costs a handshake
}

WORDS = {
    "vcube": vcube_packets,
    "damulticast": damulticast_packets,
    "vitis": vine_packets,
}  # the packets of each overlay

AT_DESKS = {"desks": 3, "copies": 3, "grows": 1, "retry": 250_000, "lease": 60_000_000}
ORDERING_OPTIONS = {"total": AT_DESKS, "total-causal": AT_DESKS}
WAIT: Mapping[str, int] = {}

TTL_MS_MAX = 3_600_000

Post = Callable[[Send, str, int], None]  # what to whom, which machine's, at what time


def haste(buffer: int, ttl_ms: int) -> dict[str, int]:
    """Options of a stack in which this node would rather go on than wait; none: it waits for as long as it takes."""
    for name, value, most in (("hasty_buffer", buffer, HELD_MAX), ("hasty_ttl_ms", ttl_ms, TTL_MS_MAX)):
        if type(value) is not int or not 0 <= value <= most:
            raise LocalProtocolError(f"{name} = {value!r}: it must be a whole number from 0 (no limit) to {most}")
    return {"buffer": buffer, "ttl": ttl_ms * 1000}


class Application(Protocol):
    """Who is told what comes of it."""

    def delivered(self, message: Message, tags: tuple[str, ...]) -> None: ...
    def confirmed(self, topic: Topic) -> None: ...
    def published(self, id: MessageId, count: int) -> None: ...
    def settled(self, id: MessageId, count: int) -> None: ...
    def lacking(self, id: MessageId, count: int) -> None: ...
    def joining(self, source: NodeId, topic: Topic, stack: str) -> None: ...
    def unrecorded(self, why: TrellisError) -> None: ...


class Host:
    """All machines of one node: one stack for each order in use, and the detector if every two members are linked."""

    def __init__(
        self,
        place: NodeId,
        incarnation: int,
        clock: Clock,
        journal: Journal | None,
        application: Application,
        state: State | None = None,
        hasty: Mapping[str, int] = WAIT,
        linked: str = protocols.MESH,
        links: int = LINKS,
    ) -> None:
        pristine = state is None or state.pristine
        self.place = Place(place, PLACES, incarnation, alone=True, pristine=pristine, barrier_max=BARRIER_MAX)
        self.hasty = hasty
        self.linked = linked  # how the members are
        self.links = links  # of this one at most, if they are made on demand
        stacks = (protocols.live_stack(order, linked) for order in protocols.live_orders(linked))
        self.stacks = frozenset(f"{overlay}/{ordering}" for overlay, ordering in stacks)  # that there can be
        self.keeping = Keeping(state, application.unrecorded) if state is not None else None
        self.clock = clock
        self.journal = journal
        self.flushing = Flushing(journal, application.unrecorded) if journal is not None else None
        self.application = application
        self.tally = Tally()
        self.loop = asyncio.get_running_loop()
        self.post: Post = lambda *_: None  # by whoever has the links
        self.accuse: Callable[[NodeId], None] = lambda _: None
        self.reached: dict[NodeId, int] = {}  # who is there, as the machines were told -> its incarnation
        self.timers: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self.machines: dict[str, Machine] = {DETECTOR: Detector(self.place)} if linked == protocols.MESH else {}

    def stack(self, order: str) -> str:
        """The name of the machine that keeps this order. It is made when it is first asked for."""
        overlay, ordering = protocols.live_stack(order, self.linked)
        name = f"{overlay}/{ordering}"
        if name not in self.machines:
            options = OPTIONS[overlay] | ORDERING_OPTIONS.get(ordering, {})
            if "table" in protocols.LAYERED[overlay].options:
                options |= {"table": self.links // 2}
            if ordering in protocols.MANNERS:
                options |= self.hasty
            self.machines[name] = protocols.build(overlay, ordering, self.place, options)
            kept = self.keeping.of(name) if self.keeping is not None else {}
            if kept:
                self.feed(name, Kept(kept))
            for node, incarnation in self.reached.items():
                self.feed(name, Restore(node, incarnation))
        return name

    def overlay(self, name: str) -> Any:
        """Of a stack, to look at; None for a machine without one."""
        return getattr(self.machines[name], "overlay", None)

    def holds_dead(self, node: NodeId) -> bool:
        """Whether nobody reaches a node any more, as far as one has heard."""
        detector = self.machines.get(DETECTOR)
        return isinstance(detector, Detector) and detector.holds_dead(node)

    def feed(self, name: str, event: Event) -> None:
        """One event to one machine, and all that follows from it."""
        self.carry_out(name, self.clock.read(), self.machines[name].step(lapse_us(), event))

    def receive(self, sender: NodeId, name: str, at: int, packet: Packet) -> None:
        """A packet came over a link. A stack that nobody here uses yet must answer, too: every node has a say."""
        self.clock.hear(at)
        if name not in self.machines:
            if name not in self.stacks:
                raise OutOfPlace(f"stack {name!r}: this node has no such machine")
            self.stack(name)
        if packet.messages:
            words = WORDS.get(name.partition("/")[0], vcube_packets)
            if type(packet) not in words.WIRE:  # before it is recorded: nothing would come of it
                raise OutOfPlace(f"{packet.kind} for stack {name!r}: it has no such packet")
            words.check(packet)
        now = self.clock.read()
        if self.journal is not None and name != DETECTOR:
            self.journal.received(now, packet, sender)
        if type(packet) is vcube_packets.Sub:
            self.application.joining(packet.id.source, packet.id.topic, name)
        self.carry_out(name, now, self.machines[name].step(lapse_us(), Receive(sender, packet)))

    def restore(self, node: NodeId, incarnation: int) -> None:
        self.reached[node] = incarnation
        self.tally.restores += 1
        self.tell_all("restore", Restore(node, incarnation), MessageId((node, incarnation), "", 0))

    def suspect(self, node: NodeId) -> None:
        life = self.reached.pop(node, 0)
        self.tell_all("suspect", Suspect(node), MessageId((node, life), "", 0))

    def tell_all(self, kind: str, event: Suspect | Restore, life: MessageId) -> None:
        if self.journal is not None:
            self.journal.happened(kind, self.clock.read(), life, peer=event.node)
        for name in list(self.machines):
            self.feed(name, event)

    def carry_out(self, name: str, now: int, effects: Iterable[Effect]) -> None:
        journal, application, tally = self.journal, self.application, self.tally
        if self.flushing is not None:
            self.flushing.look()
        for effect in effects:
            match effect:
                case Send():
                    if journal is not None and name != DETECTOR:
                        journal.sent(now, effect.packet, effect.to)
                    self.post(effect, name, now)
                case Deliver():
                    message = effect.message
                    tally.delivered += message.count
                    if effect.tags:
                        tally.late += message.count
                    if journal is not None:
                        journal.happened("late" if effect.tags else "deliver", now, message.id, message.count)
                    application.delivered(message, effect.tags)
                case Note():
                    if journal is not None:
                        journal.happened(effect.kind, now, effect.id, effect.count, effect.barrier)
                    if effect.kind == "publish":
                        tally.published += effect.count
                        application.published(effect.id, effect.count)
                case Settle():
                    tally.settled += effect.count
                    self.record("settle", now, effect.id, effect.count)
                    application.settled(effect.id, effect.count)
                case Held():
                    application.settled(effect.id, effect.count)
                case Confirm():
                    self.record("confirm", now, self.life(effect.topic))
                    application.confirmed(effect.topic)
                case Gap():
                    tally.lacking += effect.count
                    self.record("gap", now, effect.id, effect.count)
                    application.lacking(effect.id, effect.count)
                case SetTimer():
                    self.set_timer(name, effect)
                case CancelTimer():
                    self.cancel_timer(name, effect.name)
                case Keep():
                    if self.keeping is not None:
                        self.keeping.add(name, effect)
                case Accuse():
                    self.accuse(effect.node)
                case _:
                    raise UnexpectedEvent(self, effect)

    def secure(self) -> None:
        """What happened is written down, and what was recorded is handed to the system: now something may leave."""
        if self.keeping is not None:
            self.keeping.write()
        if self.journal is not None:
            self.journal.flush()

    def record(self, kind: str, now: int, id: MessageId, count: int = 0) -> None:
        if self.journal is not None:
            self.journal.happened(kind, now, id, count)

    def life(self, topic: Topic) -> MessageId:
        """In the place of a message, where a row is about what this node's application asked of a topic."""
        return MessageId((self.place.me, self.place.incarnation), topic, 0)

    def set_timer(self, name: str, timer: SetTimer) -> None:
        self.cancel_timer(name, timer.name)
        key = (name, timer.name)
        self.timers[key] = self.loop.call_later(timer.delay / 1e6, self.run_out, key)

    def cancel_timer(self, name: str, timer: str) -> None:
        handle = self.timers.pop((name, timer), None)
        if handle is not None:
            handle.cancel()

    def run_out(self, key: tuple[str, str]) -> None:
        del self.timers[key]
        self.feed(key[0], Timeout(key[1]))

    def close(self) -> Journal | None:
        """Nothing more happens here. What is left to close is the journal."""
        for handle in self.timers.values():
            handle.cancel()
        self.timers.clear()
        if self.flushing is not None:
            self.flushing.close()
        journal, self.journal, self.flushing = self.journal, None, None
        return journal
