"""How far gossip gets when its luck is drawn and packets are lost: what section 5.3 of daMulticast leaves out.

Source:   ours; the algorithm is that of sections 4.2 and 4.3. `epidemics` has the formulas as they are printed.
Promises: with nothing dead and a group that is not tiny, the shares and chances of the simulated algorithm within a few
          percent (tests hold them together).
Departs:  D1. How many processes elect themselves as links, and to how many superprocesses each of them sends, is drawn:
          it may be nobody. The print takes the mean for granted.
          D2. exp(-exp(-c)) is for packets that all arrive. With losses a process is missed by all S - 1 others with
          chance (1 - p F / (S - 1))^(S - 1), F = ln(S) + c, and one of S is missed S times as easily.
          Both are for events that enter a group at one process. That several may enter is left out: it helps a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import NamedTuple

from trellis.metrics.epidemics import Level

TINY = 20  # up to so many processes, a group is counted out; beyond, it is large


class Outbreak(NamedTuple):
    """What becomes of an event that has entered a group at one living process."""

    starts: float  # that it does not die out at once
    share: float  # of the living that it then reaches
    whole: float  # that it then reaches all of them


def told(level: Level) -> float:
    """How many others of its group a process sends to; never more than there are, and never nobody."""
    return min(level.size - 1.0, max(1.0, level.fanout))


def outbreak(level: Level, alive: float = 1.0) -> Outbreak:
    """With a share of the group alive from the beginning. A process does not know who is."""
    living = max(1, round(level.size * alive))
    if living == 1:
        return Outbreak(1.0, 1.0, 1.0)
    hit = level.success * told(level) / (level.size - 1)  # that one tells another one
    if living <= TINY:
        share, whole = counted_out(living - 1, 1, 1.0 - hit)
        return Outbreak(1.0, (1 + share) / living, whole)
    missed = (1.0 - hit) ** (living - 1)
    return Outbreak(survival(level, alive), final_share(hit, living), (1.0 - missed) ** (living - 1))


def survival(level: Level, alive: float) -> float:
    """That the offspring of one process do not die out: each of those it tells is alive and hears of it, or not."""
    hears, dies = level.success * alive, 0.0
    for _ in range(200):
        dies = (1.0 - hears * (1.0 - dies)) ** told(level)
    return 1.0 - dies


def final_share(hit: float, living: int) -> float:
    """Of the living: whoever is told by at least one of those who have it."""
    share = 1.0
    for _ in range(200):
        share = 1.0 - (1.0 - hit) ** (share * (living - 1))
    return share


@lru_cache(maxsize=1 << 14)
def counted_out(others: int, having: int, miss: float) -> tuple[float, float]:
    """Round by round (Reed-Frost): how many of the others get it on average, and that all of them do.

    `having` have just got it; each of them misses each of the others with chance `miss`.
    """
    if others == 0:
        return 0.0, 1.0
    if having == 0:
        return 0.0, 0.0
    escapes = miss**having
    mean = whole = 0.0
    for new in range(others + 1):
        chance = comb(others, new) * (1.0 - escapes) ** new * escapes ** (others - new)
        later, all_ = counted_out(others - new, new, miss)
        mean += chance * (new + later)
        whole += chance * all_
    return mean, whole


def link(level: Level, above: int, alive: float = 1.0, share: float = 1.0, starts: float = 1.0) -> float:
    """That an event enters the group above, of so many processes, and starts there; `share` of the living have it."""
    arrives = level.p_a * level.success * alive * starts
    sends = level.p_sel * (1.0 - (1.0 - arrives) ** min(level.z, above))
    return float(1.0 - (1.0 - sends) ** (level.size * alive * share))


class Reached(NamedTuple):
    """A group, seen from where an event was published."""

    share: float  # of its living that get it, on average
    whole: float  # that all of them do


def reached(levels: Sequence[Level], alive: float = 1.0) -> list[Reached]:
    """For each group, the first being where the event is published."""
    found = [outbreak(level, alive) for level in levels]
    enters = found[0].starts
    told_of = []
    for n, (level, here) in enumerate(zip(levels, found, strict=True)):
        told_of.append(Reached(enters * here.share, enters * here.whole))
        if n < len(levels) - 1:
            enters *= link(level, levels[n + 1].size, alive, here.share, found[n + 1].starts)
    return told_of


def inside(level: Level) -> float:
    """That everybody in a group gets an event that has entered it."""
    found = outbreak(level)
    return found.starts * found.whole


def everybody(levels: Sequence[Level]) -> float:
    """That all processes of all these groups get an event of the first: a product of one factor per group and link."""
    chance = inside(levels[-1])
    for level, above in pairwise(levels):
        chance *= inside(level) * link(level, above.size)
    return chance
