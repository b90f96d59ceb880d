"""Mean, spread and count of a set of numbers, as every report prints them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy.typing as npt


class Summary(msgspec.Struct, frozen=True):
    mean: float | None
    std: float | None
    min: int | None
    max: int | None
    count: int


def summary(values: npt.NDArray[Any]) -> Summary:
    if len(values) == 0:
        return Summary(None, None, None, None, 0)
    return Summary(float(values.mean()), float(values.std()), int(values.min()), int(values.max()), len(values))
