"""Many publishers, propagation 1000.

Source:   2017 section IV, Figure 5(b); 2018 section 4.2, Figure 5(b).
"""

from __future__ import annotations

from trellis.experiments.chart import Chart
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale
from trellis.experiments.rows import Rows, above
from trellis.experiments.vcube_ps.fig5a import latency, latency_chart
from trellis.experiments.vcube_ps.model import NODES, OVERLAY, PUBLISHERS, RUNS, SRPT, VCUBE, all_subscribe, grid, sizes
from trellis.metrics.summary import Interval
from trellis.scenario.grid import Grid


def grids(scale: Scale) -> list[Grid]:
    last, runs = (4096, RUNS) if scale == "paper" else (256, 5)
    axes = {OVERLAY: [VCUBE, SRPT], PUBLISHERS: [0.25, 1.0], NODES: sizes(last)}
    return [grid("many-publishers-far", all_subscribe(1000), runs, axes=axes)]


def increase(rows: Rows) -> Interval | None:
    """SRPT above VCube-PS at 256 nodes, all publishing, in percent."""
    return above(latency(rows, SRPT, 256, 1.0), latency(rows, VCUBE, 256, 1.0), 100)


def charts(rows: Rows) -> list[Chart]:
    return [latency_chart("Reception latency, propagation 1000", rows)]


EXPERIMENT = Experiment(
    id="fig5b",
    title="Figure 5b: many publishers, propagation 1000",
    source="2017 Fig. 5(b), section IV; 2018 Fig. 5(b), section 4.2",
    about="As Figure 5a with a propagation ten times as long.",
    grids=grids,
    claims=[Claim("256 nodes, all publish: SRPT above VCube-PS", 37.0, increase, "%")],
    charts=charts,
)
