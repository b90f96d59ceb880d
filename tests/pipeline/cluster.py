"""A real standalone cluster on loopback: one master and some workers, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from trellis.pipeline.java import java_home

PATIENCE = 120  # seconds


class Cluster:
    """Started by `standalone`; killed when that ends."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port, self.web = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """In a session of its own, so that its executors die with it."""
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *arguments]
        environment = os.environ | {
            "JAVA_HOME": str(java_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",  # they live for seconds
        }
        with (self.directory / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        self.processes.append(process)
        return process

    def start_worker(self) -> subprocess.Popen[bytes]:
        place = self.directory / f"worker-{len(self.processes)}"
        resources = ("--cores", "1", "--memory", "2g", "--webui-port", "0", "--work-dir", str(place))
        return self.start("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", *resources, self.master)

    def workers(self) -> int:
        """-1 until the master answers."""
        with (
            suppress(OSError, ValueError),
            urllib.request.urlopen(f"http://127.0.0.1:{self.web}/json/", timeout=5) as answer,
        ):
            return int(json.load(answer)["aliveworkers"])
        return -1


@contextmanager
def standalone(directory: Path, workers: int) -> Iterator[Cluster]:
    cluster = Cluster(directory)
    address = ("--host", "127.0.0.1", "--port", str(cluster.port), "--webui-port", str(cluster.web))
    try:
        cluster.start("org.apache.spark.deploy.master.Master", *address)
        wait_until(lambda: cluster.workers() == 0, "the master answers")  # else a worker's page may take its port
        for _ in range(workers):
            cluster.start_worker()
        wait_until(lambda: cluster.workers() == workers, "the workers have registered")
        yield cluster
    finally:
        for process in cluster.processes:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """-9, with everything that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(condition, what: str) -> None:  # type: ignore[no-untyped-def]
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"not within {PATIENCE} s: {what}"
        time.sleep(0.05)
