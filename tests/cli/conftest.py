"""The command line called in this process."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from bad_input import PLAIN, Outcome, scenario_file

from trellis import cli


@pytest.fixture
def trellis(monkeypatch, capsys):
    """Call the command line in this process; a traceback would come out as an exception and fail the test."""

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["trellis", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return Outcome(left.value.code, said.out, said.err)

    return call


@pytest.fixture
def refused(trellis):
    """Call it and demand one line, exit code 2 and a silent standard output; the line comes back."""

    def call(*arguments: object) -> str:
        outcome = trellis(*arguments)
        assert outcome.code == 2, outcome
        assert outcome.out == ""
        assert outcome.err.startswith("trellis: ")
        assert outcome.err.count("\n") == 1
        assert outcome.err[:-1].isprintable()
        assert len(outcome.err) < 1100
        return outcome.err

    return call


@pytest.fixture
def written(tmp_path, trellis):
    """The directory of a small run."""
    directory = tmp_path / "run"
    assert trellis("run", scenario_file(tmp_path, PLAIN), "--out", directory).code == 0
    return directory


class Demo(NamedTuple):
    directory: Path
    code: int
    out: str


@pytest.fixture(scope="session")
def demo(spark, tmp_path_factory) -> Demo:
    """What `trellis demo` without its live half left and said: it takes a while, and nobody changes it."""
    directory, said = tmp_path_factory.mktemp("demo") / "demo", io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(said):
        patched.setattr(sys, "argv", ["trellis", "demo", "--no-live", "--out", str(directory)])
        with pytest.raises(SystemExit) as left:
            cli.main()
    return Demo(directory, int(left.value.code or 0), said.getvalue())
