"""The book of a desk at several hosts: whatever is lost, late, repeated or restarted, copies never disagree."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from trellis.protocols.parts import ledger as ledger_module
from trellis.protocols.parts.desk_packets import Append, Command, Entry, Install, Lapse
from trellis.protocols.parts.ledger import Ledger
from trellis.words import MessageId

DESK = 0


def command(n: int) -> Lapse:
    return Lapse(MessageId((9, 0), "t", n), n, 1)


class Host:
    """A copy, what it took, and its disk. Its state is the list of numbers taken so far."""

    def __init__(self, world: World, me: int) -> None:
        self.world, self.me = world, me
        self.disk: dict[str, Any] = {}
        self.taken: list[int] = []
        self.up = True
        self.ledger = self.new()

    def new(self) -> Ledger:
        return Ledger(DESK, self.world.hosts, self.world.first, MessageId((self.me, 0), "desk", 0), self)

    def restart(self) -> None:
        self.up, self.taken = True, []
        self.ledger = self.new()
        state = self.disk.get("state")
        base = None
        if state is not None:
            base = (state[0], state[1], state[2])
            self.taken = list(state[3])
        first = base[0] + 1 if base else 1
        lines: list[Entry] = []
        while (line := self.disk.get(f"line {first + len(lines)}")) is not None:
            lines.append(line)
        self.ledger.recover(self.disk.get("epoch", self.ledger.epoch), base, lines)

    # Office

    def to_host(self, host: int, packet: Any) -> None:
        self.world.wire.append((self.me, host, packet))

    def reaches(self, host: int) -> bool:
        return self.world.copies[host].up

    def keep_line(self, desk: int, index: int, entry: Entry | None) -> None:
        if entry is None:
            self.disk.pop(f"line {index}", None)
        else:
            self.disk[f"line {index}"] = entry

    def keep_epoch(self, desk: int, epoch: int) -> None:
        self.disk["epoch"] = epoch

    def keep_state(self, desk: int, index: int, epoch: int, seats: tuple[int, ...]) -> None:
        self.disk["state"] = index, epoch, seats, list(self.taken)

    def state_of(self, desk: int) -> bytes:
        return bytes(json.dumps(self.taken), "ascii")

    def install(self, desk: int, state: bytes) -> None:
        self.taken = json.loads(state)

    def take(self, desk: int, taken: Command | None) -> None:
        if isinstance(taken, Lapse):
            self.taken.append(taken.number)

    def began_to_lead(self, desk: int) -> None:
        self.world.led.append((self.ledger.epoch, self.me))


class World:
    def __init__(self, count: int, grows: bool = False) -> None:
        self.hosts = tuple(range(count))
        self.first = (0,) if grows else self.hosts
        self.wire: list[tuple[int, int, Any]] = []
        self.led: list[tuple[int, int]] = []
        self.copies = [Host(self, me) for me in self.hosts]
        self.proposed = 0

    def carry(self, index: int) -> None:
        sender, to, packet = self.wire.pop(index)
        copy = self.copies[to]
        if copy.up:
            getattr(copy.ledger, f"upon_{type(packet).__name__.lower()}")(sender, packet)

    def propose(self, me: int) -> None:
        copy = self.copies[me]
        if copy.up and copy.ledger.leading:
            self.proposed += 1
            copy.ledger.propose(command(self.proposed))

    def hold(self, longest: list[int]) -> list[int]:
        """No two copies have taken different things, and what was taken anywhere stays."""
        for copy in self.copies:
            taken = copy.taken
            shorter = min(len(taken), len(longest))
            assert taken[:shorter] == longest[:shorter]
            longest = max(longest, list(taken), key=len)
        return longest

    def settle(self) -> None:
        """Everybody is there, and nothing is lost any more."""
        for copy in self.copies:
            if not copy.up:
                copy.restart()
        for _ in range(50):
            for copy in self.copies:
                if copy.ledger.leading:
                    copy.ledger.send_again()
                elif copy.ledger.lacks_leader:
                    copy.ledger.stand()
                while self.wire:
                    self.carry(0)


@pytest.mark.parametrize("seed", range(60))
def test_copies_agree_on_what_they_took_and_lose_nothing_of_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    luck = random.Random(seed)
    monkeypatch.setattr(ledger_module, "LINES_KEPT", luck.choice([2, 5, 4096]))
    monkeypatch.setattr(ledger_module, "PART_MAX", luck.choice([5, 1 << 19]))
    world = World(luck.choice([1, 2, 3, 5]), grows=luck.random() < 0.5)
    longest: list[int] = []
    for _ in range(400):
        what = luck.random()
        one = luck.choice(world.copies)
        if what < 0.5 and world.wire:
            index = luck.randrange(len(world.wire)) if luck.random() < 0.3 else 0
            if luck.random() < 0.1:
                world.wire.append(world.wire[index])  # twice
            if luck.random() < 0.1:
                del world.wire[index]  # never
            else:
                world.carry(index)
        elif what < 0.7:
            world.propose(luck.choice(world.hosts))
        elif what < 0.8 and one.up:
            if one.ledger.leading:
                one.ledger.send_again()
            elif one.ledger.lacks_leader or luck.random() < 0.2:
                one.ledger.stand()
        elif what < 0.83 and one.up:
            one.up = False
        elif what < 0.9 and not one.up:
            one.restart()
        longest = world.hold(longest)
    world.settle()
    longest = world.hold(longest)
    assert len({copy.ledger.committed for copy in world.copies if copy.ledger.leading}) == 1, "one leader"
    assert len({epoch for epoch, _ in world.led}) == len(world.led), "an epoch has one leader"
    leader = next(copy for copy in world.copies if copy.ledger.leading)
    world.propose(leader.me)
    while world.wire:
        world.carry(0)
    assert leader.taken[-1] == world.proposed
    assert leader.taken[:-1] == longest[: len(leader.taken) - 1]


def test_hosts_get_a_seat_when_they_have_the_whole_book_and_a_desk_goes_to_the_host_whose_it_is() -> None:
    world = World(3, grows=True)
    founder = world.copies[0].ledger
    founder.hosts = (2, 0, 1)
    for copy in world.copies:
        copy.ledger.hosts, copy.ledger.epoch = (2, 0, 1), 1
        copy.ledger.leading = copy.me == 0
    for _ in range(8):
        world.propose(0)
    assert world.copies[0].taken == list(range(1, 9)), "alone it is the majority"
    while world.wire:
        world.carry(0)
    assert [sorted(copy.ledger.seats) for copy in world.copies] == [[0, 1, 2]] * 3
    assert [copy.ledger.leading for copy in world.copies] == [False, False, True]


def test_who_has_forgotten_its_book_does_not_count_until_it_was_taught() -> None:
    world = World(3)
    world.propose(0)
    world.wire = [(a, b, packet) for a, b, packet in world.wire if b == 1]
    world.carry(0)
    world.carry(0)
    assert world.copies[0].taken == [1], "0 and 1 have it"
    world.copies[0].up = False
    forgetful = world.copies[1]
    forgetful.disk.clear()
    forgetful.restart()
    forgetful.ledger.forget()
    world.wire.clear()
    world.copies[2].ledger.stand()
    while world.wire:
        world.carry(0)
    assert not world.copies[2].ledger.leading, "with a vote of who forgot, what 0 and 1 had would be lost"
    world.copies[0].restart()
    world.settle()
    assert all(1 in copy.taken for copy in world.copies if copy.ledger.leading)


@pytest.mark.parametrize("part", [1 << 19, 7])
def test_a_host_that_was_away_for_long_is_given_the_state_and_not_the_lines(
    monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(ledger_module, "LINES_KEPT", 3)
    monkeypatch.setattr(ledger_module, "PART_MAX", part)
    world = World(3)
    world.copies[2].up = False
    for _ in range(20):
        world.propose(0)
        while world.wire:
            world.carry(0)
    assert len(world.copies[0].ledger.lines) < 7
    world.copies[2].up = True
    world.copies[0].ledger.send_again()
    sent = {type(packet) for _, to, packet in world.wire if to == 2}
    assert sent == {Install}
    if part == 7:
        assert len(world.wire) > 8
        del world.wire[3]  # one is lost, the others come backwards
        while world.wire:
            world.carry(len(world.wire) - 1)
        assert world.copies[2].taken == []
        world.copies[0].ledger.send_again()
    while world.wire:
        world.carry(0)
    world.propose(0)
    assert any(isinstance(packet, Append) for _, to, packet in world.wire if to == 2)
    while world.wire:
        world.carry(0)
    world.propose(0)
    while world.wire:
        world.carry(0)
    assert world.copies[2].taken[:21] == list(range(1, 22))
