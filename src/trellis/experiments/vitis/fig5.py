"""How the overhead is spread over nodes.

Source:   Vitis section IV-B, Figure 5.
Departs:  the text does not say of which subscriptions the figure is: all three are judged. "10% overhead" is read as
          more than 5% and at most 15%.
"""

from __future__ import annotations

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment
from trellis.experiments.rows import Row, Rows, average, pick, ratio
from trellis.experiments.vitis.setting import (
    BINS,
    BY_CHANCE,
    PATTERNS,
    RVR,
    SMALLER,
    USUAL,
    VITIS,
    fixed,
    mean,
    share_of_nodes,
)  # fmt: skip

STEP = 100 // BINS


def high(row: Row) -> float | None:
    """More than 20%."""
    return share_of_nodes(row, 20 // STEP)


def about_ten(row: Row) -> float | None:
    return share_of_nodes(row, 5 // STEP, 15 // STEP)


def spread(rows: Rows, name: str, wanted: dict[str, object], color: int) -> Series:
    some = pick(rows, wanted)
    points = {}
    for n in range(BINS + 1):
        found = average(some, lambda row, n=n: share_of_nodes(row, n - 1, n))  # type: ignore[misc]
        if found is not None:
            points["none" if not n else f"{n * STEP}%"] = found
    return Series(name, points, False, color)


def charts(rows: Rows) -> list[Chart]:
    series = [spread(rows, f"Vitis, {pattern}", fixed(VITIS, pattern), n) for n, pattern in enumerate(PATTERNS)]
    series.append(spread(rows, "RVR", fixed(RVR), 6))
    x = f"overhead of a node: none, up to {STEP}%, up to {2 * STEP}%, ..."
    return [Chart("Nodes by their overhead", "bars", x, "% of the nodes", series)]


EXPERIMENT = Experiment(
    id="fig5",
    title="Figure 5: distribution of the overhead",
    source="Vitis Fig. 5, section IV-B",
    about="The runs of Figure 4 with 12 friends, and RVR: for each node, what share of the messages that it receives "
    "it does not want. The paper does not say which subscriptions Figure 5 has: each of them is judged." + SMALLER,
    grids=lambda scale: [],
    claims=[
        claim
        for pattern in PATTERNS
        for claim in (
            Claim(
                f"{pattern}: nodes above 20%, Vitis over RVR",
                1 / 3,
                lambda rows, pattern=pattern: ratio(mean(rows, high, VITIS, pattern), mean(rows, high, RVR)),  # type: ignore[misc]
                "x",
                "at most",
                why=BY_CHANCE,
            ),
            Claim(
                f"{pattern}: nodes at about 10%, Vitis over RVR",
                1.0,
                lambda rows, pattern=pattern: ratio(mean(rows, about_ten, VITIS, pattern), mean(rows, about_ten, RVR)),  # type: ignore[misc]
                "x",
                "at least",
            ),
        )
    ],
    charts=charts,
    tables=(USUAL,),
)
