"""A flash crowd: nodes come and go as Skype's superpeers did.

Source:   Vitis section IV-F, Figure 12.
Departs:  the paper gives neither the length of a round nor which subscriptions it ran. Here a round is a second, so
          that the 10 seconds after which a node counts are ten rounds; subscriptions are of low correlation, the middle
          one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from trellis.errors import PipelineError
from trellis.experiments.chart import Chart, Series, published
from trellis.experiments.claim import Claim, Rule
from trellis.experiments.data import SESSIONS
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, pick, ratio
from trellis.experiments.traces import nodes_of, read_comings
from trellis.experiments.vitis.setting import (
    GRACE,
    LOW,
    NAMES,
    OVERLAY,
    REPAIR,
    RVR,
    VITIS,
    Size,
    Task,
    on_spark,
    point,
    rounds,
    task,
)  # fmt: skip
from trellis.metrics.summary import Interval
from trellis.scenario.availability import Comings

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

ROUND = 1.0  # seconds
LATER = 10  # rounds from when a node came up until it counts
VIEW, CROWD = "view", "crowd"
AS_IT_IS, ONLY_COMING = "as it is", "nobody leaves"
STEP = 10  # rounds that one point of a chart is about

# What a fate of a round has: when, and sums over its messages.
AT, OWED, MADE, RECEIVED, IN_VAIN, HOPS, REACHED = range(7)


class Window(NamedTuple):
    """A part of the trace."""

    since: float  # seconds
    size: Size


# The trace ramps up in two steps, near 13,510 and 13,920 s: 146, 405, 805 nodes.
WINDOWS: dict[Scale, Window] = {
    "quick": Window(13_860.0, Size(2081, 1000, 50, 20, grow=40, events=240, per=3, drain=48)),
    "paper": Window(13_440.0, Size(2081, 1000, 50, 20, grow=45, events=7500, per=3, drain=48)),
}


def tasks_of(scale: Scale, sessions: Path, asked: list[tuple[str, str, int]], drain: int | None = None) -> list[Task]:
    """For (overlay, view, repair), in the window of a scale; the nodes of the trace, however many there are."""
    since, size = WINDOWS[scale]
    size = size._replace(nodes=nodes_of(sessions, "avt"), drain=drain or size.drain)
    found = read_comings(sessions, ROUND, since, rounds=size.grow + rounds(size) + size.drain)
    crowd = crowd_of(found, size.grow)
    about = {GRACE: LATER, CROWD: crowd}
    return [
        task(
            point(size, overlay, LOW, repair=repair) | about | {VIEW: view},
            more={"faults": {"events": events(found, view)}},
        )
        for overlay, view, repair in asked
    ]


def crowd_of(found: Comings, first: int) -> int:
    """The round in which most nodes come up."""
    coming = Counter(crash.restart for crash in found.crashes if crash.restart is not None and crash.restart > first)
    if not coming:
        raise PipelineError(
            f"--{SESSIONS}: nobody comes up in rounds {first} to {found.rounds} of the window; give the Skype trace"
        )
    return max(coming, key=lambda at: (coming[at], -at))


def events(found: Comings, view: str) -> list[Any]:
    """Who is down when. Where nobody leaves, whoever came up stays."""
    kept = [crash for crash in found.crashes if view == AS_IT_IS or crash.at == 0]
    return [msgspec.to_builtins(crash) for crash in kept]


def rows(shop: Workshop, scale: Scale, sessions: Path) -> Rows:
    asked = [(overlay, view, 0) for overlay in (VITIS, RVR) for view in (AS_IT_IS, ONLY_COMING)]
    return on_spark(shop, tasks_of(scale, sessions, asked))


CHURNED = Table("churn", rows, (SESSIONS,))


# What a row says


def binned(row: Row) -> dict[int, list[int]]:
    """Sums over rounds, by seconds from the crowd on."""
    crowd = row["settings"][CROWD]
    found: dict[int, list[int]] = {}
    for at, *sums in row["fates"]:
        start = (at - crowd) // STEP * STEP
        found[start] = [a + b for a, b in zip(found.get(start, [0] * len(sums)), sums, strict=True)]
    return {start: [start, *found[start]] for start in sorted(found)}


def hit(fate: list[int]) -> float | None:
    return 100.0 * fate[MADE] / fate[OWED] if fate[OWED] else None


def overhead(fate: list[int]) -> float | None:
    return 100.0 * fate[IN_VAIN] / fate[RECEIVED] if fate[RECEIVED] else None


def delay(fate: list[int]) -> float | None:
    return fate[HOPS] / fate[REACHED] if fate[REACHED] else None


def when(
    row: Row, value: Callable[[list[int]], float | None], begin: int | None = None, end: int | None = None
) -> dict[int, float]:
    """By the seconds from the crowd on at which a step begins, of those in [begin, end)."""
    found = {start: value(fate) for start, fate in binned(row).items()}
    return {
        start: x
        for start, x in found.items()
        if x is not None and (begin is None or start >= begin) and (end is None or start < end)
    }


def of(rows: Rows, overlay: str, view: str, repair: int = 0) -> Rows:
    return pick(rows, {OVERLAY: overlay, VIEW: view, REPAIR: repair})


def lowest(rows: Rows, value: Callable[[list[int]], float | None], overlay: str, view: str) -> Interval | None:
    return extreme(rows, min, value, overlay, view)


def extreme(
    rows: Rows,
    which: Callable[[list[float]], float],
    value: Callable[[list[int]], float | None],
    overlay: str,
    view: str,
    begin: int | None = None,
    end: int | None = None,
) -> Interval | None:
    found = [list(when(row, value, begin, end).values()) for row in of(rows, overlay, view)]
    some = [which(values) for values in found if values]
    return Interval(which(some), 0.0, None, len(some)) if some else None


def mean_of(values: list[float]) -> float:
    return sum(values) / len(values)


def changed(
    rows: Rows,
    value: Callable[[list[int]], float | None],
    overlay: str,
    which: Callable[[list[float]], float],
    begin: int,
    end: int | None = None,
) -> Interval | None:
    """In a time after the crowd, over the mean before it."""
    after = extreme(rows, which, value, overlay, AS_IT_IS, begin, end)
    return ratio(after, extreme(rows, mean_of, value, overlay, AS_IT_IS, None, 0))


def charts(rows: Rows) -> list[Chart]:
    return [
        over_time("12(a): hit ratio", "% of what is owed", rows, hit, {"RVR": {0: 87.0}, "Vitis": {0: 99.0}}),
        over_time("12(b): traffic overhead", "% of what nodes receive", rows, overhead),
        over_time("12(c): propagation delay", "hops", rows, delay),
    ]


def over_time(
    title: str,
    y: str,
    rows: Rows,
    value: Callable[[list[int]], float | None],
    printed: dict[str, dict[int, float]] | None = None,
) -> Chart:
    series = []
    for color, overlay in ((0, VITIS), (6, RVR)):
        for n, view in enumerate((AS_IT_IS, ONLY_COMING)):
            for row in of(rows, overlay, view):
                points = {start: Interval(x, 0.0, None, 1) for start, x in when(row, value).items()}
                series.append(Series(f"{NAMES[overlay]}, {view}", points, False, color + n))
        if printed:
            series.append(published(f"{NAMES[overlay]}, worst", printed[NAMES[overlay]], color))
    return Chart(title, "lines", f"seconds from the flash crowd on, steps of {STEP}", y, series)


LEAVING = (
    "at the crowd of the public trace most of those who were up leave in the same second as others come: the overlay "
    "is torn, not only crowded; and a step of our time axis is ten seconds, where a month on one axis averages over "
    "hours"
)
TRIPLED = (
    "682 nodes come up in one second where 405 are: the network is nearly three times as large at once, and a round is "
    "a second, so that a node counts after ten rounds; the paper says neither how many rounds a second has nor how "
    "many come at its flash crowd"
)
WORST: tuple[tuple[str, float, Rule], ...] = ((VITIS, 99.0, "at least"), (RVR, 87.0, "close"))
DURING = 30  # rounds from the crowd on

EXPERIMENT = Experiment(
    id="fig12",
    title="Figure 12: churn, a flash crowd",
    source="Vitis Fig. 12, section IV-F",
    about="The public Skype trace has 2,081 nodes, the paper 4,000. Its ramp-up is taken for the flash crowd: near "
    "13,920 s 682 nodes come up, and 282 of the 405 that were there leave in the same moment (merging gaps of half an "
    "hour leaves 642 and 282, so that is not run apart). As that is more than a flash crowd, the same without anybody "
    "leaving is run beside it. A round is a second: a packet takes one, and a node counts from ten after it came up. "
    "At `quick` some two minutes around the crowd are run, at `paper` some forty. 50 of 1,000 topics each, of low "
    "correlation; a table of 15, k = 1; the printed form, without repair.",
    grids=lambda scale: [],
    claims=[
        *(
            Claim(
                f"{NAMES[overlay]}, {view}: hit ratio in the worst ten seconds",
                worst,
                lambda rows, overlay=overlay, view=view: lowest(rows, hit, overlay, view),  # type: ignore[misc]
                "%",
                rule,
                why=LEAVING if view == AS_IT_IS else TRIPLED,
            )
            for overlay, worst, rule in WORST
            for view in (AS_IT_IS, ONLY_COMING)
        ),
        Claim(
            "RVR, as it is: lowest overhead within 30 s of the crowd, over that before (drops sharply)",
            1.0,
            lambda rows: changed(rows, overhead, RVR, min, 0, DURING),
            "x",
            "at most",
            why="it hardly moves: paths of those who left count for some rounds more, in which those of who came grow",
        ),
        Claim(
            "Vitis, as it is: highest overhead within 30 s of the crowd, over that before (increases slightly)",
            1.0,
            lambda rows: changed(rows, overhead, VITIS, max, 0, DURING),
            "x",
            "at least",
        ),
        *(
            Claim(
                f"{NAMES[overlay]}, as it is: delay from 30 s after the crowd on, over that before (a larger network)",
                1.0,
                lambda rows, overlay=overlay: changed(rows, delay, overlay, mean_of, DURING),  # type: ignore[misc]
                "x",
                "at least",
            )
            for overlay in (VITIS, RVR)
        ),
    ],
    charts=charts,
    tables=(CHURNED,),
)
