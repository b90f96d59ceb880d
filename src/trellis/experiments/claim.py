"""A published figure beside ours: what is claimed, how it is measured, and whether it held.

Promises: a claim is judged by one rule that is fixed before the run: within 3% of the published figure, or what the
          claim itself says instead, or on the right side of it where the paper says "at most" or "at least". What was
          not run is not held, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from trellis.experiments.rows import Rows
from trellis.metrics.summary import Interval

TOLERANCE = 0.03
Rule = Literal["close", "at most", "at least"]


class Claim(NamedTuple):
    """One published figure."""

    says: str
    published: float
    measure: Callable[[Rows], Interval | None]  # None: this scale does not run it
    unit: str = ""
    rule: Rule = "close"
    why: str = ""  # what the described model or the text says to a difference; no excuse for an unexplained one
    effect: float | None = None  # what the 3% are of, where the figure without any effect would be close enough
    by_fit: bool = False  # the reading was chosen because it gives the figure: that it holds is no evidence
    nearest: Callable[[Rows], str] | None = None  # what this scale has instead
    within: float = TOLERANCE  # of the published figure; a wider one is told with the verdict


class Verdict(msgspec.Struct, frozen=True):
    """What `claims.json` has per claim."""

    figure: str
    claim: str
    published: float
    measured: float | None
    held: bool
    by_fit: bool
    reason: str
    unit: str
    rule: Rule
    difference: float | None  # relative to the published figure; None also where that is 0
    interval: float | None  # half of the 95% confidence interval over the runs
    runs: int


def judge(figure: str, claim: Claim, rows: Rows, scale: str) -> Verdict:
    """Held or not held, with the reason."""
    found = claim.measure(rows)
    if found is None:
        nearest = f" {claim.nearest(rows)}" if claim.nearest else ""
        reason = f"not run at this scale: {scale!r} has no such point.{nearest}"
        return not_run(figure, claim, reason)
    difference = found.mean / claim.published - 1 if claim.published else None
    held = holds(claim, found.mean)
    return verdict(figure, claim, found, held, reason_for(claim, found, held, difference), difference)


def not_run(figure: str, claim: Claim, reason: str) -> Verdict:
    return verdict(figure, claim, None, False, reason)


def holds(claim: Claim, measured: float) -> bool:
    if claim.rule == "at most":
        return measured <= claim.published
    if claim.rule == "at least":
        return measured >= claim.published
    return abs(measured - claim.published) <= claim.within * abs(claim.effect or claim.published)


def reason_for(claim: Claim, found: Interval, held: bool, difference: float | None) -> str:
    off = f"{difference:+.1%}" if difference is not None else f"{found.mean:g} against 0"
    limit = f"within {claim.within:.0%}" if claim.rule == "close" else claim.rule
    limit += f" of the effect, {claim.effect:,.5g}" if claim.effect is not None else ""
    if held:
        told = f"{limit} ({off})" if claim.rule == "close" else f"{limit} {claim.published:g}{claim.unit}"
        return f"{told}; the reading was chosen by fit, so this is no evidence" if claim.by_fit else told
    said = f"not {limit} ({off})" if claim.rule == "close" else f"not {limit} {claim.published:g}{claim.unit}"
    return f"{said}: {claim.why}" if claim.why else f"{said}; the described model gives no reason for it"


def verdict(
    figure: str, claim: Claim, found: Interval | None, held: bool, reason: str, difference: float | None = None
) -> Verdict:
    measured, interval, runs = (found.mean, found.half, found.count) if found else (None, None, 0)
    return Verdict(
        figure,
        claim.says,
        claim.published,
        measured,
        held,
        claim.by_fit,
        reason,
        claim.unit,
        claim.rule,
        difference,
        interval,
        runs,
    )
