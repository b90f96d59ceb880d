"""The experiments of Vitis: short forms of their runs, and what their claims say of made-up rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trellis.experiments import PAPERS, outcome
from trellis.experiments.experiment import needs
from trellis.experiments.vitis import fig4, fig5, fig6, fig7, fig8, fig10, fig11, fig12, repair, savings, setting
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
    found = {"owed": 100, "made": 100, "promised": 100, "kept": 100, "overhead": overhead, "delay": delay}
    return common | found | {"shares": binned([overhead] * 10), "links": [[15, 10]], "fates": []} | more


def test_every_figure_of_the_paper_is_in_the_registry_and_says_what_data_it_needs() -> None:
    told = {experiment.id: needs(experiment) for experiment in PAPERS["vitis"]}
    assert list(told) == ["savings", "fig4", "fig5", "fig6", "fig7", "fig8", "fig10", "fig11", "fig12", "repair"]
    assert {id for id, data in told.items() if data == ("follows",)} == {"fig8", "fig10", "fig11"}
    assert {id for id, data in told.items() if data == ("sessions",)} == {"fig12", "repair"}
    published = {claim.published for experiment in PAPERS["vitis"] for claim in experiment.claims}
    assert {100, 88, 1 / 3, 40, 75, 1.65, 80, 30, 43, 1.5, 1.7, 0.3, 708, 99, 87} <= published


def test_every_run_that_a_figure_shares_with_others_is_made_once() -> None:
    names = [table.name for experiment in PAPERS["vitis"] for table in experiment.tables]
    assert set(names) >= {"usual", "friends", "sizes", "rates"}
    assert names.count("usual") == 4
    assert names.count("friends") == 1


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


@pytest.mark.parametrize("overlay", [VITIS, RVR, OPT])
def test_both_engines_make_the_same_row(overlay: str, monkeypatch) -> None:
    asked = task(point(SMALL, overlay, RANDOM))
    rows = []
    for compiled in (False, True):
        monkeypatch.setattr(setting, "is_for_the_compiled", lambda _, compiled=compiled: compiled)
        rows.append(measured(asked))
    assert [row.pop("engine") for row in rows] == ["reference", "fast"]
    assert rows[0] == rows[1]


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


def followed(overlay: str, table: int, **more: Any) -> dict[str, Any]:
    told = setting.machine(overlay, table=table) | {"pattern": "follows", "alpha": 0.0, "nodes": 10, "drain": 5}
    return made_up(told, **more)


def test_figures_10_and_11_are_judged_by_the_ends_of_the_axis_and_by_the_worst_run() -> None:
    rows = [
        followed(VITIS, 15, overhead=0.35, delay=2.0),
        followed(VITIS, 35, overhead=0.3, delay=2.0, made=99),
        followed(RVR, 15, overhead=0.5, delay=3.2),
        followed(RVR, 35, overhead=0.6, delay=2.8),
        followed(OPT, 15, overhead=0.0, delay=5.0, made=60),
        followed(OPT, 35, overhead=0.0, delay=4.0, made=80),
        followed(OPT, 0, overhead=0.0, links=[[10, 3], [16, 6], [708, 1]]),
    ]
    found = verdicts(fig10.EXPERIMENT, rows)
    assert found["15 entries: overhead of Vitis below RVR's"].measured == pytest.approx(30.0)
    assert found["35 entries: overhead of Vitis below RVR's"].measured == pytest.approx(50.0)
    assert found["Vitis: hit ratio, the worst run"].measured == 99
    assert found["OPT, 35 entries: hit ratio"].held
    assert found["OPT: overhead, the worst run"].held
    assert found["delay of RVR over that of Vitis, where least"].measured == pytest.approx(1.4)
    assert found["delay of OPT over that of Vitis, where least"].measured == pytest.approx(2.0)
    found = verdicts(fig11.EXPERIMENT, rows)
    assert found["nodes with more than 15 links"].measured == pytest.approx(70.0)
    assert found["nodes with more than 200 links"].measured == pytest.approx(10.0)
    assert found["the most links of a node"].held


def test_degrees_are_shown_as_how_many_have_at_least_so_many() -> None:
    points = fig8.at_least([[0, 4], [1, 3], [2, 2], [60, 1]])
    assert {x: found.mean for x, found in points.items()} == {1: 6, 2: 3, 5: 1, 10: 1, 20: 1, 50: 1}


def churned(overlay: str, view: str, fates: list[list[int]], repaired: int = 0, **more: Any) -> dict[str, Any]:
    told = point(QUICK, overlay, LOW, repair=repaired) | {"grace": 10, "crowd": 60, "view": view}
    return made_up(told, fates=fates, **more)


def test_figure_12_is_judged_by_the_worst_ten_seconds_and_beside_the_time_before() -> None:
    #         at, owed, made, received, in vain, hops, reached
    calm = [[45, 100, 100, 200, 20, 300, 100], [55, 100, 100, 200, 20, 300, 100]]
    crowd = [[60, 40, 40, 100, 30, 100, 40], [69, 60, 56, 100, 10, 140, 60], [95, 200, 200, 400, 40, 800, 200]]
    row = churned(VITIS, fig12.AS_IT_IS, calm + crowd)
    assert fig12.when(row, fig12.hit) == {-20: 100, -10: 100, 0: 96, 30: 100}
    found = verdicts(fig12.EXPERIMENT, [row])
    worst = found["Vitis, as it is: hit ratio in the worst ten seconds"]
    assert (worst.measured, worst.held) == (96, False)
    assert "torn" in worst.reason
    more = found["Vitis, as it is: highest overhead within 30 s of the crowd, over that before (increases slightly)"]
    assert (more.measured, more.held) == (pytest.approx(2.0), True)
    slower = found["Vitis, as it is: delay from 30 s after the crowd on, over that before (a larger network)"]
    assert slower.measured == pytest.approx(4 / 3)
    assert found["RVR, as it is: hit ratio in the worst ten seconds"].measured is None
    assert len(fig12.EXPERIMENT.charts([row])) == 3


def test_repair_is_judged_by_its_own_run_and_not_by_the_printed_one() -> None:
    fates = [[70, 10, 9, 1, 0, 1, 1]]
    rows = [
        churned(VITIS, fig12.AS_IT_IS, fates, kept=90, made=90),
        churned(VITIS, fig12.AS_IT_IS, fates, repaired=1, made=99),
    ]
    found = verdicts(repair.EXPERIMENT, rows)
    assert found["(wanted) repaired: of what is promised, brought in the end"].held
    assert found["(wanted) repaired: of what is owed, brought in the end"].measured == 99
    assert [series.name for series in repair.EXPERIMENT.charts(rows)[0].series] == ["Vitis, printed", "Vitis, repaired"]


def test_a_small_world_with_a_crowd_counts_who_came_up_before_and_who_stays() -> None:
    """Ten of forty nodes come up in round 30: what is published before round 36 is not owed to them."""
    size = Size(nodes=40, topics=20, each=6, buckets=4, grow=24, events=40, per=2, drain=25)
    told = point(size, VITIS, HIGH) | {"grace": 6, "crowd": 30, "view": fig12.ONLY_COMING}
    late = [{"kind": "crash", "at": 0, "node": node, "restart": 30} for node in range(10)]
    row = measured(task(told, more={"faults": {"events": late}}))
    assert [fate[0] for fate in row["fates"]] == list(range(24, 44))
    calm = [fate for fate in row["fates"] if fate[0] < 30]
    assert sum(fate[1] for fate in calm) == sum(fate[2] for fate in calm) > 0
    assert sum(nodes for _, nodes in row["links"]) == 40
    assert row["owed"] == sum(fate[1] for fate in row["fates"]) >= row["made"] > 0


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
