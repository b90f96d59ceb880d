"""A run that keeps no trace: counted as it goes, with the same measures as from its rows."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import msgspec
import numpy as np
import pytest

from trellis.errors import TraceError, UnsupportedByEngine
from trellis.metrics.measures import measures
from trellis.metrics.summary import summary
from trellis.scenario.load import from_mapping
from trellis.sim import run
from trellis.sim.fast import TWINS
from trellis.swarm.twins import compare

COUNTED = [overlay for overlay, twin in TWINS.items() if twin.load().counts]


def scenario(overlay: str = "vcube-printed", **more):
    raw = {
        "name": "tallies",
        "seed": 5,
        "stack": {"overlay": overlay, "ordering": "causal"},
        "nodes": {"count": 24},
        "subscriptions": {"kind": "fraction", "fraction": 1.0},
        "workload": {"kind": "once-each", "publishers": 1.0, "window": 300},
        "network": {"kind": "queue", "service": 1, "propagation": 20},
    }
    return from_mapping(raw | more)


def test_all_overlays_of_trees_are_counted() -> None:
    assert set(COUNTED) >= {"vcube-printed", "vcube", "single-root", "brokers"}


def test_a_run_without_a_trace_says_so_to_whoever_looks_at_it() -> None:
    bare = run(scenario(), "fast", trace=False)
    with pytest.raises(TraceError, match="kept no trace"):
        len(bare.trace)
    with pytest.raises(TraceError, match="kept no trace"):
        bare.about()


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_what_was_not_traced_is_not_said_to_be_audited(engine: str) -> None:
    """Nor has it a digest, also where the engine could not do without its rows."""
    found = measures(run(scenario(), engine, trace=False))
    assert (found.digest, found.audited, found.violations) == (None, False, {})
    judged = measures(run(scenario(), engine))
    assert judged.audited
    assert judged.violations["causal"] == 0


def test_a_stack_without_a_kernel_that_counts_has_the_same_measures() -> None:
    plain = scenario(stack={"overlay": "single-root", "ordering": "fifo"})
    with_rows = measures(run(plain), judged=False)
    assert measures(run(plain, trace=False)) == msgspec.structs.replace(with_rows, digest=None)


@pytest.mark.parametrize("overlay", COUNTED)
def test_many_different_delays_and_messages_at_once_get_more_room(overlay: str) -> None:
    """More delays than the table has room for at first, and more messages on their way than nodes that speak."""
    said = [{"at": 3 * n, "node": n % 20, "topic": "a"} for n in range(600)]
    alone = {"window": 64, "batch": 1} if overlay == "vcube" else {}
    wide = scenario(
        stack={"overlay": overlay, "ordering": "causal"} | alone,
        subscriptions={"kind": "explicit", "members": {"a": list(range(24))}},
        workload={"kind": "explicit", "messages": said},
        network={"kind": "random", "low": 1, "high": 9000, "service": 2, "fifo": overlay != "vcube"},
    )
    assert compare(wide)[0] == ""
    delays = measures(run(wide, "fast", trace=False)).delays
    assert overlay in ("single-root", "brokers") or len(delays) > 1 << 9


def test_what_is_settled_before_it_is_delivered_was_still_delivered() -> None:
    """A message that waits for its turn is acknowledged. Node 1 answers 0, and is nearer to 4 than 0 is."""
    rows = [[0 if i == j else 5000 if (i, j) == (0, 4) else 10 for j in range(5)] for i in range(5)]
    said = [{"at": 0, "node": 0, "topic": "a"}, {"at": 200, "node": 1, "topic": "a"}]
    late = scenario(
        "vcube",
        nodes={"count": 5},
        subscriptions={"kind": "explicit", "members": {"a": [0, 1, 4]}},
        workload={"kind": "explicit", "messages": said},
        network={"kind": "matrix", "rows": rows, "service": 1},
    )
    settled, behind = set(), 0
    for row in run(late, "fast").trace.of_kind("settle", "deliver").rows():
        if row.kind == "settle":
            settled |= {(row.source, row.seq + k) for k in range(row.batch)}
        behind += row.kind == "deliver" and (row.source, row.seq) in settled
    assert behind > 0
    assert compare(late)[0] == ""


@pytest.mark.parametrize("overlay", COUNTED)
def test_what_a_cut_run_owes_is_what_it_had_settled(overlay: str) -> None:
    cut = scenario(overlay, end=180)
    assert not run(cut, "fast", trace=False).quiet
    assert compare(cut)[0] == ""


def test_times_whose_squares_cannot_be_counted_are_refused() -> None:
    slow = scenario(network={"kind": "queue", "service": 1, "propagation": 1 << 31})
    with pytest.raises(UnsupportedByEngine, match="keep the trace"):
        run(slow, "fast", trace=False)
    assert measures(run(slow, "fast"), judged=False).reception.std is not None


@pytest.mark.parametrize("most", [9, 1 << 20, 1 << 40])
def test_a_summary_is_exact_and_does_not_depend_on_the_order(most: int) -> None:
    """Also where squares do not fit into a word."""
    values = np.random.default_rng(7).integers(0, most, 1000)
    plain = values.tolist()
    mean = sum(plain) / len(plain)
    found = summary(values)
    assert found == summary(np.sort(values))
    assert (found.mean, found.min, found.max, found.count) == (mean, min(plain), max(plain), 1000)
    assert math.isclose(found.std or 0, math.sqrt(sum((v - mean) ** 2 for v in plain) / 1000), rel_tol=1e-12)


BROKEN = {
    "whoever leaves is owed what it was": (
        "single-root",
        "def changed(m, node, id, inside, asked):\n"
        "    k = tal.member(m, (-1 - id) % m[tal.TOPICS], node)\n"
        "    m[k + tal.INSIDE], m[k + tal.ASKED] = inside, asked\n"
        "tal.changed = changed\n",
    ),
    "a message is owed to whoever comes later, too": (
        "vcube",
        "plain = tal.confirmed\n"
        "def confirmed(m, at, node, id):\n"
        "    plain(m, at, node, id)\n"
        "    m[tal.member(m, (-1 - id) % m[tal.TOPICS], node) + tal.SINCE] = 1\n"
        "tal.confirmed = confirmed\n",
    ),
    "of several messages only the first is heard": (
        "vcube",
        "plain = tal.received\n"
        "tal.received = lambda m, at, node, id, packet, batch: plain(m, at, node, id, packet, 1)\n",
    ),
    "who passes it on does not count": ("brokers", "tal.count_out = lambda *_: None\n"),
    "everybody is inside": (
        "vcube-printed",
        "plain = tal.changed\ntal.changed = lambda m, node, id, inside, asked: plain(m, node, id, 1, asked)\n",
    ),
}


@pytest.mark.parametrize(("overlay", "breaks"), BROKEN.values(), ids=BROKEN)
def test_a_count_that_forgets_a_rule_is_noticed(overlay: str, breaks: str) -> None:
    program = (
        f"import trellis.sim.fast.tally as tal\n{breaks}"
        "from trellis.swarm.twins import of_stack\n"
        f"tried = of_stack('{overlay}', 'causal')\n"
        "while tried.scenarios < 60 and not tried.differences:\n"
        "    tried.go(tried.scenarios, 1)\n"
        "print(len(tried.differences), tried.differences[0].says)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    count, says = told.stdout.split(" ", 1)
    assert int(count) > 0
    assert says.startswith("compiled without a trace: ")
