"""The experiments of TNO: what they measure on small sizes, and what their claims say of made-up rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trellis.experiments import PAPERS, experiments_of, outcome, scale_of
from trellis.experiments.experiment import Table, ran
from trellis.experiments.reproduce import kept
from trellis.experiments.tno import fig7, fig9, fig11, fig13, headers, overlap, rivals, stamping
from trellis.protocols.parts.deltas import Restorer
from trellis.protocols.parts.groups import ALONE, SHARED, WIDE
from trellis.report.reproduction import claims_json, reproduction
from trellis.scenario.grid import points

IDS = [experiment.id for experiment in PAPERS["tno"]]


def verdicts(experiment: Any, rows: list[Any]) -> dict[str, Any]:
    return {verdict.claim: verdict for verdict in outcome(experiment, rows, "quick").verdicts}


@pytest.fixture
def small(monkeypatch) -> None:
    """5 sites with 10 clients each and 50 topics."""
    for module in (stamping, headers):
        monkeypatch.setattr(module, "TOPICS", 50)
        monkeypatch.setattr(module, "CLIENTS", 50)


def measured(seed: int = 1, **more: Any) -> dict[str, Any]:
    return stamping.measured(stamping.point(**{"shape": 0.349, "rate": 1000, "each": 5, **more}), 1.0, seed)


def test_every_published_number_has_its_claim() -> None:
    assert IDS == ["fig7", "overlap", "headers", "fig9", "fig11", "fig13", "rivals"]
    published = {claim.published for experiment in PAPERS["tno"] for claim in experiment.claims}
    assert {17, 46, 300, 4000, 0, 1} <= published


def test_the_timestamps_alone_take_no_way_and_those_of_groups_do(small) -> None:
    """Without groups a request is a way there and back, 20 ms at home and 200 ms elsewhere."""
    alone, shared = (measured(rule=rule) for rule in (ALONE, SHARED))
    assert 20 < alone["latency"] < shared["latency"]
    assert (alone["entries"], alone["outgoing"], alone["returned"]) == (1.0, [0.0] * 5, 0)
    assert shared["entries"] > 1
    assert shared["outgoing"][0] == 0, "nobody ranks above site 1"
    assert max(shared["outgoing"]) > 0
    assert alone["throughput"] > shared["throughput"] > 0
    assert measured() == shared, "the same run every time"


def test_one_server_for_all_answers_as_often_as_its_service_allows_and_for_several_messages_at_once(small) -> None:
    found = measured(desks=1, rate=10_000, patient=False)
    assert 1000 < found["throughput"] < 5000


def test_deltas_are_measured_by_the_real_ends_and_a_wrong_one_is_noticed(small, monkeypatch) -> None:
    few, many = headers.rows_of(0.349, headers.CLIENT, (100, 1000), 3)
    assert few["carried"] < many["carried"] <= 3000
    assert 1 < many["topics"] < many["entries"] < 50, "most events are on topics that share subscribers with many"
    size = many["bytes"]
    assert size[headers.WANTED] <= size[headers.DELTAS] < size[headers.ZLIB] < size[headers.PLAIN]
    assert size[headers.DELTAS] < few["bytes"][headers.DELTAS], "the first of each topic is whole"
    monkeypatch.setattr(Restorer, "restore", lambda self, topic, sent: ())
    with pytest.raises(AssertionError, match="not what was sent"):
        headers.rows_of(0.349, headers.CLIENT, (100,), 3)


@pytest.mark.parametrize("each", [1, 3, 10, 40])
@pytest.mark.parametrize("count", [10, 50])
def test_without_overlap_a_timestamp_has_one_entry_whatever_the_number_of_topics(each: int, count: int) -> None:
    assert overlap.row_of(overlap.DISJOINT, count, each, SHARED)["most"] == 1
    assert overlap.row_of(overlap.DISJOINT, count, each, WIDE)["most"] == each
    assert overlap.row_of(overlap.TWINS, count, each, SHARED)["entries"] == each


def test_one_timestamp_with_two_entries_is_found_among_all_that_have_one() -> None:
    rows = [overlap.row_of(overlap.DISJOINT, count, 10, SHARED) for count in (10, 100)]
    says = "nothing in common, 10 topics each: entries of the largest timestamp"
    assert verdicts(overlap.EXPERIMENT, rows)[says].held
    assert not verdicts(overlap.EXPERIMENT, [*rows, rows[0] | {"most": 2}])[says].held


def test_a_size_is_held_within_three_percent_and_the_mean_over_events_is_another() -> None:
    def row(rule: str, topics: float, events: float) -> dict[str, Any]:
        settings = {"shape": 0.901, "each": 10, "rule": rule, "thousands": 100, "seed": 0}
        return {"run": rule, "settings": settings, "sent": {}, "topics": topics, "spread": 1.0, "events": events}

    found = verdicts(fig7.EXPERIMENT, [row(SHARED, 17.4, 520.0), row(WIDE, 34.0, 730.0)])
    first = found["0.901, 10 topics a client: mean entries over topics"]
    assert (first.held, first.by_fit) == (True, True)
    assert found["0.901, 10 topics a client: mean over events, against the printed size"].measured == 520.0
    assert found["0.349, 10 topics a client: mean entries over topics"].measured is None


def run_row(latency: float, throughput: float, outgoing: list[float] | None = None, **settings: Any) -> dict[str, Any]:
    told = stamping.point(**{"rate": 1000, **settings}) | {"thousands": 10}
    shares = outgoing or [0.0] * 5
    common = {"run": json.dumps(told), "settings": told, "sent": {"ASK": 1}, "outgoing": shares}
    return common | {"latency": latency, "throughput": throughput}


def test_the_worst_rate_decides_about_latency_and_only_patient_clients_count() -> None:
    rows = [run_row(ms, 4100.0, shape=0.901, rate=rate) for rate, ms in ((5000, 90.0), (10_000, 310.0))]
    rows.append(run_row(900.0, 9.0, shape=0.901, rate=5000, patient=False))
    found = verdicts(fig9.EXPERIMENT, rows)
    worst = found["0.901: mean latency, the worst rate up to 10,000 a second"]
    assert (worst.measured, worst.held) == (310.0, False)
    assert found["0.901: timestamps a second at 5,000 requests"].held
    assert found["0.901: the peak is at 5,000: at 10,000 over at 5,000"].measured == 1.0


def test_shares_of_sites_are_counted_from_one() -> None:
    rows = [
        run_row(1.0, 1.0, [0.0, 0.0, 0.5, 20.0, 90.0], shape=0.901),
        run_row(1.0, 1.0, [0.0, 50.0, 60.0, 70.0, 95.0], shape=0.349),
    ]
    found = verdicts(fig11.EXPERIMENT, rows)
    assert [v.held for v in found.values()] == [True] * 9 + [False]
    assert found["0.901: site 4 forwards"].measured == 20.0
    assert found["site 5: 0.349 considerably above 0.901 (ten points)"].measured == 5.0


def test_more_subscriptions_are_compared_with_the_fewest() -> None:
    rows = [run_row(100.0 * n, 1000.0 / n, shape=0.901, rate=5000, each=10 * n) for n in (1, 2, 4)]
    found = verdicts(fig13.EXPERIMENT, rows)
    assert (
        found["0.901: latency does not depend on the number of subscriptions: the most over the fewest"].measured == 4
    )
    assert not found["0.901: throughput does not either"].held


def test_the_gain_is_over_one_sequencer_for_all_and_never_over_itself() -> None:
    rows = [run_row(90.0, 3700.0, shape=0.901, rate=5000), run_row(70.0, 1000.0, shape=0.901, rate=5000, desks=1)]
    found = verdicts(rivals.EXPERIMENT, rows)
    assert found["0.901, 5,000 a second: multistage over one for all, timestamps a second"].measured == 3.7
    assert found["0.349, 5,000 a second: multistage over one for all, timestamps a second"].measured is None


def test_inversions_come_from_the_audit() -> None:
    rows = [
        {"run": name, "settings": {"stack.ordering": name}, "sent": {}, "violations": {"total": n}}
        for name, n in (("per-topic", 7), ("total", 0))
    ]
    found = verdicts(rivals.EXPERIMENT, rows)
    assert found["one per topic: inversions in a run (at least one is wanted)"].measured == 7
    assert found["multistage: inversions in a run"].held
    for scale in ("quick", "paper"):
        (grid,) = rivals.grids(scale_of(scale))
        assert grid.judge
        assert points(grid)


def test_the_page_is_whole_with_no_rows() -> None:
    outcomes = [outcome(experiment, [], "quick") for experiment in experiments_of("tno")]
    claims = json.loads(claims_json("tno", "quick", outcomes))["claims"]
    page = reproduction("tno", "quick", outcomes)
    assert all(claim["claim"].replace("`", "") in page.replace("`", "") for claim in claims)
    assert not any(claim["held"] for claim in claims)


def test_a_kept_table_is_made_anew_only_for_another_engine(tmp_path: Path) -> None:
    made: list[str] = []

    def rows(spark: Any, scale: str, engine: str) -> list[Any]:
        made.append(engine)
        return [{"run": "a", "settings": {}, "sent": {}, "engine": "reference" if engine == "auto" else engine}]

    table = Table("some", rows, engines=True)
    for engine in ("auto", "reference", "auto", "fast", "fast", "auto", "reference"):
        kept(None, table, "quick", tmp_path / "some.json", {}, engine)  # type: ignore[arg-type]
    assert made == ["auto", "fast", "reference"]
    (found,), _ = kept(None, table, "quick", tmp_path / "some.json")  # type: ignore[arg-type]
    experiment = fig7.EXPERIMENT._replace(tables=(table,))
    assert ran(experiment, [found], "quick") == "1 rows (engine reference)"
