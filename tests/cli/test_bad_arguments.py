"""Arguments that make no sense, and streams that break.

One clear line on standard error, exit code 2, nothing lost, nothing half-written.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from bad_input import PLAIN, scenario_file

# Arguments.


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["zzz"], "No such command 'zzz'"),
        (["zz\nzz"], "No such command"),
        (["--zzz"], "No such option: --zzz"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "x", "y"], "unexpected extra argument"),
        (["run", "x", "--zzz"], "No such option: --zzz"),
        (["run", "x", "--seed", "-1"], "'--seed'"),
        (["run", "x", "--seed", "abc"], "'--seed'"),
        (["run", "x", "--seed", "1.5"], "'--seed'"),
        (["run", "x", "--seed", 1 << 63], "'--seed'"),
        (["run", "x", "--seed", 10**400], "'--seed'"),
        (["demo", "--seed", 1 << 64], "'--seed'"),
        (["demo", "--seed", "-1"], "'--seed'"),
        (["swarm", "--seed", 1 << 63], "'--seed'"),
        (["swarm", "--schedules", "0"], "'--schedules'"),
        (["swarm", "--schedules", "abc"], "'--schedules'"),
        (["swarm", "--overlay", "ring"], "stack.overlay = 'ring': no such overlay; there are vcube"),
        (["swarm", "--ordering", "best"], "stack.ordering = 'best': no such ordering"),
        (["swarm", "--overlay", "vcube-printed", "--ordering", "fifo"], "it brings its own order"),
        (["swarm", "--lose", "0.01"], "--lose 0.01: 'causal' has no packets of its own; use ordering total or"),
        (["swarm", "--hasty"], "--hasty: 'causal' waits for as long as it takes; use ordering total"),
        (["swarm", "--ordering", "total-printed", "--lose", "1"], "'--lose'"),
        (["swarm", "--ordering", "total-printed", "--lose", "nan"], "'--lose'"),
        (["node", "--listen", "127.0.0.1:0", "--plaintext", "--hasty-buffer", "-1"], "'--hasty-buffer'"),
        (
            ["node", "--listen", "127.0.0.1:0", "--plaintext", "--hasty-ttl", "3600001"],
            "hasty_ttl_ms = 3600001: it must",
        ),
        (["audit"], "Missing argument 'DIR'"),
        (["story", "x"], "Missing argument 'MESSAGE'"),
        (["protocols", "x"], "unexpected extra argument"),
    ],
)
def test_a_wrong_argument_is_refused(refused, arguments, rule):
    assert rule in refused(*arguments)


def test_an_unknown_engine_is_refused(refused, tmp_path):
    line = refused("run", scenario_file(tmp_path, PLAIN), "--engine", "warp")
    assert "engine 'warp': no such engine; there are auto, reference, fast" in line


def test_no_command_shows_the_commands_and_says_so(trellis):
    outcome = trellis()
    assert outcome.code == 2
    assert "protocols" in outcome.out
    assert outcome.err == "trellis: no command was given; choose one of those above\n"


# The same through a real process.


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    entry = "from trellis.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", entry, *map(str, arguments)], text=True, stderr=subprocess.PIPE, timeout=60, **options
    )


def test_a_process_leaves_with_2_and_one_line(tmp_path):
    left = process("run", tmp_path / "nope.toml", stdout=subprocess.PIPE)
    assert (left.returncode, left.stdout) == (2, "")
    assert left.stderr == (
        f"trellis: {tmp_path / 'nope.toml'}: cannot be read (No such file or directory); "
        "give the path of a scenario file\n"
    )


@pytest.mark.parametrize("arguments", [["protocols"], ["protocols", "--json"], ["--help"]])
def test_a_reader_that_has_gone_is_no_error(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        left = process(*arguments, stdout=pipe)
    assert (left.returncode, left.stderr) == (0, "")


def test_a_full_disk_behind_the_output_is_one_line():
    with open("/dev/full", "w") as full:
        left = process("protocols", "--json", stdout=full)
    assert left.returncode == 2
    assert left.stderr == "trellis: output: No space left on device; nothing more was written\n"
