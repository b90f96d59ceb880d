"""Traces that are not as they must be: one line with file, line and rule; nothing is left behind.

What is wrong here is *malformed*. What a kind drops and counts instead is in test_ingest_kinds.py.
"""

from __future__ import annotations

import gzip
import json
import sys

import pytest
from bad_input import everything_in
from public_traces import text_file, tsv

from trellis import cli
from trellis.errors import PipelineError
from trellis.pipeline.ingest import ingest

IRC = "file idx t_sec user kind chars annotated parents"
MAIL = "msg unix_time list sender parent_msg is_reply bytes"
PAIRS = "src dst avg_ms min_ms max_ms mdev_ms distance_km"
ENRON = "time\tsender\trecipient\treciptype\ttopic\tldc_topic"


def never():
    raise AssertionError("Spark must not be started for this")


@pytest.mark.parametrize(
    ("kind", "lines", "rule"),
    [
        ("follows", ["1 2", "1 2 3"], "line 2: it has 3 columns; expected follower followee"),
        ("follows", ["1 2", "", "3 4"], "line 2: it has 1 columns"),
        ("follows", ["1 2", "3 -4"], "line 2: followee = '-4': expected a whole number from 0"),
        ("follows", ["1 2", "3 99999999999999999999"], "line 2: followee = '99999999999999999999'"),
        ("follows", ["# nothing else"], "there is no follow in it"),
        ("avt", ["a 1 0 1", "b 2 0 1"], "line 2: '2' sessions, but 2 times; expected two each"),
        ("avt", ["a x 0 1"], "line 1: sessions = 'x': expected a whole number"),
        ("avt", ["a"], "line 1: sessions = '': expected a whole number"),
        ("avt", ["a 1 -1 1"], "line 1: time = '-1': expected seconds from 0 to 1000000000"),
        ("avt", ["a 1 0 NaN"], "line 1: time = 'NaN'"),
        ("avt", ["a 1 0 Infinity"], "line 1: time = 'Infinity'"),
        ("avt", ["a 1 0 1e99"], "line 1: time = '1e99'"),
        ("avt", ["a 1 0 1", "b 1 7 6.5"], "line 2: a session ends at 6.5, before its start at 7"),
        ("avt", ["a 2 0 5 4 9"], "line 1: a session starts at 4, before the one before it ends at 5: they overlap"),
        ("avt", ["a 1 0 1", "b 1 0 1", "a 1 5 6"], "line 3: node = 'a': it has a line already"),
        ("avt", ["a 0"], "there is no session in it"),
        ("irc", ["a b"], "line 1: the header is 'a b'; expected file idx t_sec"),
        ("irc", tsv(IRC, "x 0 . 1 m 1 1 ."), "line 2: t_sec = '': a message has a time"),
        ("irc", tsv(IRC, "x 0 5 1 m 1 1 0;1"), "line 2: parents = '0;1': expected numbers and commas"),
        (
            "irc",
            tsv(IRC, "x 0 5 1 m 1 1 .", "x 0 6 1 m 1 1 ."),
            "line 3: idx = '0': the file has a line with it already",
        ),
        ("mail", tsv(MAIL, "1 -5 a 1 . 0 1"), "line 2: unix_time = '-5'"),
        ("mail", tsv(MAIL, "1 5 a 1 . 2 1"), "line 2: is_reply = '2': expected one of 0, 1"),
        ("mail", tsv(MAIL), "there is no mail in it"),
        (
            "deliveries",
            [ENRON, "2001-13-01 00:00:00\t1\t2\tto\t1\t1"],
            "line 2: time = '2001-13-01 00:00:00': expected",
        ),
        ("deliveries", [ENRON, "2001-12-01 00:00:00\t1\t2\tto\t1"], "line 2: it has 5 columns; expected 6"),
        ("newsgroups", ["a.b", "a..b"], "line 2: name = 'a..b': expected parts without blanks and dots"),
        ("newsgroups", ["a.b", "a.b\tagain"], "line 2: name = 'a.b': there is a line with it already"),
        ("matrix", ["0 1", "1 0", "2 2"], "line 1: it has 2 cells, but there are 3 lines: the matrix is not square"),
        ("matrix", ["0 1", "inf 0"], "line 2: cell = 'inf': expected a number from 0 to 3600000 ms"),
        ("matrix", ["0 1", "1 3600001"], "line 2: cell = '3600001'"),
        ("pairs", tsv(PAIRS, "a b 5 6 7 0 1"), "line 2: avg_ms = '5': expected it between min_ms and max_ms"),
        ("pairs", tsv(PAIRS, "a b 1 1 1 0 1", "a b 1 1 1 0 1"), "line 3: the pair 'a b' has a line already"),
        ("pairs", tsv(PAIRS, "a b 1 1 1 nan 1"), "line 2: mdev_ms = 'nan': expected a number from 0 to"),
    ],
)
def test_a_malformed_trace_is_refused_by_line_and_rule(spark, tmp_path, kind, lines, rule):
    path = text_file(tmp_path, *lines)
    with pytest.raises(PipelineError) as refused:
        ingest(kind, path, tmp_path / "out", {}, lambda: spark)
    assert str(refused.value).startswith(f"{path}: ")
    assert rule in str(refused.value)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"1 2\n\xff 3\n", "line 2: not UTF-8"),
        (gzip.compress(b"1 2\n" * 100_000)[:-9], "the gzip stream is torn here"),
        (gzip.compress(b"1 2\n") + b"rubbish", "line 2: the gzip stream is torn here"),
        (gzip.compress(b""), "there is no follow in it"),
    ],
)
def test_bytes_that_cannot_be_read_are_refused(spark, tmp_path, content, rule):
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(PipelineError) as refused:
        ingest("follows", path, tmp_path / "out", {}, lambda: spark)
    assert rule in str(refused.value)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_wrong_line_in_a_file_of_dates_names_that_file(spark, tmp_path):
    dates = text_file(tmp_path, "a\t20010101000000", "b\t20011301000000", name="dates")
    with pytest.raises(PipelineError, match=r"dates: line 2: date = '20011301000000': expected yyyymmddhhmmss"):
        ingest("newsgroups", text_file(tmp_path, "a"), tmp_path / "out", {"created": dates}, lambda: spark)


@pytest.mark.parametrize(
    ("kind", "options", "rule"),
    [
        ("zzz", {}, "kind 'zzz': no such kind of trace; there are follows, avt"),
        ("follows", {"unit": "s"}, "--unit s: kind 'follows' does not take it; it belongs to matrix"),
        ("avt", {"merge_gaps": float("nan")}, "--merge-gaps nan: not a number of seconds"),
        ("irc", {"since": 1999}, "--since 1999: kind 'irc' does not take it; it belongs to mail and deliveries"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_before_spark_starts(tmp_path, kind, options, rule):
    with pytest.raises(PipelineError) as refused:
        ingest(kind, text_file(tmp_path, "0 1"), tmp_path / "out", options, never)
    assert rule in str(refused.value)


@pytest.mark.parametrize("stands", ["a file", "a directory with other things", "a summary that is none of ours"])
def test_what_is_not_an_ingest_is_never_replaced(tmp_path, stands):
    out = tmp_path / "out"
    if stands == "a file":
        out.write_text("mine")
    else:
        (out / "dropped").mkdir(parents=True)
        (out / ("summary.json" if "summary" in stands else "letter.txt")).write_text("mine")
    before = everything_in(tmp_path)
    path = text_file(tmp_path, "0 1", name="t")
    with pytest.raises(PipelineError, match="give a new directory"):
        ingest("follows", path, out, {}, never)
    path.unlink()
    assert everything_in(tmp_path) == before


def test_the_command_writes_prints_replaces_and_refuses(spark, tmp_path, monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["trellis", "ingest", *map(str, arguments), "--out", str(tmp_path / "out")])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code, *capsys.readouterr()

    good, bad = text_file(tmp_path, "a 1 0 1"), text_file(tmp_path, "a 1 2 1", name="bad")
    code, said, _ = call("avt", good)
    assert code == 0
    assert "online_peak" in said
    code, said, _ = call("avt", good, "--from", 0.5, "--json")
    assert code == 0
    assert json.loads(said) == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert json.loads(said)["statistics"]["cut_at_from"] == 1
    before = everything_in(tmp_path / "out")
    code, said, complaint = call("avt", bad)
    assert (code, said) == (2, "")
    assert complaint == f"trellis: {bad}: line 1: a session ends at 1, before its start at 2\n"
    assert everything_in(tmp_path / "out") == before
