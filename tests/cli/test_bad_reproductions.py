"""What cannot be reproduced is refused in one line, before Spark starts."""

from __future__ import annotations

from pathlib import Path


def test_an_unknown_paper_figure_or_scale_is_told_what_there_is(refused, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "found")
    assert "there are vcube-ps, tno, damulticast" in refused("reproduce", "vitis-x", *out)
    assert "there are fig4a, fig4b, fig5a, fig5b, table1" in refused("reproduce", "vcube-ps", "--figure", "fig3", *out)
    assert "there are quick, paper" in refused("reproduce", "vcube-ps", "--scale", "huge", *out)
    assert not (tmp_path / "found").exists()


def test_a_directory_of_something_else_is_left_alone(refused, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    assert "not empty and not a reproduction" in refused("reproduce", "vcube-ps", "--out", tmp_path)
    assert "a file stands there" in refused("reproduce", "vcube-ps", "--out", tmp_path / "letter.txt")
    assert [entry.name for entry in tmp_path.iterdir()] == ["letter.txt"]
