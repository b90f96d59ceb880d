"""Each kind of trace on a small sample: the tables that come out, and what was dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_input import PLAIN
from public_traces import gzip_file, text_file, tsv

from trellis.pipeline import tables
from trellis.pipeline.ingest import ingest
from trellis.scenario import load

S = 1_000_000


@pytest.fixture
def take(spark, tmp_path):
    """Ingest lines; all tables as lists of tuples, and the summary."""

    def call(kind: str, lines: list[str] | Path, **options):
        path = lines if isinstance(lines, Path) else text_file(tmp_path, *lines)
        out = tmp_path / "out"
        summary = ingest(kind, path, out, options, lambda: spark)
        found = {name: [tuple(row) for row in tables.read(spark, out, name).collect()] for name in summary["tables"]}
        assert {name: len(rows) for name, rows in found.items()} == summary["tables"]
        assert found["dropped"] == sorted(tuple(drop.values()) for drop in summary["dropped"])
        return found, summary["statistics"]

    return call


def test_follows_become_subscriptions_of_one_numbering(take):
    found, figures = take("follows", ["# who follows whom", "7 3", "3\t7", "10 3", "7 3", "5 5"])
    assert found["nodes"] == [(0, "3"), (1, "7"), (2, "10")]
    assert found["subscriptions"] == [(0, 1), (1, 0), (2, 0)]
    assert found["dropped"] == [("row", "comment", 1, 1), ("row", "follows itself", 1, 6), ("row", "repeat", 1, 5)]
    assert figures["whole"]["reciprocity"] == pytest.approx(2 / 3, abs=1e-6)


def test_degrees_are_counted_both_ways_of_the_graph_and_of_the_sample(take):
    found, figures = take("follows", ["1 0", "2 0", "3 0", "0 1", "9 8"], sample=2, seed=1)
    whole = [row[1:] for row in found["degrees"] if row[0] == "whole"]
    assert whole == [("in", 0, 3), ("in", 1, 2), ("in", 3, 1), ("out", 0, 1), ("out", 1, 5)]
    sample = [row[1:] for row in found["degrees"] if row[0] == "sample"]
    assert [sum(n for way, _, n in sample if way == each) for each in ("in", "out")] == [2, 2]
    assert figures["whole"]["in_degree"] == {
        "mean": pytest.approx(5 / 6, abs=1e-6),
        "median": 0.5,
        "max": 3,
        "none": 3,
        "exponent_tail": None,
        "exponent_whole": None,
    }
    assert figures["whole"]["out_degree"]["none"] == 1
    assert figures["sample"]["nodes"] == 2


def test_an_availability_trace_becomes_sessions(take):
    found, figures = take("avt", ["b\t2\t 0 10.5 20 30", "a\t1\t5 30.0000004", "never\t0"])
    assert found["nodes"] == [(0, "a"), (1, "b"), (2, "never")]
    assert found["sessions"] == [(0, 5 * S, 30 * S), (1, 0, 10_500_000), (1, 20 * S, 30 * S)]
    assert found["dropped"] == []
    assert (figures["online_peak"], figures["nodes"], figures["nodes_with_sessions"]) == (2, 3, 2)
    assert figures["online_mean"] == pytest.approx(45.5 / 30, abs=1e-6)


def test_short_gaps_are_merged_and_the_ramp_is_cut(take):
    lines = ["a 3 0 10 15 20 40 50", "b 2 0 3 4 5"]
    found, figures = take("avt", lines, **{"merge_gaps": 5.0, "from": 6.0})
    assert found["sessions"] == [(0, 6 * S, 20 * S), (0, 40 * S, 50 * S)]
    assert found["dropped"] == [
        ("session", "ended by 6 s", 1, 2),
        ("session", "merged over a gap of at most 5 s", 2, 1),
    ]
    assert figures["cut_at_from"] == 1


def test_a_chat_becomes_publications_with_parents(take):
    header = "file idx t_sec user kind chars annotated parents"
    rows = ["train/x 0 60 7 m 5 0 .", "train/x 1 . 0 s 9 1 0", "train/x 2 120 8 m 6 1 0,1,9", "dev/y 0 30 7 m 3 1 ."]
    late = ["rust/z 0 100 1 m 1 1 .", "rust/z 1 90 1 m 1 1 0", "rust/z 2 110 2 m 1 1 1,0"]
    found, figures = take("irc", tsv(header, *rows, *late))
    assert found["names"] == [(0, "dev/y"), (1, "rust/z"), (2, "train/x")]
    assert found["nodes"] == [(0, "rust/1"), (1, "rust/2"), (2, "ubuntu/7"), (3, "ubuntu/8")]
    assert found["publications"] == [
        (0, 0, 2, 0, 30 * S, [], 3),
        (1, 1, 0, 0, 100 * S, [], 1),
        (2, 1, 0, 1, 90 * S, [], 1),
        (3, 1, 1, 2, 110 * S, [1, 2], 1),
        (4, 2, 2, 0, 60 * S, [], 5),
        (5, 2, 3, 1, 120 * S, [4], 6),
    ]
    assert found["dropped"] == [
        ("link", "backwards in time", 1, 7),
        ("link", "its parent is not there", 1, 4),
        ("link", "of a message that was dropped", 2, 3),
        ("message", "system line", 1, 3),
    ]
    assert figures["depth"] == {"deepest": 1, "replies": {"1": 2}}
    found, _ = take("irc", tsv(header, *rows, *late), annotated=True)
    assert len(found["publications"]) == 5
    assert ("message", "context, not annotated", 1, 2) in found["dropped"]


def test_mails_become_publications_with_parents(take):
    header = "msg unix_time list sender parent_msg is_reply bytes"
    rows = ["1 1000000000 b 5 . 0 10", "2 1000000050 a 6 1 1 20", "3 1000000040 a 6 2 1 30", "4 1000000060 b 5 . 1 40"]
    found, figures = take("mail", tsv(header, *rows, "5 1900000000 - 7 1 1 50", "6 1000000070 b 6 4 1 1"))
    assert found["names"] == [(0, "a"), (1, "b")]
    assert found["publications"] == [
        (0, 0, 1, 0, 1000000040 * S, [], 30),
        (1, 0, 1, 1, 1000000050 * S, [2], 20),
        (2, 1, 0, 0, 1000000000 * S, [], 10),
        (3, 1, 0, 1, 1000000060 * S, [], 40),
        (4, 1, 1, 2, 1000000070 * S, [3], 1),
    ]
    assert found["dropped"] == [
        ("link", "backwards in time", 1, 4),
        ("link", "of a message that was dropped", 1, 6),
        ("message", "dated after 2005", 1, 6),
    ]
    assert figures["as_read"]["replies_without_parent"] == 1
    assert figures["as_read"]["across_topics"] == 2


def test_deliveries_lose_copies_and_keep_one_topic_per_message(take):
    header = "time\tsender\trecipient\treciptype\ttopic\tldc_topic"
    first, second = "2001-02-03 04:05:06", "1979-12-31 21:00:00"
    rows = [
        f"{first}\t9\t4\tto\t1\t-1",
        f"{first}\t9\t4\tto\t1\t12",
        f"{first}\t9\t5\tcc\t1\t3",
        f"{first}\t9\t5\tbcc\t1\t3",
        f"{first}\t9\t9\tto\t1\t0",
        f"{second}\t4\t9\tto\t1\t0",
        f"{first}\t4\t9\tto\t1\t-1",
        f"{first}\t4\t9\tto\t1\t0",
    ]
    found, figures = take("deliveries", [header, *rows])
    at = 981173106 * S
    assert found["names"] == [(0, "0"), (1, "3")]
    assert found["nodes"] == [(0, "4"), (1, "5"), (2, "9")]
    assert found["publications"] == [(0, 0, 0, 0, at, [], None), (1, 1, 2, 0, at, [], None)]
    assert found["deliveries"] == [(0, 2), (1, 0), (1, 1)]
    assert found["subscriptions"] == [(0, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    assert found["dropped"] == [
        ("row", "bcc", 1, 5),
        ("row", "dated before 1998", 1, 7),
        ("row", "repeat", 2, 3),
        ("row", "to oneself", 1, 6),
    ]
    assert figures["messages_with_several_named_topics"] == 1


def test_names_of_newsgroups_become_a_hierarchy_with_dates(take, tmp_path):
    created = text_file(
        tmp_path, "a.b\t19700101000001", "x.gone\t19700101000002", "who.knows\t20000101000000", name="c"
    )
    removed = gzip_file(tmp_path, "x.gone\t19700101000003", "a\t20000101000000", name="r.gz")
    found, figures = take("newsgroups", ["a\tTop.", "a.b.c\t\tDeep.", "a.b"], created=created, removed=removed)
    assert found["names"] == [(0, "a"), (1, "a.b"), (2, "a.b.c"), (3, "x"), (4, "x.gone")]
    assert found["topics"] == [
        (0, None, 1, "group", None, None),
        (1, 0, 2, "group", S, None),
        (2, 1, 3, "group", None, None),
        (3, None, 1, "prefix", None, None),
        (4, 3, 2, "removed", 2 * S, 3 * S),
    ]
    assert found["dropped"] == [
        ("creation date", "of a group that is neither in the list nor removed", 1, 3),
        ("removal date", "of a group that is in the list", 1, 2),
    ]
    assert (figures["groups"], figures["inner"], figures["hierarchies"]) == (3, 2, 1)


def test_a_matrix_becomes_latencies_and_a_file_that_a_scenario_reads(take, tmp_path):
    found, figures = take("matrix", ["0 0.01\t2", "0.5 3 0", "1 1.0001e1 0"], unit="s")
    assert found["latencies"] == [
        (0, 1, 5_000, None),
        (0, 2, S, None),
        (1, 0, 250_000, None),
        (1, 2, 1, None),
        (2, 0, 500_000, None),
        (2, 1, 5_000_500, None),
    ]
    assert found["dropped"] == [("cell", "a node's time to itself is not 0", 1, 2)]
    assert (figures["lifted"], figures["complete"]) == (1, True)
    scenario = tmp_path / "out" / "scenario.json"
    scenario.write_text(
        json.dumps({**PLAIN, "nodes": {"count": 3}, "network": {"kind": "matrix", "file": "latencies.csv"}})
    )
    assert load(scenario).network.rows == [[0, 5_000, S], [250_000, 0, 1], [500_000, 5_000_500, 0]]


def test_pairs_become_latencies_and_a_matrix_once_none_is_missing(take, tmp_path):
    header = "src dst avg_ms min_ms max_ms mdev_ms distance_km"
    rows = [
        "B A 3 2 1,004.5 0.5 10",
        "A B 1.5 1 2 0 10",
        "A A 1 1 1 0 0",
        "A C 9 9 9 1 7",
        "C A 9 9 9 1 7",
        "B C 1 1 1 1 1",
    ]
    found, figures = take("pairs", tsv(header, *rows))
    assert found["nodes"] == [(0, "A"), (1, "B"), (2, "C")]
    assert found["latencies"][:3] == [(0, 1, 750, 0), (0, 2, 4500, 500), (1, 0, 1500, 250)]
    assert found["dropped"] == [("pair", "a place with itself", 1, 4)]
    assert figures["as_read"] == {
        "pairs": 5,
        "with_commas": 1,
        "places": 3,
        "missing_pairs": 1,
        "places_with_every_pair": 1,
    }
    assert not (tmp_path / "out" / "latencies.csv").exists()
    found, _ = take("pairs", tsv(header, *rows), complete=True)
    assert found["latencies"] == [(0, 1, 750, 0), (1, 0, 1500, 250)]
    assert (tmp_path / "out" / "latencies.csv").read_text() == "0,750\n1500,0\n"
