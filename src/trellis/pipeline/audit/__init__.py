"""The judges on Spark: traces that do not fit in memory, many runs at once. The plain audits are the truth.

Promises: the same verdicts and the same witnesses as trellis.audit, for every run of a trace with a `run` column; runs
          are never mixed.
Assumes:  positions of one run are distinct, and go up along its log; a work directory that driver and workers share.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trellis.audit import NOBODY, Excused
from trellis.pipeline.audit import causal, delivery, fifo, integrity, total
from trellis.pipeline.audit.columns import inclusions, kept, living, starts_of, with_what_is_below


class Case:
    """A trace with what several audits ask of it: its messages and its subscriptions, computed once."""

    def __init__(self, trace: DataFrame, quiet: bool, work: Path, excused: Excused = NOBODY) -> None:
        """`work` is an empty directory. It must stay until the witnesses have been read."""
        self.trace = living(trace, kept(starts_of(trace), work, "starts"))
        self.quiet = quiet
        self.work = work
        self.excused = excused
        self.messages = kept(integrity.messages(self.trace), work, "messages")
        self.inclusions = kept(inclusions(self.trace), work, "inclusions")
        own = kept(delivery.subscriptions(self.trace), work, "subscriptions")
        self.subscriptions = with_what_is_below(own, self.inclusions)

    @cached_property
    def steps(self) -> DataFrame:
        return kept(fifo.steps(self.trace), self.work, "steps")

    def witnesses(self, audit: str) -> DataFrame:
        """Every witness against one promise."""
        work, let_off = self.work, sorted(self.excused.get(audit, ()))

        def judged(table: DataFrame) -> DataFrame:
            return table.where(~F.col("topic").isin(let_off)) if let_off else table

        trace, said = judged(self.trace), judged(self.messages)
        subscribers = judged(self.subscriptions)
        if let_off:
            subscribers = subscribers.where(~F.col("of").isin(let_off))
        match audit:
            case "creation":
                return integrity.creation(trace, said, work)
            case "duplicate":
                return integrity.duplicate(trace, judged(self.steps), work)
            case "uninvited":
                return integrity.uninvited(trace, self.inclusions, work)
            case "fifo":
                return fifo.fifo(judged(self.steps))
            case "causal":
                return causal.causal(trace, said, work)
            case "across":
                return causal.across(trace, said, work)
            case "lost":
                return delivery.lost(trace, said, subscribers, judged(self.steps), self.quiet, work)
            case "stuck":
                return delivery.stuck(trace, said, subscribers, work)
            case "total":
                return total.total(trace, said, work)
        raise KeyError(audit)

    def pairs_checked(self) -> DataFrame:
        """Per run, how many (message, steady subscriber) pairs stand behind a verdict on `lost`."""
        return delivery.checked(self.subscriptions, self.messages, self.quiet)


def judge(
    trace: DataFrame, promises: Iterable[str], quiet: bool, work: Path, excused: Excused = NOBODY
) -> dict[str, DataFrame]:
    """Every witness against every promise, by name; `stuck` is missing where the run was cut short (not `quiet`)."""
    case = Case(trace, quiet, work, excused)
    return {name: case.witnesses(name) for name in promises if name != "stuck" or quiet}
