"""Mean, spread and count of a set of numbers, as every report prints them; and how sure a mean over repetitions is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt


class Summary(msgspec.Struct, frozen=True):
    mean: float | None
    std: float | None
    min: int | None
    max: int | None
    count: int


def summary(values: npt.NDArray[np.int64]) -> Summary:
    """Of whole numbers, by their exact sums: the same whatever order they come in, and however they were counted."""
    if len(values) == 0:
        return from_sums(0, 0, 0, 0, 0)
    least, most = int(values.min()), int(values.max())
    furthest = max(-least, most)
    if furthest * furthest * len(values) < 1 << 63:
        total, squares = int(values.sum()), int(np.dot(values, values))
    else:
        plain = [int(value) for value in values]
        total, squares = sum(plain), sum(value * value for value in plain)
    return from_sums(len(values), total, squares, least, most)


def from_sums(count: int, total: int, squares: int, least: int, most: int) -> Summary:
    """The variance is a quotient of whole numbers, so no digit is lost before the root is taken."""
    if count == 0:
        return Summary(None, None, None, None, 0)
    std = math.sqrt((count * squares - total * total) / (count * count))
    return Summary(total / count, std, least, most, count)


class Interval(msgspec.Struct, frozen=True):
    """A mean over repetitions. `half` is None where there are too few to tell."""

    mean: float
    std: float  # of the sample
    half: float | None  # the mean lies within mean +- half with 95% confidence
    count: int


def interval(values: Sequence[float]) -> Interval:
    """Student's interval: the repetitions are independent, their number is small."""
    found = np.asarray(values, float)
    count = len(found)
    if count < 2:
        return Interval(float(found.mean()) if count else math.nan, 0.0, None, count)
    std = float(found.std(ddof=1))
    return Interval(float(found.mean()), std, student_t(count - 1) * std / math.sqrt(count), count)


def proportion(hits: int, runs: int) -> tuple[float, float]:
    """Between which the chance of a hit lies with 95% confidence: Wilson's interval, also where all or none hit."""
    z2 = 1.959963984540054**2
    middle, half = hits + z2 / 2, math.sqrt(z2 * (hits * (runs - hits) / runs + z2 / 4))
    return max(0.0, (middle - half) / (runs + z2)), min(1.0, (middle + half) / (runs + z2))


# The 97.5% quantile of Student's t, by degrees of freedom: it is far from the expansion below for the first few.
FEW = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


def student_t(degrees: int) -> float:
    """The 97.5% quantile of Student's t: a table, then the Cornish-Fisher expansion (within 0.0005 from there on)."""
    if degrees <= len(FEW):
        return FEW[degrees - 1]
    z, n = 1.959963984540054, degrees
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
