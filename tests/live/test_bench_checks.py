"""What the live bench says about loss and about who is missing must be true before its figures are worth anything."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"
SENT = 3000


def module_of_the_load() -> ModuleType:
    """By its path: with bench/ on the path, bench/live.py would stand for this folder."""
    spec = importlib.util.spec_from_file_location("bench_load", BENCH / "race" / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_load"] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


load = module_of_the_load()
LOAD = load.Load(payload=64, seconds=1.0, subscribers=1)


def numbered() -> list[bytes]:
    cycle = LOAD.cycle()
    return [cycle[n % load.CYCLE] for n in range(SENT)]


def timed() -> list[bytes]:
    return [LOAD.fill(load.TIMED, n, 1) for n in range(10)]


def faults(first: list[bytes], second: list[bytes], at_once: int) -> list[str]:
    """What a subscriber says that got these payloads in the two phases, in lists of this length or one by one (0)."""
    reports: list[object] = []
    tally = load.Tally(LOAD, load.Board(1), 0, ready=lambda: None, finish=reports.append)
    stream = [LOAD.fill(load.PROBE, 0), *first, LOAD.fill(load.END, SENT), *second, LOAD.fill(load.END, 10)]
    if at_once:
        for start in range(0, len(stream), at_once):
            tally.take_many(stream[start : start + at_once])
    else:
        for payload in stream:
            tally.take(payload)
    assert reports == [tally.report]
    return list(tally.report.faults)


@pytest.mark.parametrize("at_once", [0, 1, 7, 512, 5000])
def test_the_tally_is_content_with_every_payload_once_in_order(at_once: int) -> None:
    assert faults(numbered(), timed(), at_once) == []


@pytest.mark.parametrize("at_once", [0, 7, 5000])
def test_the_tally_notices_a_lost_a_repeated_a_swapped_and_a_changed_payload(at_once: int) -> None:
    whole = numbered()
    assert faults(whole[:1500] + whole[1501:], timed(), at_once)
    assert faults(whole[:-1], timed(), at_once)
    assert faults([*whole[:1500], whole[1499], *whole[1500:]], timed(), at_once)
    assert faults([*whole[:7], whole[8], whole[7], *whole[9:]], timed(), at_once)
    assert faults([*whole[:7], whole[7][:-1] + b"?", *whole[8:]], timed(), at_once)
    assert faults(whole, timed()[:-1], at_once)
    assert faults(whole, [timed()[1], timed()[0], *timed()[2:]], at_once)


def test_the_tally_notices_the_loss_of_a_whole_cycle() -> None:
    assert faults(numbered()[load.CYCLE :], timed(), 7) == [f"{SENT - load.CYCLE:,} of {SENT:,} payloads"]


def bench(*arguments: str, path: str = os.defpath) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / "live.py"), "--seconds", "0.2", "--runs", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": path})


def test_a_contestant_without_its_server_is_not_available_and_the_others_run() -> None:
    ran = bench("--only", "redis_server,tcp", "--payload", "128", "--subscribers", "2", "--json", path="/nowhere")
    told = json.loads(ran.stdout)
    [row] = told["rows"]
    assert list(told["versions"]) == [row["contestant"]] == ["tcp"]
    assert told["not available"] == {"redis_server": "redis-server is not installed"}
    assert row["trouble"] == []
    assert all(figure > 0 for figure in row["median"].values())


def test_a_contestant_nobody_knows_is_refused_with_the_list_of_those_there_are() -> None:
    ran = bench("--only", "pigeons")
    assert ran.returncode == 2
    assert "--only pigeons: not a contestant; they are trellis_nodes,tcp" in ran.stderr


def test_a_short_heat_of_trellis_loses_nothing_and_has_figures_that_make_sense() -> None:
    ran = bench("--only", "trellis_nodes", "--payload", "128", "--subscribers", "2", "--seconds", "0.3", "--json")
    told = json.loads(ran.stdout)
    [row] = told["rows"]
    assert (ran.returncode, row["trouble"]) == (0, [])  # each subscriber has compared every payload
    [figures] = row["runs"]
    assert figures == row["median"]
    assert 100 < figures["deliveries_per_second"] < 1e8
    assert 0 < figures["cpu_seconds_per_million"] < 1e6
    assert 1 < figures["latency_us_p50"] <= figures["latency_us_p99"] < 60e6


class Pipe:
    """All are ready."""

    def poll(self) -> bool:
        return True

    def recv(self) -> list[int]:
        return []


def test_a_payload_carries_the_time_when_it_was_due_however_late_the_publisher_sends_it() -> None:
    short = load.Load(payload=64, seconds=0.02, subscribers=1)
    board = load.Board(1)
    board.heard[0] = 0
    reports: list[object] = []
    stamps = []
    for step in load.Feed(short, board, Pipe(), reports.append).steps(16, 0):
        if isinstance(step, float):
            time.sleep(step)
            continue
        kind, _, at = load.HEAD.unpack_from(step[0])
        if kind == load.END:
            board.ended[0] += 1
        elif kind == load.TIMED:
            stamps.append(at)
            time.sleep(0.003)  # longer than to the next one
    assert len(reports) == 1
    assert [later - at for at, later in pairwise(stamps)] == [1_000_000_000 // load.RATE] * (len(stamps) - 1)
    assert len(stamps) == int(short.seconds * load.RATE)


FIGURES = """
import sys
sys.path.insert(0, {path!r})
from race.bars import check
from race.heat import Figures
ours, nats, zenoh = Figures(900.0, 1.0, 50.0, {p99}), Figures(300.0, 1.0, 50.0, 100.0), Figures(1000.0, 1.0, 1.0, 90.0)
for finding in check(ours, {others}):
    print(finding.says)
"""


def bars(others: str, p99: float = 100.0) -> list[str]:
    """In a process of its own: with bench/ on the path, bench/live.py would stand for this folder."""
    program = FIGURES.format(path=str(BENCH), others=others, p99=p99)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_each_bar_is_held_or_not_or_not_checked() -> None:
    assert bars('{"nats_server": nats, "zenoh_peers": zenoh}') == [
        "held: deliveries_per_second at 128 bytes, at least 3 times that of nats_server: 3.00",
        "NOT held: deliveries_per_second at 128 bytes, at least 1 times that of zenoh_peers: 0.90",
        "held: latency_us_p99 at 128 bytes, at most 2 times that of zenoh_peers: 1.11",
        "held: latency_us_p99 at 128 bytes, at most 2 times that of nats_server: 1.00",
    ]
    assert [line.partition(":")[0] for line in bars('{"nats_server": nats}', p99=201.0)] == [
        *("held", "not checked", "not checked", "NOT held"),
    ]
    assert "it has no run without loss" in bars('{"zenoh_peers": None}')[1]


def test_a_check_without_other_contestants_says_so_and_one_without_trellis_is_refused() -> None:
    given = ("--payload", "128", "--subscribers", "2", "--check")
    ran = bench("--only", "trellis_nodes", *given)
    assert ran.returncode == 0
    assert ran.stdout.count("not checked: ") == 4
    assert bench("--only", "tcp", *given).returncode == 2
