"""Lets a kernel work until its run is over: more room when it comes back for it, a word when it is time for one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from typing import ClassVar

import numba
import numpy as np

from trellis.errors import InvariantViolation
from trellis.scenario.model import Scenario
from trellis.sim.fast.applications import DONE, GROW
from trellis.sim.fast.code import alone
from trellis.sim.fast.memory import Block
from trellis.sim.tally import Tally
from trellis.trace.table import Trace
from trellis.words import Time

FOREVER = (1 << 62) - 1
PROGRESS_EVERY = 1 << 20


class Driver(ABC):
    """One run."""

    counts: ClassVar[bool] = False  # whether the kernel tells all that a run without rows is counted by (tally.py)
    ready: ClassVar[set[str]] = set()  # kernels that this process has compiled or loaded
    scenario: Scenario
    block: Block
    rows: Block

    @abstractmethod
    def go_on(self, end: Time, due: int) -> int:
        """Let the kernel work; why it came back."""

    @abstractmethod
    def grow(self) -> None:
        """Twice the room for what has too little of it."""

    @property
    @abstractmethod
    def now(self) -> Time:
        """How far it is."""

    @property
    @abstractmethod
    def events(self) -> int:
        """What has happened so far, as the reference counts it."""

    @property
    @abstractmethod
    def quiet(self) -> bool:
        """Whether nothing was left to happen, once the run is over."""

    @abstractmethod
    def trace(self) -> Trace:
        """If rows were kept."""

    def tally(self) -> Tally:
        """If they were counted instead."""
        raise InvariantViolation(f"{self.scenario.name}: the kernel of {self.scenario.stack.overlay!r} counts nothing")

    def compile(self) -> None:
        """So that the time of a run is its own."""
        kernel = f"{type(self).go_on.__module__}.{type(self).go_on.__qualname__}"
        place: str = numba.config.CACHE_DIR  # type: ignore[attr-defined]
        with nullcontext() if kernel in self.ready else alone(place, kernel), np.errstate(over="ignore"):
            self.go_on(-1, FOREVER)
        self.ready.add(kernel)

    def run(self, progress: Callable[[Time, int], None] | None = None) -> None:
        end = FOREVER if self.scenario.end is None else self.scenario.end
        due = PROGRESS_EVERY
        with np.errstate(over="ignore"):  # words overflow as they should; compiled code does not mind anyway
            while (told := self.go_on(end, due)) != DONE:
                if told == GROW:
                    self.grow()
                    continue
                due = self.events + PROGRESS_EVERY
                if progress is not None:
                    progress(self.now, self.events)
