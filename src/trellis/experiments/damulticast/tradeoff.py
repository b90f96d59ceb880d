"""What more messages buy: reliability as c, g and a vary; and when the others can be matched.

Source:   daMulticast section 5.3 ("we can tune"), and the conditions of section 5.5.3.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, Any

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.damulticast.fig4 import D1_D2
from trellis.experiments.damulticast.setting import (
    BROADCAST,
    PAPER,
    ROOT,
    SHALLOW,
    chosen,
    everybody,
    exactly,
    got_to_root,
    is_whole,
    levels,
    on_spark,
    packets,
    point,
)  # fmt: skip
from trellis.experiments.damulticast.table1 import TABLE as ROUNDS
from trellis.experiments.damulticast.table1 import WITHIN
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Rows, average, ratio
from trellis.metrics import epidemics, outbreak
from trellis.metrics.summary import Interval

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

CS = (0, 1, 2, 3, 4, 6, 7, 8)  # beside the paper's 5, of which Table 1 has the runs
GS = (1, 2, 3, 8, 12, 20)
AS = (2, 3)
MATCHED = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # values of g at which the conditions are drawn
JUDGED = ({"c": 3}, {"c": 5}, {"c": 8}, {"g": 12}, {"a": 3})
RIVAL_C = 1  # of the others, where memory is compared


def rows(shop: Workshop, scale: Scale) -> Rows:
    """More of those that are judged."""
    judged, drawn = (2000, 1000) if scale == "paper" else (200, 60)
    varied: list[dict[str, Any]] = [*({"c": c} for c in CS), *({"g": g} for g in GS), *({"a": a} for a in AS)]
    return on_spark(shop, [(point(SHALLOW, **each), judged if each in JUDGED else drawn) for each in varied])


def told(options: dict[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items())


def share(rows: Rows, **options: Any) -> Interval | None:
    """Of the runs in which everybody got it."""
    return average(chosen(rows, SHALLOW, **options), everybody)


def drawn(**options: int) -> float:
    return outbreak.everybody(levels(SHALLOW, **options))


def printed(**options: int) -> float:
    """5.3: all groups at once, which is what the product over the whole path says."""
    return epidemics.reliability(levels(SHALLOW, **options))


def by(rows: Rows, key: str, values: tuple[int, ...], x: Any) -> tuple[Series, Series, Series]:
    """Simulated, computed and as printed, as one parameter varies; at the places that `x` gives."""
    places: dict[float, int] = {}
    for value in sorted({*values, PAPER[key]}):
        if (at := x(value)) is not None:
            places[at] = value
    simulated = {at: share(rows, **{key: value}) for at, value in places.items()}
    found = {at: mean for at, mean in simulated.items() if mean is not None}
    return (
        Series(f"{key} varies", found, False, 0),
        Series(f"{key} varies, computed", {at: exactly(drawn(**{key: places[at]})) for at in found}, False, 1),
        Series("formula of 5.3 as printed", {at: exactly(printed(**{key: places[at]})) for at in found}, False, 7),
    )


def charts(rows: Rows) -> list[Chart]:
    def sent(c: int) -> float | None:
        mean = average([row for row in chosen(rows, SHALLOW, c=c) if got_to_root(row)], packets)
        return None if mean is None else round(mean.mean, -1)

    more_g = by(rows, "g", GS, lambda g: g * PAPER["a"])
    more_a = by(rows, "a", AS, lambda a: a * PAPER["g"])
    y = "share of runs: everybody of all groups"
    return [
        Chart("More inside the groups: c from 0 to 8", "lines", "messages of an event that gets to the root", y,
              list(by(rows, "c", (*CS,), sent))),
        Chart("More between the groups: g or a", "lines", "messages on each link, g a", y,
              [*more_g, more_a[0]._replace(color=2), more_a[1]._replace(color=3)],
              note="The printed formula knows only the product g a; a larger a puts its messages on fewer shoulders."),
        *conditions(),
    ]  # fmt: skip


def conditions() -> list[Chart]:
    """5.5.3, for three groups of 100: with the link as printed and as it is drawn."""
    t, size, n = len(SHALLOW), SHALLOW[0], sum(SHALLOW)
    pits = {g: (epidemics.link(levels(SHALLOW, g=g)[0]), outbreak.link(levels(SHALLOW, g=g)[0], size)) for g in MATCHED}
    c_up_to: list[Series] = []
    z_up_to: list[Series] = []
    for number, name in enumerate(("broadcast (a)", "multicast (b)", "hierarchical (c)")):
        for which, how in ((0, "link as printed"), (1, "as drawn")):
            limits: dict[int, float] = {}
            smaller: dict[int, float] = {}
            for g, pit in pits.items():
                limits[g], smaller[g] = (
                    (epidemics.same_as_broadcast(pit[which], t),
                     epidemics.smaller_than_broadcast(n, size, RIVAL_C, pit[which], t)),
                    (epidemics.same_as_multicast(pit[which]),
                     epidemics.smaller_than_multicast(size, RIVAL_C, pit[which], t)),
                    (epidemics.same_as_hierarchical(t, pit[which], t)[1],
                     epidemics.smaller_than_hierarchical(t, RIVAL_C, pit[which], t)),
                )[number]  # fmt: skip
            for series, found in ((c_up_to, limits), (z_up_to, smaller)):
                points = {g: exactly(value) for g, value in found.items() if abs(value) != inf}
                series.append(Series(f"{name}, {how}", points, False, 2 * number + which))
    return [
        Chart("5.5.3: as reliable as the others", "lines", "g", "up to which c of theirs", c_up_to),
        Chart("5.5.3: and smaller, if theirs is c = 1", "lines", "g", "up to which z", z_up_to,
              note="Where a point is missing, no z is small enough."),
    ]  # fmt: skip


def limit(rows: Rows) -> Interval | None:
    """Up to which c of (a) daMulticast can be as reliable, with the link as it was in the runs."""
    some = chosen(rows, SHALLOW)
    if not some:
        return None
    pit = sqrt(sum(map(got_to_root, some)) / len(some))  # of each of two links
    return Interval(epidemics.same_as_broadcast(pit, len(SHALLOW)), 0.0, None, len(some))


def root_beside_broadcast(rows: Rows) -> Interval | None:
    ours, theirs = (
        average(some, lambda row: is_whole(row, ROOT))
        for some in (chosen(rows, SHALLOW), chosen(rows, SHALLOW, BROADCAST))
    )
    return ratio(ours, theirs)


EXPERIMENT = Experiment(
    id="tradeoff",
    title="Reliability against messages",
    source="daMulticast sections 5.3 and 5.5.3",
    about="Three groups of 100, 85% of the packets arrive, one event of the lowest topic; one of c, g and a varies, "
    "the others are the paper's. What counts is that everybody of all groups gets it. Computed is "
    "`metrics/outbreak.py`, with D1 and D2: what `trellis tune` goes by. The conditions of 5.5.3 are drawn with the "
    "link as printed and as it is.",
    grids=lambda scale: [],
    claims=[
        Claim(
            "the whole root group gets it less often than with broadcast",
            1.0,
            root_beside_broadcast,
            "x",
            rule="at most",
        ),
        Claim(
            "c = 5, g = 5, a = 1: everybody gets it, beside the formula of 5.3", printed(), lambda rows: share(rows),
            why=D1_D2,
        ),
        *(
            Claim(
                f"(wanted) {told(each)}: everybody gets it, beside ours with D1, D2",
                drawn(**each),
                lambda rows, each=each: share(rows, **each),  # type: ignore[misc]
                within=WITHIN,
                why="it counts with events that enter a group at one process; several may, which helps small groups "
                "and thin gossip",
            )
            for each in JUDGED
        ),
        Claim(
            "with the paper's g, a, z as reliable as (a) with c = 5: the limit of 5.5.3, by the links of the runs",
            5.0,
            limit,
            rule="at least",
            why="the printed link of 0.99992 would allow c = 8; links as they are drawn do not (D1)",
        ),
    ],
    charts=charts,
    tables=(ROUNDS, Table("tradeoff", rows)),
)  # fmt: skip
