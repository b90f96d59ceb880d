"""A member that admits joiners as long as it lives: run as a process, to be killed.

It writes a line per answer, after which a joiner would have it. Arguments: directory, then at which writing to die and
whether before or after it is on disk (0 none: it goes on until it is killed).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from trellis.live.frames import Welcome
from trellis.live.places import WHOLE, Lot, Member, Vacancy
from trellis.live.roster import Roster
from trellis.live.state import State


def main(directory: str, death: int, when: str) -> None:
    state = State(Path(directory), "a")
    known = state.identity()
    if known is None:
        state.settle("c", 0, 0, WHOLE)
        known = state.identity()
    assert known is not None
    writings = 0

    def keep(lot: Lot, changed: Iterable[Vacancy]) -> None:
        nonlocal writings
        writings += 1
        if writings == death and when == "before":
            state.opened.execute("BEGIN IMMEDIATE")
            state.opened.execute("UPDATE node SET next = ?, level = ?", (lot.next, lot.level))
            os.kill(os.getpid(), signal.SIGKILL)
        state.keep(lot, changed)
        if writings == death:
            os.kill(os.getpid(), signal.SIGKILL)

    mine = Member(known.place, known.incarnation, "a:1", "a", False, known.lot)
    roster = Roster("c", mine, keep, state.vacancies())
    print("incarnation", known.incarnation, flush=True)
    while isinstance(answer := roster.admit("b", []), Welcome):
        print("place", answer.place, answer.incarnation, flush=True)
        if writings == 5:
            roster.inherit([Vacancy(1, 7 * (1 + known.incarnation), Lot(65_537, 16))])


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
