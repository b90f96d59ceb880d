"""Beyond the paper: what was missed in a flash crowd, brought later.

Source:   ours (docs/protocols/vitis.md). The printed form sends every event once; `repair` compares digests.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.data import SESSIONS
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average
from trellis.experiments.vitis.fig12 import AS_IT_IS, CHURNED, STEP, of, tasks_of, when
from trellis.experiments.vitis.fig12 import hit as hit_in
from trellis.experiments.vitis.setting import VITIS, hit, on_spark
from trellis.metrics.summary import Interval
from trellis.protocols.overlays.vine import Vine

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

DRAIN = Vine.settles  # rounds in which what was missed is to come


def rows(shop: Workshop, scale: Scale, sessions: Path) -> Rows:
    return on_spark(shop, tasks_of(scale, sessions, [(VITIS, AS_IT_IS, 1)], DRAIN))


def kept(row: Row) -> float | None:
    """Of what the overlay promises: to whoever's subscription was confirmed before, and who stays."""
    return 100.0 * row["kept"] / row["promised"] if row["promised"] else None


def charts(rows: Rows) -> list[Chart]:
    series = []
    for color, (name, repair) in enumerate((("printed", 0), ("repaired", 1))):
        for row in of(rows, VITIS, AS_IT_IS, repair):
            points = {start: Interval(x, 0.0, None, 1) for start, x in when(row, hit_in).items()}
            series.append(Series(f"Vitis, {name}", points, False, 2 * color))
    x = f"published so many seconds from the flash crowd on, steps of {STEP}"
    return [Chart("Hit ratio, however late", "lines", x, "% of what is owed", series)]


EXPERIMENT = Experiment(
    id="repair",
    title="Beyond the paper: repair under churn",
    source="ours; the setting is that of Figure 12 at the scale's window",
    about="The run of Figure 12 with the trace as it is, by `vitis` with `repair`: neighbours compare digests of their "
    "topics, and clusters are told of each other. What comes up to 160 rounds after the last event counts: after so "
    'many a vine promises that all have everything. "Owed" is as '
    'in Figure 12: to whoever came up ten seconds before. "Promised" is what the audits ask for: to whoever\'s '
    "subscription was confirmed before; a node that is not, is told from where on it gets everything.",
    grids=lambda scale: [],
    claims=[
        Claim(
            "(wanted) repaired: of what is promised, brought in the end",
            100.0,
            lambda rows: average(of(rows, VITIS, AS_IT_IS, 1), kept),
            "%",
            "at least",
            why="what is lacking was announced as a gap: if five neighbours that joined later say that they never had a"
            " message, a node gives it up, though its publisher, whom it does not ask, may still have it",
        ),
        Claim(
            "(wanted) repaired: of what is owed, brought in the end",
            100.0,
            lambda rows: average(of(rows, VITIS, AS_IT_IS, 1), hit),
            "%",
            "at least",
            why="who joins is told a cut of the topic and gets everything that is published after it; under the crowd"
            " that may take longer than ten rounds, and what was published in between is not promised to it",
        ),
    ],
    charts=charts,
    tables=(CHURNED, Table("mended", rows, (SESSIONS,))),
)
