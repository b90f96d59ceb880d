"""The experiments of daMulticast: short forms of their runs, and what their claims say of made-up rows."""

from __future__ import annotations

import json
from math import log
from typing import Any

import pytest

from trellis.experiments import PAPERS, experiments_of, outcome
from trellis.experiments.claim import Claim, judge
from trellis.experiments.damulticast import failing, fig4, fig5, memory, setting, table1, table2, tradeoff
from trellis.experiments.damulticast.setting import (
    APPEARING,
    BROADCAST,
    DA,
    DEEP,
    HIERARCHICAL,
    MULTICAST,
    ROOT,
    SHALLOW,
    STEEP,
    STILLBORN,
    measured,
    point,
)  # fmt: skip
from trellis.metrics.summary import Interval
from trellis.report.reproduction import claims_json, reproduction

IDS = [experiment.id for experiment in PAPERS["damulticast"]]
SMALL = (60, 20, 8)


def verdicts(experiment: Any, rows: list[Any]) -> dict[str, Any]:
    return {verdict.claim: verdict for verdict in outcome(experiment, rows, "quick").verdicts}


def made_up(told: dict[str, Any], reached: list[int], last: int = 8, **more: Any) -> dict[str, Any]:
    """A run in which so many of each group got the event."""
    groups = [
        {"size": size, "living": size, "reached": got, "first": 0 if got else -1, "last": last if got else -1}
        for size, got in zip(told["sizes"], reached, strict=True)
    ]
    common = {"run": json.dumps([told, reached, last]), "settings": {**told, "seed": 1}, "sent": {"GOSSIP": 9}}
    return common | {"groups": groups, "silence": last + 1, "parasites": 0} | more


def test_every_figure_and_table_of_the_paper_is_in_the_registry() -> None:
    assert IDS == ["fig4", "fig5", "table1", "table2", "memory", "tradeoff", "repair"]
    published = {claim.published for experiment in PAPERS["damulticast"] for claim in experiment.claims}
    assert {8.91, 8.83, 13.08, 4.63, 4.39, 4.31, 0, 11_216, 1_699, 3_739} <= published


@pytest.mark.parametrize("figure", ["fig4", "fig5"])
def test_no_point_of_a_curve_that_cannot_be_read_is_called_published(figure: str) -> None:
    (experiment,) = experiments_of("damulticast", [figure])
    rows = [made_up(point(STEEP, stillborn=share), [900, 90, 9]) for share in (0.0, 0.5)]
    assert not any(series.published for chart in experiment.charts(rows) for series in chart.series)


def test_a_run_keeps_what_its_trace_says_of_each_group_and_is_the_same_every_time() -> None:
    told = point(SMALL)  # type: ignore[arg-type]
    row = measured(told, 3)
    assert row == measured(told, 3)
    assert [group["size"] for group in row["groups"]] == list(SMALL)
    assert row["groups"][0]["first"] == 0
    assert setting.rounds(row) == max(group["last"] for group in row["groups"])
    assert setting.silence(row) == row["silence"]
    assert row["silence"] == setting.rounds(row) + 1, "who gets it last sends it once more, in vain"
    assert row["parasites"] == 0
    assert sum(row["sent"].values()) > 60 * log(60)
    assert json.loads(json.dumps(row)) == row, "a table is kept as JSON"


def test_who_is_dead_counts_among_all_and_not_among_the_living() -> None:
    row = measured(point(SMALL, stillborn=0.5), 1)
    assert sum(group["living"] for group in row["groups"]) == 44
    assert setting.of_all(row, 0) <= row["groups"][0]["living"] / 60
    living = setting.of_living(row, 0)
    assert living is not None
    assert living > setting.of_all(row, 0)


def test_a_process_that_only_appears_crashed_takes_packets_and_lives() -> None:
    row, calm = (measured(point(SMALL, appearing=share), 1) for share in (0.5, 0.0))
    assert [group["living"] for group in row["groups"]] == list(SMALL)
    assert row["run"] != calm["run"]


def test_stacks_are_compared_under_the_same_luck_and_points_each_have_their_own() -> None:
    assert setting.seed_of(point(STEEP), 0) == setting.seed_of(point(STEEP, BROADCAST), 0)
    assert setting.seed_of(point(STEEP), 0) == setting.seed_of(point(STEEP, c=3), 0)
    seeds = {setting.seed_of(point(STEEP, stillborn=n / 10), k) for n in range(9) for k in range(9)}
    assert len(seeds) == 81


def test_figure_4_in_short_lies_by_the_computed_curve() -> None:
    """The lowest group alone: what is above it depends on few draws."""
    for share in (0.3, 0.6):
        rows = [measured(point(STEEP, stillborn=share), seed) for seed in range(2)]
        expected = failing.drawn(STILLBORN, share)[0].share
        for row in rows:
            assert setting.of_living(row, 0) == pytest.approx(expected, abs=0.05)


def test_the_root_is_lowest_over_all_shares_and_each_figure_has_its_own_runs() -> None:
    rows = [
        made_up(point(STEEP), [1000, 100, 10]),
        made_up(point(STEEP, stillborn=0.5), [500, 40, 2]),
        made_up(point(STEEP, appearing=0.5), [1000, 90, 10]),
    ]
    found = verdicts(fig4.EXPERIMENT, rows)
    lowest = found["the root is reached least: T0 over T1, means over all failing shares"]
    assert (lowest.measured, lowest.held) == (pytest.approx(0.6 / 0.7), True)
    other = verdicts(fig5.EXPERIMENT, rows)
    assert not other["the root is reached least: T0 over T1, means over all failing shares"].held
    gain = other["half fail: T2 is reached much better than in Figure 4 (ten points), of all processes"]
    assert (gain.measured, gain.held) == (50.0, True)


def test_the_printed_formula_is_too_good_and_ours_is_not() -> None:
    assert failing.printed(STILLBORN, 0.0, 2) == pytest.approx(0.980, abs=5e-4)
    assert failing.drawn(STILLBORN, 0.0)[2].whole == pytest.approx(0.919, abs=5e-4)
    assert failing.printed(STILLBORN, 0.5, 0) == pytest.approx(0.993, abs=5e-4), "it knows no losses inside a group"
    assert failing.drawn(STILLBORN, 0.5)[0].whole < 0.1
    assert failing.drawn(APPEARING, 0.5)[2].share > failing.drawn(STILLBORN, 0.5)[2].share


def test_rounds_count_where_the_root_has_it_and_are_held_within_ten_percent() -> None:
    rows = [made_up(point(SHALLOW), [100, 100, 100], last=8), made_up(point(SHALLOW), [100, 100, 0], last=3)]
    rows.append(made_up(point(DEEP), [100] * 5, last=16))
    found = verdicts(table1.EXPERIMENT, rows)
    near = found["daMulticast, 100 x 3: rounds until the last has it"]
    assert (near.measured, near.held, near.runs) == (8.0, True, 1)
    assert near.reason == "within 10% (-9.4%)"
    far = found["daMulticast, 100 x 5: rounds until the last has it"]
    assert (far.measured, far.held) == (16.0, False)
    assert far.reason.startswith("not within 10% (+22.3%)")
    assert found["broadcast (a), 100 x 3: rounds until the last has it"].measured is None


def test_a_claim_without_a_word_is_held_within_three_percent() -> None:
    claim = Claim("x", 100.0, lambda rows: Interval(104.0, 0.0, None, 1))
    assert not judge("x", claim, [], "quick").held
    assert judge("x", claim._replace(within=0.05), [], "quick").held


def test_table_2_in_short() -> None:
    """Few runs of the smallest topology: broadcast near the published figure, daMulticast without a single one."""
    rows = [measured(point(SHALLOW, overlay, group=ROOT), seed) for overlay in (DA, BROADCAST) for seed in range(4)]
    found = verdicts(table2.EXPERIMENT, rows)
    assert found["daMulticast, 100 x 3: parasites of an event of the root topic"].measured == 0
    assert found["broadcast (a), 100 x 3: parasites of an event of the root topic"].held
    rows[0]["parasites"] = 1
    assert not verdicts(table2.EXPERIMENT, rows)["daMulticast, 100 x 3: parasites of an event of the root topic"].held


@pytest.mark.parametrize("overlay", [DA, BROADCAST, MULTICAST, HIERARCHICAL])
@pytest.mark.parametrize("group", memory.PLACES)
def test_memory_is_that_of_the_formulas_where_these_speak_of_the_same_tables(overlay: str, group: int) -> None:
    sizes = (100,) * 12  # groups enough that nobody knows all of them
    found = memory.entries(overlay, sizes, group)
    if overlay == MULTICAST:  # who subscribes above is in the groups below, which the formula leaves out
        assert sum(found) / len(found) > memory.formula(overlay, sizes, group)
    else:
        assert sum(found) / len(found) == pytest.approx(memory.formula(overlay, sizes, group), abs=0.3)


def test_what_a_process_of_daMulticast_knows_does_not_grow_with_the_path() -> None:
    short, long = (sum(memory.entries(DA, (100,) * depth, 0)) / 40 for depth in (2, 20))
    assert short == pytest.approx(long, abs=0.2)


def test_the_trade_off_counts_everybody_of_all_groups() -> None:
    rows = [made_up(point(SHALLOW, c=3), reached) for reached in ([100] * 3, [100, 99, 100], [100] * 3, [100] * 3)]
    found = verdicts(tradeoff.EXPERIMENT, rows)
    assert found["(wanted) c = 3: everybody gets it, beside ours with D1, D2"].measured == 0.75
    rows = [made_up(point(SHALLOW), [100, 100, 100 * (n > 0)]) for n in range(10)]
    limit = next(v for says, v in verdicts(tradeoff.EXPERIMENT, rows).items() if "the limit of 5.5.3" in says)
    assert limit.measured == pytest.approx(-log(-3 * log(0.9**0.5)))
    assert not limit.held


def test_the_page_is_whole_with_few_rows_and_with_none() -> None:
    few = [made_up(point(STEEP, stillborn=0.5), [400, 40, 0]), made_up(point(STEEP), [999, 100, 10])]
    known = [memory.row_of(DA, STEEP, ROOT)]
    for rows, tables in ((few, known), ([], [])):
        outcomes = [
            outcome(experiment, tables if experiment.id == "memory" else rows, "quick")
            for experiment in experiments_of("damulticast")
        ]
        claims = json.loads(claims_json("damulticast", "quick", outcomes))["claims"]
        page = reproduction("damulticast", "quick", outcomes)
        assert all(claim["claim"].replace("'", "&#x27;") in page for claim in claims)
        assert "http" not in page
    assert not any(claim["held"] for claim in claims)
