"""The compiled engine beside the reference: the same rows, whatever the scenario, also where nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trellis.errors import UnsupportedByEngine
from trellis.scenario.load import from_mapping
from trellis.sim import run
from trellis.sim.fast import TWINS, code
from trellis.sim.fast import vcube_printed as kernel
from trellis.swarm.twins import Comparison, compare, first_difference, scenario_of

STACKS = [(overlay, ordering) for overlay, twin in TWINS.items() for ordering in twin.orders]
SCENARIOS = 100


def scenario(nodes: int = 24, **more):
    raw = {
        "name": "engines",
        "seed": 5,
        "stack": {"overlay": "vcube-printed", "ordering": "causal"},
        "nodes": {"count": nodes},
        "subscriptions": {"kind": "fraction", "fraction": 1.0},
        "workload": {"kind": "once-each", "publishers": 1.0, "window": 300},
        "network": {"kind": "queue", "service": 1, "propagation": 20},
    }
    return from_mapping(raw | more)


@pytest.mark.parametrize(("overlay", "ordering"), STACKS)
def test_random_scenarios_have_the_same_rows_on_both_engines(overlay: str, ordering: str) -> None:
    tried = Comparison(overlay, ordering)
    tried.go(90_000, SCENARIOS)
    assert tried.differences == []
    assert tried.rows > 200 * SCENARIOS


@pytest.mark.parametrize(("overlay", "ordering"), STACKS)
def test_they_have_the_same_rows_where_nothing_is_compiled(overlay: str, ordering: str) -> None:
    """So a wrong answer is known to be ours, not the compiler's."""
    command = [sys.executable, "-m", "trellis", "twins", "--overlay", overlay, "--ordering", ordering]
    told = subprocess.run(
        [*command, "--scenarios", "12", "--seed", "91000"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "12 scenarios" in told.stdout
    assert "0 differ" in told.stdout


def test_a_kernel_that_forgets_a_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the kernels in which a leaver does not forget what it delivered, in plain Python."""
    seeds = range(60)
    program = (
        "import trellis.sim.fast.vcube_printed as kernel\n"
        "plain = kernel.update\n"
        "kernel.update = lambda m, p, node, inside, rc: plain(m, p, node, 1, rc)\n"
        "from trellis.swarm.twins import Comparison\n"
        "tried = Comparison('vcube-printed', 'causal')\n"
        f"tried.go({seeds.start}, {len(seeds)})\n"
        "print(len(tried.differences), tried.differences[0].says)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    count, says = told.stdout.split(" ", 1)
    assert int(count) > 0
    assert says.startswith("row ")


def test_a_difference_is_told_by_its_first_row() -> None:
    one, other = run(scenario(8), "fast"), run(scenario(8, seed=6), "reference")
    says = first_difference(one, other)
    assert says.startswith("row ")
    assert "compiled / reference" in says


def test_auto_takes_the_compiled_engine_for_large_runs_that_it_has_a_twin_for() -> None:
    large, small = run(scenario(400)), run(scenario(8))
    assert (large.engine, small.engine) == ("fast", "reference")
    assert large.compiling > 0
    assert run(scenario(400, stack={"overlay": "single-root", "ordering": "causal"})).engine == "reference"
    assert run(scenario(400), build=None, engine="reference").trace.digest() == large.trace.digest()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"stack": {"overlay": "vcube", "ordering": "total"}}, "overlay 'vcube' has no compiled twin"),
        (
            {"network": {"kind": "sites", "sites": [0, 1], "short": 1, "long": 5}},
            "network 'sites' has no compiled twin",
        ),
    ],
)
def test_what_has_no_twin_is_refused_by_name(more, why: str) -> None:
    with pytest.raises(UnsupportedByEngine, match=f"{why}.*use engine='reference'"):
        run(scenario(**more), "fast")


def test_tables_get_more_room_as_they_need_it() -> None:
    """Many messages at once wait in their publisher's queue, and more rows than there was room for at first."""
    crowd = scenario(64, workload={"kind": "at-once", "messages": 300})
    assert compare(crowd)[0] == ""


def test_kernels_are_kept_by_the_state_of_all_their_sources(tmp_path: Path) -> None:
    assert code.kernels_of(str(tmp_path)).startswith(f"{tmp_path}/kernels-")
    assert len(code.fingerprint()) == 16


GOLDEN = {
    0: "76f65f19f79d0c6d17cda47adfa0d89228ce9e4604cdf5e9d200a4a3ef8f99d6",
    1: "a1d3b7c1246ed2d1f5b22d1ccd3640f5a4eae0052e3c61196a6671702640aa3c",
    2: "999d57a8215a754b3649389671e1c402d0f61e169b5a1337e55a0469b2c6a250",
    3: "4f3051367452245fddc214345f54748c8e905964319b13330ef353a8c348cc28",
    4: "9dc97a65d82923c0403009a6cde3a9e39f5bfbd2e77ceb050ee5b8e919b166ed",
    5: "89f35ca3744186baaa8de2fa9e74ce060a7e0346962f6304f7c4b5fda9bf3d24",
    6: "dcbea5604f0110f6b7608c773a821a3c92b846dffae0853f52c6b92f1edf57b3",
    7: "f4f55fc59fec1c0ed42b19d38ed178b364e2302a7be3bbea3f9b1265c80ea96f",
    8: "b85950925b07bae3998ca78b3f2a18381156791753c1e1a58baef5c203a29ef0",
    9: "eeae1fe1ff8a151d6dbfe9d1de6a41d0a6bcc69af58d40dbb4a2a0094f2f68c2",
    10: "ef81c08a11be44e48c6319553be8371d7367ea9660ef0f15a04aec91eb03607a",
    11: "457db60ea8c3db4bc8153afd0b0f5989f5da3863bacaca337bc828de0366651d",
}


@pytest.mark.parametrize(("seed", "digest"), GOLDEN.items())
def test_digests_are_what_they_were(seed: int, digest: str) -> None:
    """The same on any machine, and with every later version of a kernel."""
    ordering = STACKS[seed % len(STACKS)][1]
    assert run(scenario_of(seed, "vcube-printed", ordering), "fast").trace.digest() == digest


def test_names_of_packets_are_those_of_the_machine() -> None:
    from trellis.protocols.overlays import vcube_printed as machine

    assert kernel.PACKETS[1:] == [machine.SUB, machine.UNS, machine.PUB, machine.ACK]
