"""Which c, g, a and z to give each group of a path, so that an event gets everywhere at the least cost.

Source:   daMulticast section 5.3 ("we can tune"); the chances are those of `outbreak`, with links and losses as they
          are drawn (D1, D2), not those of the print.
Promises: of all whole numbers within the bounds, those with the fewest messages for which everybody in every group gets
          an event of the lowest topic with the wanted chance. It is the best, not a good one: a test compares it with
          all combinations. Of several z that cost the same messages the smallest is taken.
Assumes:  nobody is dead. An event enters a group at one process: where several enter, it is a little better than told.

**What is wanted** is the chance that *everybody* gets an event. It is a product of one factor per group and one per
link, which is what makes the search exact. The share of processes that get an event on average is always higher.

**Messages** are those that are sent, whether or not they arrive: S (ln(S) + c) in a group in which everybody has the
event, and g a on a link. z costs no messages, only memory, and with the same g and a a larger z even makes a link worse
(the same messages on average, but more often none): so z is the least that the bounds allow. Its lower bound is for
what the formulas do not know: superprocesses that leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp, log
from typing import NamedTuple

from trellis.errors import ScenarioError
from trellis.metrics.epidemics import Level
from trellis.metrics.outbreak import inside, link, told

SLACK = 1e-9  # of sums of floats
PRICE_MAX = 1e30


class Bounds(NamedTuple):
    """Of what may be chosen; each is met by what a group allows: nobody knows more processes than there are."""

    c_max: int = 30
    g_max: int = 100
    a_max: int = 10
    z_min: int = 3
    z_max: int = 10


class Choice(NamedTuple):
    """One group. The root group has no link: its g, a and z are 0."""

    size: int
    c: int
    g: int
    a: int
    z: int
    inside: float  # that everybody in it gets what has entered it
    link: float  # that what everybody in it has enters the group above
    messages: float  # sent in it and from it upward
    entries: float  # of each of its processes


class Plan(NamedTuple):
    """From the lowest group up to the root group."""

    choices: list[Choice]
    everybody: float  # that all of all groups get an event of the lowest

    @property
    def messages(self) -> float:
        return sum(choice.messages for choice in self.choices)

    def largest(self) -> dict[str, int]:
        """Of each parameter: what an overlay is given that has one set of options for all topics."""
        return {name: max(getattr(choice, name) for choice in self.choices) for name in ("c", "g", "a", "z")}


class Option(NamedTuple):
    """A possible choice for one group or one link."""

    cost: float
    gain: float  # logarithm of its chance
    values: tuple[int, ...]  # (c,) or (g, a, z)


def evaluate(sizes: Sequence[int], success: float, values: Sequence[tuple[int, int, int, int]]) -> Plan:
    """What (c, g, a, z) for each group would cost and give."""
    choices = []
    chance = 1.0
    for n, (size, (c, g, a, z)) in enumerate(zip(sizes, values, strict=True)):
        level = Level(size, c, g, a, max(1, z), success)
        within, messages, entries, up = inside(level), inside_cost(level), told(level), 1.0
        if n == len(sizes) - 1:
            g = a = z = 0
        else:
            up = link(level, sizes[n + 1])
            messages += upward_cost(level, sizes[n + 1])
            entries += min(z, sizes[n + 1])
        chance *= within * up
        choices.append(Choice(size, c, g, a, z, within, up, messages, entries))
    return Plan(choices, chance)


def inside_cost(level: Level) -> float:
    return level.size * told(level)


def upward_cost(level: Level, above: int) -> float:
    return level.size * level.p_sel * level.p_a * min(level.z, above)


def tune(sizes: Sequence[int], loss: float, wanted: float, bounds: Bounds | None = None) -> Plan:
    """The cheapest plan, the lowest group first. `loss` is the share of packets that never arrive."""
    bounds = bounds or Bounds()
    check(sizes, loss, wanted, bounds)
    success = 1.0 - loss
    parts = [front(inside_options(size, success, bounds)) for size in sizes]
    parts += [front(link_options(size, above, success, bounds)) for size, above in pairwise(sizes)]
    best = exp(sum(part[-1].gain for part in parts))
    if best < wanted:
        raise ScenarioError(
            f"wanted = {wanted:g}: with {', '.join(map(str, sizes))} processes, a loss of {loss:g} and c up to "
            f"{bounds.c_max}, g up to {bounds.g_max}, a up to {bounds.a_max}, z from {bounds.z_min} to {bounds.z_max}, "
            f"everybody gets an event with {best:.6g} at most; want less, or allow more"
        )
    chosen = [option.values for option in cheapest(parts, log(wanted))]
    links = [*chosen[len(sizes) :], (0, 0, 0)]
    return evaluate(sizes, success, [(c, g, a, z) for (c,), (g, a, z) in zip(chosen, links, strict=False)])


def check(sizes: Sequence[int], loss: float, wanted: float, bounds: Bounds) -> None:
    if not sizes or any(size < 1 for size in sizes):
        raise ScenarioError(f"sizes = {list(sizes)}: a path has one group or more, each of one process or more")
    if not 0.0 <= loss < 1.0:
        raise ScenarioError(f"loss = {loss:g}: it is a share of the packets, from 0 up to, but not, 1")
    if not 0.0 < wanted < 1.0:
        raise ScenarioError(f"wanted = {wanted:g}: it is a chance between 0 and 1; gossip gives no certainty")
    for name, value in zip(bounds._fields, bounds, strict=True):
        if value < (name != "c_max"):
            raise ScenarioError(f"{name} = {value}: it must be at least {int(name != 'c_max')}")
    if bounds.z_min > bounds.z_max:
        raise ScenarioError(f"z_min = {bounds.z_min}: above z_max = {bounds.z_max}; lower it")


def inside_options(size: int, success: float, bounds: Bounds) -> Iterable[Option]:
    for c in range(bounds.c_max + 1):
        level = Level(size, c, success=success)
        if (chance := inside(level)) > 0.0:
            yield Option(inside_cost(level), log(chance), (c,))


def link_options(size: int, above: int, success: float, bounds: Bounds) -> Iterable[Option]:
    for z in range(min(bounds.z_min, above), min(bounds.z_max, above) + 1):
        for a in range(1, min(bounds.a_max, z) + 1):
            for g in range(1, min(bounds.g_max, size) + 1):
                level = Level(size, g=g, a=a, z=z, success=success)
                if (chance := link(level, above)) > 0.0:
                    yield Option(upward_cost(level, above), log(chance), (g, a, z))


def front(options: Iterable[Option]) -> list[Option]:
    """Those to which no other is better in both; from the cheapest to the surest."""
    found: list[Option] = []
    for option in sorted(options, key=lambda each: (each.cost, -each.gain, each.values[::-1])):
        if not found or option.gain > found[-1].gain:
            found.append(option)
    return found


def cheapest(parts: Sequence[list[Option]], wanted: float) -> list[Option]:
    """One option of each part: together they gain what is wanted, at the least cost. Exact.

    Parts are put together one by one, and of all beginnings only those are kept that no other is better to and that can
    still win: by what the rest can gain at most, and by what it must cost at least if a unit of gain has a price. Any
    price gives a bound (Lagrange); the right one leaves few beginnings.
    """
    price, limit = priced(parts, wanted)
    rest = [sum(min(bid(option, price) for option in part) for part in parts[n + 1 :]) for n in range(len(parts))]
    most = [sum(part[-1].gain for part in parts[n + 1 :]) for n in range(len(parts))]
    kept: list[tuple[float, float, tuple[Option, ...]]] = [(0.0, 0.0, ())]
    for n, part in enumerate(parts):
        longer = [
            (cost + option.cost, gain + option.gain, (*before, option))
            for cost, gain, before in kept
            for option in part
            if gain + option.gain + most[n] >= wanted - SLACK
            and cost + option.cost + price * (wanted - gain - option.gain) + rest[n] <= limit + SLACK * max(1.0, limit)
        ]
        longer.sort(key=lambda each: (each[0], -each[1]))
        kept = []
        for each in longer:
            if not kept or each[1] > kept[-1][1]:
                kept.append(each)
    return list(next(options for _, gain, options in kept if gain >= wanted - SLACK))


def bid(option: Option, price: float) -> float:
    return option.cost - price * option.gain


def priced(parts: Sequence[list[Option]], wanted: float) -> tuple[float, float]:
    """A price for a unit of gain, the lowest at which enough is bought; and what a good purchase costs."""

    def buy(price: float) -> list[Option]:
        return [min(part, key=lambda option: (bid(option, price), -option.gain)) for part in parts]

    low, high = 0.0, 1.0
    while gain_of(buy(high)) < wanted and high < PRICE_MAX:
        low, high = high, 4.0 * high
    bought = buy(high)
    if gain_of(bought) < wanted:  # beyond what numbers can tell apart: the surest of each
        return high, sum(part[-1].cost for part in parts)
    for _ in range(100):
        middle = (low + high) / 2
        other = buy(middle)
        if gain_of(other) >= wanted:
            high, bought = middle, other
        else:
            low = middle
    return high, sum(option.cost for option in thrifty(parts, bought, wanted))


def gain_of(options: Iterable[Option]) -> float:
    return sum(option.gain for option in options)


def thrifty(parts: Sequence[list[Option]], bought: list[Option], wanted: float) -> list[Option]:
    """What was bought, with what it gains too much given back where that saves most, or exchanged one against one."""
    best = list(bought)
    while True:
        spare = gain_of(best) - wanted
        saved, change = 0.0, {}
        for n, part in enumerate(parts):
            for option in part:
                less = best[n].gain - option.gain
                if best[n].cost - option.cost > saved and less <= spare:
                    saved, change = best[n].cost - option.cost, {n: option}
                if best[n].cost <= option.cost:
                    continue
                for m, other in enumerate(parts):  # a little more elsewhere may pay for much less here
                    better = next((each for each in other if each.gain - best[m].gain >= less - spare), None)
                    if m != n and better is not None:
                        saving = best[n].cost - option.cost - (better.cost - best[m].cost)
                        if saving > saved + SLACK:
                            saved, change = saving, {n: option, m: better}
        if not change:
            return best
        best = [change.get(n, option) for n, option in enumerate(best)]
