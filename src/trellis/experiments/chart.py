"""What a figure shows, without how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from trellis.experiments.rows import Row, Rows, average, pick, setting
from trellis.metrics.summary import Interval

Number = int | float


class Series(NamedTuple):
    """One line or one set of bars. `points` go by the x value or by the category's name."""

    name: str
    points: dict[Any, Interval]
    published: bool = False
    color: int = 0  # the same number, the same colour: a published series beside the measured one of its kind


class Chart(NamedTuple):
    title: str
    kind: Literal["lines", "bars"]
    x: str
    y: str
    series: list[Series]
    log_x: bool = False
    log_y: bool = False
    note: str = ""


def published(name: str, points: dict[Any, float], color: int) -> Series:
    """The points that the text of the paper prints; its drawn curves are not digitised."""
    return Series(f"{name}, published", {x: Interval(y, 0.0, None, 0) for x, y in points.items()}, True, color)


def line(
    name: str, rows: Rows, key: str, value: Callable[[Row], float | None], color: int, wanted: dict[str, Any]
) -> Series:
    """Means over repetitions, by a setting."""
    chosen = pick(rows, wanted)
    points = {x: average(pick(chosen, {key: x}), value) for x in setting(chosen, key)}
    return Series(name, {x: found for x, found in points.items() if found is not None}, False, color)
