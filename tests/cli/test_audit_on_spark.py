"""`trellis audit --spark` says what `trellis audit` says: the same text, the same JSON, the same exit codes."""

from __future__ import annotations

import json
import shutil
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_input import PLAIN, changed, scenario_file

SPARK = ("--spark", "--master", "local[2]")


@pytest.fixture
def broken(tmp_path, trellis):
    """A run of the printed VCube-PS that loses messages; its path has characters in it that Spark would expand."""
    directory = tmp_path / "a run [1]"
    words = ("swarm", "--overlay", "vcube-printed", "--schedules", 1, "--seed", 5, "--out", directory)
    assert trellis(*words).code == 1
    return directory


def test_a_run_that_promised_causal_order_across_topics_is_judged_by_it(spark, trellis, tmp_path, monkeypatch):
    """What sequencers made that do not know of each other, told as if it had been promised more: as without Spark.

    And what Spark reads is not taken from it when the verdict is there: a stage whose answer nobody needs any more
    goes on for a while, and printed pages about files that were gone.
    """
    from trellis.pipeline.audit import runs

    assert (
        trellis("swarm", "--ordering", "per-topic", "--schedules", 1, "--seed", 2, "--out", tmp_path / "run").code == 1
    )
    run = tmp_path / "run" / "run.json"
    about = json.loads(run.read_text())
    about["ordering"] = about["scenario"]["stack"]["ordering"] = "total"
    for across in (0, 1):
        about["scenario"]["stack"]["across"] = across
        run.write_text(json.dumps(about))
        plain = trellis("audit", tmp_path / "run", "--json")
        violations = json.loads(plain.out)["violations"]
        assert ("across" in violations) is bool(across)
        assert violations["total"] > 0
    assert violations["across"] > 0
    seen = []
    read = runs.read
    monkeypatch.setattr(runs, "read", lambda *given: seen.append(read(*given)) or seen[-1])
    assert trellis("audit", tmp_path / "run", "--json", *SPARK) == plain
    (trace,) = seen
    assert trace.count() == pq.read_metadata(tmp_path / "run" / "trace.parquet").num_rows > 0


def test_no_more_witnesses_are_kept_than_are_asked_for_and_all_are_counted(spark, broken, monkeypatch):
    from trellis.audit.verdict import verdict_on
    from trellis.pipeline.audit import runs

    plain = verdict_on(broken, every=False)
    monkeypatch.setattr(runs, "asked_of", lambda *_: ("lost",))
    [found] = runs.verdicts_on(broken, every=False, shown_max=10, master=None)
    assert found.violations == {"lost": plain.violations["lost"]} == {"lost": 11}
    assert found.witnesses == {"lost": plain.witnesses["lost"][:10]}


def test_the_runs_of_a_sweep_are_judged_each_by_its_own_promises(
    spark, trellis, written, broken, tmp_path, monkeypatch
):
    from trellis.pipeline.audit import runs

    judged = cache(runs.verdicts_on)
    monkeypatch.setattr(runs, "verdicts_on", lambda directory, every, *_: judged(directory, every, None, "local[2]"))
    sweep = tmp_path / "sweep"
    short = {**changed(PLAIN, "end", 150), "stack": {"overlay": "vcube", "ordering": "fifo"}}
    trellis("run", scenario_file(tmp_path, short), "--out", tmp_path / "short")
    for name, directory in (("007", written), ("broken", broken), ("short", tmp_path / "short")):
        shutil.copytree(directory, sweep / "traces" / f"run={name}")
    outcome = trellis("audit", sweep, "--json", *SPARK)
    assert outcome.code == 1
    alone = [trellis("audit", sweep / "traces" / f"run={name}", "--json") for name in ("007", "broken", "short")]
    assert json.loads(outcome.out) == {"directory": str(sweep), "runs": [json.loads(told.out) for told in alone]}
    assert json.loads(alone[2].out)["not_judged"] == ["stuck"]
    told = trellis("audit", sweep, *SPARK)  # the same verdicts in words
    assert told.code == 1
    assert "BROKEN" in told.out
    assert told.out.endswith("2 kept all promises, 1 did not\n")


def test_a_sweep_without_traces_is_refused_before_spark_starts(refused, tmp_path):
    (tmp_path / "sweep" / "parts").mkdir(parents=True)
    assert "kept no traces" in refused("audit", tmp_path / "sweep", *SPARK)


def test_a_torn_or_foreign_trace_is_refused_in_one_line_before_spark_starts(refused, written):
    whole = (written / "trace.parquet").read_bytes()
    for length in (0, 4, len(whole) // 2, len(whole) - 1):
        (written / "trace.parquet").write_bytes(whole[:length])
        assert "trace.parquet: not a whole Parquet file (" in refused("audit", written, *SPARK)
    pq.write_table(pa.table({"x": [1]}), written / "trace.parquet")
    assert "column 'position' is missing" in refused("audit", written, *SPARK)


def test_flipped_bits_never_give_another_verdict(spark, trellis, written):
    """What Spark says of the whole file is what is said without it: see the runs of a sweep."""
    whole = (written / "trace.parquet").read_bytes()
    before = trellis("audit", written)
    for n in range(0, len(whole), len(whole) // 40):
        (written / "trace.parquet").write_bytes(whole[:n] + bytes([whole[n] ^ 1 << n % 8]) + whole[n + 1 :])
        plain = trellis("audit", written)
        if plain.code == 2:
            outcome = trellis("audit", written, *SPARK)
            assert outcome.code == 2
            assert outcome.err.count("\n") == 1
        else:
            assert plain == before


def test_rows_in_another_order_than_their_positions_are_refused(refused, written):
    from trellis.trace.table import Trace

    table = pq.read_table(written / "trace.parquet").take([1, 0])
    pq.write_table(table, written / "trace.parquet")
    about = json.loads((written / "run.json").read_text())
    (written / "run.json").write_text(json.dumps({**about, "digest": Trace(table).digest()}))
    assert "position does not go up" in refused("audit", written, *SPARK)


def test_a_place_without_runs_and_a_senseless_master_are_refused(refused, written, tmp_path):
    (tmp_path / "none" / "traces").mkdir(parents=True)
    assert "there is no run=<id> in it" in refused("audit", tmp_path / "none", *SPARK)
    assert "run.json: cannot be read (" in refused("audit", tmp_path / "nowhere", *SPARK)
    assert "add --spark" in refused("audit", written, "--master", "local[2]")
