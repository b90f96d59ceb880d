"""What Figures 4 and 5 have in common: the setting of section 6.1 under failures, and the formulas beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series, line
from trellis.experiments.claim import Claim
from trellis.experiments.damulticast.setting import (
    APPEARING,
    GROUPS,
    ROOT,
    STEEP,
    STILLBORN,
    chosen,
    exactly,
    is_whole,
    levels,
    of_all,
    on_spark,
    point,
)  # fmt: skip
from trellis.experiments.experiment import Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick, ratio, setting
from trellis.metrics import epidemics
from trellis.metrics.outbreak import Reached, reached
from trellis.metrics.summary import Interval

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

SHARES = tuple(n / 10 for n in range(1, 10))


def calm_rows(shop: Workshop, scale: Scale) -> Rows:
    """Nobody fails: one point of both figures, and of Table 1."""
    return on_spark(shop, [(point(STEEP), 1000 if scale == "paper" else 200)])


CALM = Table("calm", calm_rows)


def failing(key: str) -> Callable[[Workshop, Scale], Rows]:
    """The rows of a figure whose failing share is called so."""

    def rows(shop: Workshop, scale: Scale) -> Rows:
        runs = 400 if scale == "paper" else 40
        return on_spark(shop, [(point(STEEP, **{key: share}), runs) for share in SHARES])  # type: ignore[arg-type]

    return rows


def of(rows: Rows, key: str) -> Rows:
    """The runs of one of the figures: nothing fails in the other way."""
    other = APPEARING if key == STILLBORN else STILLBORN
    return pick(rows, {other: 0.0})


def drawn(key: str, share: float) -> list[Reached]:
    """The formulas of `outbreak`: dead processes take no part, seeming ones take packets."""
    success = levels(STEEP)[0].success
    if key == STILLBORN:
        return reached(levels(STEEP, success), 1.0 - share)
    return reached(levels(STEEP, success * (1.0 - share)))


def printed(key: str, share: float, group: int) -> float:
    """5.3 as it stands: p_succ is the availability of processes with the reliability of links (its footnote 10)."""
    found = levels(STEEP, levels(STEEP)[0].success * (1.0 - share), reached=1.0 - share if key == STILLBORN else 1.0)
    return epidemics.reliability(found[: group + 1])


def curves(rows: Rows, key: str, value: Callable[[Row, int], float | None], formula: str) -> list[Series]:
    """Simulated beside computed, for each group."""
    series, xs = [], setting(rows, key)
    for group, name in enumerate(GROUPS):
        series.append(line(name, rows, key, lambda row, group=group: value(row, group), 2 * group, {}))  # type: ignore[misc]
        points = {x: exactly(getattr(drawn(key, x)[group], formula)) for x in xs}
        series.append(Series(f"{name}, computed", points, False, 2 * group + 1))
    return series


def whole_chart(rows: Rows, key: str, x: str) -> Chart:
    points = {share: exactly(printed(key, share, len(GROUPS) - 1)) for share in setting(rows, key)}
    return Chart(
        "All living processes of the group get it",
        "lines",
        x,
        "share of the runs",
        [*curves(rows, key, is_whole, "whole"), Series("T0, formula of 5.3 as printed", points, False, 7)],
        note="Computed: with links and losses as they are drawn (D1, D2). The printed formula knows neither.",
    )


def lowest(rows: Rows, key: str, than: int) -> Interval | None:
    """The root's share over that of another group, both as means over all failing shares."""
    some = of(rows, key)
    each = [pick(some, {key: share}) for share in setting(some, key)]  # every share counts once, however often run

    def mean(group: int) -> Interval | None:
        means = [found.mean for at in each if (found := average(at, lambda row: of_all(row, group))) is not None]
        return Interval(sum(means) / len(means), 0.0, None, len(some)) if means else None

    return ratio(mean(ROOT), mean(than))


def root_is_lowest(key: str) -> list[Claim]:
    return [
        Claim(
            f"the root is reached least: T0 over {GROUPS[than]}, means over all failing shares",
            1.0,
            lambda rows, than=than: lowest(rows, key, than),  # type: ignore[misc]
            "x",
            rule="at most",
        )
        for than in (1, 0)
    ]


def all_of(rows: Rows, group: int) -> Interval | None:
    """How often a whole group got it, where nobody fails."""
    return average(chosen(rows, STEEP), lambda row: is_whole(row, group))
