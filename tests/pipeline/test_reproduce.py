"""A figure is reproduced from the grid to the page, on Spark; what is finished is not run again."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from trellis import cli
from trellis.errors import PipelineError
from trellis.experiments.damulticast import setting, table2
from trellis.experiments.experiment import Experiment, Outcome, Table
from trellis.experiments.reproduce import reproduce
from trellis.experiments.tasks import kept, on_spark
from trellis.experiments.tno import overlap
from trellis.experiments.vcube_ps import fig4b
from trellis.experiments.vcube_ps.model import FRACTION, NODES, OVERLAY, SRPT, VCUBE, grid, one_publisher
from trellis.experiments.vitis import fig8, fig10, fig11
from trellis.experiments.vitis.setting import SIZES
from trellis.report.reproduction import reproduction


@pytest.fixture
def tiny(monkeypatch) -> Experiment:
    """Figure 4b with two small sizes."""
    base = one_publisher("quick")[0].scenario
    axes = {OVERLAY: [VCUBE, SRPT], NODES: [8, 16], FRACTION: [0.25]}
    found = fig4b.EXPERIMENT._replace(grids=lambda scale: [grid("tiny", base, 3, axes=axes)])
    monkeypatch.setattr("trellis.experiments.PAPERS", {"vcube-ps": (found,)})
    return found


def call(monkeypatch, capsys, *words: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["trellis", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0), capsys.readouterr().out


def test_a_figure_from_its_grid_to_its_page(spark, tiny, tmp_path: Path, monkeypatch, capsys) -> None:
    words = ["reproduce", "vcube-ps", "--figure", "fig4b", "--out", str(tmp_path / "found"), "--json"]
    code, out = call(monkeypatch, capsys, *words)
    assert code == 0
    told = json.loads(out)
    assert told == json.loads((tmp_path / "found" / "claims.json").read_bytes())
    small, *large = told["claims"]
    assert small["claim"] == "8 nodes: PUB of SRPT over VCube-PS"
    assert small["runs"] == 3
    assert 1 <= small["measured"] <= 7  # a tree over two of eight nodes
    assert [claim["measured"] for claim in large] == [None, None]
    assert all("not run at this scale" in claim["reason"] for claim in large)
    page = (tmp_path / "found" / "index.html").read_text()
    assert all(claim["claim"] in page for claim in told["claims"])
    assert page.count('class="mark"') == 4  # two systems at two sizes

    parts = sorted((tmp_path / "found" / "sweeps" / "quick" / "tiny" / "parts").iterdir())
    times = [part.stat().st_mtime_ns for part in parts]
    assert len(parts) == 12
    again, out = call(monkeypatch, capsys, *words)
    assert (again, json.loads(out)) == (0, told)
    assert [part.stat().st_mtime_ns for part in parts] == times


def test_a_table_is_made_once_and_again_by_other_code(spark, tmp_path: Path, monkeypatch) -> None:
    made: list[str] = []

    def rows(_, scale: str) -> list[dict]:
        made.append(scale)
        return [overlap.row_of(overlap.DISJOINT, 10, 10, "shared")]

    table = Table("some", rows)
    asked = [overlap.EXPERIMENT._replace(tables=(table,)), overlap.EXPERIMENT._replace(id="again", tables=(table,))]
    told: list[tuple[int, int]] = []
    first = reproduce(spark, asked, "quick", tmp_path, lambda _, done, total, runs: told.append((done, total)))
    assert (made, told) == (["quick"], [(0, 1)])
    assert first[0].verdicts[1].measured == 1.0
    assert reproduce(spark, asked, "quick", tmp_path, lambda *_: None)[0].verdicts == first[0].verdicts
    assert made == ["quick"]
    (tmp_path / "sweeps" / "quick" / "some.json").write_text("torn")
    reproduce(spark, asked, "quick", tmp_path, lambda *_: None)
    monkeypatch.setattr("trellis.experiments.reproduce.fingerprint", lambda *_: "other")
    reproduce(spark, asked, "quick", tmp_path, lambda *_: None)
    assert made == ["quick"] * 3


def test_a_table_that_was_interrupted_goes_on_where_it_was(spark, tmp_path: Path) -> None:
    out, broken, ran = tmp_path / "found", tmp_path / "broken", tmp_path / "ran"
    broken.touch()

    def row_of(number: int) -> list[dict]:
        deadline = time.monotonic() + 60
        while number == 2 and broken.exists():  # the last one breaks, and not before the others are kept
            if len(list(out.rglob("some.pieces/*/*.json"))) == 2 or time.monotonic() > deadline:
                raise OSError("no power")
            time.sleep(0.05)
        with ran.open("a") as file:
            file.write(f"{number}\n")
        return [
            {"run": str(number), "settings": {}, "sent": {}},
            {"run": f"{number} again", "settings": {}, "sent": {}},
        ]

    table = Table("some", lambda shop, scale: on_spark(shop, [0, 1, 2], row_of, lambda number: -number))
    asked = [overlap.EXPERIMENT._replace(tables=(table,))]
    with pytest.raises(
        PipelineError, match=r"^Spark gave up the table \(OSError: no power\); start it again to go on$"
    ):
        reproduce(spark, asked, "quick", out, lambda *_: None)
    broken.unlink()
    told: list[str] = []
    reproduce(spark, asked, "quick", out, lambda *words: told.append(words[3]))
    assert sorted(ran.read_text().split()) == ["0", "1", "2"], "each once"
    assert told[-1] in ("2 of 3 runs of some", "3 of 3 runs of some")
    made = json.loads((out / "sweeps" / "quick" / "some.json").read_bytes())
    assert [row["run"] for row in made["rows"]] == ["0", "0 again", "1", "1 again", "2", "2 again"]
    assert not list(out.rglob("*.pieces")), "the table is whole, its pieces are gone"


def test_a_piece_of_a_table_that_is_torn_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text('{"seconds": 1.0, "rows": [')
    with pytest.raises(PipelineError, match=r"torn.json: not as it was written .* remove it and start again"):
        kept(tmp_path / "torn.json")


def test_runs_of_damulticast_on_spark_are_those_of_this_process(spark, tmp_path: Path) -> None:
    """Each with the seed of its place, and kept as JSON between two reproductions."""
    asked = [(setting.point((30, 10, 5), stillborn=0.2), 3), (setting.point((20, 5), "gossip-broadcast", group=-1), 2)]
    table = Table("short", lambda spark, scale: setting.on_spark(spark, asked))
    experiments = [table2.EXPERIMENT._replace(tables=(table,))]
    for _ in range(2):
        (found,) = reproduce(spark, experiments, "quick", tmp_path, lambda *_: None)
        assert len(found.packets) == 5
    made = json.loads((tmp_path / "sweeps" / "quick" / "short.json").read_bytes())["rows"]
    plain = [setting.measured(point, setting.seed_of(point, n)) for point, runs in asked for n in range(runs)]
    assert sorted(made, key=lambda row: row["run"]) == sorted(plain, key=lambda row: row["run"])


@pytest.fixture
def follows(spark, tmp_path: Path) -> Path:
    """A ring of 24 users, each of whom follows the next six."""
    from trellis.pipeline.ingest import ingest

    lines = [f"{user}\t{(user + step) % 24}" for user in range(24) for step in range(1, 7)]
    (tmp_path / "follows.tsv").write_text("\n".join(lines) + "\n")
    ingest("follows", tmp_path / "follows.tsv", tmp_path / "follows", {}, lambda: spark)
    return tmp_path / "follows"


def test_figures_of_vitis_are_run_with_data_that_is_brought_and_say_so_without(
    spark, follows: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(fig10, "USERS", 20)
    monkeypatch.setattr(fig10, "SYSTEMS", ("topic-overlay",))
    monkeypatch.setitem(fig10.TABLES, "quick", (5,))
    small = {"nodes": 20, "grow": 16, "events": 6, "per": 3, "drain": 20}
    monkeypatch.setitem(SIZES, "quick", SIZES["quick"]._replace(**small))
    asked = [fig8.EXPERIMENT, fig11.EXPERIMENT]

    def told(**brought: Path) -> list[Outcome]:
        return reproduce(spark, asked, "quick", tmp_path / "found", lambda *_: None, brought)

    for found in told():
        assert {verdict.measured for verdict in found.verdicts} == {None}
        assert found.sizes.startswith("not run: bring who follows whom with --follows DIR")
        assert all(verdict.reason == found.sizes for verdict in found.verdicts)
    assert "not run: bring who follows" in reproduction("vitis", "quick", told())

    degrees, links = told(follows=follows)
    assert degrees.verdicts[-1].measured == 6.0
    assert links.verdicts[0].runs == 1
    kept = tmp_path / "found" / "sweeps" / "quick" / "following.json"
    rows = json.loads(kept.read_bytes())["rows"]
    assert [row["settings"]["nodes"] for row in rows] == [20, 20], "a sample, by breadth-first searches"
    assert {row["settings"]["table"] for row in rows} == {5, 0}

    before = kept.stat().st_mtime_ns
    assert told(follows=follows)[1].verdicts == links.verdicts
    assert kept.stat().st_mtime_ns == before
    (follows / "summary.json").write_text((follows / "summary.json").read_text() + "\n")
    told(follows=follows)
    assert kept.stat().st_mtime_ns > before, "other data, other rows"
