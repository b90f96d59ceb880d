"""Metrics on Spark beside their plain twins, run by run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from comings import comings

from trellis.metrics import traffic
from trellis.metrics.hits import hits
from trellis.metrics.latency import latencies
from trellis.metrics.summary import interval, summary
from trellis.pipeline import metrics
from trellis.sim import Run, run
from trellis.swarm import make_hasty, schedule
from trellis.swarm.trees import trees


@pytest.fixture(scope="module")
def finished() -> dict[str, Run]:
    stacks = ["vcube", "vcube-printed", "single-root"]
    calm = {f"{overlay} {seed}": run(schedule(seed, overlay, "causal")) for overlay in stacks for seed in range(6)}
    hasty = {f"hasty {seed}": run(make_hasty(schedule(seed, "vcube", "total"))) for seed in (1, 2, 3, 5, 6)}
    assert all(len(result.trace.of_kind("late")) for result in hasty.values())
    coming = {f"coming {seed}": run(comings(seed, upkeep=False)) for seed in range(2)}
    return calm | hasty | coming | {f"tree {seed}": run(trees(seed, "vcube", "causal")) for seed in range(6)}


@pytest.fixture(scope="module")
def traces(spark, finished: dict[str, Run]):
    """All traces as one table."""
    tables = [
        result.trace.table.append_column("run", pa.array([name] * len(result.trace))).unify_dictionaries()
        for name, result in finished.items()
    ]
    plain = pa.schema(
        [pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in tables[0].schema]
    )
    return spark.createDataFrame(pa.concat_tables([table.cast(plain) for table in tables])).cache()


def by_run(table: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.toArrow().to_pylist():
        found.setdefault(row.pop("run"), []).append(row)
    return found


def test_latencies_and_their_summaries(traces, finished) -> None:
    table = metrics.latencies(traces)
    rows, summaries = by_run(table), by_run(metrics.summaries(table, "reception", "delivery", "delay"))
    for name, result in finished.items():
        plain = latencies(result.trace)
        pairs = sorted(zip(plain.reception.tolist(), plain.delivery.tolist(), strict=True))
        assert sorted((row["reception"], row["delivery"]) for row in rows.get(name, [])) == pairs
        assert all(row["delay"] == row["delivery"] - row["reception"] for row in rows.get(name, []))
        told = {row["measure"]: row for row in summaries.get(name, [])}
        for measure, values in (("reception", plain.reception), ("delivery", plain.delivery)):
            expected = summary(values)
            assert told[measure]["mean"] == pytest.approx(expected.mean)
            assert told[measure]["std"] == pytest.approx(expected.std)
            counts = (told[measure]["min"], told[measure]["max"], told[measure]["count"])
            assert counts == (expected.min, expected.max, expected.count)


def test_packets_barriers_and_false_positives(traces, finished) -> None:
    sent, barriers = by_run(metrics.sent(traces)), by_run(metrics.barriers(traces))
    false_positives = by_run(metrics.false_positives(traces))
    for name, result in finished.items():
        assert {row["packet"]: row["count"] for row in sent[name]} == traffic.sent(result.trace)
        assert {row["barrier"]: row["count"] for row in barriers[name]} == traffic.barriers(result.trace)
        assert false_positives[name] == [{"false_positives": traffic.false_positives(result.trace)}]
    assert any(traffic.false_positives(result.trace) for result in finished.values())


def test_queues_per_node(traces, finished) -> None:
    found = by_run(metrics.queues(traces))
    for name, result in finished.items():
        nodes = result.scenario.nodes.count
        mean = traffic.mean_queue(result.trace, nodes)
        told = {row["node"]: row for row in found[name]}
        assert [told[n]["mean"] if n in told else 0.0 for n in range(nodes)] == pytest.approx(mean.tolist())
        assert max(row["longest"] for row in told.values()) == traffic.queues(result.trace, nodes).max


@pytest.mark.parametrize("quiet", [True, False])
def test_hit_ratios(traces, finished, quiet: bool) -> None:
    found = by_run(metrics.hits(traces, quiet))
    for name, result in finished.items():
        plain = hits(result.trace, quiet)
        told = found.get(name, [{"owed": 0, "made": 0}])[0]
        assert (told["owed"], told["made"]) == (plain.owed, plain.made)


def test_means_over_repetitions_have_their_intervals_and_leave_failures_out(spark) -> None:
    values = {0: [1.0, 2.0, 4.0], 1: [5.0]}
    rows = [
        {"point": point, "settings": {"nodes.count": "8"}, "x": x, "error": ""}
        for point in values
        for x in values[point]
    ] + [{"point": 1, "settings": {"nodes.count": "8"}, "x": 99.0, "error": "it broke"}]
    runs = spark.createDataFrame(rows, "point bigint, settings map<string,string>, x double, error string")
    found = metrics.over_repetitions(runs, x="x", twice="2 * x").toArrow().to_pylist()
    assert len(found) == 4
    for row in found:
        factor = 2 if row["measure"] == "twice" else 1
        expected = interval([factor * x for x in values[row["point"]]])
        assert (row["mean"], row["std"], row["half"], row["count"]) == pytest.approx(
            (expected.mean, expected.std, expected.half, expected.count)
        )
