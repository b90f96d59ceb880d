"""Same scenario, same seed: same digest. Twice, under two hash seeds, in two processes, and as it was before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from trellis.report.demo import discussion
from trellis.sim import run
from trellis.swarm import break_things, schedule

DIGEST = """
from trellis.sim import run
from trellis.swarm import break_things, schedule
print(run(schedule({seed}, '{o}', '{r}')).trace.digest())
"""

# As they were when written down; a change here is a change of behaviour and must be meant.
GOLDEN = {
    (1, "vcube", "causal"): "9e4e6555973ee338",
    (2, "vcube", "fifo"): "8d666004eb3b51ec",
    (3, "vcube", "unordered"): "178bd192c1d8ccd7",
    (4, "vcube-printed", "causal"): "b14f12272a05eb7b",
    (5, "vcube-printed", "unordered"): "89f35ca3744186ba",
    (6, "single-root", "causal"): "94fc4a4acecba039",
    (7, "brokers", "fifo"): "d7c0f9d3b7e2507f",
}


@pytest.mark.parametrize(("seed", "overlay", "ordering"), GOLDEN)
def test_a_run_has_one_digest(seed: int, overlay: str, ordering: str) -> None:
    first = run(schedule(seed, overlay, ordering)).trace.digest()
    assert run(schedule(seed, overlay, ordering)).trace.digest() == first
    assert first[:16] == GOLDEN[seed, overlay, ordering]


def test_a_world_that_breaks_has_one_digest_too() -> None:
    first = run(break_things(schedule(8, "vcube", "causal"))).trace.digest()
    assert run(break_things(schedule(8, "vcube", "causal"))).trace.digest() == first
    assert first[:16] == "c7b56bc0d47cf5ba"


@pytest.mark.parametrize(("seed", "overlay", "ordering"), [(1, "vcube", "causal"), (4, "vcube-printed", "causal")])
def test_two_processes_under_two_hash_seeds_agree(seed: int, overlay: str, ordering: str) -> None:
    code = DIGEST.format(seed=seed, o=overlay, r=ordering)
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "4242")
    }
    assert digests == {run(schedule(seed, overlay, ordering)).trace.digest() + "\n"}


def test_another_seed_is_another_run() -> None:
    assert run(discussion(1)).trace.digest() != run(discussion(2)).trace.digest()
