"""The compiled engine beside the reference: the same rows, whatever the scenario, also where nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from engines import GOSSIP, REPAIRED, STACK, VCUBE, scenario

from trellis.errors import UnsupportedByEngine
from trellis.protocols import FIXED
from trellis.protocols.parts.hypercube import dimension, first
from trellis.scenario.model import Queue
from trellis.scenario.path import one_event
from trellis.sim import is_for_the_compiled, run
from trellis.sim.fast import TWINS, calendar, code
from trellis.sim.fast.memory import base, block, table
from trellis.sim.fast.trees import views as vws
from trellis.swarm.twins import compare, first_difference, of_stack, scenario_of

STACKS = [(overlay, ordering) for overlay, twin in TWINS.items() for ordering in twin.orders]
SCENARIOS = 100


@pytest.mark.parametrize(("overlay", "ordering"), STACKS)
def test_random_scenarios_have_the_same_rows_on_both_engines(overlay: str, ordering: str) -> None:
    tried = of_stack(overlay, ordering)
    tried.go(90_000, SCENARIOS)
    assert tried.differences == []
    assert tried.refused <= 1
    assert tried.rows > 200 * SCENARIOS


@pytest.mark.parametrize(("overlay", "ordering"), STACKS)
def test_they_have_the_same_rows_where_nothing_is_compiled(overlay: str, ordering: str) -> None:
    """So a wrong answer is known to be ours, not the compiler's. What takes many rounds is tried less often."""
    count = 3 if overlay == "damulticast" or TWINS[overlay].for_ever else 12
    command = [sys.executable, "-m", "trellis", "twins", "--overlay", overlay, "--ordering", ordering]
    told = subprocess.run(
        [*command, "--scenarios", str(count), "--seed", "91000"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert f"{count} scenarios" in told.stdout
    assert "0 differ" in told.stdout


def test_a_scenario_that_has_no_twin_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trellis.swarm.twins.scenario_of", lambda *_: scenario(8, stack=STACK | {"ordering": "fifo"}))
    with pytest.raises(UnsupportedByEngine, match="'fifo' over 'vcube-printed' has no compiled twin"):
        of_stack("vcube-printed", "causal").go(0, 1)


def test_a_difference_is_told_by_its_first_row() -> None:
    one, other = run(scenario(8), "fast"), run(scenario(8, seed=6), "reference")
    says = first_difference(one, other)
    assert says.startswith("row ")
    assert "compiled / reference" in says


def test_auto_takes_the_compiled_engine_for_large_runs_that_it_has_a_twin_for() -> None:
    large, small = run(scenario(400)), run(scenario(8))
    assert (large.engine, small.engine) == ("fast", "reference")
    assert large.compiling > 0
    assert not is_for_the_compiled(scenario(400, stack={"overlay": "single-root", "ordering": "fifo"}))
    assert run(scenario(400), build=None, engine="reference").trace.digest() == large.trace.digest()


def test_auto_takes_it_for_each_run_of_those_that_come_by_the_thousand() -> None:
    """The settings of daMulticast's figures: one event among at least 300 nodes."""
    assert run(one_event((100, 100, 100), 5, GOSSIP, 0.15)).engine == "fast"
    assert run(one_event((20, 20, 20), 5, GOSSIP, 0.15)).engine == "reference"


@pytest.mark.parametrize("overlay", FIXED)
def test_the_settings_of_the_figures_have_the_same_rows(overlay: str) -> None:
    for loss, dead, group in [(0.15, 0.0, 0), (0.15, 0.3, 0), (0.575, 0.0, 1), (0.0, 0.5, -1)]:
        assert compare(one_event((300, 60, 5), 11, GOSSIP | {"overlay": overlay}, loss, dead, group))[0] == ""


@pytest.mark.parametrize("overlay", [overlay for overlay, twin in TWINS.items() if Queue in twin.networks])
def test_tables_get_more_room_as_they_need_it(overlay: str) -> None:
    """Many messages at once wait in their publisher's queue, and more rows than there was room for at first."""
    stack = {"overlay": overlay, "ordering": TWINS[overlay].orders[0]}
    crowd = scenario(64, stack=stack, workload={"kind": "at-once", "messages": 300})
    assert compare(crowd)[0] == ""


def test_packets_that_say_more_than_there_was_room_for() -> None:
    """Sixty messages, all fellows known, and many above."""
    said = [{"at": node // 8, "node": node, "topic": "." if node < 15 else ".a"} for node in range(60)]
    talk = scenario(
        60,
        stack={"overlay": "damulticast", "ordering": "unordered", "c": 40, "z": 15, "a": 3},
        subscriptions={"kind": "explicit", "members": {".": list(range(15)), ".a": list(range(15, 60))}},
        workload={"kind": "explicit", "messages": said},
        network={"kind": "cycles", "loss": 0.5},
        end=16,
    )
    assert compare(talk)[0] == ""


def test_the_setting_of_repair_has_the_same_rows() -> None:
    for dead in (0.0, 0.3):
        assert compare(one_event((150, 30, 5), 11, REPAIRED, 0.15, dead, end=40))[0] == ""


def test_whoever_forgets_all_above_is_left_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would have to look for them: nearly all packets are lost, and each knows one only."""
    forgetful = scenario_of(301_305, "damulticast", "unordered")
    with pytest.raises(UnsupportedByEngine, match="forgotten everybody above"):
        run(forgetful, "fast")
    tried = of_stack("damulticast", "unordered")
    tried.go(301_305, 1)
    assert (tried.scenarios, tried.refused, tried.differences) == (1, 1, [])
    monkeypatch.setattr("trellis.sim.fast.is_worth_it", lambda *_: True)
    assert run(forgetful).engine == "reference"


@pytest.mark.parametrize("overlay", ["single-root", "brokers", "vcube"])
def test_what_is_published_while_joining_goes_out_at_once_when_it_stands(overlay: str) -> None:
    """More of it than any table had room for, also if the node has changed its mind meanwhile."""
    late = [{"at": 5, "node": 7, "topic": "a", "do": "join"}, {"at": 8, "node": 7, "topic": "a", "do": "leave"}]
    early = [{"at": 6, "node": 7, "topic": "a", "payload": "x"}] * 2000
    spoken = scenario(
        9,
        stack=STACK | {"overlay": overlay},
        subscriptions={"kind": "explicit", "members": {"a": [0, 1, 2, 5]}, "changes": late},
        workload={"kind": "explicit", "messages": early},
    )
    assert compare(spoken)[0] == ""


@pytest.mark.parametrize("ordering", ["causal", "unordered"])
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_a_node_alone_joins_speaks_and_leaves_within_one_step(nodes: int, ordering: str) -> None:
    """Nobody is asked, so nothing takes any time; also if it comes back and speaks while the others are leaving."""
    does = ["join", "leave", "join", "leave", "join"]
    changes = [
        {"at": 10 * n + node, "node": node, "topic": "a", "do": d} for n, d in enumerate(does) for node in range(nodes)
    ]
    said = [{"at": 20 * n + node, "node": node, "topic": "a"} for n in (0, 1, 2, 2, 3, 9) for node in range(nodes)]
    alone = scenario(
        nodes,
        stack=VCUBE | {"ordering": ordering},
        subscriptions={"kind": "explicit", "members": {"a": []}, "changes": changes},
        workload={"kind": "explicit", "messages": said},
    )
    assert compare(alone)[0] == ""


@pytest.mark.parametrize("ordering", ["causal", "unordered"])
def test_a_wave_takes_no_more_bytes_than_it_may(ordering: str) -> None:
    """Of long messages and of long barriers few go out together, also one that is too long by itself."""
    said = [{"at": 0, "node": node, "topic": "a", "payload": "x"} for node in range(40)]
    for n, size in enumerate([1000, 300_000, 300_000, 600_000, 10, 10, 250_000, 250_000, 30_000]):
        said += [{"at": 500 + n // 2, "node": 3, "topic": "a", "payload": "x" * size}]
        said += [{"at": 500 + n // 2, "node": 4, "topic": "a", "payload": "x" * (size // 2)}]
    long = scenario(
        40,
        stack=VCUBE | {"ordering": ordering, "window": 1},
        subscriptions={"kind": "explicit", "members": {"a": list(range(40))}},
        workload={"kind": "explicit", "messages": said},
    )
    assert compare(long)[0] == ""


@pytest.mark.parametrize("overlay", ["vcube-printed", "vcube"])
def test_many_nodes_come_and_go(overlay: str) -> None:
    """So many that a view's bits are several words, and clusters are half empty."""
    churn = scenario(
        150,
        stack={"overlay": overlay, "ordering": "unordered"},
        subscriptions={"kind": "sessions", "subscribers": 70, "session": 2000},
        workload={"kind": "periodic", "interval": 100, "messages": 16},
        end=2000,
    )
    assert compare(churn)[0] == ""


@pytest.mark.parametrize("overlay", ["vcube-printed", "vcube", "single-root"])
def test_what_comes_late_and_what_comes_soon_meet_at_one_time(overlay: str) -> None:
    """Some packets take longer than the calendar's ring is, and links keep their order."""
    span = calendar.SPAN
    mixed = scenario(
        20,
        stack={"overlay": overlay, "ordering": "causal"},
        workload={"kind": "once-each", "publishers": 1.0, "window": 3 * span},
        network={"kind": "random", "service": 0, "low": span - 9, "high": span + 9, "fifo": True},
    )
    assert compare(mixed)[0] == ""


@pytest.mark.parametrize("nodes", [1, 3, 32, 33, 100, 1024, 1500, 40_000])
def test_the_first_of_a_cluster_is_found_in_words_of_bits(nodes: int) -> None:
    """At each number of levels of them, whoever is in."""
    rows = vws.views(nodes)
    m = block({vws.HOLDERS: nodes, rows: vws.STANDING + 1})
    vws.begin(m, rows, nodes)
    v = int(m[base(rows.number)]) + vws.STANDING * rows.width
    table(m, rows)[vws.STANDING, :nodes] = vws.NEVER
    lot, members = Random(nodes), set[int]()
    for turn in range(300):
        node, inside = lot.randrange(nodes), turn < 100 or lot.random() < 0.3
        vws.set_member(m, v, nodes, node, int(inside))
        members = members | {node} if inside else members - {node}
        i, s = lot.randrange(nodes), lot.randint(1, max(1, dimension(nodes)))
        if nodes > 1:
            found = first(i, s, members)
            assert vws.first(m, v, nodes, i, s) == (-1 if found is None else found)
    assert m[v + nodes] == len(members)


def test_kernels_are_kept_by_the_state_of_all_their_sources(tmp_path: Path) -> None:
    assert code.kernels_of(str(tmp_path)).startswith(f"{tmp_path}/kernels-")
    assert len(code.fingerprint()) == 16
