"""Processes that join, crash, come back and leave, with rosters as stale as the test wants them. No sockets."""

from __future__ import annotations

from collections.abc import Iterable

from trellis.errors import StateError
from trellis.live.frames import Elsewhere, Refused, Welcome
from trellis.live.places import WHOLE, Lot, Member, Vacancy
from trellis.live.roster import HOPS_MAX, Roster, forgotten, later


class Disk:
    """What outlives a process. `full` makes the next writing fail."""

    def __init__(self, lot: Lot) -> None:
        self.place, self.incarnation, self.lot, self.full = 0, 0, lot, False
        self.vacancies: dict[int, Vacancy] = {}

    def keep(self, lot: Lot, changed: Iterable[Vacancy]) -> None:
        if self.full:
            self.full = False
            raise StateError("the disk is full")
        self.lot = lot
        self.vacancies |= {vacancy.place: vacancy for vacancy in changed}


class Process:
    def __init__(self, number: int, lasting: bool, side: int = 0) -> None:
        self.name, self.address = f"node-{number}", f"10.0.0.{number}:7000"
        self.lasting, self.side, self.up = lasting, side, False
        self.disk = Disk(WHOLE)
        self.roster: Roster

    def start(self, place: int, incarnation: int, lot: Lot) -> None:
        self.disk.place, self.disk.incarnation, self.disk.lot = place, incarnation, lot
        mine = Member(place, incarnation, self.address, self.name, False, lot)
        self.roster = Roster("c", mine, self.disk.keep, self.disk.vacancies.values(), self.lasting)
        self.up = True

    @property
    def place(self) -> int:
        return self.roster.me


class Crowd:
    """All processes that ever were, and what must hold of them."""

    def __init__(self, lasting: bool = True) -> None:
        self.processes: list[Process] = []
        self.used: set[tuple[int, int]] = set()
        self.begin(self.process(lasting), 0, 0, WHOLE)

    def process(self, lasting: bool, side: int = 0) -> Process:
        self.processes.append(Process(len(self.processes), lasting, side))
        return self.processes[-1]

    def begin(self, process: Process, place: int, incarnation: int, lot: Lot, news: Iterable[Member] = ()) -> None:
        assert (place, incarnation) not in self.used
        self.used.add((place, incarnation))
        process.start(place, incarnation, lot)
        process.roster.hear(news)

    def up(self) -> list[Process]:
        return [process for process in self.processes if process.up]

    def reachable(self, process: Process) -> dict[int, Process]:
        return {other.place: other for other in self.up() if other.side == process.side and other is not process}

    def ask(self, joiner: Process, first: Process) -> Welcome | Refused:
        """Go where one is sent, as long as that one can be reached."""
        asked, hops = first, 0
        while True:
            answer = asked.roster.admit(joiner.name, self.reachable(asked), hops)
            if not isinstance(answer, Elsewhere):
                return answer
            asked = next(p for p in self.reachable(asked).values() if p.address == answer.address)
            hops += 1
            if hops > 2 * HOPS_MAX:  # only those who have nothing left send on beyond it
                return Refused("sent around")

    def join(self, joiner: Process, first: Process) -> None:
        answer = self.ask(joiner, first)
        assert isinstance(answer, Welcome), answer
        self.begin(joiner, answer.place, answer.incarnation, answer.lot, answer.members)
        self.introduce(joiner)

    def introduce(self, process: Process) -> None:
        """Hello to everybody within reach."""
        mine = process.roster.mine
        for other in self.reachable(process).values():
            answer = other.roster.greet(mine.place, mine.incarnation, mine.address, mine.name)
            if isinstance(answer, Refused):
                known = other.roster.members[mine.place]
                assert known.name != mine.name or forgotten(known), answer  # it has not heard who left
                if forgotten(known):
                    process.roster.hear([known])

    def come_back(self, process: Process, through: Process | None) -> bool:
        """From its disk: by itself, or through a member."""
        disk = process.disk
        disk.incarnation += 1
        if through is None:
            self.begin(process, disk.place, disk.incarnation, disk.lot)
            return True
        answer = through.roster.readmit(process.name, disk.place, disk.incarnation)
        if isinstance(answer, Refused):
            known = through.roster.members[disk.place]
            stale = known.name != process.name  # of one who left: nothing else is a reason, but to be forgotten
            assert stale or forgotten(known), answer
            return False
        self.begin(process, disk.place, answer.incarnation, later(disk.lot, answer.lot), answer.members)
        return True

    def hand_over(self, leaver: Process) -> tuple[Vacancy, ...]:
        leaver.up = False
        leaver.lasting = False  # it forgets its place before it says a word
        return leaver.roster.leave()

    def tell_of_selves(self) -> None:
        news = [process.roster.mine for process in self.up()]
        for process in self.up():
            process.roster.hear(news)

    def tell_all(self) -> None:
        for _ in range(2):
            for teller in self.up():
                for listener in self.up():
                    listener.roster.hear(teller.roster.all_news())

    def check(self) -> None:
        for process in self.up():
            if forgotten(process.roster.mine):
                assert process.roster.ousted
                process.up = False  # it must stop when it hears of it
        up = self.up()
        places = [process.place for process in up]
        assert len(set(places)) == len(places)
        assert not [process.place for process in up if process.roster.ousted]
