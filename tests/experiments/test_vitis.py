"""The experiments of Vitis: short forms of their runs, and what their claims say of made-up rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trellis.experiments import PAPERS, outcome
from trellis.experiments.experiment import needs
from trellis.experiments.vitis import fig4, fig5, fig6, fig7, savings, setting
from trellis.experiments.vitis.setting import (
    BINS,
    HIGH,
    LOW,
    OPT,
    PATTERNS,
    RANDOM,
    RVR,
    SIZES,
    VITIS,
    Size,
    binned,
    measured,
    point,
    task,
)  # fmt: skip
from trellis.metrics.timeline import NEVER, Life, Stay, fate
from trellis.report.reproduction import claims_json, reproduction

IDS = [experiment.id for experiment in PAPERS["vitis"]]
SMALL = Size(nodes=50, topics=40, each=6, buckets=4, grow=25, events=20, per=10, drain=25)
QUICK = SIZES["quick"]


def verdicts(experiment: Any, rows: list[Any]) -> dict[str, Any]:
    return {verdict.claim: verdict for verdict in outcome(experiment, rows, "quick").verdicts}


def made_up(told: dict[str, Any], overhead: float = 0.2, delay: float = 4.0, **more: Any) -> dict[str, Any]:
    """A run in which everybody got everything."""
    common = {"run": json.dumps([told, overhead]), "settings": {**told, "seed": 1}, "sent": {"PULLED": 9}}
    found = {"owed": 100, "made": 100, "overhead": overhead, "delay": delay}
    return common | found | {"shares": binned([overhead] * 10), "links": [[15, 10]], "fates": []} | more


def test_every_run_that_a_figure_shares_with_others_is_made_once() -> None:
    names = [table.name for experiment in PAPERS["vitis"] for table in experiment.tables]
    assert set(names) >= {"friends", "sizes", "rates"}
    assert names.count("friends") == 4


@pytest.mark.parametrize("overlay", [VITIS, RVR, OPT])
def test_a_run_keeps_what_its_trace_says_and_is_the_same_every_time(overlay: str) -> None:
    asked = task(point(SMALL, overlay, HIGH))
    row = measured(asked)
    assert row == measured(asked)
    assert json.loads(json.dumps(row)) == row, "a table is kept as JSON"
    assert 0 < row["made"] <= row["owed"]
    assert row["delay"] >= 1
    assert sum(nodes for _, nodes in row["links"]) == SMALL.nodes
    assert setting.links_most(row) <= 2 * setting.TABLE
    assert sum(row["shares"]) <= SMALL.nodes
    if overlay == OPT:
        assert row["overhead"] == 0
        assert row["shares"][0] == sum(row["shares"])
    else:
        assert row["made"] == row["owed"]
        assert 0 < row["overhead"] < 1


def test_systems_and_tables_are_compared_under_the_same_luck_and_worlds_each_have_their_own() -> None:
    seeds = {
        task(point(QUICK, *each, table=table)).seed
        for each in ((VITIS, LOW), (RVR, LOW), (OPT, LOW))
        for table in (15, 35)
    }
    assert len(seeds) == 1
    assert task(point(QUICK, VITIS, k=13)).seed == task(point(QUICK, VITIS)).seed
    others = {task(point(QUICK, VITIS, pattern, alpha)).seed for pattern in PATTERNS for alpha in (0.0, 3.0)}
    assert len(others) == 6
    assert task(point(QUICK, VITIS), 1).seed != task(point(QUICK, VITIS), 0).seed


def test_nodes_are_counted_by_their_overhead_in_steps_of_5_percent() -> None:
    counts = binned([0.0, 0.0, 0.05, 0.051, 0.2, 0.21, 1.0])
    assert len(counts) == BINS + 1
    assert [n for n, count in enumerate(counts) if count] == [0, 1, 2, 4, 5, BINS]
    row = {"shares": counts}
    assert fig5.high(row) == pytest.approx(100 * 2 / 7), "0.2 itself is not above 20%"
    assert fig5.about_ten(row) == pytest.approx(100 / 7)
    assert setting.share_of_nodes(row, -1) == 100
    assert setting.share_of_nodes({"shares": []}, 0) is None


def test_figure_4_is_judged_by_its_extremes() -> None:
    none, most = fig4.FREE, fig4.FREE - fig4.MOST
    rows = [
        made_up(point(QUICK, VITIS, HIGH, k=none), 0.5, 5.0),
        made_up(point(QUICK, VITIS, HIGH, k=most), 0.06, 4.0),
        made_up(point(QUICK, VITIS, RANDOM, k=none), 0.5, 5.0),
        made_up(point(QUICK, VITIS, RANDOM, k=most), 0.2, 6.0, made=99),
        made_up(point(QUICK, RVR), 0.5),
    ]
    found = verdicts(fig4.EXPERIMENT, rows)
    fall = found["high correlation: overhead with 12 friends below that with none"]
    assert (fall.measured, fall.held) == (pytest.approx(88.0), True)
    assert found["low correlation: the same"].measured is None
    third = found["random: overhead of Vitis with 12 friends over that of RVR"]
    assert (third.measured, third.held) == (pytest.approx(0.4), False)
    assert found["Vitis: hit ratio, the worst setting"].measured == 99
    assert not found["Vitis: hit ratio, the worst setting"].held
    assert found["RVR: hit ratio, the worst run"].held
    assert found["high correlation: delay with 12 friends over that with none"].held
    assert found["random: the same (a higher delay is the price)"].held
    (_, _, hits) = fig4.EXPERIMENT.charts(rows)
    assert [sorted(series.points) for series in hits.series] == [[0, 12], [], [0, 12], [0, 12]]


def test_the_abstract_is_judged_by_the_smallest_and_the_largest_saving() -> None:
    shares = {RANDOM: 0.3, LOW: 0.2, HIGH: 0.1}
    rows = [made_up(point(QUICK, VITIS, pattern), share) for pattern, share in shares.items()]
    rows.append(made_up(point(QUICK, RVR), 0.5))
    found = list(verdicts(savings.EXPERIMENT, rows).values())
    assert [one.measured for one in found] == [pytest.approx(40.0), pytest.approx(80.0)]
    assert found[1].held


def test_larger_tables_and_hotter_topics_are_compared_with_the_smallest_of_them() -> None:
    rows = [
        made_up(point(QUICK, overlay, pattern, table=table), 1 / table, delay)
        for overlay, pattern in fig6.LINES
        for table, delay in ((15, 6.0 if overlay == VITIS else 5.0), (35, 3.0 if overlay == VITIS else 4.0))
    ]
    assert all(one.held for one in verdicts(fig6.EXPERIMENT, rows).values())
    rows = [
        made_up(point(QUICK, VITIS, pattern, alpha), share)
        for pattern, alpha, share in ((RANDOM, 0.3, 0.4), (RANDOM, 3.0, 0.3), (HIGH, 0.3, 0.2), (HIGH, 3.0, 0.25))
    ]
    found = verdicts(fig7.EXPERIMENT, rows)
    apart = found["overhead: distance of random to high correlation, at alpha 3 over that at 0.3"]
    assert (apart.measured, apart.held) == (pytest.approx(0.25), True)


def test_no_point_of_a_curve_that_cannot_be_read_is_called_published() -> None:
    rows = [made_up(point(QUICK, VITIS, pattern)) for pattern in PATTERNS]
    for experiment in (fig4.EXPERIMENT, fig5.EXPERIMENT, fig6.EXPERIMENT, fig7.EXPERIMENT):
        assert not any(series.published for chart in experiment.charts(rows) for series in chart.series)


def test_what_was_not_run_says_so_in_every_figure_and_the_page_is_whole() -> None:
    outcomes = [outcome(experiment, [], "quick") for experiment in PAPERS["vitis"] if not needs(experiment)]
    assert all(verdict.measured is None for one in outcomes for verdict in one.verdicts)
    assert "not run at this scale" in reproduction("vitis", "quick", outcomes)
    assert json.loads(claims_json("vitis", "quick", outcomes))["tally"]["held"] == 0


def test_a_message_is_owed_to_whoever_asked_long_enough_before_and_stays() -> None:
    life = Life(at=30, source=9)
    life.delivered = {1: 33, 3: 45, 5: 31}
    stays = [
        Stay(1, 20, NEVER),  # owed, and has it
        Stay(2, 20, NEVER),  # owed, and has it not
        Stay(3, 0, 40),  # leaves too early to count
        Stay(4, 21, NEVER),  # came too late to count
        Stay(5, 0, 50),  # owed
        Stay(9, 0, NEVER),  # said it itself
    ]
    found = fate(life, stays, grace=10, stay=20)
    assert (found.at, found.owed, found.made) == (30, 3, 2)
