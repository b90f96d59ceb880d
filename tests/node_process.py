"""`trellis node` and other commands as real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COMMAND = [sys.executable, "-m", "trellis"]
ENDED_MAX = 30.0  # seconds


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([*COMMAND, *map(str, arguments)], text=True, **options)


def call(*arguments: object, given: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], text=True, input=given, capture_output=True, timeout=60, **options
    )


class NodeProcess:
    """One that has said that it is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        self.ready: dict[str, Any] = json.loads(line)
        self.address: str = self.ready["address"]

    def end(self, number: int) -> tuple[int, str]:
        """Its exit code and its log, after this signal."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=ENDED_MAX)
        return self.process.returncode, log


@contextmanager
def node(*arguments: object) -> Iterator[NodeProcess]:
    """A node in plaintext with an endpoint for its metrics; killed at the end, if it still lives."""
    fixed = ("--listen", "127.0.0.1:0", "--plaintext", "--json", "--metrics", "127.0.0.1:0")
    process = start("node", *fixed, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield NodeProcess(process)
    finally:
        process.kill()
        process.communicate()
