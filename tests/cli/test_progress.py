"""Long work whose error stream is a file: a line now and then, and no bar."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from trellis.cli import command


@pytest.fixture(autouse=True)
def a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says of colors."""
    monkeypatch.setattr(command, "err", Console(stderr=True, highlight=False, force_terminal=False))


@pytest.mark.parametrize("quiet", [False, True])
def test_in_a_file_long_work_says_now_and_then_how_far_it_is(monkeypatch, capsys, quiet: bool) -> None:
    monkeypatch.setattr(command, "SILENT_SECONDS", 0.0)
    with command.progress("vcube-ps, paper", 1.0, quiet=quiet) as bar:
        bar(0.5, "fig7: 640 of 1280 done [half of it]")
        bar(1.0)
    said = re.sub(r"\d+:\d\d:\d\d", "TIME", capsys.readouterr().err)
    lines = "vcube-ps, paper: fig7: 640 of 1280 done [half of it], after TIME\nvcube-ps, paper: 1 of 1, after TIME\n"
    assert said == ("" if quiet else lines)


def test_what_is_done_soon_says_nothing(capsys) -> None:
    with command.progress("runs", 3) as bar:
        bar(3)
    assert capsys.readouterr().err == ""
