"""Figures and pages from traces and metric tables only."""

from trellis.audit import Witness, judge, promises_of
from trellis.sim import Run


def verdict(run: Run) -> dict[str, list[Witness]]:
    """Every witness against every promise of a run's ordering."""
    stack = run.scenario.stack
    return judge(run.trace, promises_of(stack.ordering, stack.options()), run.quiet)


__all__ = ["verdict"]
