"""The live half of `trellis demo`, smaller: processes discuss over mTLS, one is killed, Spark judges what they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from trellis.cli.discussion import check, hold
from trellis.errors import ClusterError
from trellis.live.cluster import Cluster
from trellis.trace import store


def test_four_processes_discuss_one_is_killed_and_spark_finds_every_promise_kept(spark, tmp_path: Path, capsys) -> None:
    assert hold(tmp_path / "live", on_spark=True, first=7, nodes=4, seconds=2.0)
    said = capsys.readouterr().out
    assert "7. Live: 4 processes on this machine, every link over mTLS" in said
    assert "was killed by kill -9 in the middle; the others went on" in said
    assert "8. Audit on Spark of the 4 traces: " in said
    assert "deliveries, " in said
    assert ": all promises kept\n" in said
    assert "not judged" not in said
    cluster = Cluster.open(tmp_path / "live")
    assert not cluster.running
    assert cluster.credentials["keys"]
    trace, about = store.read(tmp_path / "live" / "run")
    assert about["quiet"]
    dead = cluster.nodes[3].place
    assert [row.node for row in trace.rows() if row.kind == "crash"] == [dead]
    assert f"after node {dead} had died, no survivor waited longer than " in said
    assert f"node {dead} died" in (tmp_path / "live" / "run" / store.PAGE).read_text()


def test_a_demonstration_takes_the_place_of_an_earlier_one_and_of_nothing_else(tmp_path: Path, capsys) -> None:
    with Cluster.create(tmp_path / "live", 1) as earlier:
        earlier.up()
        assert hold(tmp_path / "live", on_spark=False, nodes=3, seconds=0.5)
        assert not earlier.running
    assert "2. Audit of the 3 traces: " in capsys.readouterr().out
    (tmp_path / "other").mkdir()
    check(tmp_path / "other")
    (tmp_path / "other" / "letter").write_text("dear reader")
    with pytest.raises(ClusterError, match="not empty and not a cluster's"):
        hold(tmp_path / "other", on_spark=False)
    assert (tmp_path / "other" / "letter").read_text() == "dear reader"
