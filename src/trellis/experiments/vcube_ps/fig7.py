"""Many topics, some of them popular.

Source:   2018 section 4.4, Figure 7; 2017 section IV, "Scenario with several topics".
"""

from __future__ import annotations

from trellis.experiments.chart import Chart, line
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale
from trellis.experiments.rows import Rows, above, average, pick, reception, setting
from trellis.experiments.vcube_ps.model import NAMES, OVERLAY, PRINTED, RUNS, SRPT, grid, scenario
from trellis.metrics.summary import Interval
from trellis.scenario.grid import Grid

MESSAGES, LAW = "workload.messages", "workload.law"
LAST = 1 << 14


def grids(scale: Scale) -> list[Grid]:
    base = scenario(
        {"kind": "fraction", "fraction": 1.0, "topics": 128},
        {"kind": "topics", "messages": 128, "interval": 500, "exponent": 0.825},
        nodes={"count": 256},
    )
    counts, runs = ([1 << n for n in range(7, 15)], RUNS) if scale == "paper" else ([1 << 7, 1 << 8, 1 << 10], 1)
    return [grid("topics", base, runs, axes={OVERLAY: [PRINTED, SRPT], LAW: ["uniform", "zipf"], MESSAGES: counts})]


def latency(rows: Rows, overlay: str, law: str, messages: int) -> Interval | None:
    return average(pick(rows, {OVERLAY: overlay, LAW: law, MESSAGES: messages}), reception)


def increase(rows: Rows, overlay: str, messages: int = LAST) -> Interval | None:
    """Zipf above uniform, in percent."""
    return above(latency(rows, overlay, "zipf", messages), latency(rows, overlay, "uniform", messages), 100)


def gap(rows: Rows) -> Interval | None:
    """The smallest distance between SRPT and VCube-PS over numbers of messages and laws."""
    gaps = []
    for messages in setting(rows, MESSAGES):
        for law in ("uniform", "zipf"):
            srpt, vcube = (latency(rows, overlay, law, messages) for overlay in (SRPT, PRINTED))
            if srpt is not None and vcube is not None:
                gaps.append((srpt.mean - vcube.mean, srpt.count))
    return Interval(min(gaps)[0], 0.0, None, min(gaps)[1]) if gaps else None


def most(overlay: str, rows: Rows) -> str:
    last = max(setting(rows, MESSAGES), default=0)
    found = increase(rows, overlay, last)
    return "" if found is None else f"The most messages that were run are {last:,}: {found.mean:+.1f}%."


def charts(rows: Rows) -> list[Chart]:
    series = [
        line(f"{NAMES[overlay]} - {law}", rows, MESSAGES, reception, color, {OVERLAY: overlay, LAW: law})
        for color, (overlay, law) in enumerate(
            [(PRINTED, "uniform"), (PRINTED, "zipf"), (SRPT, "uniform"), (SRPT, "zipf")]
        )
    ]
    note = "The papers print no point of this figure as a number, only the ratios below."
    title, y = "Reception latency, 256 nodes, 128 topics", "mean reception latency (u.t.)"
    return [Chart(title, "lines", "number of messages", y, series, log_x=True, note=note)]


LOAD = (
    "with 64 messages per node every 500 u.t. each node must emit 32,640 packets, ACKs included, in about 32,000 "
    "u.t.: VCube-PS is at the edge of saturation, and the papers' curves are not"
)

EXPERIMENT = Experiment(
    id="fig7",
    title="Figure 7: many topics",
    source="2018 Fig. 7, section 4.4; 2017 Fig. 7",
    about="256 nodes that subscribe to all of 128 topics; each publishes every 500 u.t. on average, on a topic drawn "
    "evenly or by Zipf's law with exponent 0.825. VCube-PS is `vcube-printed`: in the printed form a source's next "
    "message on a topic waits for the acknowledgements of its last one, and only therefore does the law of the topics "
    "matter at all; over `vcube` both laws give the same packets.",
    grids=grids,
    claims=[
        Claim(
            "16,384 messages: SRPT, Zipf above uniform",
            30.6,
            lambda rows: increase(rows, SRPT),
            "%",
            why="the root of the most popular topic takes 12% of all messages",
            nearest=lambda rows: most(SRPT, rows),
        ),
        Claim(
            "16,384 messages: VCube-PS, Zipf above uniform",
            9.2,
            lambda rows: increase(rows, PRINTED),
            "%",
            why=LOAD,
            nearest=lambda rows: most(PRINTED, rows),
        ),
        Claim(
            "smallest distance of SRPT to VCube-PS (around one hop)",
            100.0,
            gap,
            " u.t.",
            why="the acknowledgements load VCube-PS, not SRPT, and sources wait for them: the more messages, the "
            "closer",
        ),
    ],
    charts=charts,
)
