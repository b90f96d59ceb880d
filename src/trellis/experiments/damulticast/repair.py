"""Beyond the paper: what gossip missed, brought by a digest exchange; and what that takes beside flooding.

Source:   ours (docs/protocols/damulticast.md). The printed form stands for the paper; flooding is the printed form with
          a table of the whole group, so that every process sends an event to all others of it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.damulticast.setting import (
    DA,
    REPAIRED,
    STEEP,
    chosen,
    on_spark,
    point,
)  # fmt: skip
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average, ratio
from trellis.metrics.summary import Interval

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

ALL = 10_000  # c so large that a table has the whole group
DEAD = (0.0, 0.3)
ROUNDS = 24  # in which all who live are to have an event
FORMS: dict[str, tuple[str, dict[str, int]]] = {
    "printed": (DA, {}),
    "repaired": (REPAIRED, {}),
    "flooding": (DA, {"c": ALL}),
}
CARRY = ("GOSSIP", "REFILL")  # packets with the event in them


def rows(shop: Workshop, scale: Scale) -> Rows:
    runs = 40 if scale == "paper" else 6
    asked = [
        (point(STEEP, overlay, stillborn=dead, **options), 1 if options else runs)
        for overlay, options in FORMS.values()
        for dead in DEAD
    ]
    return on_spark(shop, asked)


def of(rows: Rows, form: str, dead: float) -> Rows:
    overlay, options = FORMS[form]
    return chosen(rows, STEEP, overlay, stillborn=dead, **options)


def delivered(row: Row) -> int:
    return sum(here["reached"] for here in row["groups"])


def events(row: Row) -> float:
    """Packets that carry the event, for each process that got it."""
    return float(sum(row["sent"].get(kind, 0) for kind in CARRY) / delivered(row))


def packets(row: Row) -> float:
    """All packets, for each process that got it: also those of rounds in which nothing is new."""
    return float(sum(row["sent"].values()) / delivered(row))


def missed(row: Row) -> float:
    return float(sum(here["living"] - here["reached"] for here in row["groups"]))


def last(row: Row) -> float:
    return float(max(here["last"] for here in row["groups"]))


def at_worst(rows: Rows, dead: float, value: Callable[[Row], float]) -> Interval | None:
    found = [value(row) for row in of(rows, "repaired", dead)]
    return Interval(max(found), 0.0, None, len(found)) if found else None


def bars(title: str, y: str, rows: Rows, value: Callable[[Row], float], log: bool = False) -> Chart:
    series = []
    for color, form in enumerate(FORMS):
        means = {f"{dead:.0%} dead": average(of(rows, form, dead), value) for dead in DEAD}
        series.append(Series(form, {at: found for at, found in means.items() if found is not None}, False, color))
    return Chart(title, "bars", "15% of all packets lost", y, series, log_y=log)


def charts(rows: Rows) -> list[Chart]:
    return [
        bars("Living subscribers that never get it", "processes", rows, missed),
        bars("Rounds until the last one has it", "rounds", rows, last),
        bars("Packets that carry the event", "packets for each delivery", rows, events, log=True),
        bars("All packets of the run", "packets for each delivery", rows, packets, log=True),
    ]


EXPERIMENT = Experiment(
    id="repair",
    title="Beyond the paper: repair",
    source="ours; the setting is that of daMulticast section 6.1, with 0 and 30% stillborn",
    about="One event of the lowest topic, 85% of the packets arrive. Repaired: the same gossip, and in every round each"
    " process compares a checksum with one of its fellows, and g of a group with the group above. All packets of 40 "
    "rounds are counted, before and after the event, because the comparisons never stop; a busier topic shares them "
    "among its events. Flooding: everybody sends the event to everybody of its group.",
    grids=lambda scale: [],
    claims=[
        *(
            Claim(
                f"repaired, {dead:.0%} dead: living subscribers that miss the event, in the worst run (wanted)",
                0.0,
                lambda rows, dead=dead: at_worst(rows, dead, missed),  # type: ignore[misc]
            )
            for dead in DEAD
        ),
        Claim(
            f"repaired, 30% dead: rounds until the last one has it, in the worst run (wanted: {ROUNDS})",
            ROUNDS,
            lambda rows: at_worst(rows, DEAD[1], last),
            rule="at most",
        ),
        Claim(
            "repaired over printed, 30% dead: packets that carry the event, for each delivery (wanted)",
            1.1,
            lambda rows: ratio(
                average(of(rows, "repaired", DEAD[1]), events), average(of(rows, "printed", DEAD[1]), events)
            ),
            "x",
            rule="at most",
        ),
        Claim(
            "repaired over flooding, 30% dead: all packets, for each delivery (wanted)",
            1.0,
            lambda rows: ratio(
                average(of(rows, "repaired", DEAD[1]), packets), average(of(rows, "flooding", DEAD[1]), packets)
            ),
            "x",
            rule="at most",
        ),
    ],
    charts=charts,
    tables=(Table("repair", rows),),
)
