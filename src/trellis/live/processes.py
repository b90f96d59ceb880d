"""Processes of nodes: started, asked whether they live, and ended, also by a program that did not start them.

Promises: a signal goes only to the process that was started for a node: its number may since be another's, so the time
          of its birth is looked at, where the system tells it (Linux).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from trellis.errors import ClusterError
from trellis.live.serve import ENDED_WELL, Ready

PAUSE = 0.02  # seconds between two looks at a process
TAIL = 200  # bytes of a log in which its last words are

CHILDREN: dict[int, subprocess.Popen[bytes]] = {}  # that this program started and has not seen end


def spawn(arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start `trellis node`, apart from this terminal's signals. Its log is appended to."""
    with log.open("ab") as lines:
        command = [sys.executable, "-m", "trellis", "node", "--json", *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=lines, start_new_session=True
        )
    CHILDREN[process.pid] = process
    return process


def await_ready(process: subprocess.Popen[bytes], log: Path, patience: float) -> Ready:
    """What the node says when it is a member."""
    assert process.stdout is not None
    with process.stdout as said:
        if not select.select([said], [], [], patience)[0]:
            raise ClusterError(f"{log.parent.name}: not ready within {patience:g} s; see {log}")
        line = said.readline()
    if not line:
        raise ClusterError(f"{log.parent.name}: it did not start: {last_line(log)}")
    return msgspec.json.decode(line, type=Ready)


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1].removeprefix("trellis: ") if lines else f"it said nothing in {log}"


def ended_well(log: Path) -> bool:
    """Whether the last that a node said is that it has ended in good order."""
    with suppress(OSError), log.open("rb") as lines:
        lines.seek(max(0, log.stat().st_size - TAIL))
        return lines.read().rstrip().endswith(ENDED_WELL.encode())
    return False


def looked_at(pid: int) -> tuple[str, str]:
    """A letter for what it does (T: stopped, Z: dead), and when it was born; nothing if there is no such process."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    if not Path("/proc/self").exists():
        with suppress(OSError):
            os.kill(pid, 0)
            return "?", ""
    return "", ""


def born(pid: int) -> str:
    return looked_at(pid)[1]


def state_of(pid: int, birth: str) -> str:
    """running, stopped (by a signal), or dead."""
    child = CHILDREN.get(pid)
    if child is not None and child.poll() is not None:
        del CHILDREN[pid]
    letter, since = looked_at(pid) if pid > 0 else ("", "")
    if letter in ("", "Z", "X") or since != birth:
        return "dead"
    return "stopped" if letter in ("T", "t") else "running"


def send(pid: int, birth: str, number: signal.Signals) -> None:
    if state_of(pid, birth) != "dead":
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def await_state(pid: int, birth: str, state: str, limit: float) -> bool:
    """False when it is not so at that time of the monotonic clock."""
    while state_of(pid, birth) != state:
        if time.monotonic() >= limit:
            return False
        time.sleep(PAUSE)
    return True
