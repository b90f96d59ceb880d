"""The book of a desk, at several hosts: what a majority has written down holds, whoever dies.

Source:   Ongaro, Ousterhout 2014 (Raft): log matching, votes for whoever has all that counts, and that only lines of
          its own epoch let a leader commit.
Promises: all copies take the same commands in the same order. A command is taken, and what follows from it leaves this
          host, only after a majority of the seats has written it. Seats are added one at a time, by a line of the book,
          for hosts that have all of it.
Assumes:  what a host wrote down it still has when it comes back, or it says so (`forget`).
Departs:  an epoch belongs to one host (its remainder by the number of hosts), so a host votes by rising to an epoch,
          and for itself when it has enough other votes.
          There are no heartbeats: a leader is followed until its host is suspected, and nobody grants a vote while it
          reaches the leader. The first leader needs no votes: nothing was written before it.
"""

from __future__ import annotations

from typing import Protocol

from trellis.protocols.parts.desk_packets import (
    PART_MAX,
    Append,
    Appended,
    Command,
    Entry,
    Install,
    Ours,
    Seat,
    Seats,
    Vote,
    Voted,
    Yours,
    weight,
)
from trellis.words import MessageId

Base = tuple[int, int, Seats]  # the last line that is not kept, its epoch, and the seats by then
GRACE = 2
STEADY = 8  # lines that a leader sees taken before it gives a desk up for the host whose it is
BATCH = 256  # lines in one packet
BYTES_MAX = 1 << 19  # and their bytes
LINES_KEPT = 4096  # taken lines that are kept for hosts that are behind


class Office(Protocol):
    """Where a copy is kept: what it can do there."""

    def to_host(self, host: int, packet: Ours) -> None: ...
    def reaches(self, host: int) -> bool: ...
    def keep_line(self, desk: int, index: int, entry: Entry | None) -> None: ...
    def keep_epoch(self, desk: int, epoch: int) -> None: ...
    def keep_state(self, desk: int, index: int, epoch: int, seats: Seats) -> None: ...
    def state_of(self, desk: int) -> bytes: ...
    def install(self, desk: int, state: bytes) -> None: ...
    def take(self, desk: int, command: Command | None) -> None: ...
    def began_to_lead(self, desk: int) -> None: ...


class Ledger:
    """One host's copy of one desk's book."""

    def __init__(self, desk: int, hosts: Seats, first: Seats, id: MessageId, office: Office) -> None:
        self.desk = desk
        self.hosts = hosts  # all that may have a copy; the first one leads if it can
        self.first = first  # those that count at first, and before all the first leader
        self.seats = list(first)  # those whose majority counts, by all lines so far
        self.me = id.source
        self.id = id  # of its packets
        self.office = office
        self.epoch = hosts.index(first[0])
        self.leading = self.leader == self.me
        self.forgetful = False  # my place had a book that I have not: I count for nothing until a leader has taught me
        self.base = 0  # the last line that is not kept
        self.base_epoch = 0
        self.lines: list[Entry] = []  # those after it
        self.committed = 0  # up to this they are taken
        self.agreed: dict[int, int] = {}  # leader: per host, up to which line
        self.since = 0  # leader: the last line before its epoch
        self.sent: dict[int, int] = {}  # leader: per host, up to which line it was sent something
        self.heard = True  # of the leader, in this epoch
        self.grace = 0  # how often I still look away when nobody leads: whom I voted for may be about to
        self.arriving: tuple[tuple[int, int, int], dict[int, bytes]] = ((0, 0, 0), {})  # parts of a state
        self.wanted = 0  # the epoch that I ask for
        self.votes: set[int] = set()

    @property
    def leader(self) -> int:
        """The host whose turn the epoch is."""
        return self.hosts[self.epoch % len(self.hosts)]

    @property
    def others(self) -> list[int]:
        return [host for host in self.hosts if host != self.me]

    @property
    def last(self) -> int:
        return self.base + len(self.lines)

    def epoch_of(self, index: int) -> int:
        return self.lines[index - self.base - 1].epoch if index > self.base else self.base_epoch

    def recover(self, epoch: int, base: Base | None, lines: list[Entry]) -> None:
        """What this host had written when it stopped. Who led then must be chosen again."""
        if base is not None:
            self.base, self.base_epoch, self.first = base
        self.committed = self.base
        self.forgetful = False
        self.epoch, self.lines, self.leading, self.heard = epoch, lines, False, False
        self.count_seats()

    def forget(self) -> None:
        """This place was another node's before, and its book went with that one."""
        self.forgetful, self.leading, self.heard = True, False, False

    def count_seats(self) -> None:
        seated = [line.command.host for line in self.lines if isinstance(line.command, Seat)]
        self.seats = [*self.first, *seated]

    # As leader

    def propose(self, command: Command | None) -> None:
        self.write(Entry(self.epoch, command))
        for host in self.others:
            self.send_lines(host)
        self.commit()

    def write(self, entry: Entry) -> None:
        self.lines.append(entry)
        if isinstance(entry.command, Seat):
            self.seats.append(entry.command.host)
        self.office.keep_line(self.desk, self.last, entry)

    def send_lines(self, host: int) -> None:
        """What it was not sent yet; also nothing, to ask how far it is."""
        if not self.office.reaches(host):
            return
        after = self.sent.get(host, 0)
        if after < self.base:
            self.sent[host] = self.committed
            self.send_state(host)
            return
        lines = self.portion(after)
        self.sent[host] = after + len(lines)
        told = Append(self.id, self.desk, self.epoch, after, self.epoch_of(after), lines, self.committed)
        self.office.to_host(host, told)

    def send_state(self, host: int) -> None:
        """It was away for too long to be told line by line."""
        index, state = self.committed, self.office.state_of(self.desk)
        epoch, seats = self.epoch_of(index), self.seats_upto(index)
        parts = [state[at : at + PART_MAX] for at in range(0, len(state), PART_MAX)]
        for n, part in enumerate(parts):
            install = Install(self.id, self.desk, self.epoch, index, epoch, seats, n, len(parts), part)
            self.office.to_host(host, install)

    def portion(self, after: int) -> tuple[Entry, ...]:
        """Lines that fit one packet: at least one, if there is any."""
        lines = self.lines[after - self.base : after - self.base + BATCH]
        size = 0
        for n, line in enumerate(lines):
            size += weight(line)
            if n and size > BYTES_MAX:
                return tuple(lines[:n])
        return tuple(lines)

    def send_again(self) -> None:
        """To those who have not answered: from where they surely are."""
        for host in self.others:
            if self.office.reaches(host):
                self.sent[host] = self.agreed.get(host, 0)
                self.send_lines(host)

    def upon_appended(self, sender: int, answer: Appended) -> None:
        if answer.epoch > self.epoch:
            self.follow(answer.epoch)
        if answer.epoch != self.epoch or not self.leading:
            return
        if answer.agrees:
            self.agreed[sender] = max(answer.upto, self.agreed.get(sender, 0))
            self.commit()
            if self.sent[sender] < self.last:
                self.send_lines(sender)
            else:
                self.welcome(sender)
        elif answer.upto < self.sent.get(sender, 0):
            self.sent[sender] = answer.upto
            self.send_lines(sender)

    def welcome(self, host: int) -> None:
        """It has all that I have: it may count from now on, one after the other; and its own desk it may lead."""
        if self.agreed[host] < self.last or self.committed < self.last:
            return
        if host not in self.seats:
            self.propose(Seat(self.id, host))
        elif host == self.hosts[0] and self.hosts[0] != self.me and self.committed >= self.since + STEADY:
            self.office.to_host(host, Yours(self.id, self.desk, self.epoch))

    def commit(self) -> None:
        """What a majority has. A line of an earlier epoch counts once one of mine after it does."""
        have = sorted((self.last if host == self.me else self.agreed.get(host, 0)) for host in self.seats)
        upto = have[(len(have) - 1) // 2]
        if upto > self.committed and self.epoch_of(upto) == self.epoch:
            self.take_upto(upto)  # the others hear of it with the next lines

    def take_upto(self, index: int) -> None:
        while self.committed < index:
            self.committed += 1
            self.office.take(self.desk, self.lines[self.committed - self.base - 1].command)
        if self.committed - self.base >= 2 * LINES_KEPT:
            self.forget_upto(self.committed - LINES_KEPT)

    def forget_upto(self, index: int) -> None:
        """Of these lines, only what came of them stays."""
        seats = self.seats_upto(self.committed)
        self.office.keep_state(self.desk, self.committed, self.epoch_of(self.committed), seats)
        self.base_epoch = self.epoch_of(index)
        self.first = self.seats_upto(index)
        for n in range(self.base + 1, index + 1):
            self.office.keep_line(self.desk, n, None)
        del self.lines[: index - self.base]
        self.base = index

    def seats_upto(self, index: int) -> Seats:
        lines = self.lines[: index - self.base]
        return (*self.first, *(line.command.host for line in lines if isinstance(line.command, Seat)))

    # As follower

    def upon_append(self, sender: int, told: Append) -> None:
        if told.epoch < self.epoch or not self.is_leader(sender, told.epoch):
            self.office.to_host(sender, Appended(self.id, self.desk, self.epoch, 0, False))
            return
        self.follow(told.epoch)
        self.heard = True
        if told.after < self.base:  # it was sent before I was told the rest
            self.office.to_host(sender, Appended(self.id, self.desk, self.epoch, self.committed, True))
            return
        if told.after > self.last or self.epoch_of(told.after) != told.after_epoch:
            known = min(self.last, told.after - 1)
            self.office.to_host(sender, Appended(self.id, self.desk, self.epoch, max(known, self.committed), False))
            return
        for n, entry in enumerate(told.entries, told.after + 1):
            if n <= self.last and self.epoch_of(n) != entry.epoch:
                self.cut_off(n)
            if n > self.last:
                self.write(entry)
        upto = told.after + len(told.entries)
        self.take_upto(min(told.committed, upto))
        self.forgetful &= upto < told.committed
        self.office.to_host(sender, Appended(self.id, self.desk, self.epoch, upto, True))

    def upon_install(self, sender: int, told: Install) -> None:
        """The parts come in any order, and perhaps again."""
        if told.epoch < self.epoch or not self.is_leader(sender, told.epoch):
            self.office.to_host(sender, Appended(self.id, self.desk, self.epoch, 0, False))
            return
        self.follow(told.epoch)
        self.heard = True
        state = self.put_together(told)
        if state is None:
            return
        if told.index > self.committed:
            self.office.install(self.desk, state)  # or it is refused
            for n in range(self.base + 1, self.last + 1):
                self.office.keep_line(self.desk, n, None)
            self.lines, self.base, self.base_epoch, self.committed = [], told.index, told.index_epoch, told.index
            self.first = told.seats
            self.count_seats()
            self.office.keep_state(self.desk, told.index, told.index_epoch, told.seats)
        self.forgetful = False
        self.office.to_host(sender, Appended(self.id, self.desk, self.epoch, told.index, True))

    def put_together(self, told: Install) -> bytes | None:
        """The state, once all of its parts are here. Of another one the parts are worth nothing."""
        which = (told.epoch, told.index, told.parts)
        if self.arriving[0] != which:
            self.arriving = (which, {})
        parts = self.arriving[1]
        if told.part < told.parts:
            parts[told.part] = told.state
        if len(parts) < told.parts:
            return None
        self.arriving = ((0, 0, 0), {})
        return b"".join(parts[n] for n in sorted(parts))

    def cut_off(self, index: int) -> None:
        """From this line on they were written under a leader that nobody followed."""
        assert index > self.committed, "a line that a majority has stays"
        for n in range(index, self.last + 1):
            self.office.keep_line(self.desk, n, None)
        del self.lines[index - self.base - 1 :]
        self.count_seats()

    def follow(self, epoch: int) -> None:
        if epoch > self.epoch:
            self.epoch = epoch
            self.office.keep_epoch(self.desk, epoch)
            self.leading = self.heard = False
            self.grace = GRACE

    def is_leader(self, host: int, epoch: int) -> bool:
        return host == self.hosts[epoch % len(self.hosts)]

    def upon_leads(self, epoch: int) -> None:
        """Somebody says who leads. Whether I do I know myself."""
        if self.hosts[epoch % len(self.hosts)] != self.me:
            self.follow(epoch)
            self.heard |= epoch == self.epoch

    # Elections

    def stand(self, handed: bool = False) -> None:
        """Ask for the next epoch that is mine. I rise to it only with a majority: or I would hold up the others."""
        if self.me not in self.seats or self.forgetful:
            return
        count = len(self.hosts)
        self.wanted = self.epoch + 1 + (self.hosts.index(self.me) - self.epoch - 1) % count
        self.votes = {self.me}
        if not self.lead_if_elected():
            last = self.epoch_of(self.last)
            for host in self.others:
                self.office.to_host(host, Vote(self.id, self.desk, self.wanted, self.last, last, handed))

    def upon_vote(self, sender: int, vote: Vote) -> None:
        """Not while I hear another leader, nor for somebody who lacks a line that may count."""
        follows = self.heard and self.leader != sender and self.office.reaches(self.leader)
        has_all = (vote.last_epoch, vote.last) >= (self.epoch_of(self.last), self.last)
        if (
            not self.forgetful
            and vote.epoch > self.epoch
            and has_all
            and (vote.handed or not (follows or self.leading))
        ):
            self.follow(vote.epoch)
            self.office.to_host(sender, Voted(self.id, self.desk, vote.epoch, True))
        else:
            self.office.to_host(sender, Voted(self.id, self.desk, self.epoch, False))

    def upon_yours(self, sender: int, yours: Yours) -> None:
        """The leader gives it up for me."""
        if yours.epoch == self.epoch and sender == self.leader:
            self.stand(handed=True)

    def upon_voted(self, sender: int, voted: Voted) -> None:
        if not voted.granted:
            self.follow(voted.epoch)
        elif voted.epoch == self.wanted > self.epoch:
            self.votes.add(sender)
            self.lead_if_elected()

    def lead_if_elected(self) -> bool:
        if 2 * len(self.votes & set(self.seats)) <= len(self.seats):
            return False
        self.follow(self.wanted)
        self.leading = self.heard = True
        self.since = self.last
        self.agreed, self.sent = {}, dict.fromkeys(self.others, self.last)
        self.office.began_to_lead(self.desk)
        self.propose(None)
        return True

    @property
    def lacks_leader(self) -> bool:
        """Whether somebody should stand, as far as this host can see."""
        able = self.me in self.seats and not self.leading and not self.forgetful
        return able and not (self.heard and self.office.reaches(self.leader))

    def stand_in_turn(self, tries: int) -> None:
        """Nobody leads, as far as I see: stand, unless it is another one's turn to."""
        if self.grace:
            self.grace -= 1
        elif tries >= self.distance:
            self.stand()

    @property
    def distance(self) -> int:
        """From the leader's place among the hosts to mine: whoever is nearer stands first."""
        count = len(self.hosts)
        return (self.hosts.index(self.me) - self.epoch) % count
