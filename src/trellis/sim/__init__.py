"""Scenario -> trace, on one machine, the same every time."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any, NamedTuple

from trellis import protocols
from trellis.errors import UnsupportedByEngine
from trellis.scenario.model import Cycles, Faults, Scenario
from trellis.scenario.plan import plan
from trellis.sim import fast
from trellis.sim.cycles import ChurningHost, CycleHost
from trellis.sim.faults import FaultyHost
from trellis.sim.host import BUILD, Host, Progress
from trellis.sim.settled import is_settled
from trellis.sim.tally import Tally
from trellis.sim.waiting import WaitingHost
from trellis.trace.table import Trace, Untold

AUTO, REFERENCE, FAST = ENGINES = ("auto", "reference", "fast")


class Run(NamedTuple):
    """A run that is over."""

    scenario: Scenario
    trace: Trace
    engine: str
    events: int  # steps of machines and calls of applications
    seconds: float
    quiet: bool  # nothing was left to happen when it ended
    compiling: float = 0.0  # seconds until the kernels were there, compiled or loaded; not part of the others
    traced: bool = True  # whether a trace was asked for; if not, its measures have neither a digest nor an audit
    tally: Tally | None = None  # what was counted instead of a trace

    def about(self) -> dict[str, Any]:
        """What the trace on disk says of itself. No clock: the same run writes the same bytes."""
        return {
            "digest": self.trace.digest(),
            "engine": self.engine,
            "events": self.events,
            "fingerprint": self.scenario.fingerprint(),
            "ordering": self.scenario.stack.ordering,
            "quiet": self.quiet,
            "scenario": json.loads(self.scenario.to_json()),
        }


def run(
    scenario: Scenario,
    engine: str = AUTO,
    progress: Progress | None = None,
    build: BUILD | None = None,
    trace: bool = True,
) -> Run:
    """Run a scenario to its end. `build` puts other machines in its place, for tests that break one on purpose.

    Both engines give the same rows. `auto` takes the compiled one for a large run that it has a twin for. Without a
    trace the compiled engine counts instead, if its kernel knows how; else the trace is kept, and only said to be
    unwanted: `measures` gives the same.
    """
    if engine not in ENGINES:
        raise UnsupportedByEngine(f"engine {engine!r}: no such engine; there are {', '.join(ENGINES)}")
    if engine == FAST and build is not None:
        raise UnsupportedByEngine("machines of one's own have no compiled twin; use engine='reference'")
    if engine == FAST:
        return run_compiled(scenario, progress, trace)
    if engine == AUTO and build is None and is_for_the_compiled(scenario):
        with suppress(UnsupportedByEngine):  # some see only on the way that they cannot go on
            return run_compiled(scenario, progress, trace)
    host = host_of(scenario)(scenario, build)
    began = time.perf_counter()
    rows = host.run(progress)
    seconds = time.perf_counter() - began
    return Run(scenario, rows, REFERENCE, host.events, seconds, is_quiet(host), traced=trace)


def is_for_the_compiled(scenario: Scenario) -> bool:
    try:
        fast.covers(scenario)
    except UnsupportedByEngine:
        return False
    return fast.is_worth_it(scenario, plan(scenario))


def run_compiled(scenario: Scenario, progress: Progress | None, trace: bool) -> Run:
    fast.covers(scenario)
    twin = fast.TWINS[scenario.stack.overlay].load()
    counted = not trace and twin.counts
    try:
        whole = twin(scenario, plan(scenario), not counted, counted)
        began = time.perf_counter()
        whole.compile()
        ready = time.perf_counter()
        whole.run(progress)
        rows, tally = (Untold(), whole.tally()) if counted else (whole.trace(), None)
    except MemoryError:
        raise UnsupportedByEngine(
            f"{scenario.nodes.count} nodes over {scenario.stack.overlay!r} take more memory than there is; "
            f"{fast.INSTEAD} or fewer of them"
        ) from None
    seconds = time.perf_counter() - ready
    return Run(scenario, rows, FAST, whole.events, seconds, whole.quiet, ready - began, trace, tally)


def is_quiet(host: Host) -> bool:
    """Whether nothing was left to happen; of an overlay that never rests, whether nothing was new for so long that all
    must be everywhere.
    """
    scenario = host.scenario
    if not protocols.never_rests(scenario.stack.overlay) or scenario.end is None:
        return host.calendar.next_time() is None
    return is_settled(scenario, host.plan)


def host_of(scenario: Scenario) -> type[Host]:
    if isinstance(scenario.network, Cycles):
        comings = isinstance(scenario.faults, Faults) and scenario.faults.events
        return ChurningHost if comings else CycleHost
    if isinstance(scenario.faults, Faults):
        return FaultyHost
    return WaitingHost if scenario.waits() else Host
