"""Nodes of vines that die and come back, on both engines: the same rows, events and neighbours."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from trellis.errors import UnsupportedByEngine
from trellis.experiments.vitis.setting import degree, ran
from trellis.protocols.parts import small_world
from trellis.protocols.parts.profiles import NAMES_MAX
from trellis.protocols.parts.ring import SIZE
from trellis.scenario.check import check
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Scenario
from trellis.scenario.plan import plan
from trellis.sim import fast, host_of, is_for_the_compiled, run
from trellis.sim.fast.memory import table
from trellis.sim.fast.vine import guessing
from trellis.sim.fast.vine import tables as t
from trellis.sim.fast.vine.comings import comings
from trellis.sim.fast.vine.running import Vines
from trellis.swarm.twins import compare, first_difference, scenario_of

VINES = ["vitis", "rendezvous", "topic-overlay"]


def crash(at: int, node: int, restart: int | None = None) -> dict[str, Any]:
    return {"kind": "crash", "at": at, "node": node} | ({} if restart is None else {"restart": restart})


def world(overlay: str, crashes: list[dict[str, Any]], **more: Any) -> Scenario:
    raw: dict[str, Any] = {
        "name": "comings",
        "seed": 3,
        "stack": {"overlay": overlay, "ordering": "unordered", "repair": 0, "table": 5},
        "nodes": {"count": 16},
        "subscriptions": {"kind": "buckets", "topics": 6, "each": 2},
        "workload": {"kind": "rated", "messages": 30, "begin": 4, "per": 1},
        "network": {"kind": "cycles"},
        "faults": {"events": crashes},
        "end": 60,
    }
    scenario = from_mapping(raw | more)
    check(scenario)
    return scenario


CROWD = [crash(0, n, 15) for n in range(6)] + [crash(15, n, 17 + n) for n in range(8, 12)] + [crash(20, 15)]
LIVES = [crash(at, 2, at + 3) for at in range(5, 50, 6)] + [crash(0, 3), crash(59, 4, 60), crash(60, 5)]
NOBODY = [crash(10, n, 14 + n // 8) for n in range(16)]  # then whoever comes up knows of those who come with it
SAID = [{"at": at, "node": n, "topic": "a"} for at in (0, 5, 11, 12, 13, 20, 20, 30) for n in (1, 2, 7)]
TOLD = {"subscriptions": {"kind": "explicit", "members": {"a": [1, 2, 7, 9], "b": [0, 2]}}}
TOLD["workload"] = {"kind": "explicit", "messages": SAID}


@pytest.mark.parametrize("overlay", VINES)
@pytest.mark.parametrize(
    ("crashes", "more"),
    [
        (CROWD, {}),
        (LIVES, {"network": {"kind": "cycles", "loss": 0.1}}),
        (NOBODY, TOLD),
        ([crash(0, 1, 10), crash(10, 2, 11), crash(9, 7)], TOLD),
    ],
    ids=["a crowd", "many lives", "nobody there", "the dead and those who join speak"],
)
def test_rows_events_and_neighbours_are_the_same(overlay: str, crashes: list[dict[str, Any]], more: Any) -> None:
    scenario = world(overlay, crashes, **more)
    mine, theirs = run(scenario, "fast"), run(scenario, "reference")
    assert mine.trace.digest() == theirs.trace.digest(), first_difference(mine, theirs)
    assert (mine.events, mine.quiet) == (theirs.events, theirs.quiet)
    vines, host = Vines(scenario, plan(scenario)), host_of(scenario)(scenario)
    vines.run()
    host.run()
    assert vines.degrees() == [degree(machine) for machine in host.machines]


def test_these_worlds_have_all_that_joining_is_made_of() -> None:
    told = run(world("vitis", CROWD), "fast").trace
    assert {"LOOKUP", "FOUND-SOME", "ASK-START", "START-AT", "SUMS"} <= told.used("packet")
    assert {"crash", "start", "subscribe", "confirm", "skip"} <= told.used("kind")
    assert max(run(world("vitis", LIVES), "fast").trace.numbers("incarnation")) == len(LIVES) - 3


def test_without_upkeep_there_are_no_rows_of_joining_packets() -> None:
    terse = world("rendezvous", CROWD, network={"kind": "cycles", "upkeep": False})
    assert run(terse, "fast").trace.used("packet") == {"", "NOTIFY", "PULL", "EVENT"}
    assert compare(terse)[0] == ""


@pytest.mark.parametrize(("overlay", "seed"), [("vitis", 8), ("rendezvous", 8), ("topic-overlay", 9)])
def test_rows_are_the_same_where_nothing_is_compiled(overlay: str, seed: int) -> None:
    assert scenario_of(seed, overlay, "unordered").faults
    command = [sys.executable, "-m", "trellis", "twins", "--overlay", overlay, "--ordering", "unordered"]
    told = subprocess.run(
        [*command, "--scenarios", "1", "--seed", str(seed)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "0 differ" in told.stdout


def test_random_scenarios_have_many_fates() -> None:
    """Dead in round 0, dead for good, several lives, many at once: else little of it would ever be compared."""
    found = [comings(scenario_of(seed, "vitis", "unordered")) for seed in range(90_000, 90_100)]
    assert sum(bool(one.fates) for one in found) > 40
    assert sum(bool(one.absent) for one in found) > 20
    assert max(max(one.lives()) for one in found) > 3
    starts = [[at for at, what, _, _ in one.fates if what == t.STARTS] for one in found]
    assert max(times.count(at) for times in starts for at in times) > 5


def test_a_life_is_that_of_the_round_in_which_a_node_takes_part() -> None:
    found = comings(world("vitis", [crash(0, 1, 5), crash(7, 1, 9), crash(4, 2)]))
    assert [found.life(1, at) for at in (0, 5, 6, 7, 8, 9, 10)] == [-1, -1, 1, 1, -1, -1, 2]
    assert [found.life(2, at) for at in (0, 4, 5)] == [0, 0, -1]
    assert found.lives()[:4] == [1, 3, 1, 1]


def test_links_go_as_far_as_the_machine_would_have_them() -> None:
    """The same floats, also in the last bit. Two nodes closer than 8 of 2**64 do not happen: a word is too short."""
    scenario = world("rendezvous", CROWD)
    m = Vines(scenario, plan(scenario)).block
    with np.errstate(over="ignore"):
        for size in (2, 3, 5, 16, 17, 1000, 10_000, 123_456_789, 1 << 40):
            guessing.reach(m, 7, size)
            far = table(m, t.FAR).reshape(16, -1, 2)[7]
            wanted = small_world.distances(3, 7, 3, size)
            assert [int(np.uint64(np.int64(x) ^ np.int64(t.FLIP))) for x in far[:, 0]] == list(wanted)
            assert far[:, 1].tolist() == [one // small_world.SLACK for one in wanted]
            assert guessing.steps(3, size) == small_world.steps(3, size)
        for gap in (8, 1000, (1 << 40) + 7, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1):
            assert int(guessing.twice_the_ring_over(np.uint64(gap))) == 2 * SIZE // gap


def test_whoever_comes_back_with_too_many_names_is_refused() -> None:
    """As the machine refuses to join so many."""
    members = {f"{n:0250}": [0, 1, 2] for n in range(1100)}
    long = world("rendezvous", [crash(3, 1, 5)], subscriptions={"kind": "explicit", "members": members})
    with pytest.raises(UnsupportedByEngine, match=f"node 1 comes back with names of more than {NAMES_MAX} bytes"):
        run(long, "fast")


def test_experiments_take_the_compiled_engine_for_a_flash_crowd() -> None:
    crowd = world("vitis", CROWD, nodes={"count": fast.LONG // 60 + 1})
    assert is_for_the_compiled(crowd)
    engine, trace, degrees = ran(crowd)
    assert engine == "fast"
    assert "start" in trace.used("kind")
    assert len(degrees) == crowd.nodes.count
