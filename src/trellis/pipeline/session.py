"""The Spark session: the only place where one is made.

Promises: local by default, any master by argument or `TRELLIS_SPARK_MASTER`; one session per process; a quiet log; a
          master that does not answer, a Java that does not start, and a Spark that is not installed are one clear line.
          What stands in `scratch()` stays until Spark has ended.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING

from trellis.errors import PipelineError
from trellis.pipeline.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "TRELLIS_SPARK_MASTER"
NEEDED = ("pyspark", "pandas")  # a Java may be the machine's own
ANSWER_SECONDS = 5
LOCAL = re.compile(r"local(\[(\*|[1-9][0-9]{0,3})(,[1-9][0-9]{0,2})?\])?")
STANDALONE = re.compile(r"spark://(?P<host>[^\s:/,]+|\[[0-9a-fA-F:]+\]):(?P<port>[0-9]{1,5})(,[^\s,]+:[0-9]{1,5})*")
OTHER = re.compile(r"(yarn|k8s://\S+|local-cluster\[[0-9,]+\])")

# For work of seconds and minutes on a few cores. A caller that needs other values gives them.
SETTINGS = {
    "spark.app.name": "trellis",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.default": "parquet",
    "spark.driver.memory": "2g",
    "spark.driver.maxResultSize": "1g",
}


def session(master: str | None = None, settings: Mapping[str, str] | None = None, heavy: bool = False) -> SparkSession:
    """The process's session. The first call decides about master and memory; later ones get the same.

    `heavy`: Spark itself has minutes of work to do. Else Java compiles fast rather than well, and starts sooner.
    """
    check_installed()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        return active
    chosen = chosen_master(master)
    prepare(chosen)
    builder = SparkSession.builder.master(chosen)
    for key, value in (SETTINGS | java_options(heavy) | dict(settings or {})).items():
        builder = builder.config(key, value)
    try:
        with undisturbed():
            made = builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise PipelineError(f"Spark on {chosen}: it did not start ({brief(error)}); see the lines above") from None
    made.sparkContext.setLogLevel("ERROR")
    return made


@contextmanager
def undisturbed() -> Iterator[None]:
    """An interrupt waits until Spark has started: a Java that is left halfway complains, and then runs forever."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    asked: list[int] = []

    def remember(number: int, frame: object) -> None:
        asked.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is remember:  # else it is Spark's own by now
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt


def check_installed() -> None:
    """Ask before a module is imported that needs it: the live part, the simulator and the plain audits do without."""
    try:
        for name in NEEDED:
            import_module(name)
    except ImportError:
        raise PipelineError(
            "Spark is not installed here: pip install 'trellis[spark]', or '.[spark]' in a clone"
        ) from None


def chosen_master(master: str | None) -> str:
    """Where Spark will run. Ask before anything is written."""
    check_installed()
    return checked(master or os.environ.get(MASTER) or "local[*]")


def checked(master: str) -> str:
    """A master that has the form of one and, if it is a standalone one, answers."""
    if LOCAL.fullmatch(master) or OTHER.fullmatch(master):
        return master
    standalone = STANDALONE.fullmatch(master)
    if standalone is None:
        raise PipelineError(
            f"master {master!r}: not a Spark master; give local[2], local[*], spark://HOST:PORT, yarn or k8s://..."
        )
    host, port = standalone["host"].strip("[]"), int(standalone["port"])
    try:
        socket.create_connection((host, port), timeout=ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise PipelineError(f"master {master!r}: nobody answers there ({brief(error)}); start it first") from None
    return master


def prepare(master: str) -> None:
    """What Spark reads from the environment before it starts."""
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark would take `python3` from PATH
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if LOCAL.fullmatch(master) or "127.0.0.1" in master:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


JAVA_SAID = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")  # where a user may have chosen a collector


def java_options(heavy: bool) -> dict[str, str]:
    """Of the driver, which is all there is on one machine, and of executors elsewhere."""
    quiet = f"-Dlog4j2.configurationFile=file:{resources.files('trellis.pipeline') / 'log4j2.properties'}"
    if heavy:
        return {"spark.driver.extraJavaOptions": quiet}
    # Compiling fast, Java sets aside too little room for what it compiles: a sweep and two audits would fill it.
    compiler = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    # Collecting garbage beside short work took a sixth of the processor's time; one thread takes half of that.
    chosen = any("GC" in os.environ.get(name, "") for name in JAVA_SAID)  # Java does not start with two collectors
    driver = f"{quiet} {compiler}" if chosen else f"{quiet} {compiler} -XX:+UseSerialGC"
    return {"spark.driver.extraJavaOptions": driver, "spark.executor.extraJavaOptions": compiler}


@cache
def scratch() -> Path:
    """A directory for what only Spark reads, as long as this process lives.

    An answer may be there before Spark has ended all that it began for it: it reads on in files that nobody needs any
    more, and complains when they are gone.
    """
    made = Path(tempfile.mkdtemp(prefix="trellis-spark-"))
    atexit.register(clear, made, os.getpid())
    return made


def clear(directory: Path, owner: int) -> None:
    """At the end of the process that made it, and after Spark."""
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    if os.getpid() != owner:  # a process that was forked from it
        return
    try:
        if (active := SparkSession.getActiveSession()) is not None:
            active.stop()
    except (Py4JError, OSError):  # Java has gone before us
        pass
    shutil.rmtree(directory, ignore_errors=True)


def cores(spark: SparkSession) -> int:
    """How many tasks run at once."""
    return int(spark.sparkContext.defaultParallelism)


@contextmanager
def in_one_line(what: str) -> Iterator[None]:
    """What Spark says when it gives up is pages long."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise PipelineError(f"Spark: {what} did not finish ({brief(error)}); see the lines above") from None


def brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
