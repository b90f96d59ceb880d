"""Pure functions over the rows of a sweep: choose runs, average over repetitions.

A row is what `trellis.pipeline.sweep` writes per run, as a Python dict (`plain`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from trellis.metrics.summary import Interval, interval

Row = dict[str, Any]
Rows = list[Row]

MAPS = ("settings", "sent", "delays", "barriers", "violations")


def plain(row: Mapping[str, Any]) -> Row:
    """Arrow gives a map as pairs, and the settings hold JSON: as dicts of values both read as they are meant."""
    found = {name: dict(value) if name in MAPS and value is not None else value for name, value in row.items()}
    found["settings"] = {key: json.loads(value) for key, value in found["settings"].items()}
    return found


def pick(rows: Rows, wanted: Mapping[str, Any]) -> Rows:
    """The runs with these settings (dotted key -> value). A run without the key is not one of them."""
    return [row for row in rows if all(row["settings"].get(key, ...) == value for key, value in wanted.items())]


def setting(rows: Rows, key: str) -> list[Any]:
    """The values of a setting, ascending."""
    return sorted({row["settings"][key] for row in rows if key in row["settings"]})


def average(rows: Rows, value: Callable[[Row], float | None]) -> Interval | None:
    """Over the repetitions, each run counting once; None where there is no run."""
    found = [measured for row in rows if (measured := value(row)) is not None]
    return interval(found) if found else None


def ratio(over: Interval | None, under: Interval | None) -> Interval | None:
    """Of two means. No interval: the runs of the two are not independent (they share their luck)."""
    if over is None or under is None or under.mean == 0:
        return None
    return Interval(over.mean / under.mean, 0.0, None, min(over.count, under.count))


def above(over: Interval | None, under: Interval | None, scale: float = 1.0) -> Interval | None:
    """By what share the first is above the second."""
    found = ratio(over, under)
    return None if found is None else Interval(scale * (found.mean - 1), 0.0, None, found.count)


def reception(row: Row) -> float | None:
    """Mean time from publication to reception by a subscriber, in the run."""
    mean: float | None = row["reception"]["mean"]
    return mean


def packets(kind: str) -> Callable[[Row], float]:
    return lambda row: row["sent"].get(kind, 0)
