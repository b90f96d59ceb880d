"""A server of somebody else's, for the time of one heat."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

START_SECONDS = 10.0


class Missing(Exception):
    """A contestant's server is not installed or does not start."""


def server_version(program: str) -> str:
    return subprocess.run([path_of(program), "--version"], capture_output=True, text=True, check=True).stdout.strip()


def path_of(program: str) -> str:
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        raise Missing(f"{program} is not installed")
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(program: str, port: int, *arguments: str) -> Iterator[int]:
    """The process id, once the port answers."""
    command = [path_of(program), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while not answers(port):
            if process.poll() is not None or time.monotonic() > until:
                raise Missing(f"{program} does not answer on port {port}")
            time.sleep(0.02)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
