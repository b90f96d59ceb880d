"""Summary figures of the tables: spreads, degrees with a power law, who is online.

Source:   Clauset, Shalizi, Newman, "Power-law distributions in empirical data", SIAM Review 51 (2009): equation 3.7
          for the exponent of whole numbers, the tail's start where the Kolmogorov-Smirnov distance is least, and
          appendix B for the likelihood from 1 on.
Promises: percentiles are exact (linear between neighbours, as NumPy's); figures are rounded to six digits after the
          point, so that the order of a sum over partitions cannot be seen in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PERCENTS = (50, 90, 99)
TAIL_MIN = 50  # values in a tail before its exponent means anything
SECOND = 1_000_000

Whole = npt.NDArray[np.int64]


def spread(table: DataFrame, value: Column | str, unit: float = 1) -> dict[str, Any]:
    """Count, mean and percentiles of a column, divided by `unit`."""
    cell = F.col(value) if isinstance(value, str) else value
    found = table.agg(
        F.count(cell).alias("count"),
        F.min(cell).alias("min"),
        F.avg(cell).alias("mean"),
        F.percentile(cell, [p / 100 for p in PERCENTS]).alias("at"),
        F.max(cell).alias("max"),
    ).first()
    assert found is not None
    if not found["count"]:
        return {"count": 0}
    at = dict(zip(("median", "p90", "p99"), found["at"], strict=True))
    told = {"min": found["min"], "mean": found["mean"], **at, "max": found["max"]}
    return {"count": found["count"], **{name: rounded(cell / unit) for name, cell in told.items()}}


def rounded(value: Any) -> float | int:
    """A whole number stays one."""
    close = round(float(value), 6)
    return int(close) if close.is_integer() else close


def degrees(table: DataFrame, of: str, xmin: int | None = None) -> dict[str, Any]:
    """How many rows each `of` has: the spread, and a power law over it."""
    counted = table.groupBy(of).agg(F.count("*").alias("degree")).persist()
    try:
        histogram = counted.groupBy("degree").agg(F.count("*").alias("count")).orderBy("degree").collect()
        values = np.array([row.degree for row in histogram], np.int64)
        counts = np.array([row["count"] for row in histogram], np.int64)
        return {**spread(counted, "degree"), "power_law": power_law(values, counts, xmin)}
    finally:
        counted.unpersist()


def power_law(values: Whole, counts: Whole, xmin: int | None = None) -> dict[str, Any] | None:
    """The exponent of p(x) ~ x^-exponent from `xmin` on. `values` ascend and are different.

    Without `xmin` it is where the tail fits best. None where no tail has TAIL_MIN values.
    """
    starts = [xmin] if xmin is not None else values[values >= 1].tolist()
    fits = [fit for start in starts if (fit := fitted(values, counts, start)) is not None]
    if not fits:
        return None
    best = min(fits, key=lambda fit: (fit["distance"], fit["xmin"]))
    return {**best, "exponent": rounded(best["exponent"]), "distance": rounded(best["distance"])}


def fitted(values: Whole, counts: Whole, xmin: int) -> dict[str, Any] | None:
    tail = values >= xmin
    x, n = values[tail], counts[tail]
    total = int(n.sum())
    if total < TAIL_MIN or len(x) < 2:
        return None
    exponent = 1 + total / float((n * np.log(x / (xmin - 0.5))).sum())
    above = np.concatenate([[total], total - np.cumsum(n)[:-1]]) / total  # share of values >= x
    model = ((x - 0.5) / (xmin - 0.5)) ** (1 - exponent)
    return {"exponent": exponent, "xmin": int(xmin), "tail": total, "distance": float(np.abs(above - model).max())}


def frequencies(edges: DataFrame, of: str, users: DataFrame) -> DataFrame:
    """(degree, nodes): how many users have how many rows; those with none too."""
    counted = edges.groupBy(F.col(of).alias("user")).agg(F.count("*").alias("degree"))
    each = users.join(counted, "user", "left").select(F.coalesce("degree", F.lit(0)).alias("degree"))
    return each.groupBy("degree").agg(F.count("*").alias("nodes"))


def degree_figures(values: Whole, counts: Whole, xmin: int | None = None) -> dict[str, Any]:
    """Of degrees (ascending) and how many have each, zeros included. The exponents leave zeros out.

    The tail's exponent and that of the whole range answer different questions: no degree distribution here is a power
    law from 1 on, and published exponents often do not say which one they are.
    """
    some = values >= 1
    return {
        "mean": rounded((values * counts).sum() / max(1, counts.sum())),
        "median": rounded(median(values, counts)),
        "max": int(values.max(initial=0)),
        "none": int(counts[~some].sum()),
        "exponent_tail": power_law(values, counts, xmin),
        "exponent_whole": whole_range(values[some], counts[some]),
    }


def median(values: Whole, counts: Whole) -> float:
    """Between the two in the middle, if there are two."""
    total, upto = int(counts.sum()), np.cumsum(counts)
    middle = values[np.searchsorted(upto, [(total - 1) // 2, total // 2], "right")] if total else np.zeros(1)
    return float(middle.mean())


def whole_range(values: Whole, counts: Whole) -> dict[str, Any] | None:
    """The exponent over all values from 1 on, in the two ways in which one may have read it off a log-log plot: the
    slope of a straight line through all points, each of the same weight, and the greatest likelihood.
    """
    if counts.sum() < TAIL_MIN or len(values) < 2:
        return None
    slope = np.polyfit(np.log(values), np.log(counts), 1)[0]
    return {"line": rounded(-slope), "likelihood": round(likeliest(values, counts), 4)}


def likeliest(values: Whole, counts: Whole) -> float:
    """Where n ln zeta(a) + a sum ln x is least; it has one lowest point, flat enough to be known to six digits."""
    logs, total = float((counts * np.log(values)).sum()), int(counts.sum())
    low, high = 1.0 + 1e-6, 64.0
    while high - low > 1e-9:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if total * np.log(zeta(left)) + left * logs < total * np.log(zeta(right)) + right * logs:
            high = right
        else:
            low = left
    return (low + high) / 2


def zeta(a: float, terms: int = 1000) -> float:
    """Riemann's, for a > 1: the first terms, and the rest by Euler and Maclaurin."""
    first = float((np.arange(1.0, terms) ** -a).sum())
    return float(first + terms ** (1 - a) / (a - 1) + terms**-a / 2 + a * terms ** (-a - 1) / 12)


def online(sessions: DataFrame) -> dict[str, Any]:
    """How many nodes are up at once. The running sum is one task over the sessions' ends."""
    ends = sessions.select(F.col("start").alias("at"), F.lit(1).alias("step")).unionAll(
        sessions.select(F.col("end").alias("at"), F.lit(-1).alias("step"))
    )
    order = Window.orderBy("at", "step").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    peak = ends.select(F.sum("step").over(order).alias("up")).agg(F.max("up").alias("peak")).first()
    whole = sessions.agg(F.min("start"), F.max("end"), F.sum(F.col("end") - F.col("start"))).first()
    assert peak is not None
    assert whole is not None
    first, last, up = whole
    return {
        "first_s": rounded(first / SECOND),
        "last_s": rounded(last / SECOND),
        "online_mean": rounded(up / max(1, last - first)),
        "online_peak": peak.peak,
    }


def histogram(table: DataFrame, value: str) -> dict[str, int]:
    """How often each value occurs; for a column with few."""
    rows = table.groupBy(value).agg(F.count("*").alias("count")).orderBy(value).collect()
    return {str(row[value]): row["count"] for row in rows}
