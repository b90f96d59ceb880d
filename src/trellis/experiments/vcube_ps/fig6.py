"""Causal barriers of a discussion, and what waiting for them costs.

Source:   2018 section 4.3, Figure 6 and the text after it; 2017 section IV, "Ordering of messages".
Departs:  the papers do not say how long a node thinks before it answers (t_w). Judged with t_w drawn in
          [0, 1000], the only range that the papers give for a random time; two shorter ones are shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable

from trellis.experiments.chart import Chart, Series, line, published
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale
from trellis.experiments.rows import Row, Rows, average, pick
from trellis.experiments.vcube_ps.model import RUNS, VCUBE, grid, scenario
from trellis.metrics.summary import Interval
from trellis.scenario.grid import Grid

OPENERS, THINK = "workload.openers", "workload.think"
JUDGED = 1000
BINS = [f"{low}-{low + 4}" for low in range(0, 90, 5)] + ["90+"]


def grids(scale: Scale) -> list[Grid]:
    base = scenario(
        {"kind": "fraction", "fraction": 1.0},
        {"kind": "replies", "openers": 1, "think": JUDGED},
        stack={"overlay": VCUBE, "ordering": "causal"},
        nodes={"count": 256},
    )
    axes = {OPENERS: [1, 10], THINK: [100, 300, JUDGED]}
    return [grid("discussion", base, RUNS if scale == "paper" else 4, axes=axes)]


def messages(test: Callable[[int], bool]) -> Callable[[Row], float]:
    """Percent of the messages whose number of direct predecessors passes the test."""
    return lambda row: share(row["barriers"], test)


def deliveries(test: Callable[[int], bool]) -> Callable[[Row], float]:
    """Percent of the deliveries whose delay after the reception passes the test."""
    return lambda row: share(row["delays"], test)


def share(counts: dict[int, int], test: Callable[[int], bool]) -> float:
    return 100 * sum(count for number, count in counts.items() if test(number)) / max(1, sum(counts.values()))


def over_50(row: Row) -> float:
    counts: dict[int, int] = row["delays"]
    return sum(count for delay, count in counts.items() if delay > 50)


def judged(openers: int, value: Callable[[Row], float]) -> Callable[[Rows], Interval | None]:
    return lambda rows: average(pick(rows, {OPENERS: openers, THINK: JUDGED}), value)


def longest(openers: int) -> Callable[[Rows], Interval | None]:
    """Over all runs."""

    def found(rows: Rows) -> Interval | None:
        delays = [max(row["delays"], default=0) for row in pick(rows, {OPENERS: openers, THINK: JUDGED})]
        return Interval(float(max(delays)), 0.0, None, len(delays)) if delays else None

    return found


def barrier_chart(rows: Rows) -> Chart:
    series = []
    for color, openers in ((0, 1), (2, 10)):
        chosen = pick(rows, {OPENERS: openers, THINK: JUDGED})
        points = {name: average(chosen, messages(in_bin(name))) for name in BINS}
        name = f"wait for {openers}"
        series.append(Series(name, {k: found for k, found in points.items() if found is not None}, False, color))
        if openers == 1:
            series.append(published(name, {"0-4": 51.6}, color))
    return Chart("Direct predecessors of a message", "bars", "direct predecessors", "% of messages", series)


def in_bin(name: str) -> Callable[[int], bool]:
    low = int(name.rstrip("+").split("-")[0])
    return lambda size: low <= size and (size < low + 5 or name.endswith("+"))


def delay_chart(rows: Rows) -> Chart:
    series = []
    tests: dict[str, Callable[[int], bool]] = {
        "none": lambda delay: delay == 0,
        "under 10 u.t.": lambda delay: delay < 10,
        "up to 50 u.t.": lambda delay: delay <= 50,
    }
    theirs = {
        1: {"none": 87.2, "under 10 u.t.": 95.1, "up to 50 u.t.": 100 * (1 - 81 / 65280)},
        10: {"none": 84.2, "up to 50 u.t.": 100 * (1 - 457 / 65280)},
    }
    for color, openers in ((0, 1), (2, 10)):
        points = {name: judged(openers, deliveries(test))(rows) for name, test in tests.items()}
        name = f"wait for {openers}"
        series.append(Series(name, {k: found for k, found in points.items() if found is not None}, False, color))
        series.append(published(name, dict(theirs[openers]), color))
    return Chart("Delay of a delivery by the order", "bars", "delay after reception", "% of deliveries", series)


def thinking_chart(rows: Rows) -> Chart:
    tests = [
        ("wait for 1: one predecessor", 1, messages(lambda size: size == 1)),
        ("wait for 1: fewer than 5", 1, messages(lambda size: size < 5)),
        ("wait for 10: ten predecessors", 10, messages(lambda size: size == 10)),
        ("wait for 10: fewer than 15", 10, messages(lambda size: size < 15)),
    ]
    series = [line(name, rows, THINK, test, color, {OPENERS: n}) for color, (name, n, test) in enumerate(tests)]
    note = "The papers leave t_w open. No single one gives all of their figures: see the claims."
    return Chart("What the thinking time does", "lines", "t_w up to (u.t.)", "% of messages", series, note=note)


THINKING = (
    "the papers do not give the thinking time t_w on which it depends; with t_w up to 1000 the first answers are "
    "everywhere before the last nodes speak. The chart shows shorter ones; none was chosen by fit"
)
DELAY = (
    "a message waits only when it overtakes one that it follows, and with one u.t. of service that is rare once the "
    "answers are spread over 1000 u.t.; the delay depends on t_w, which the papers do not give"
)

EXPERIMENT = Experiment(
    id="fig6",
    title="Figure 6: causal barriers of a discussion",
    source="2018 Fig. 6 and section 4.3; 2017 Fig. 6",
    about="256 nodes, all subscribe. One node (or ten) speaks at time 0; whoever has delivered all openings thinks "
    "for a time drawn in [0, t_w] and answers once. VCube-PS is `vcube` with causal order: with one message per "
    "source its packets and barriers are those of the printed algorithm. Counts are per run, the longest delay is "
    "over all runs.",
    grids=grids,
    claims=[
        Claim(
            "wait for 1: messages with one predecessor",
            19.9,
            judged(1, messages(lambda size: size == 1)),
            "%",
            why=THINKING,
        ),
        Claim(
            "wait for 1: messages with fewer than 5",
            51.6,
            judged(1, messages(lambda size: size < 5)),
            "%",
            why=THINKING,
        ),
        Claim(
            "wait for 10: messages with ten predecessors",
            35.2,
            judged(10, messages(lambda size: size == 10)),
            "%",
            why=THINKING,
        ),
        Claim(
            "wait for 10: messages with fewer than 15",
            79.7,
            judged(10, messages(lambda size: size < 15)),
            "%",
            why=THINKING,
        ),
        Claim(
            "wait for 1: deliveries without delay",
            87.2,
            judged(1, deliveries(lambda delay: delay == 0)),
            "%",
            why=DELAY,
        ),
        Claim(
            "wait for 1: deliveries delayed by less than 10 u.t.",
            95.1,
            judged(1, deliveries(lambda delay: delay < 10)),
            "%",
            why=DELAY,
        ),
        Claim("wait for 1: deliveries delayed by more than 50 u.t., of 65,280", 81.0, judged(1, over_50), why=DELAY),
        Claim("wait for 1: longest delay", 150.0, longest(1), " u.t.", why=DELAY),
        Claim(
            "wait for 10: deliveries without delay",
            84.2,
            judged(10, deliveries(lambda delay: delay == 0)),
            "%",
            why=DELAY,
        ),
        Claim("wait for 10: deliveries delayed by more than 50 u.t., of 65,280", 457.0, judged(10, over_50), why=DELAY),
        Claim("wait for 10: longest delay", 187.0, longest(10), " u.t.", why=DELAY),
    ],
    charts=lambda rows: [barrier_chart(rows), delay_chart(rows), thinking_chart(rows)],
)
