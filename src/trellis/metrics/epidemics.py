"""What gossip costs and how far it gets: the formulas of daMulticast, and those of what it was measured against.

Source:   daMulticast (Baehni, Eugster, Guerraoui), section 5; the gossip itself is Kermarrec, Massoulie, Ganesh 2003.
Promises: levels are given from the bottom-most group, where an event is published, up to the root group. A level is a
          size S with its parameters c, g, a, z; the formulas take them as they are printed.
Departs:  the printed reliability of level j is a product over all i down from t-1, links included; the link of the
          last group counts no more, because nothing is above it. What is printed as "reliability" of a group is the
          probability that *all* of its processes get an event.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log
from typing import NamedTuple


class Level(NamedTuple):
    """A group and how it gossips."""

    size: int  # S
    c: float = 5.0  # beyond ln(S): whom each process sends an event to
    g: float = 5.0  # how many processes try to reach the group above
    a: float = 1.0  # how many of their z superprocesses each of those sends to
    z: int = 3  # superprocesses that a process knows
    success: float = 1.0  # that a message arrives
    reached: float = 1.0  # pi: the share of the group that has the event when it is to go up

    @property
    def fanout(self) -> float:
        return log(self.size) + self.c

    @property
    def p_sel(self) -> float:
        return min(1.0, self.g / self.size)

    @property
    def p_a(self) -> float:
        return min(1.0, self.a / self.z)


# daMulticast


def messages_inside(level: Level) -> float:
    """5.1: at most so many events are sent within a group."""
    return level.size * level.fanout


def messages_upward(level: Level) -> float:
    """5.1, nbSuperMsg: events that a group sends to the one above, and that arrive."""
    return level.size * level.p_sel * level.p_a * level.z * level.success


def messages(levels: Sequence[Level]) -> float:
    """5.1: all of them, for an event of the bottom-most topic."""
    return sum(map(messages_inside, levels)) + sum(map(messages_upward, levels[:-1]))


def memory(level: Level, root: bool = False) -> float:
    """5.2: entries of a process. Those of the root group have one table only."""
    return level.fanout + (0 if root else level.z)


def all_reached(c: float) -> float:
    """5.3: that everybody in a group gets an event, for a group that is large."""
    return exp(-exp(-c))


def link(level: Level) -> float:
    """5.3, pit: that an event gets from a group to the one above."""
    tries = level.size * level.p_sel * level.reached * level.p_a * level.z
    return float(1.0 - (1.0 - level.success) ** tries)


def reliability(levels: Sequence[Level]) -> float:
    """5.3: that everybody in the last of these groups gets an event of the first one."""
    found = 1.0
    for n, level in enumerate(levels):
        found *= all_reached(level.c)
        if n < len(levels) - 1:
            found *= link(level)
    return found


def rounds(size: int) -> float:
    """5.4: how many it takes to reach a whole group, but for a constant. Of one or two processes: none is defined."""
    return log(size) / log(log(size)) if size > 2 else 1.0


def latency_min(levels: Sequence[Level]) -> float:
    """5.4 (1): an event goes up at once from each group."""
    return len(levels) - 1 + rounds(levels[-1].size)


def latency_mean(levels: Sequence[Level]) -> float:
    """5.4 (2): when half of the rounds of each group are over."""
    return len(levels) - 1 + sum(rounds(level.size) / 2 for level in levels)


def latency_max(levels: Sequence[Level]) -> float:
    """5.4 (3): after all of them."""
    return len(levels) - 1 + sum(rounds(level.size) for level in levels)


# What it is compared with, 5.5.


def broadcast_memory(n: int, c: float) -> float:
    """(a): one table for everybody."""
    return log(n) + c


def broadcast_messages(n: int, c: float) -> float:
    return n * (log(n) + c)


def broadcast_parasites(n: int, interested: int, c: float, success: float) -> float:
    """Messages of an event that reach somebody who does not want it, when everybody forwards it (Table 2)."""
    return broadcast_messages(n, c) * success * (n - interested) / n


def multicast_memory(levels: Sequence[Level]) -> float:
    """(b): a table for each topic of interest: for a subscriber of the root all of them."""
    return sum(level.fanout for level in levels)


def multicast_reliability(levels: Sequence[Level]) -> float:
    found = 1.0
    for level in levels:
        found *= all_reached(level.c)
    return found


def hierarchical_memory(groups: int, members: float, c1: float, c2: float) -> float:
    """(c): two levels of groups that have nothing to do with interests."""
    return log(members) + c1 + log(groups) + c2


def hierarchical_reliability(groups: int, c1: float, c2: float) -> float:
    return exp(-groups * exp(-c1) - exp(-c2))


# As reliable as those, and smaller than those: 5.5.3, for groups that are all alike (size S, link pit).


def log_of(value: float) -> float:
    """Of what is not positive: minus infinity, so that a condition on it never holds."""
    return log(value) if value > 0 else -inf


def same_as_broadcast(pit: float, t: int) -> float:
    """Up to which c of (a) daMulticast can be as reliable."""
    return -log(-t * log(pit)) if pit < 1 else inf


def smaller_than_broadcast(n: int, size: int, c: float, pit: float, t: int) -> float:
    """Up to which z it then needs less memory."""
    return log(n) + log_of(1 + t * exp(c) * log(pit)) - log(size) - log(t)


def same_as_multicast(pit: float) -> float:
    return -log(-log(pit)) if pit < 1 else inf


def smaller_than_multicast(size: int, c: float, pit: float, t: int) -> float:
    return (t - 1) * (log(size) + c) + log_of(1 + exp(c) * log(pit))


def same_as_hierarchical(groups: int, pit: float, t: int) -> tuple[float, float]:
    """From which c of (c) on, and up to which."""
    low = -log(t * (1 - log(pit)) / (groups + 1))
    high = -log(-t * log(pit) / (groups + 1)) if pit < 1 else inf
    return low, high


def smaller_than_hierarchical(groups: int, c: float, pit: float, t: int) -> float:
    return c + log(groups) + log_of(groups + 1 + t * exp(c) * log(pit)) - log(t)
