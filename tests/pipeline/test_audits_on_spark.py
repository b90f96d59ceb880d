"""Twins: the audits on Spark beside the plain ones. Thousands of small traces, sound and spoilt, in one table.

Same verdicts, same witnesses, in the same order, and every kind of planted violation is noticed.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from comings import comings
from planting import ODDITIES, VIOLATIONS, answer_elsewhere, hold_ones_own_back, leave_before_ones_own_turn

from trellis.audit import AUDITS, Witness, needed_rows, pairs_checked
from trellis.audit import judge as judge_plainly
from trellis.pipeline.audit import Case, judge
from trellis.pipeline.audit.columns import IN_ORDER, WITNESS, witness_of
from trellis.sim import run
from trellis.swarm import break_things, make_hasty, schedule
from trellis.swarm.trees import trees
from trellis.trace.rows import Row, spark_ddl
from trellis.trace.table import Trace, trace_of

SOUND = 700
NOT_PROMISED = ("total", "across")  # by causal order


class World(NamedTuple):
    traces: dict[str, Trace]
    planted: dict[str, str]  # run -> name of the planting
    base: dict[str, str]  # run -> the sound run that was spoilt


@pytest.fixture(scope="module")
def world() -> World:
    """Sound runs, the same runs spoilt in one way or two, and runs that break by themselves: of the printed form, and
    of sequencers that do not know of each other. Runs of several topics among them.
    """
    made = World({}, {}, {})
    for seed in range(SOUND):
        calm = (trees if seed % 5 == 4 else schedule)(seed, "vcube", "causal")
        sound = run(break_things(calm) if seed % 4 == 3 else calm).trace
        made.traces[f"sound-{seed}"] = shorter(sound, seed)
        random = Random(seed)
        rows = list(made.traces[f"sound-{seed}"].rows())
        for plant in [
            list(VIOLATIONS)[seed % len(VIOLATIONS)],
            *([ODDITIES[seed // 3 % len(ODDITIES)]] if seed % 3 == 0 else []),
        ]:
            if (spoilt := plant(rows, random)) is not None:
                name = f"{plant.__name__}-{seed}"
                made.traces[name] = trace_of(spoilt)
                made.planted[name] = plant.__name__
                made.base[name] = f"sound-{seed}"
    for seed in range(4):  # in rounds: nobody suspects anybody
        made.traces[f"coming-{seed}"] = run(comings(seed, upkeep=False)).trace
    for seed in range(100):
        made.traces[f"printed-{seed}"] = shorter(run(schedule(seed, "vcube-printed", "causal")).trace, seed)
    for seed in range(60):
        for ordering in ("total", "per-topic"):
            made.traces[f"{ordering}-{seed}"] = shorter(run(schedule(seed, "vcube", ordering)).trace, seed)
        made.traces[f"hasty-{seed}"] = shorter(run(make_hasty(schedule(seed, "vcube", "total"))).trace, seed)
        made.traces[f"untagged-{seed}"] = trace_of([in_its_place(row) for row in made.traces[f"hasty-{seed}"].rows()])
        rows = list(made.traces[f"total-{seed}"].rows())
        for plant in (hold_ones_own_back, leave_before_ones_own_turn, answer_elsewhere):
            if (spoilt := plant(rows, Random(seed))) is not None:
                made.traces[f"total-{plant.__name__}-{seed}"] = trace_of(spoilt)
    return made


def in_its_place(row: Row) -> Row:
    """A delivery that does not say that it is out of order."""
    return row._replace(kind="deliver") if row.kind == "late" else row


def shorter(trace: Trace, seed: int) -> Trace:
    """Most traces without the rows that no audit reads, to save time; every tenth as it is."""
    return trace if seed % 10 == 0 else trace_of(needed_rows(trace))


@pytest.fixture(scope="module")
def table(world, compiled, tmp_path_factory):
    """All of them in one table; the rows of a run do not stand together."""
    parts = [
        trace.table.append_column("run", pa.repeat(pa.scalar(name), len(trace))) for name, trace in world.traces.items()
    ]
    place = tmp_path_factory.mktemp("twins") / "all.parquet"
    pq.write_table(pa.concat_tables(parts).sort_by([("position", "ascending"), ("run", "descending")]), place)
    return compiled.read.schema(f"{spark_ddl()}, run STRING").parquet(place.as_uri())


def told(witnesses) -> dict[str, list[Witness]]:
    """The witnesses of each run, in order."""
    assert witnesses.columns == WITNESS
    found = defaultdict(list)
    for row in witnesses.orderBy("run", *IN_ORDER).collect():
        found[row.run].append(witness_of(row))
    return found


def plainly(world, audits, quiet) -> dict[str, dict[str, list[Witness]]]:
    found = {audit: defaultdict(list) for audit in audits}
    for name, trace in world.traces.items():
        for audit, witnesses in judge_plainly(trace, audits, quiet).items():
            if witnesses:
                found[audit][name] = witnesses
    return found


@pytest.fixture(scope="module")
def plain(world):
    return plainly(world, tuple(AUDITS), True)


def test_there_are_more_than_two_thousand_traces_sound_and_spoilt(world, plain):
    promised = {audit: found for audit, found in plain.items() if audit not in NOT_PROMISED}
    spoilt = [name for name in world.planted if any(found[name] for found in promised.values())]
    assert len(world.traces) > 2000  # as docs/pipeline-audit.md says
    assert sum(name.startswith("sound-") for name in world.traces) >= 700
    assert len(spoilt) >= 600
    assert not any(found[name] for found in promised.values() for name in world.traces if name.startswith("sound-"))


def test_every_kind_of_planted_violation_is_noticed(world, plain):
    for plant, audit in VIOLATIONS.items():
        runs = [name for name, planted in world.planted.items() if planted == plant.__name__]
        noticed = [name for name in runs if plain[audit][name] != plain[audit][world.base[name]]]
        assert len(noticed) > 10, plant.__name__


def test_sequencers_that_do_not_know_of_each_other_break_both_orders_across_topics(world, plain):
    alone = [name for name in world.traces if name.startswith("per-topic-")]
    assert sum(bool(plain["total"][name]) for name in alone) > 10
    assert sum(bool(plain["across"][name]) for name in alone) > 10
    assert not any(plain["total"][f"total-{seed}"] for seed in range(60))


def test_hasty_subscribers_keep_total_order_by_their_tags_and_only_by_them(world, plain):
    assert sum(len(world.traces[f"hasty-{seed}"].of_kind("late")) for seed in range(60)) > 1000
    for audit in ("creation", "duplicate", "uninvited", "fifo", "total", "lost", "stuck"):
        assert not any(plain[audit][f"hasty-{seed}"] for seed in range(60))
    assert sum(bool(plain["total"][f"untagged-{seed}"]) for seed in range(60)) > 30


@pytest.mark.parametrize(
    ("plant", "audit", "noticed"), [(hold_ones_own_back, "stuck", 40), (answer_elsewhere, "across", 60)]
)
def test_what_total_order_must_not_do_is_noticed_in_worlds_of_several_topics(plant, audit, noticed, plain):
    assert sum(bool(plain[audit][f"total-{plant.__name__}-{seed}"]) for seed in range(60)) >= noticed


def test_who_leaves_before_the_turn_of_its_own_message_has_lost_nothing(plain):
    left = [f"total-{leave_before_ones_own_turn.__name__}-{seed}" for seed in range(60)]
    assert not any(plain["lost"][name] or plain["stuck"][name] for name in left)


@pytest.fixture(scope="module")
def found(table, tmp_path_factory):
    judged = judge(table, AUDITS, True, tmp_path_factory.mktemp("work"))
    return {audit: told(witnesses) for audit, witnesses in judged.items()}


@pytest.mark.parametrize("audit", AUDITS)
def test_the_audit_on_spark_finds_what_the_plain_one_finds(audit, plain, found):
    assert {name: told for name, told in plain[audit].items() if told} == found[audit]


def test_runs_that_were_cut_short_owe_what_they_had_settled_and_are_not_judged_for_what_is_stuck(
    world, table, tmp_path
):
    some = world._replace(traces={name: trace for name, trace in world.traces.items() if name.endswith("3")})
    case = Case(table.where("run LIKE '%3'"), False, tmp_path / "work")
    assert "stuck" not in judge(table.limit(0), ["stuck"], False, tmp_path / "none")
    lost = plainly(some, ["lost"], False)["lost"]
    assert told(case.witnesses("lost")) == lost
    assert len(lost) > 10
    pairs = {row.run: row["count"] for row in case.pairs_checked().collect()}
    assert pairs == {name: count for name, trace in some.traces.items() if (count := pairs_checked(trace, False))}


def test_a_trace_without_rows_has_no_witness_against_it(table, tmp_path):
    for audit, witnesses in judge(table.limit(0), AUDITS, True, tmp_path).items():
        assert witnesses.count() == 0, audit


def test_a_publisher_has_its_own_message_until_its_turn(spark, tmp_path):
    """Held back to the end it is stuck; and who leaves before has lost nothing, though the others have got it."""
    story = [("confirm", 0), ("publish", 1), ("settle", 1), ("unsubscribe", 0)]
    rows = [Row(n, n, 1, kind, "t", 1, 0, seq, "", -1, 0, seq, 0) for n, (kind, seq) in enumerate(story)]
    runs = {"stays": rows[:3], "leaves": rows}
    cells = [(name, *row) for name, listed in runs.items() for row in listed]
    table = spark.createDataFrame(cells, f"run STRING, {spark_ddl()}")
    found = {audit: told(witnesses) for audit, witnesses in judge(table, ["lost", "stuck"], True, tmp_path).items()}
    assert found == {"lost": {}, "stuck": {"stays": AUDITS["stuck"](runs["stays"])}}
    assert len(found["stuck"]["stays"]) == 1


def test_numbers_beyond_32_bits_are_compared_as_they_are(spark, tmp_path):
    """a -> x; node 9 delivers x before a, and a carries a number that no 32 bits hold."""
    big = 1 << 40
    story = [
        ("publish", 1, 1, big),
        ("deliver", 2, 1, big),
        ("publish", 2, 2, 1),
        ("deliver", 9, 2, 1),
        ("deliver", 9, 1, big),
    ]
    rows = [
        Row(n, n, node, kind, "t", source, 0, seq, "", -1, 0, 0, 0) for n, (kind, node, source, seq) in enumerate(story)
    ]
    table = spark.createDataFrame([("r", *row) for row in rows], ["run", *Row._fields])
    (found,) = judge(table, ["causal"], True, tmp_path)["causal"].collect()
    assert witness_of(found) == AUDITS["causal"](rows)[0]
