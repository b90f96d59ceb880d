"""VCube-PS repaired: waves over trees rooted at each publisher, on the virtual hypercube.

Source:   de Araujo et al. 2018 (VCube-PS), Algorithms 1 and 2; `vcube_printed.py` has them to the letter.
Promises: a message published after a subscription was confirmed reaches that subscriber, while others come and go,
          crash and come back; each message arrives once; a joiner is told the cut from which on it misses nothing.
Assumes:  between two live nodes, packets arrive in any order until one of them suspects the other; then everything that
          was under way may be lost, and the other one suspects it too before anything new passes (one connection).
Departs:  V1 a joiner is a leaf until it knows all members; whoever is given a subtree that it cannot serve refuses
          it, and the sender gives it to the next member.
          V2, V3 a second wave (CUT) gathers what every member has delivered: the joiner's start cut. Whoever is not a
          member any more answers the first wave with what it knew.
          V4 a leaver refuses new waves instead of serving them from an ageing view.
          V5 a window of waves per source and topic; what queues meanwhile goes out as one wave. A suspected node is
          passed over (`vcube_waves.py`), and what it missed is made up for later (`vcube_repair.py`).
          V6 messages count from 1 per topic; membership changes count from -1 downward.
          V7 an incarnation in every id and rank.  V8 what came before is dropped.
          docs/protocols/vcube.md gives the smallest case of each and the argument.
"""

from __future__ import annotations

from typing import ClassVar

from trellis.effects import Send
from trellis.errors import UnexpectedEvent
from trellis.events import Cycle, Timeout
from trellis.machine import Place
from trellis.protocols.layers import CRASHES, GAPLESS, HELD_MAX, START_CUT, SUBTOPICS
from trellis.protocols.overlays.vcube_changes import Changes
from trellis.protocols.overlays.vcube_membership import (
    CUTTING,
    JOINING,
    Membership,
)
from trellis.protocols.overlays.vcube_packets import (
    Ack,
    Answer,
    Below,
    Cut,
    Fill,
    Pub,
    Refuse,
    State,
    Sub,
    Uns,
    portion,
)
from trellis.protocols.overlays.vcube_repair import TIMER
from trellis.protocols.overlays.vcube_waves import Gathering, Pending
from trellis.protocols.parts.hierarchy import in_tree
from trellis.protocols.parts.view import GONE, Rank, View
from trellis.words import Message, MessageId, NodeId, Packet, Topic


class VCube(Changes):
    """SUB, CUT, UNS and PUB waves with acknowledgements, one tree per source."""

    promise = "every confirmed subscriber gets every message once, whoever joins or leaves; no forwarders that stay"
    source = "VCube-PS (de Araujo et al. 2018), holes V1-V12 closed"
    gives = frozenset({START_CUT, GAPLESS, CRASHES, SUBTOPICS})
    options: ClassVar[dict[str, int]] = {"window": 8, "batch": 256, "repair": 0, "keep": 10_000}

    def __init__(self, place: Place, window: int, batch: int, repair: int, keep: int) -> None:
        super().__init__(place, batch, repair, keep)
        self.window = window
        self.batch = batch

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        match packet:
            case Ack():
                self.upon_ack(sender, packet)
            case Pub():
                self.upon_pub(sender, packet)
            case Answer():
                self.upon_answer(sender, packet)
            case Sub():
                self.upon_sub(sender, packet)
            case Cut() | Uns():
                self.upon_change(sender, packet)
            case Refuse():
                self.upon_refuse(sender, packet)
            case State():
                self.upon_state(sender, packet)
            case Fill():
                self.repair.upon_fill(sender, packet)
            case Below():
                self.tree.upon_below(sender, packet)
            case _:
                raise UnexpectedEvent(self, packet)

    def upon_time(self, event: Timeout | Cycle) -> None:
        if event != Timeout(TIMER):
            raise UnexpectedEvent(self, event)
        self.repair.upon_time()

    # Publishing

    def spread(self, message: Message) -> None:
        """Algorithm 2, line 12."""
        state = self.topics[message.id.topic]
        if state.settled < 0:
            state.settled = message.id.seq - 1
        state.queue.append(message)
        if self.repair.delay:
            state.seen.add(message.id.origin, message.id.seq, message.last)
            self.repair.keep(message)
        self.pump(message.id.topic, state)

    def pump(self, topic: Topic, state: Membership) -> None:
        """Task START_MSG_PROPAGATION: as many waves as the window allows, as many messages as a wave allows."""
        while state.queue and len(state.outstanding) < self.window:
            messages = portion(state.queue, self.batch)
            del state.queue[: len(messages)]
            id = messages[0].id
            state.outstanding[id] = messages[-1].last - id.seq + 1
            height = self.dimension
            self.launch(Pub(id, height, messages), None, state.view.tree(height), state.view)

    def upon_pub_returned(self, pending: Pending) -> None:
        """Line 31: a place in the window is free. What nobody else has, though there are others, is not settled: it
        goes out again when somebody is to be reached.
        """
        id = pending.packet.id
        state = self.topics[id.topic]
        count = state.outstanding.pop(id)
        if pending.served or state.view.is_alone():
            state.returned[id.seq] = count
            self.settle_in_order(id.topic, state)
        else:
            assert isinstance(pending.packet, Pub)
            state.unheard[id] = pending.packet
        self.pump(id.topic, state)
        self.depart_if_drained(id.topic, state)

    def settle_in_order(self, topic: Topic, state: Membership) -> None:
        """A message is settled after those before it: else it could be acknowledged, and they die with me."""
        while (count := state.returned.pop(state.settled + 1, None)) is not None:
            self.settle(MessageId(self.origin, topic, state.settled + 1), count)
            state.settled += count

    def try_again(self, topic: Topic, state: Membership) -> None:
        """Somebody came back, or is known to have left: then perhaps nobody else is left who should have it."""
        if not state.is_in():
            return
        unheard, state.unheard = state.unheard, {}
        for id, pub in unheard.items():
            state.outstanding[id] = pub.batch
            self.launch(pub, None, state.view.tree(self.dimension), state.view)

    def upon_pub(self, sender: NodeId, pub: Pub) -> None:
        """Lines 40-53 and 62-68."""
        id, height = pub.id, pub.height
        state = self.topics.get(id.topic)
        if state is None or self.cannot_serve(state, height):
            self.refuse(sender, pub)
            return
        children = state.view.tree(height)
        if children or state.view.silent:
            self.launch(pub, sender, children, state.view)
        else:
            self.outbox.append(Send(sender, Ack(id, height), can_wait=pub.patient))
        if state.phase is JOINING or state.phase is CUTTING:
            if self.repair.delay and len(state.early) > HELD_MAX:
                for message in pub.messages:
                    self.note("skip", message.id, count=message.count)
            else:
                state.early.extend(pub.messages)
        else:
            for message in pub.messages:
                self.take_or_skip(state, message)

    def take(self, state: Membership, message: Message) -> bool:
        """Hand a message up unless it came before (V8) or is at or below my cut; whether it was."""
        id = message.id
        if self.repair.delay and not self.above.takes(message):  # as if it were lost on the way: it will be asked for
            self.repair.stir(id.topic)
            return False
        if not state.seen.add(id.origin, id.seq, message.last):
            return False
        self.repair.keep(message)
        self.above.arrive(message)
        return True

    def takes_part(self) -> bool:
        return bool(self.topics)

    def others_in(self, topic: Topic) -> list[NodeId]:
        state = self.topics.get(topic)
        return sorted(state.view.members) if state is not None else []

    def under_way(self, topic: Topic) -> int:
        state = self.topics.get(topic)
        return len(state.outstanding) if state is not None else 0

    def look_again(self, topic: Topic) -> None:
        self.repair.stir(topic)

    # Waves

    def upon_returned(self, pending: Pending) -> None:
        if isinstance(pending, Gathering):
            self.upon_change_answered(pending.packet.id.topic, pending)
        else:
            self.upon_pub_returned(pending)

    # Crashes

    def upon_suspect(self, node: NodeId) -> None:
        """Whatever was on its way to it may be lost: others take its subtrees over, and nobody waits for it."""
        self.reach.remove(node)
        self.seat(node)
        self.expect_nothing_of(node)
        for topic in self.topics:
            self.repair.stir(topic)  # perhaps it died in the middle of a wave

    def upon_restore(self, node: NodeId, incarnation: int) -> None:
        """It is there: in its old life, and lacks what it missed; or in a new one, and has joined nothing yet."""
        if node in self.reach and incarnation > self.lives.get(node, 0):
            self.upon_suspect(node)
        self.reach.add(node)
        self.lives[node] = incarnation
        for view in self.every_view():
            rank = view.ranks.get(node)
            if rank is not None and rank.incarnation < incarnation:
                view.update([Rank(node, incarnation, 0, GONE)])
        self.seat(node)
        self.tree.tell_names(node, (topic for topic in self.left if in_tree(topic) and topic not in self.topics))
        for topic, state in list(self.topics.items()):
            self.ask_where_it_stands(node, topic, state)
            self.repair.stir(topic)
            self.try_again(topic, state)

    def seat(self, node: NodeId) -> None:
        for view in self.every_view():
            view.seat(node)

    def every_view(self) -> list[View]:
        return [*(state.view for state in self.topics.values()), *self.views()]

    def upon_state(self, sender: NodeId, told: State) -> None:
        topic = told.id.topic
        if in_tree(topic):
            self.tree.upon_state(sender, told)
        state = self.topics.get(topic)
        if state is not None:
            was_in = sender in state.view.members
            unheard = told.rank.newer_than(state.view.ranks.get(sender))
            state.view.update([told.rank])
            if self.repair.delay and not told.reply and (unheard or told.vector is None):
                self.tell_state(sender, topic, reply=True)  # it asks, or may not have heard of me either
            if was_in and sender not in state.view.members:  # I took it for a neighbour, and told nobody else
                self.repair.stir(topic)
                self.try_again(topic, state)
        elif not told.reply:  # it asks where I stand, or missed that I left
            self.send(sender, State(self.state_id(topic), self.rank(topic), None, False, True))
        self.repair.compare(sender, state, told)
        self.heard(topic, told.rank)
        if state is not None:
            state.view.silent.pop(sender, None)
