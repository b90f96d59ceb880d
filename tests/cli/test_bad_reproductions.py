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


def test_data_that_no_figure_needs_or_that_is_something_else_is_refused(refused, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "found")
    nowhere = ("--follows", tmp_path / "nowhere")
    assert "no chosen figure of vcube-ps needs it; leave it out" in refused("reproduce", "vcube-ps", *nowhere, *out)
    assert "no chosen figure of vitis needs it" in refused("reproduce", "vitis", "--figure", "fig4", *nowhere, *out)
    assert "no ingest stands there; give what `trellis ingest follows` wrote" in refused(
        "reproduce", "vitis", *nowhere, *out
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / "summary.json").write_text('{"ingest": "avt"}')
    told = refused("reproduce", "vitis", "--follows", other, *out)
    assert "an ingest of 'avt'; give what `trellis ingest follows` wrote" in told
    assert "no table of nodes in it" in refused("reproduce", "vitis", "--sessions", other, *out)
    (other / "summary.json").write_text("[" * 100_000)
    assert "no ingest stands there" in refused("reproduce", "vitis", "--sessions", other, *out)
    assert not (tmp_path / "found").exists()


def test_an_engine_that_there_is_not_or_that_makes_no_chosen_figure_is_refused(refused, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "found")
    assert "there are auto, reference, fast" in refused("reproduce", "tno", "--engine", "quick", *out)
    told = refused("reproduce", "tno", "--figure", "fig7", "--engine", "fast", *out)
    assert "no chosen figure of tno lets it be chosen; leave it out" in told
    assert not (tmp_path / "found").exists()
