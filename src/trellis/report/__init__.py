"""Figures and pages from traces and metric tables only."""

from trellis.audit import PROMISES, Witness, judge
from trellis.sim import Run


def verdict(run: Run) -> dict[str, list[Witness]]:
    """Every witness against every promise of a run's ordering."""
    return judge(run.trace, PROMISES[run.scenario.stack.ordering], run.quiet)


__all__ = ["verdict"]
