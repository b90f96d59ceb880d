"""The desks that a node hosts, and how it finds those of others.

Promises: what is sent to a desk reaches whoever leads it, if need be when that is known; what a desk says is said by
          its leader alone. A host writes down what it must not forget (`Keep`) before anything leaves that depends on
          it.
Assumes:  desk n is kept by `copies` hosts from the n-th on, in a ring; host n is node n. In a cluster that grows,
          host 0 is there first and never comes back without its book, and all hosts keep all desks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from trellis.errors import RemoteProtocolError
from trellis.protocols.parts.census import Census
from trellis.protocols.parts.desk import Desk
from trellis.protocols.parts.desk_packets import (
    Append,
    Appended,
    Ask,
    Change,
    Climb,
    Climbed,
    Command,
    Entry,
    Install,
    Lapse,
    Leads,
    Ours,
    Pull,
    Reached,
    Renew,
    Seat,
    Seats,
    Snapshot,
    State,
    Vote,
    Voted,
    Yours,
)
from trellis.protocols.parts.groups import Desks
from trellis.protocols.parts.ledger import Ledger
from trellis.words import MessageId, NodeId, Packet, Topic

if TYPE_CHECKING:
    from trellis.protocols.orderings.deskbound import Deskbound

STANDING = "standing/"  # before a topic: who has subscribed since before the run
BETWEEN_HOSTS = (Append, Appended, Install, Vote, Voted, Yours)
FOR_ONESELF = (Ask, Change, Pull, Reached, Renew)  # nobody asks for another
FOUNDER = (0,)  # counts alone until others have come, where a cluster grows
DESK_ID = "desk"  # in the place of a topic, where a packet is about a desk


class Voice:
    """The post of one copy of a desk: only the leader's is heard."""

    def __init__(self, node: Deskbound) -> None:
        self.node = node
        self.ledger: Ledger | None = None

    def to_desk(self, desk: int, packet: Packet) -> None:
        if self.ledger is not None and self.ledger.leading:
            self.node.to_desk(desk, packet)

    def to_node(self, node: NodeId, packet: Packet) -> None:
        if self.ledger is not None and self.ledger.leading:
            self.node.to_node(node, packet)


class Bureau:
    """One node's part in the desks."""

    def __init__(self, node: Deskbound, desks: Desks, copies: int, grows: bool, lease: int, rule: str) -> None:
        self.node = node
        self.desks = desks
        self.copies = min(copies, desks.count)
        self.id = MessageId(node.origin, DESK_ID, 0)
        self.epochs: dict[int, int] = {}  # the latest that I heard of, per desk
        self.ledgers: dict[int, Ledger] = {}
        self.copies_of: dict[int, Desk] = {}
        self.census: Census | None = None  # at the hosts of the desk where subscriptions begin
        for desk in range(desks.count):
            hosts = self.hosts_of(desk)
            first = FOUNDER if grows else hosts
            self.epochs[desk] = hosts.index(first[0])
            if node.me in hosts:
                voice = Voice(node)
                voice.ledger = self.ledgers[desk] = Ledger(desk, hosts, first, self.id, self)
                if not node.place.pristine:
                    self.ledgers[desk].forget()
                self.copies_of[desk] = Desk(desk, desks, rule, voice)
                if desk == desks.count - 1:
                    self.census = Census(node, self.copies_of[desk], self.ledgers[desk], lease, self.id)

    def hosts_of(self, desk: int) -> tuple[int, ...]:
        return tuple((desk + n) % self.desks.count for n in range(self.copies))

    def leader_of(self, desk: int) -> NodeId:
        return self.hosts_of(desk)[self.epochs[desk] % self.copies]

    @property
    def busy(self) -> bool:
        """Whether something waits for an answer of others."""
        return any(
            (ledger.leading and (self.copies_of[desk].state.open or ledger.committed < ledger.last))
            or ledger.lacks_leader
            for desk, ledger in self.ledgers.items()
        ) or (self.census is not None and self.census.waits)

    def tend(self) -> None:
        """Whatever was done, something may follow that nobody asks for."""
        if self.census is not None:
            self.census.tend()

    def stand(self, topic: Topic, members: tuple[NodeId, ...]) -> None:
        for desk in self.copies_of.values():
            desk.stand(topic, members)
        if self.copies_of:
            self.node.keep(STANDING + topic, members)

    # What comes

    def upon_packet(self, sender: NodeId, packet: Ours) -> None:
        """A peer may say anything; what makes no sense here changes nothing."""
        if not 0 <= getattr(packet, "to", 0) < self.desks.count:
            return
        if isinstance(packet, BETWEEN_HOSTS) and sender not in self.hosts_of(packet.to):
            return
        if isinstance(packet, FOR_ONESELF) and sender != packet.id.source:
            return
        match packet:
            case Ask():
                self.upon_command(sender, self.desks.of(packet.id.topic), packet)
            case Change() | Renew():
                self.upon_command(sender, self.desks.count - 1, packet)
            case Reached():
                if self.census is not None:
                    self.census.upon_reached(packet)
            case Climb() | Climbed():
                self.upon_command(sender, packet.to, packet)
            case Pull():
                self.upon_pull(sender, packet)
            case Append() if packet.to in self.ledgers:
                self.ledgers[packet.to].upon_append(sender, packet)
            case Appended() if packet.to in self.ledgers:
                self.ledgers[packet.to].upon_appended(sender, packet)
            case Install() if packet.to in self.ledgers:
                self.ledgers[packet.to].upon_install(sender, packet)
            case Yours() if packet.to in self.ledgers:
                self.ledgers[packet.to].upon_yours(sender, packet)
            case Vote() if packet.to in self.ledgers:
                self.ledgers[packet.to].upon_vote(sender, packet)
            case Voted() if packet.to in self.ledgers:
                self.ledgers[packet.to].upon_voted(sender, packet)
            case Leads():
                self.upon_leads(packet.to, packet.epoch)

    def upon_command(self, sender: NodeId, desk: int, command: Command) -> None:
        ledger = self.ledgers.get(desk)
        if ledger is None or not ledger.leading:
            self.point_to_leader(sender, desk)
        elif self.copies_of[desk].is_news(command):
            ledger.propose(command)
        else:
            self.copies_of[desk].take(command)

    def point_to_leader(self, sender: NodeId, desk: int) -> None:
        if desk in self.ledgers:
            self.learn(desk, self.ledgers[desk].epoch)
        known = desk not in self.ledgers or self.ledgers[desk].heard
        if known and self.leader_of(desk) != self.node.me and sender != self.node.me:
            self.node.to_node(sender, Leads(self.id, desk, self.epochs[desk]))

    def upon_pull(self, sender: NodeId, pull: Pull) -> None:
        """Say whose numbers they are. If that one is gone, give them up first."""
        number = self.desks.of(pull.id.topic)
        ledger = self.ledgers.get(number)
        if ledger is None or not ledger.leading:
            self.point_to_leader(sender, number)
            return
        desk = self.copies_of[number]
        told = desk.look_up(pull)
        if told is None:
            return
        if not told.void and self.node.is_gone(told.id.origin):
            lapse = Lapse(pull.id, told.number, told.count)
            ledger.propose(lapse)
        else:
            self.node.to_node(sender, told)
            if not told.void:  # perhaps it never heard of its numbers
                for answer in desk.answers(told.id):
                    self.node.to_node(told.id.source, answer)

    # Leaders

    def upon_leads(self, desk: int, epoch: int) -> None:
        if desk in self.ledgers:
            self.ledgers[desk].upon_leads(epoch)
        if self.learn(desk, epoch):
            self.push_on(desk)
            self.node.ask_again(desk)

    def learn(self, desk: int, epoch: int) -> bool:
        newer = epoch > self.epochs[desk]
        if newer:
            self.epochs[desk] = epoch
        return newer

    def began_to_lead(self, desk: int) -> None:
        epoch = self.ledgers[desk].epoch
        self.learn(desk, epoch)
        if self.census is not None and desk == self.desks.count - 1:
            self.census.begin_to_lead()
            self.node.look_for_the_gone()
        for node in self.node.reached:
            self.node.to_node(node, Leads(self.id, desk, epoch))
        self.node.ask_again(desk)

    def upon_restore(self, node: NodeId) -> None:
        """It may not have heard who leads; and I may have something for it, and for a desk that it leads."""
        for desk in range(self.desks.count):
            if self.leader_of(desk) == node:
                self.push_on(desk)
        for desk, ledger in self.ledgers.items():
            if ledger.leading:
                if ledger.epoch:
                    self.node.to_node(node, Leads(self.id, desk, ledger.epoch))
                if node in ledger.hosts:
                    ledger.send_again()

    def push_on(self, desk: int) -> None:
        """Climbs on their way to it, from the desk below if I lead that."""
        below = self.ledgers.get(desk + 1)
        if below is not None and below.leading:
            self.copies_of[desk + 1].push_on()

    def send_again(self, tries: int) -> None:
        for desk, ledger in self.ledgers.items():
            if ledger.leading:
                if ledger.committed < ledger.last:
                    ledger.send_again()
                self.copies_of[desk].send_again()
            elif ledger.lacks_leader:
                ledger.stand_in_turn(tries)
        if self.census is not None and self.census.ledger.leading:
            self.census.send_again()

    # What a ledger asks for

    def to_host(self, host: int, packet: Packet) -> None:
        self.node.to_node(host, packet)

    def reaches(self, host: int) -> bool:
        return self.node.reaches(host)

    def take(self, desk: int, command: Command | None) -> None:
        copy = self.copies_of[desk]
        if isinstance(command, Seat):
            return
        if command is not None:
            copy.take(command)
        else:  # a leader began: what its predecessor said may be lost
            copy.send_again()

    def keep_line(self, desk: int, index: int, entry: Entry | None) -> None:
        self.node.keep(f"desk/{desk}/{index}", entry)

    def keep_epoch(self, desk: int, epoch: int) -> None:
        self.node.keep(f"desk/{desk}/epoch", epoch)

    def keep_state(self, desk: int, index: int, epoch: int, seats: Seats) -> None:
        self.node.keep(f"desk/{desk}/state", Snapshot(index, epoch, seats, self.state_of(desk)))

    def state_of(self, desk: int) -> bytes:
        return msgspec.msgpack.encode(self.copies_of[desk].snapshot())

    def install(self, desk: int, state: bytes) -> None:
        try:
            self.copies_of[desk].install(msgspec.msgpack.decode(state, type=State))
        except (msgspec.DecodeError, ValueError) as error:
            raise RemoteProtocolError(f"desk {desk}: a state that cannot be read ({error})") from None

    def recover(self, kept: dict[str, Any]) -> None:
        """What this host wrote in its former lives."""
        for key in sorted(kept):
            if key.startswith(STANDING):
                self.stand(key.removeprefix(STANDING), kept[key])
        for desk, ledger in self.ledgers.items():
            base = None
            state = kept.get(f"desk/{desk}/state")
            if state is not None:
                base = (state.index, state.epoch, state.seats)
                self.install(desk, state.state)
            lines: list[Entry] = []
            first = base[0] + 1 if base is not None else 1
            while (entry := kept.get(f"desk/{desk}/{first + len(lines)}")) is not None:
                lines.append(entry)
            ledger.recover(kept.get(f"desk/{desk}/epoch", ledger.epoch), base, lines)
